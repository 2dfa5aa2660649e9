"""From an agent's MCP client to a real server and back: the official SDK's
client over HTTP, the gate's tools port, the pool, a sandbox for
server-everything, and run_tool beside it."""

import engine_case
import harness
import mcp_setup
from harness import check
from mcp_clients import sdk_http, text
from tool_pool import DRIVE, Pool
from tools_gate import ToolsGate

SLUG = "server-everything"


def main():
    harness.need(DRIVE)
    engine_case.image()
    home = mcp_setup.home(registry=True)
    try:
        mcp_setup.install(home, mcp_setup.EVERYTHING)
        pool = Pool(home, [SLUG])

        def answer(call):
            said = pool.call(call["package"], call["tool"],
                             call["arguments"], listing=call["method"] ==
                             "list")
            if said is None or said["code"]:
                return (said or {}).get("code", "lost"), said["detail"]
            return said["result"]

        gate = ToolsGate(answer, packages=[{"slug": SLUG}],
                         max_tool_calls=100)
        out = sdk_http(f"http://127.0.0.1:{gate.port}/mcp", [
            ["tools"],
            ["call", SLUG + "__echo", {"message": "hello"}],
            ["call", SLUG + "__get-sum", {"a": 2, "b": 40}],
            ["call", SLUG + "__get-structured-content",
             {"location": "Chicago"}],
            ["call", SLUG + "__get-tiny-image", {}],
            ["call", SLUG + "__no-such-tool", {}]])
        steps = out.get("results") or [{}] * 6
        names = [t["name"] for t in steps[0].get("ok", {}).get("tools", [])]
        check("every tool of the server is listed under its package",
              SLUG + "__echo" in names and len(names) > 8 and
              all(n.startswith(SLUG + "__") for n in names), names)
        check("a tool answers", "hello" in text(steps[1].get("ok")), steps[1])
        check("with what it computed", "42" in text(steps[2].get("ok")),
              steps[2])
        check("a structured result arrives", "structuredContent" in
              steps[3].get("ok", {}), steps[3])
        check("an image arrives", any(
            c["type"] == "image" for c in
            steps[4].get("ok", {}).get("content", [])), steps[4])
        check("a tool it does not have is an error",
              "error" in steps[5] or steps[5]["ok"].get("isError"), steps[5])
        said = gate.run_tool(SLUG, "get-sum", {"a": 1, "b": 2})
        check("run_tool finds the same server", "3" in
              str(said["result"]["result"]), said)
        said = gate.run_tool(SLUG, "get-structured-content",
                             {"location": "New York"})
        check("run_tool gives the structured part",
              isinstance(said["result"]["result"], dict), said)
        end = gate.end()
        check("the calls are counted", end["tool_calls"] == 7, end)
        gate.close()
        check("the pool closes", pool.close() == 0 and pool.closed,
              pool.errors[-2000:])
        log = b"".join(open(path, "rb").read() for path in (
            home + "/.agentnode/log/agentnode-gate.jsonl", gate.log_path))
        check("no argument is in a log", b"Chicago" not in log and
              b"hello" not in log)
        check("the log has the calls", len([
            e for e in harness.json_lines(
                home + "/.agentnode/log/agentnode-gate.jsonl")
            if e["event"] == "mcp_call" and e["method"] == "tools/call"])
            == 7)
    finally:
        mcp_setup.forget(home)
    harness.finish()


main()
