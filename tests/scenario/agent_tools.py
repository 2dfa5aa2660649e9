"""An agent and its tools through `agentnode agent run`: run_tool and the
official MCP client, by TCP and by the unix socket, in the same sandbox of
the tool; what is refused; that each sandbox is its own; what a tool's death
is to its agent and the supervisor's to both; what is left."""
import glob
import json
import os
import shutil
import signal
import subprocess
import time

import engine_case
import harness
import machine_pace
import mcp_setup
import npm_cache
from harness import check
from tool_pool import odd_package

AGENT = os.path.join(harness.SOURCE, "tests", "agents", "tools")
ARGUMENT = b"argument-that-no-log-may-hold"


def start(home, *steps, **given):
    return subprocess.Popen(
        [harness.AGENTNODE, "agent", "run", "tools-agent", "--input",
         json.dumps({"do": steps, **given})], env=harness.environment(home),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True)


def run(home, *steps, **given):
    """The value of a run that went well."""
    process = start(home, *steps, **given)
    out, err = process.communicate(timeout=150)
    try:
        said = json.loads(out)
    except ValueError:
        said = {}
    if not check(f"a run of {', '.join(steps)}", process.returncode == 0 and
                 said.get("ok") is True, (out, err)):
        return {}
    return said["value"]


def audit(home, event):
    path = os.path.join(home, ".agentnode", "ledger", "audit.jsonl")
    return [e.get("fields", e) for e in harness.json_lines(path)
            if e.get("event") == event]


def containers(home):
    """Containers of any run that this home began."""
    listed = engine_case.podman(
        "ps", "-a", "--no-trunc", "--format", "{{.Names}} {{.ID}}").stdout
    return [line.split() for line in listed.splitlines()
            if any(e["run"] in line for e in audit(home, "launch"))]


