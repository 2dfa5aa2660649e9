// SPDX-License-Identifier: Apache-2.0
// Runs a function of a tool pack inside the sandbox, as agentnode_tool.py
// does for Python: {"file", "functions", "kwargs"} on standard input, one
// JSON to descriptor 3; or, with `serve` and a plan, an MCP server that
// starts itself once for each call. Node's own modules only; what the tool
// may do is decided outside, this file is no boundary.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const pack = process.cwd(); // /pack; on the host its sealed folder
const resultFd = 3;
const requestMax = 16 * 1024 * 1024;
const messageMax = 4000;
const restMs = 200; // for what is left in the pipe of one that is dead

// --- one run ----------------------------------------------------------------

function writeAll(fd, text) {
	const bytes = Buffer.from(text);
	let at = 0;
	while (at < bytes.length) {
		try {
			at += fs.writeSync(fd, bytes, at);
		} catch (error) {
			if (error.code !== 'EAGAIN')
				throw error;
		}
	}
}

function readAll(fd) {
	const parts = [];
	let size = 0;
	for (;;) {
		const part = Buffer.alloc(65536);
		const got = fs.readSync(fd, part);
		if (got === 0)
			return Buffer.concat(parts).toString();
		size += got;
		if (size > requestMax)
			throw new Error('the request is too long');
		parts.push(part.subarray(0, got));
	}
}

// JSON.stringify would make something else of these.
function strict(key, value) {
	const given = this[key];
	if (typeof value === 'number' && !Number.isFinite(value))
		throw new TypeError(`${value} is not JSON`);
	if (typeof value === 'function' || typeof value === 'symbol')
		throw new TypeError(`a ${typeof value} is not JSON`);
	if (ArrayBuffer.isView(given) || given instanceof ArrayBuffer)
		throw new TypeError('bytes are not JSON');
	return value;
}

function failure(error) {
	let type = 'Error', message = '';
	try {
		type = String(error?.name ?? typeof error).slice(0, 100);
		message = String(error?.message ?? error).slice(0, messageMax);
	} catch {
		// a tool may have made its own toString
	}
	return JSON.stringify({ok: false, error: {type, message}});
}

let finished = false;

// The tool's timers and exit handlers are not waited for.
function finish(code, text) {
	if (finished)
		return;
	finished = true;
	try {
		writeAll(resultFd, text + '\n');
	} catch {
		code = 1;
	}
	process.reallyExit(code);
}

function fail(error) {
	try {
		console.error(error);
	} catch {
		// nobody has to see it
	}
	finish(1, failure(error));
}

async function call(request) {
	const module = await import(
	    pathToFileURL(path.resolve(pack, request.file)).href);
	for (const name of request.functions) {
		const found = module[name] ?? module.default?.[name];
		if (typeof found === 'function')
			return found(request.kwargs);
	}
	throw new TypeError(`${request.file} has no function ` +
	    request.functions.join(' or '));
}

async function one() {
	const request = JSON.parse(readAll(0));
	process.on('uncaughtException', fail);
	process.on('unhandledRejection', fail);
	try {
		const value = await call(request) ?? null;
		finish(0, JSON.stringify({ok: true, result: value}, strict));
	} catch (error) {
		fail(error);
	}
}

// --- serving ----------------------------------------------------------------

function told(text, isError, value) {
	const result = {content: [{type: 'text', text}], isError};
	if (value !== null && typeof value === 'object' &&
	    !Array.isArray(value))
		result.structuredContent = value;
	return result;
}

function outcome(text, tooLong) {
	if (tooLong)
		return told('the tool\'s result is too long', true);
	try {
		const said = JSON.parse(text.split('\n', 1)[0]);
		if (said.ok === true)
			return told(typeof said.result === 'string' ?
			    said.result : JSON.stringify(said.result), false,
			    said.result);
		return told(`${said.error.type}: ${said.error.message}`, true);
	} catch {
		return told('the tool ended without a result', true);
	}
}

class Server {
	#calls = new Map();

	constructor(plan) {
		this.tools = new Map(plan.tools.map((one) => [one.name, one]));
		this.most = plan.result_max;
	}

	say(id, body) {
		writeAll(resultFd,
		    JSON.stringify({jsonrpc: '2.0', id, ...body}) + '\n');
	}

	listed() {
		return [...this.tools.values()].map((tool) => ({
			name: tool.name, description: tool.description ?? '',
			inputSchema: tool.input_schema ?? {type: 'object'}}));
	}

	end(child) {
		try {
			process.kill(-child.pid, 'SIGKILL');
		} catch {
			// it and its children are gone
		}
	}

	call(id, params) {
		const tool = this.tools.get(params.name);
		if (tool === undefined) {
			this.say(id, {error: {code: -32602,
				message: 'there is no such tool'}});
			return;
		}
		const child = spawn(process.execPath, process.execArgv,
		    {stdio: ['pipe', 2, 2, 'pipe'], detached: true});
		const parts = [];
		let size = 0;
		this.#calls.set(id, child);
		child.stdin.on('error', () => {});
		child.stdin.end(JSON.stringify({file: tool.file,
			functions: tool.functions,
			kwargs: params.arguments ?? {}}));
		const pipe = child.stdio[3];
		const over = () => {
			this.end(child);
			pipe.destroy();
			if (this.#calls.get(id) !== child)
				return;
			this.#calls.delete(id);
			this.say(id, {result: outcome(
			    Buffer.concat(parts).toString(),
			    size > this.most)});
		};
		pipe.on('data', (part) => {
			size += part.length;
			if (size <= this.most)
				parts.push(part);
			if (size > this.most || part.includes(10))
				over();
		});
		pipe.on('error', () => {});
		pipe.on('close', over);
		child.on('error', over);
		// What it left behind may hold the pipe open.
		child.on('exit', () => setTimeout(over, restMs));
	}

	cancel(id) {
		const child = this.#calls.get(id);
		this.#calls.delete(id);
		if (child !== undefined)
			this.end(child);
	}

	message({method, id, params = {}}) {
		if (method === 'initialize')
			this.say(id, {result: {
				protocolVersion: params.protocolVersion,
				capabilities: {tools: {}},
				serverInfo: {name: 'agentnode-pack',
					version: '1'}}});
		else if (method === 'ping')
			this.say(id, {result: {}});
		else if (method === 'tools/list')
			this.say(id, {result: {tools: this.listed()}});
		else if (method === 'tools/call')
			this.call(id, params);
		else if (method === 'notifications/cancelled')
			this.cancel(params.requestId);
		else if (id !== undefined)
			this.say(id, {error: {code: -32601,
				message: 'there is no such method'}});
	}
}

function serve(plan) {
	const server = new Server(plan);
	let held = '';
	process.stdin.setEncoding('utf8');
	process.stdin.on('data', (part) => {
		const lines = (held + part).split('\n');
		held = lines.pop();
		for (const line of lines)
			if (line.trim() !== '')
				server.message(JSON.parse(line));
	});
	process.stdin.on('end', () => process.reallyExit(0));
}

if (process.argv[1] === 'serve')
	serve(JSON.parse(process.argv[2]));
else
	await one();
