"""What an agent of the reference system looks like: input["do"] names the
steps."""
import asyncio
import os
import sys
import time


def attempt(function, *words, **named):
    try:
        return {"ok": True, "value": function(*words, **named)}
    except RuntimeError as error:
        return {"ok": False, "error": str(error),
                "code": getattr(error, "code", "")}


def until_refused(ctx):
    """How many calls were served, and the first that was not; between two
    of them there is time to change the host's mind."""
    for served in range(5):
        said = attempt(ctx.call_llm, [{"role": "user", "content": "more"}])
        if not said["ok"]:
            return {"served": served, **said}
        time.sleep(5)
    return {"served": 5}


async def later(ctx):
    said = await ctx.call_llm([{"role": "user", "content": "x"}])
    tool = await ctx.run_tool("everything", "echo", message="later")
    return {"said": said, "tool": tool}


def run(ctx, do=(), **rest):
    out = {"goal": ctx.goal, "rest": rest}
    print("the agent's own words")
    print("and its complaints", file=sys.stderr)
    for name in do:
        if name == "llm":
            out[name] = attempt(ctx.call_llm, [
                {"role": "user", "content": "What is the answer?"}])
        elif name == "llm_many":
            out[name] = [attempt(ctx.call_llm, [
                {"role": "user", "content": "again"}]) for _ in range(5)]
        elif name == "llm_until":
            out[name] = until_refused(ctx)
        elif name == "llm_silent":
            out[name] = attempt(ctx.call_llm, [
                {"role": "user", "content": "mode=silent"}])
        elif name == "tool":
            out[name] = attempt(ctx.run_tool, "everything", "echo",
                                message="hello")
        elif name == "tool_many":
            out[name] = [attempt(ctx.run_tool, "everything", "echo",
                                 message=str(n)) for n in range(5)]
        elif name == "tool_forbidden":
            out[name] = attempt(ctx.run_tool, "filesystem", "read_file")
        elif name == "async":
            out[name] = asyncio.run(later(ctx))
        elif name == "environment":
            out[name] = dict(os.environ)
        elif name == "fail":
            raise ValueError("the agent gave up")
        elif name == "noise":
            os.write(1, b"\x1b[31m{\"jsonrpc\":\"2.0\"}\n\xff\x00")
        elif name == "flood":
            for _ in range(1 << 14):
                os.write(1, b"x" * 65535 + b"\n")
        elif name == "spin":
            while True:
                pass
    return out
