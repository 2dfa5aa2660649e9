// An agent that looks for provider keys: everything that comes over the
// LLM port, byte for byte, and everything that it can read. It knows how
// keys begin (everybody does), never a whole one. Prints JSON lines.
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const plan = JSON.parse(process.env.AGENTNODE_INPUT);
const say = (object) => process.stdout.write(JSON.stringify(object) + '\n');

// One request as bytes; all bytes that came back.
function exchange(target, body) {
	const head = `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1:4100\r\n` +
	    'Content-Type: application/json\r\nConnection: close\r\n' +
	    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
	return new Promise((resolve) => {
		const parts = [];
		const socket = net.connect(4100, '127.0.0.1', () => {
			socket.write(head + body);
		});
		socket.on('data', (part) => parts.push(part));
		socket.on('error', () => {});
		socket.on('close', () => resolve(Buffer.concat(parts)));
	});
}

function request(provider, stream, mode) {
	const content = 'mode=' + mode;
	if (provider === 'anthropic')
		return ['/anthropic/v1/messages', {model: 'claude-haiku-4-5',
			max_tokens: 100, stream,
			messages: [{role: 'user', content}]}];
	if (provider === 'gemini')
		return ['/gemini/v1beta/models/gemini-2.5-flash:' + (stream ?
		    'streamGenerateContent?alt=sse' : 'generateContent'),
		{contents: [{role: 'user', parts: [{text: content}]}]}];
	return ['/openai/v1/chat/completions', {model: 'gpt-4o-mini', stream,
		messages: [{role: 'user', content}]}];
}

// Beginnings of keys in the forms a file could hold them.
function beginnings() {
	const out = [];
	for (const text of plan.prefixes) {
		out.push(Buffer.from(text));
		for (const pad of ['', 'x', 'xx']) {
			const b = Buffer.from(pad + text).toString('base64');
			const skip = Math.ceil(pad.length * 4 / 3);
			const keep = Math.floor((pad.length + text.length) / 3) * 4;
			out.push(Buffer.from(b.slice(skip, keep)));
		}
		out.push(Buffer.from(Buffer.from(text).toString('hex')));
	}
	return out.filter((item) => item.length >= 5);
}

const starts = beginnings();

function look(place, bytes) {
	for (const start of starts) {
		let at = -1, count = 0;
		while ((at = bytes.indexOf(start, at + 1)) >= 0 && count++ < 20)
			say({found: place,
				text: bytes.subarray(at, at + 80).toString('latin1')});
	}
}

let files = 0;

function readAll(name) {
	try {
		const stat = fs.statSync(name);
		if (stat.size > 4 << 20)
			return;
		look(name, fs.readFileSync(name));
		files++;
	} catch {
		// what cannot be read cannot be searched
	}
}

function walk(folder, depth) {
	let entries;
	try {
		entries = fs.readdirSync(folder, {withFileTypes: true});
	} catch {
		return;
	}
	for (const entry of entries) {
		const name = path.join(folder, entry.name);
		if (entry.isDirectory() && depth < 12)
			walk(name, depth + 1);
		else if (entry.isFile())
			readAll(name);
	}
}

for (const provider of plan.providers ?? [])
	for (const stream of [false, true])
		for (const mode of plan.modes) {
			const [target, body] = request(provider, stream, mode);
			const bytes = await exchange(target, JSON.stringify(body));
			say({provider, stream, mode, bytes: bytes.toString('base64')});
		}
if (plan.walk) {
	for (const folder of ['/etc', '/run', '/tmp', '/sandbox-home', '/var',
		'/home', '/root', '/opt', '/usr/local', '/dev/shm', '/pack'])
		walk(folder, 0);
	for (const entry of fs.readdirSync('/proc'))
		if (/^\d+$/.test(entry))
			for (const file of ['environ', 'cmdline', 'maps', 'status',
				'stat', 'mountinfo', 'comm'])
				readAll(`/proc/${entry}/${file}`);
	look('environment', Buffer.from(JSON.stringify(process.env)));
	say({files});
}
if (plan.wait)
	await new Promise((resolve) => setTimeout(resolve, plan.wait * 1000));
say({done: true});
