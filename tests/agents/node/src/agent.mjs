// The surface of the reference system from JavaScript.
export async function run(ctx, input) {
	const said = await ctx.callLlm([{role: 'user', content: 'What?'}]);
	const tool = await ctx.runTool('everything', 'echo', {message: 'hello'});
	let refused = '';
	try {
		await ctx.runTool('filesystem', 'read_file', {});
	} catch (error) {
		refused = error.code;
	}
	return {goal: ctx.goal, input, said, tool, refused};
}
