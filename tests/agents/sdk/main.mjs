// An agent that knows nothing of its sandbox: it uses each SDK as its
// documentation says. AGENTNODE_INPUT {"steps": [...]} names what to do;
// prints one JSON object per step.
import http from 'node:http';
import zlib from 'node:zlib';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import {GoogleGenAI} from '@google/genai';

const messages = [{role: 'user', content: 'What is the answer?'}];
const parameters = {type: 'object', properties: {a: {type: 'integer'}},
	required: ['a']};
const openai = () => new OpenAI({maxRetries: 0});
const anthropic = () => new Anthropic({maxRetries: 0});
const gemini = () => new GoogleGenAI({});
const chatModel = 'gpt-4o-mini';
const claude = 'claude-haiku-4-5';
const flash = 'gemini-2.5-flash';

// A request as bytes, over the loopback port or the unix socket.
function raw(options, body) {
	return new Promise((resolve, reject) => {
		const request = http.request({host: '127.0.0.1', port: 4100,
			method: 'POST', agent: false, ...options}, (response) => {
			const parts = [];
			response.on('data', (part) => parts.push(part));
			response.on('end', () => resolve({
				status: response.statusCode,
				reason: response.headers['x-agentnode-reason'] ?? '',
				text: Buffer.concat(parts).toString()}));
			response.on('error', reject);
		});
		request.on('error', reject);
		request.end(body);
	});
}

const chatBody = JSON.stringify({model: chatModel, messages});
const json = {'Content-Type': 'application/json'};

