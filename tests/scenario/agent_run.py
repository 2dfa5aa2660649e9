#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode agent run`: off until the host says so; functions in Python and
JavaScript and declared steps; models and tools through the ports, within
their lists and counts; the result, the record of the run, its limits; and
that a run ends with everything it started, however one of its parts dies."""
import json
import os
import secrets
import signal
import subprocess
import time

import agent_case
import engine_case
import harness
import machine_pace
import mcp_setup
from harness import check

HOST = {"agent_sandbox": {"enabled": True, "llm": {
    "max_calls": 100, "max_input_chars": 100000,
    "max_output_chars": 100000}},
    "llm": {"default_provider": "openai", "default_model": "gpt-4o-mini"}}
HOST.update(mcp_setup.mirrors())
case = agent_case.AgentCase(HOST)
resolver = case.dns.address


def config(key, value):
    result = case.run("config", "set", key, value)
    return check(f"config set {key}", result.code == 0, result)


# The registry is a real name: the host's own resolver while it installs.
case.run("config", "unset", "egress.resolver")
mcp_setup.install(case.home, mcp_setup.EVERYTHING, "--name", "everything")
config("egress.resolver", resolver)
for name in ("py", "node", "steps"):
    case.install(name)


def value(result):
    try:
        return json.loads(result.out)
    except ValueError:
        return {}


# ---- off by default -----------------------------------------------------------
config("agent_sandbox.enabled", "false")
result = case.agent("py-agent")
check("off: refused with its reason and exit 125",
      result.code == 125 and "agent_sandbox_disabled" in result.err
      and "AGENTNODE_AGENT_SANDBOX=1" in result.err, result)
result = case.agent("py-agent", {}, AGENTNODE_AGENT_SANDBOX=1)
check("AGENTNODE_AGENT_SANDBOX=1 turns it on for one shell",
      result.code == 0 and value(result).get("ok") is True, result)
config("agent_sandbox.enabled", "true")

# ---- a function in Python -----------------------------------------------------
result = case.agent("py-agent", {"do": ["llm", "tool", "async",
                                        "tool_forbidden"], "n": 7})
got = value(result).get("value") or {}
check("the function's result is one line of JSON", result.code == 0
      and value(result).get("ok") is True, result)
check("goal and input arrive", got.get("goal") == "ask and call"
      and got.get("rest") == {"n": 7}, got)
check("call_llm: the host's model answers",
      (got.get("llm") or {}).get("value") == {
          "role": "assistant", "content": "The answer is forty-two."}, got)
check("run_tool: the tool ran in its own sandbox",
      (got.get("tool") or {}).get("ok") is True
      and got["tool"]["value"].get("success") is True
      and "hello" in json.dumps(got["tool"]["value"].get("result")), got)
check("both may be awaited", "later" in json.dumps(got.get("async")), got)
check("a package that is not listed is refused",
      (got.get("tool_forbidden") or {}).get("ok") is False
      and got["tool_forbidden"].get("code") == "tool_not_allowed", got)
check("the agent's own words are not in the result",
      "own words" not in result.out, result)
result = case.agent("py-agent", {}, "--goal", "another", "--verbose")
check("--goal", (value(result).get("value") or {}).get("goal") == "another",
      result)
check("--verbose shows the agent's words", "own words" in result.err
      and "complaints" in result.err, result)
result = case.agent("py-agent", {"do": ["fail"]})
check("a function that raises: exit 1 and its error",
      result.code == 1 and value(result).get("ok") is False
      and "gave up" in value(result).get("error", ""), result)
result = case.agent("py-agent", {"do": ["noise"]})
check("bytes that look like answers are the agent's own output",
      result.code == 0 and value(result).get("ok") is True
      and "\x1b" not in result.out, result)
result = case.agent("py-agent", {"do": ["environment"]})
env = (value(result).get("value") or {}).get("environment") or {}
check("its environment has the broker and a key worth nothing",
      env.get("OPENAI_BASE_URL") == "http://127.0.0.1:4100/openai/v1"
      and "no-key-here" in env.get("OPENAI_API_KEY", ""), env)

# ---- limits ------------------------------------------------------------------
result = case.agent("py-agent", {"do": ["llm_many"]})
answers = (value(result).get("value") or {}).get("llm_many") or []
check("max_calls: three calls are served, the others refused",
      [row.get("ok") for row in answers] == [True] * 3 + [False] * 2
      and all(row.get("code") == "budget_exceeded" for row in answers[3:]),
      answers)
result = case.agent("py-agent", {"do": ["tool_many"]})
answers = (value(result).get("value") or {}).get("tool_many") or []
check("max_tool_calls: three calls run, the others are refused",
      [row.get("ok") for row in answers] == [True] * 3 + [False] * 2
      and all(row.get("code") == "too_many_tool_calls"
              for row in answers[3:]), answers)

# ---- JavaScript and declared steps ---------------------------------------------
result = case.agent("node-agent", {"a": [1, 2]})
got = value(result).get("value") or {}
check("a function in JavaScript has the same surface",
      result.code == 0 and got.get("input") == {"a": [1, 2]}
      and (got.get("said") or {}).get("content")
      == "The answer is forty-two."
      and (got.get("tool") or {}).get("success") is True
      and got.get("refused") == "tool_not_allowed", result)
result = case.agent("steps-agent", {"text": "one", "more": "two"})
check("declared steps run in order, and as their conditions say",
      result.code == 0 and "two" in json.dumps(value(result).get("value"))
      and "one" not in json.dumps(value(result).get("value")), result)

# ---- what stays of a run -------------------------------------------------------
shown = case.run("runs", "list", "--json")
rows = [row for row in shown.json()["runs"]
        if row.get("package") == "node-agent"]
check("runs list has it", len(rows) == 1, shown)
record = case.run("runs", "show", rows[0]["run"], "--json")
check("runs show has its counts", record.code == 0
      and "everything" in record.out, record)
check("and no content", "forty-two" not in record.out
      and "What?" not in record.out, record)
audit = case.run("audit", "show", "--json", "--last", "1000").json()
ended = [r["fields"] for r in audit["records"] if r["event"] == "agent_run"]
check("an audit record per run, with counts and codes only",
      len(ended) >= 8 and "forty-two" not in json.dumps(ended)
      and any(f.get("tool_calls") for f in ended), ended[-1:])
usage = case.run("llm", "usage", "--json", "--by", "model")
check("llm usage sums it up", usage.code == 0 and "gpt-4o-mini" in usage.out,
      usage)
launched = [r["fields"] for r in json.loads(
    case.run("audit", "show", "--json").out)["records"]
    if r["event"] == "launch" and r["fields"].get("kind") == "agent"]
last = [f for f in launched if f["package"] == "py-agent"][-1]
check("i12: before it starts, what an agent may ask of models and tools is "
      "on record", last.get("llm", {}).get("allowed_models")
      == ["gemini/*", "anthropic/*", "openai/*"] and last["llm"]["max_calls"] == 3
      and last["llm"]["max_output_chars"] > 0
      and last["tools"]["packages"] == ["everything"]
      and last["tools"]["max_calls"] > 0 and last["max_runtime_seconds"] > 0,
      last)
check("and none of it is a key or an address of the host's provider",
      not any(k in json.dumps(launched) for k in agent_case.KEYS.values())
      and "127.0.0.1" not in json.dumps(launched), last)
check("the audit chain is whole", case.run("audit", "verify").code == 0)

# ---- the end of a run, whatever ends it -----------------------------------------


# Other runs on this machine are none of ours.
TOKEN = "spin-" + secrets.token_hex(8)
known = set()  # pids of the runs, and of children that were seen


def ours():
    """Processes of the runs that spinning() began, by name."""
    out = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                path = os.readlink(f"/proc/{entry}/exe")
                stat = engine_case.text(f"/proc/{entry}/stat")
                parent = int(stat.rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            if path.startswith(harness.BUILD) and known & {
                    int(entry), parent}:
                known.add(int(entry))
                out[os.path.basename(path)] = int(entry)
    return out


def spinners():
    """The agents of those runs: they have what they were asked."""
    out = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if TOKEN.encode() in file.read():
                        out.append(int(entry))
            except OSError:
                pass
    return out


def spinning():
    """A run whose agent asked a model and now spins."""
    calls = len(case.provider.calls)
    run = subprocess.Popen(
        [harness.AGENTNODE, "agent", "run", "py-agent", "--input",
         json.dumps({"do": ["llm", "spin"], "token": TOKEN})],
        env=harness.environment(case.home, **case.session.agent()),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    known.add(run.pid)
    harness.wait_until(lambda: len(case.provider.calls) > calls
                       and spinners(), 30)
    time.sleep(0.2)
    return run


def asking(step):
    """A run that asks a model until something changes."""
    calls = len(case.provider.calls)
    run = subprocess.Popen(
        [harness.AGENTNODE, "agent", "run", "py-agent", "--input",
         json.dumps({"do": [step]})],
        env=harness.environment(case.home, **case.session.agent()),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    check(f"{step}: a call reaches the provider", harness.wait_until(
        lambda: len(case.provider.calls) > calls, 30))
    return run


def said_by(run, step):
    out, err = run.communicate(timeout=60)
    try:
        return run.returncode, json.loads(out)["value"][step], err
    except (ValueError, KeyError, TypeError):
        return run.returncode, {}, out + err


def narrowings():
    audit = case.run("audit", "show", "--json", "--last", "4000").json()
    return [r["fields"] for r in audit["records"]
            if r["event"] == "policy_replace"]


# What the host takes away counts from the next call on, and cuts calls that
# it would not allow; what it adds does not.
LLM = "agent_sandbox.llm."
config(LLM + "allowed_models", '["openai/gpt-4o-mini"]')
run = asking("llm_silent")
config(LLM + "allowed_models", '["openai/*", "gemini/*"]')
time.sleep(0.7)
check("more than before: the call goes on, nothing is on record",
      run.poll() is None and narrowings() == [], narrowings())
config(LLM + "allowed_models", '["openai/gpt-5-mini"]')
code, said, err = said_by(run, "llm_silent")
check("a call of a model that was taken away is cut, the run is not ended",
      code == 0 and said.get("code") == "model_not_allowed", (said, err))
rows = narrowings()
check("i12: what is left is on record", len(rows) == 1
      and rows[0]["package"] == "py-agent"
      and rows[0]["llm"]["allowed_models"] == [], rows)
case.run("config", "unset", LLM + "allowed_models")
run = asking("llm_until")
config(LLM + "max_calls", "1")
check("less calls than before: on record", harness.wait_until(
    lambda: len(narrowings()) == 2, 5) and narrowings()[1]["llm"]["max_calls"]
      == 1, narrowings())
config(LLM + "max_calls", "100")
code, said, err = said_by(run, "llm_until")
check("it holds for the next call, and is not taken back", code == 0
      and said.get("served") == 1 and said.get("code") == "budget_exceeded"
      and len(narrowings()) == 2, (said, err))

# What the ledger holds it to, or that it may run at all, ends it.
run = spinning()
config("llm.agent_day.tokens", "1000000")
said = run.communicate(timeout=30)[1]
check("a budget that was not there before: the run is ended, and says why",
      run.returncode != 0 and "policy_changed" in said, said)
case.run("config", "unset", "llm.agent_day.tokens")
run = spinning()
config("agent_sandbox.enabled", "false")
said = run.communicate(timeout=30)[1]
check("agents turned off: the run is ended",
      run.returncode != 0 and "policy_changed" in said, said)
config("agent_sandbox.enabled", "true")
run = spinning()
run.send_signal(signal.SIGTERM)
said = run.communicate(timeout=30)[1]
check("a signal ends it in order", not spinners() and run.returncode != 0,
      (run.returncode, said))
check("and is said to have done so", "stopped: a signal came" in said, said)
result = harness.agentnode_into("/dev/full", case.home, "agent", "run",
                                "py-agent", **case.session.agent())
check("a result that cannot be written is none", harness.is_lost(result),
      result)
path = os.path.join(harness.folder(), "endless")
os.mkdir(path)
for name, text in (("main.mjs", "setInterval(() => console.log('on'), 10);\n"),
                   ("agentnode.yaml", """manifest_version: "0.3"