def gates(process):
    """Pids of the gates of a run, the oldest first."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        stat = engine_case.text(path)
        fields = stat.rpartition(")")[2].split()
        if len(fields) > 19 and fields[1] == str(process.pid) and \
                "(agentnode-gate)" in stat:
            found.append((int(fields[19]), int(path.split("/")[2])))
    return [pid for _, pid in sorted(found)]


def clients(home):
    out = run(home, "sdk", "socket", "started", "rebinding", "many")
    names = ["odd__" + n for n in (
        "echo", "started", "never", "cancelled", "die", "big", "noise", "other", "where",
        "get_thing", "delete_thing", "send_thing", "poses", "claims",
        "append")] + ["keeper__echo", "keeper__append"]
    for way in ("sdk", "socket"):
        got = out.get(way, {})
        check(f"{way}: the official client lists the granted tools",
              got.get("names") == names, got)
        check(f"{way}: and calls one", got.get("said") ==
              {"a": "\u00e9\n", "b": [1.5]}, got)
        check(f"{way}: i109: a package that is not granted is an error",
              got.get("refused", {}).get("data", {}).get("code") ==
              "tool_not_allowed", got)
    same = {out.get("sdk", {}).get("started"),
            out.get("socket", {}).get("started"),
            (out.get("started") or {}).get("result")}
    check("every way leads to the same server", len(same) == 1 and
          None not in same, same)
    check("i107_rebinding: inside, too, only its own name and origin",
          out.get("rebinding") == {"own": 200, "host": 403, "origin": 403,
                                   "form": 415}, out.get("rebinding"))
    check("eight calls at a time, each with its answer",
          out.get("many") == list(range(8)), out.get("many"))


def refused(home):
    out = run(home, "missing", "other", "which", "big", "crowd", "die",
              "started")
    for step, code in (("missing", "not_installed"),
                       ("other", "tool_not_allowed"),
                       ("which", "bad_request"), ("big", "too_long"),
                       ("die", "tool_ended")):
        got = out.get(step) or {}
        check(f"{step} is {code}", got.get("code") == code, got)
        check(f"{step}: nothing of the host is in what it hears",
              home not in str(got) and "/tmp/" not in str(got), got)
    crowd = out.get("crowd") or []
    check("thirty calls at a time: some run, the others hear why",
          {c.get("code") for c in crowd if "code" in c} ==
          {"too_many_requests"} and any(c.get("success") for c in crowd),
          crowd)
    check("after a server's death the next call has a new one",
          (out.get("started") or {}).get("success") is True, out)


def apart(home):
    out = run(home, "where", "own")
    where = json.loads((out.get("where") or {}).get("result") or "{}")
    check("i01: a tool has nothing of its agent's environment", where and
          not any(k.startswith(("AGENTNODE", "OPENAI", "ANTHROPIC"))
                  for k in where["env"]), where.get("env"))
    check("nor a listener of its agent's", where.get("net", "").count(
        "\n") == 1, where.get("net"))
    check("nor its volume", where.get("mounts") and
          where["mounts"] != out["own"]["mounts"])
    launches = audit(home, "launch")[-2:]
    check("i12: agent and tool have a record each, before they start",
          sorted(e["kind"] for e in launches) == ["agent", "tool"], launches)
    check("each runs as a user of its own",
          len({e["uid"] for e in launches}) == 2, launches)


def kept(home):
    first = run(home, "kept").get("kept") or {}
    second = run(home, "kept").get("kept") or {}
    check("a tool's state is kept from run to run",
          first.get("result") == "x" and second.get("result") == "xx",
          (first, second))


def forged(home):
    process = start(home, "forge", "secret")
    out, err = process.communicate(timeout=100)
    check("i108: what an agent writes to its output is not its result",
          out.count(b"\n") == 1 and b"forged" not in out, out)
    logs = b"".join(open(path, "rb").read() for path in glob.glob(
        home + "/.agentnode/log/*.jsonl"))
    check("no argument is in any log", ARGUMENT not in logs)
    chain = open(home + "/.agentnode/ledger/audit.jsonl", "rb").read()
    runs = b"".join(open(path, "rb").read() for path in glob.glob(
        home + "/.agentnode/runs/*"))
    check("nor in the record of the run or the chain",
          ARGUMENT not in chain + runs)


def tool_dies(home):
    """The gate of a tool is killed: its call fails, the agent goes on."""
    process = start(home, "never", "started")
    check("two gates beside the run", harness.wait_until(
        lambda: len(gates(process)) == 2, 30), gates(process))
    harness.wait_until(lambda: len(containers(home)) == 2, 20)
    time.sleep(1)
    os.kill(gates(process)[1], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    value = json.loads(out or b"{}").get("value") or {}
    check("a tool's gate killed: the call fails",
          (value.get("never") or {}).get("code") == "gate_died", (out, err))
    check("and the agent goes on with a new one",
          (value.get("started") or {}).get("success") is True, value)
    check("nothing is left", harness.wait_until(
        lambda: not containers(home), 10), containers(home))


def supervisor_dies(home):
    process = start(home, "never")
    inner = set()

    def inside():
        inner.clear()
        for _, ident in containers(home):
            inner.update(engine_case.inside(ident))
        return len(inner) >= 4

    harness.wait_until(inside, 60, step=0.2)
    time.sleep(1)
    inside()
    dead, gone = machine_pace.Deadline(1), machine_pace.Deadline(5)
    process.kill()
    check("i04: the supervisor killed: agent and tool are dead within a "
          "second", dead.wait(lambda: not any(os.path.exists(
              f"/proc/{pid}") for pid in inner)) and len(inner) >= 4,
          (dead, inner))
    check("i04: and out of the engine within five", gone.wait(
        lambda: not containers(home)), (gone, containers(home)))
    process.communicate()


def cancelled(home):
    """Eight calls that would take for ever, taken back by the end of their
    connection or by MCP's notification: each one's place is free again, and
    the package heard of it."""
    out = run(home, "takeback", "took", "heard")
    check("calls that nobody waits for make room for others",
          out.get("took") == 8, out)
    check("the tool's server was told of each",
          json.loads((out.get("heard") or {}).get("result") or "[]") ==
          ["never: cancelled"] * 8, out)
    check("a cancelled call is the client's own error",
          out.get("takeback") == ["AbortError"] * 6 + ["McpError"] * 2,
          out.get("takeback"))
    with open(max(glob.glob(home + "/.agentnode/runs/*"),
                  key=os.path.getmtime), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    check("the record of the run has them",
          [e.get("code") for e in lines if e.get("event") == "tool"].count(
              "cancelled") == 8, lines)


def stopped(home):
    """Ctrl-C, with a call on its way."""
    process = start(home, "never")
    harness.wait_until(lambda: len(containers(home)) == 2, 30)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
    check("a signal ends agent and tool", process.returncode not in
          (0, -9), process.returncode)
    check("and both are gone when the command returns",
          containers(home) == [], containers(home))


def main():
    home = mcp_setup.home({"agent_sandbox": {"enabled": True}})
    folder = os.path.join(harness.folder(), "tools")
    shutil.copytree(AGENT, folder)
    shutil.copytree(
        os.path.join(npm_cache.ensure(npm_cache.SDK), "node_modules"),
        os.path.join(folder, "node_modules"), symlinks=True,
        ignore=shutil.ignore_patterns(".bin", "*.map", "*.d.ts", "*.d.mts",
                                      "*.d.cts"))
    odd = odd_package()
    try:
        mcp_setup.install(home, odd, "--name", "odd")
        mcp_setup.install(home, odd, "--name", "keeper", "--state", "1m",
                          "--tool", "echo", "--tool", "append")
        result = harness.agentnode(home, "install", folder, "--json",
                                   timeout=300)
        check("the agent is installed", result.code == 0, result)
        for part in (clients, refused, apart, kept, forged, cancelled, tool_dies,
                     supervisor_dies, stopped):
            print(f"# {part.__name__}", flush=True)
            part(home)
    finally:
        for entry in mcp_setup.lock(home)["packages"].values():
            engine_case.podman("volume", "rm", "-f",
                               entry.get("sandbox_volume")
                               or entry["mcp_sandbox_volume"])
    harness.finish()


main()
