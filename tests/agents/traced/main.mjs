// SPDX-License-Identifier: Apache-2.0
// One connection that is refused, one call of a model, one call of a tool.
import net from 'node:net';

const refused = () => new Promise((resolve) => {
	const host = 'refused.example:443';
	const socket = net.connect(3128, '127.0.0.1', () => socket.write(
	    `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
	let text = '';
	socket.on('data', (part) => { text += part; });
	socket.on('error', () => {});
	socket.on('close', () => resolve(text.slice(0, 12)));
});

const asked = async () => {
	const answer = await fetch(
	    'http://127.0.0.1:4100/openai/v1/chat/completions', {
		method: 'POST', headers: {'Content-Type': 'application/json'},
		body: JSON.stringify({model: 'gpt-4o-mini', messages: [
			{role: 'user', content: 'secret words of a person'}]})});
	await answer.text();
	return answer.status;
};

const called = async (ctx) => {
	try {
		return await ctx.runTool('odd', 'echo', {secret: 'words'});
	} catch (error) {
		return String(error);
	}
};

export async function run(ctx) {
	process.stderr.write('a line of the agent \u001b[31m\n');
	return {refused: await refused(), asked: await asked(),
		called: await called(ctx)};
}