package_id: endless-agent
package_type: agent
name: Writes on
summary: A program that writes until it is ended
publisher: agentnode-tests
version: 1.0.0
runtime: node
agent:
  goal: write
  limits: {max_runtime_seconds: 60}
  command: [node, /pack/main.mjs]
""")):
    with open(os.path.join(path, name), "w", encoding="utf-8") as file:
        file.write(text)
result = case.run("install", path, "--json", timeout=60)
check("a program that writes on is installed", result.code == 0, result)
result = harness.agentnode_into(None, case.home, "agent", "run",
                                "endless-agent", **case.session.agent())
check("its reader left: it is ended, and that is said", result.code == 137
      and "reader_left: " in result.err, result)
result = harness.agentnode_into("/dev/full", case.home, "agent", "run",
                                "endless-agent", **case.session.agent())
check("a full disk is said too", harness.is_lost(result), result)

slowest = 0.0
for victim in ("agentnode", "agentnode-gate", "agentnode-llm-broker",
               "agentnode-llm-key", "agentnode-ledger"):
    run = spinning()
    pids = ours()
    check(f"{victim} is alive and so is the agent",
          victim in pids and spinners(), pids)
    deadline = machine_pace.Deadline(1)
    os.kill(pids[victim], signal.SIGKILL)
    check(f"{victim} killed: the agent is dead within a second",
          deadline.wait(lambda: not spinners()), deadline)
    slowest = max(slowest, deadline.took or 0)
    check(f"{victim} killed: the run says so",
          run.communicate(timeout=30) and run.returncode != 0,
          run.returncode)
    harness.wait_until(lambda: not ours(), 10)
    check(f"{victim} killed: none of ours stays", not ours(), ours())
print(f"# slowest death {slowest * 1000:.0f} ms")
case.run("sandbox", "gc")
left = engine_case.podman("ps", "-a", "--filter", "label=agentnode.package="
                          "py-agent", "--format", "{{.Names}}")
check("the engine has no container of it", left.stdout.strip() == "", left)

case.close()
harness.finish()
