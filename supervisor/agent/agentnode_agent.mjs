// SPDX-License-Identifier: Apache-2.0
// Runs an agent of the form module:function inside the sandbox, as
// agentnode_agent.py does for Python; Node's own modules only. What the
// agent may do is decided outside; this file is no boundary.
import http from 'node:http';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const llmPort = Number(process.env.AGENTNODE_LLM_PORT ?? 4100);
const toolsPort = Number(process.env.AGENTNODE_TOOLS_PORT ?? 4101);
const answerMax = 16 * 1024 * 1024;

class AgentError extends Error {
	constructor(text, code = '') {
		super(text);
		this.name = 'AgentError';
		this.code = code;
	}
}

function post(port, target, body, what) {
	const text = JSON.stringify(body);
	return new Promise((resolve, reject) => {
		const fail = (error) => reject(error.code === 'ECONNREFUSED' ?
			new AgentError(what + ' is not there: this agent has no ' +
			    'such access', 'not_granted') :
			new AgentError(`${what} failed: ${error.message}`,
			    'failed'));
		const request = http.request({host: '127.0.0.1', port,
			method: 'POST', path: target, agent: false, headers: {
				'Content-Type': 'application/json',
				'Content-Length': Buffer.byteLength(text)}},
		(response) => {
			const parts = [];
			let size = 0;
			response.on('data', (part) => {
				size += part.length;
				if (size > answerMax)
					request.destroy(new Error('too long'));
				else
					parts.push(part);
			});
			response.on('error', fail);
			response.on('end', () => {
				try {
					resolve([response, JSON.parse(
					    Buffer.concat(parts).toString())]);
				} catch {
					reject(new AgentError(`${what}: the ` +
					    'answer is no JSON (status ' +
					    `${response.statusCode})`, 'failed'));
				}
			});
		});
		request.on('error', fail);
		request.end(text);
	});
}

class Context {
	#calls = 0;

	constructor(goal) {
		this.goal = goal;
	}

	// {success, result, error, mode_used}
	async runTool(slug, toolName = null, args = {}) {
		const [, answer] = await post(toolsPort, '/agentnode/rpc', {
			jsonrpc: '2.0', id: ++this.#calls, method: 'run_tool',
			params: {slug, tool_name: toolName, arguments: args}},
		'run_tool');
		if (answer.error !== undefined)
			throw new AgentError(answer.error.message ??
			    'run_tool failed', answer.error.data?.code ?? '');
		return answer.result;
	}

	// {role, content} from the model the host chose
	async callLlm(messages) {
		const [response, answer] = await post(llmPort,
		    '/agentnode/call_llm', {messages}, 'call_llm');
		if (answer.ok !== true)
			throw new AgentError(String(answer.error),
			    response.headers['x-agentnode-reason'] ?? '');
		return answer.completion;
	}

	run_tool(...words) {
		return this.runTool(...words);
	}

	call_llm(...words) {
		return this.callLlm(...words);
	}
}

async function run(plan) {
	const [file, name = 'run'] = plan.entrypoint.split(':');
	const module = await import(
	    pathToFileURL(path.resolve('/pack', file)).href);
	const entry = module[name] ?? module.default?.[name];
	if (typeof entry !== 'function')
		throw new AgentError(`${plan.entrypoint} is no function`,
		    'bad_entrypoint');
	return entry(new Context(plan.goal ?? null), plan.input ?? {});
}

const plan = JSON.parse(process.env.AGENTNODE_AGENT);
delete process.env.AGENTNODE_AGENT;
let result;
try {
	result = {ok: true, value: await run(plan) ?? null};
	JSON.stringify(result);
} catch (error) {
	console.error(error);
	result = {ok: false, error: `${error?.name}: ${error?.message}`,
		code: error?.code || 'agent_failed'};
}
await post(toolsPort, '/agentnode/result', result, 'the result');
process.exit(result.ok ? 0 : 1);