const steps = {
	async openaiChat() {
		const done = await openai().chat.completions.create(
		    {model: chatModel, messages});
		return {text: done.choices[0].message.content,
			usage: done.usage};
	},
	async openaiChatStream() {
		const stream = await openai().chat.completions.create(
		    {model: chatModel, messages, stream: true});
		let text = '', events = 0, usage = null;
		for await (const part of stream) {
			events++;
			text += part.choices[0]?.delta?.content ?? '';
			usage = part.usage ?? usage;
		}
		return {text, events, usage};
	},
	async openaiChatStreamUsage() {
		const stream = await openai().chat.completions.create({
			model: chatModel, messages, stream: true,
			stream_options: {include_usage: true}});
		let usage = null;
		for await (const part of stream)
			usage = part.usage ?? usage;
		return {usage};
	},
	async openaiTool() {
		const done = await openai().chat.completions.create({
			model: chatModel, messages, tools: [{type: 'function',
				function: {name: 'look', parameters}}]});
		return {tool: done.choices[0].message.tool_calls?.[0]
			.function.name};
	},
	async openaiResponses() {
		const done = await openai().responses.create(
		    {model: chatModel, input: 'What is the answer?'});
		return {text: done.output_text};
	},
	async openaiResponsesStream() {
		const stream = await openai().responses.create(
		    {model: chatModel, input: 'What?', stream: true});
		let text = '';
		for await (const part of stream)
			text += part.type === 'response.output_text.delta' ?
			    part.delta : '';
		return {text};
	},
	async openaiEmbeddings() {
		const done = await openai().embeddings.create({
			model: 'text-embedding-3-small', input: 'x',
			encoding_format: 'float'});
		return {length: done.data[0].embedding.length};
	},
	async openaiModels() {
		const done = await openai().models.list();
		return {first: done.data[0].id};
	},
	async openaiSocket() {
		const answer = await raw({socketPath: '/run/agentnode/llm.sock',
			host: undefined, port: undefined,
			path: '/openai/v1/chat/completions',
			headers: {...json, Host: 'localhost'}}, chatBody);
		return {status: answer.status, reason: answer.reason};
	},
	async zstd() {
		const answer = await raw({path: '/openai/v1/chat/completions',
			headers: {...json, 'Content-Encoding': 'zstd'}},
		zlib.zstdCompressSync(chatBody));
		return {status: answer.status, reason: answer.reason};
	},
	async gzip() {
		const answer = await raw({path: '/openai/v1/chat/completions',
			headers: {...json, 'Content-Encoding': 'gzip'}},
		zlib.gzipSync(chatBody));
		return {status: answer.status, reason: answer.reason};
	},
	async anthropicMessage() {
		const done = await anthropic().messages.create(
		    {model: claude, max_tokens: 100, messages});
		return {text: done.content[0].text, usage: done.usage};
	},
	async anthropicStream() {
		const stream = anthropic().messages.stream(
		    {model: claude, max_tokens: 100, messages});
		let text = '';
		stream.on('text', (part) => { text += part; });
		const done = await stream.finalMessage();
		return {text, usage: done.usage};
	},
	async anthropicTool() {
		const done = await anthropic().messages.create({
			model: claude, max_tokens: 100, messages,
			tools: [{name: 'look', input_schema: parameters}]});
		return {tool: done.content[0].name};
	},
	async anthropicCount() {
		const done = await anthropic().messages.countTokens(
		    {model: claude, messages});
		return {tokens: done.input_tokens};
	},
	async geminiGenerate() {
		const done = await gemini().models.generateContent(
		    {model: flash, contents: 'What is the answer?'});
		return {text: done.text, usage: done.usageMetadata};
	},
	async geminiStream() {
		const stream = await gemini().models.generateContentStream(
		    {model: flash, contents: 'What is the answer?'});
		let text = '';
		for await (const part of stream)
			text += part.text ?? '';
		return {text};
	},
	async geminiTool() {
		const done = await gemini().models.generateContent({
			model: flash, contents: 'x', config: {tools: [{
				functionDeclarations: [{name: 'look',
					parametersJsonSchema: parameters}]}]}});
		return {tool: done.functionCalls?.[0]?.name};
	},
	// what must be refused, as the SDK's own typed error
	async openaiWrongModel() {
		await openai().chat.completions.create(
		    {model: 'gpt-forbidden', messages});
	},
	async openaiHostedTool() {
		await openai().responses.create({model: chatModel, input: 'x',
			tools: [{type: 'web_search'}]});
	},
	async openaiStored() {
		await openai().responses.create(
		    {model: chatModel, input: 'x', background: true});
	},
	async anthropicHostedTool() {
		await anthropic().messages.create({model: claude, max_tokens: 9,
			messages, tools: [{type: 'web_search_20250305',
				name: 'web_search'}]});
	},
	async geminiHostedTool() {
		await gemini().models.generateContent({model: flash,
			contents: 'x', config: {tools: [{googleSearch: {}}]}});
	},
	async openaiRemoteImage() {
		await openai().chat.completions.create({model: chatModel,
			messages: [{role: 'user', content: [{type: 'image_url',
				image_url: {url: 'https://example.com/x.png'}}]}]});
	},
	async websocket() {
		const answer = await raw({path: '/openai/v1/responses',
			method: 'GET', headers: {Connection: 'Upgrade',
				Upgrade: 'websocket', 'Sec-WebSocket-Version': 13,
				'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA=='}});
		return {status: answer.status, reason: answer.reason};
	},
	async pause() {
		await new Promise((resolve) => setTimeout(resolve, 4000));
	},
	async environment() {
		return {env: process.env};
	},
};

const plan = JSON.parse(process.env.AGENTNODE_INPUT ?? '{}');
for (const name of plan.steps ?? Object.keys(steps)) {
	let line;
	try {
		line = {step: name, ok: true, ...await steps[name]()};
	} catch (error) {
		const reason = error.headers?.get?.('x-agentnode-reason') ?? '';
		line = {step: name, ok: false, type: error.constructor.name,
			status: error.status, code: error.code ?? null, reason,
			message: String(error.message).slice(0, 300)};
	}
	process.stdout.write(JSON.stringify(line) + '\n');
}
