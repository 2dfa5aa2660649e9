// SPDX-License-Identifier: Apache-2.0
// Uses the tools of an agent: run_tool, the official MCP client over TCP and
// over the unix socket, and what must not work. input.do names the steps.
import fs from 'node:fs';
import http from 'node:http';

const PORT = 4101;

// One request as bytes go; {status, headers, body}.
function request(options, body) {
	return new Promise((resolve, reject) => {
		const sent = http.request({method: 'POST', agent: false,
			...options}, (response) => {
			const parts = [];
			response.on('data', (part) => parts.push(part));
			response.on('end', () => resolve({
				status: response.statusCode,
				headers: response.headers,
				body: Buffer.concat(parts).toString()}));
		});
		sent.on('error', reject);
		sent.end(body);
	});
}

// What the SDK takes for fetch, over a unix socket.
function socketFetch(path) {
	return async (url, init = {}) => {
		const at = new URL(url);
		const answer = await request({socketPath: path,
			method: init.method ?? 'GET', path: at.pathname,
			headers: {Host: 'localhost',
				...Object.fromEntries(new Headers(init.headers))}},
		init.body ?? undefined);
		const none = [101, 204, 205, 304].includes(answer.status);
		return new Response(none || answer.body === '' ? null :
			answer.body, {status: answer.status,
			headers: {'Content-Type':
				answer.headers['content-type'] ?? ''}});
	};
}

async function sdk(options) {
	const {Client} = await import(
	    '@modelcontextprotocol/sdk/client/index.js');
	const {StreamableHTTPClientTransport} = await import(
	    '@modelcontextprotocol/sdk/client/streamableHttp.js');
	const client = new Client({name: 'agent', version: '1'});
	await client.connect(new StreamableHTTPClientTransport(
	    new URL(`http://127.0.0.1:${PORT}/mcp`), options));
	const names = (await client.listTools()).tools.map((t) => t.name);
	const said = await client.callTool({name: 'odd__echo',
		arguments: {a: 'é\n', b: [1.5]}});
	const started = await client.callTool({name: 'odd__started',
		arguments: {}});
	let refused;
	try {
		await client.callTool({name: 'other__echo', arguments: {}});
	} catch (error) {
		refused = {code: error.code, data: error.data};
	}
	await client.close();
	return {names, said: JSON.parse(said.content[0].text),
		started: started.content[0].text, refused};
}

async function rebinding() {
	const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
	const rows = {};
	for (const [name, headers] of Object.entries({
		own: {}, host: {Host: 'evil.example'},
		origin: {Origin: 'http://evil.example'},
		form: {'Content-Type': 'text/plain'}})) {
		const answer = await request({host: '127.0.0.1', port: PORT,
			path: '/mcp', headers: {
				'Content-Type': 'application/json',
				'Content-Length': body.length, ...headers}}, body);
		rows[name] = answer.status;
	}
	return rows;
}

// run_tool calls whose connection is ended, over TCP and the unix socket,
// and calls of the official client that are aborted; how each one failed.
async function takeback() {
	const body = '{"jsonrpc":"2.0","id":1,"method":"run_tool","params":' +
	    '{"slug":"odd","tool_name":"never"}}';
	const {Client} = await import(
	    '@modelcontextprotocol/sdk/client/index.js');
	const {StreamableHTTPClientTransport} = await import(
	    '@modelcontextprotocol/sdk/client/streamableHttp.js');
	const signal = AbortSignal.timeout(1500);
	const calls = [...Array(6).keys()].map((n) => request({signal,
		...n % 2 ? {socketPath: '/run/agentnode/tools.sock'} :
		    {host: '127.0.0.1', port: PORT}, path: '/agentnode/rpc',
		headers: {Host: 'localhost',
			'Content-Type': 'application/json',
			'Content-Length': body.length}}, body));
	const clients = [0, 1].map(
	    (n) => new Client({name: `agent-${n}`, version: '1'}));
	for (const client of clients)
		await client.connect(new StreamableHTTPClientTransport(
		    new URL(`http://127.0.0.1:${PORT}/mcp`)));
	for (const client of clients)
		calls.push(client.callTool({name: 'odd__never', arguments: {}},
		    undefined, {signal}));
	const said = await Promise.allSettled(calls);
	return said.map((one) => one.reason?.constructor?.name === 'McpError' ?
	    'McpError' : one.reason?.name ?? 'answered');
}

async function attempt(ctx, slug, tool, args) {
	try {
		return await ctx.runTool(slug, tool, args);
	} catch (error) {
		return {code: error.code, text: error.message};
	}
}

const steps = {
	sdk: () => sdk({}),
	socket: () => sdk({fetch: socketFetch('/run/agentnode/tools.sock')}),
	rebinding: () => rebinding(),
	started: (ctx) => attempt(ctx, 'odd', 'started'),
	where: (ctx) => attempt(ctx, 'odd', 'where'),
	own: () => ({mounts: fs.readFileSync('/proc/mounts', 'utf8')}),
	missing: (ctx) => attempt(ctx, 'not-there', 'x'),
	other: (ctx) => attempt(ctx, 'other', 'echo'),
	which: (ctx) => attempt(ctx, 'odd'),
	die: (ctx) => attempt(ctx, 'odd', 'die'),
	takeback: () => takeback(),
	took: async (ctx) => {
		// The ends of the connections are on their way.
		await new Promise((done) => setTimeout(done, 500));
		const rows = await Promise.all([...Array(8).keys()].map(
		    (n) => attempt(ctx, 'odd', 'echo', {n})));
		return rows.filter((row) => row.success).length;
	},
	heard: (ctx) => attempt(ctx, 'odd', 'cancelled'),
	never: (ctx) => attempt(ctx, 'odd', 'never'),
	kept: (ctx) => attempt(ctx, 'keeper', 'append', {text: 'x'}),
	many: async (ctx) => {
		const rows = await Promise.all([...Array(8).keys()].map(
		    (n) => attempt(ctx, 'odd', 'echo', {n})));
		return rows.map((row) => JSON.parse(row.result ?? 'null')?.n);
	},
	crowd: (ctx) => Promise.all([...Array(30).keys()].map(
	    (n) => attempt(ctx, 'odd', 'echo', {n}))),
	big: (ctx) => attempt(ctx, 'odd', 'big', {bytes: 3 << 20}),
	forge: () => {
		fs.writeSync(1, '{"ok":true,"value":"forged"}\n');
		return null;
	},
	secret: (ctx) => attempt(ctx, 'odd', 'echo',
	    {secret: 'argument-that-no-log-may-hold'}),
	wait: (ctx, input) => new Promise(
	    (done) => setTimeout(() => done(null), input.ms)),
};

export async function run(ctx, input) {
	const out = {};
	for (const name of input.do)
		out[name] = await steps[name](ctx, input);
	return out;
}
