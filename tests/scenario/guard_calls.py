#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guard in front of a real MCP server: what its rules deny, what nobody
agreed to, what the arguments hold and what is too much is answered by an
error with a code and a way out, is on record before that, and never reaches
the server; eight clients at once share one rate, to the call."""
import json
import os
import threading
import time

import engine_case
import harness
import mcp_setup
from harness import agentnode, check
from mcp_client import Client

home = mcp_setup.home(mcp_setup.MANY_CALLS, registry=True)
mcp_setup.install(home, mcp_setup.MEMORY, "--name", "memory",
                  "--state", "1m", "--env",
                  "MEMORY_FILE_PATH=/state/memory.jsonl")
mcp_setup.install(home, mcp_setup.MEMORY, "--name", "few",
                  "--tool", "read_graph", "--tool", "create_entities")


def client(slug="memory", **env):
    result = Client(mcp_setup.run_words(slug),
                    env=harness.environment(home, **env))
    result.initialize(60)
    return result


def call(one, tool, seconds, **arguments):
    return one.ask("tools/call", seconds, name=tool, arguments=arguments)


def entities(*names):
    return {"entities": [{"name": name, "entityType": "x",
                          "observations": []} for name in names]}


def reason(answer):
    return ((answer or {}).get("error") or {}).get("data", {}).get("reason")


def records(event):
    result = agentnode(home, "audit", "show", "--json", "--last", "4000")
    return [row["fields"] for row in result.json()["records"]
            if row["event"] == event]


def denied(name, answer, code, *words):
    text = json.dumps(answer)
    check(name, reason(answer) == code
          and all(word in text for word in words), answer)


# Consent at install covers the tools that are there.
result = agentnode(home, "guard", "check", "memory/delete_entities", "--json")
check("the installation was the consent", result.code == 0 and result.json()[
    "without_terminal"] == "allow" and result.json()["decision"] == "prompt",
    result)
one = client()
check("a consented tool works", "result" in call(one, "create_entities", 30, **entities("a", "b")))
check("and one that deletes", "result" in call(one, "delete_entities", 30, entityNames=["b"]))
one.close()
check("the calls of the run are counted on record", any(
    row["allowed"] == 2 and row["denied"] == 0 and row["tools"] == {
        "create_entities": 1, "delete_entities": 1}
    and row["package"] == "memory" for row in records("guard_calls")),
    records("guard_calls"))
check("and no denial is", records("guard_decision") == [])

# The rules deny; the others go on; nothing of it reaches the server.
result = agentnode(home, "guard", "set", "delete", "deny")
check("guard set delete deny", result.code == 0, result)
one = client()
answer = call(one, "delete_entities", 30, entityNames=["a"])
denied("a tool that deletes is denied", answer, "guard_denied",
       "memory/delete_entities", "delete", "guard set")
check("with an error code of its own", answer["error"]["code"] == -32003)
check("it is on record", [
    (row["package"], row["tool"], row["code"], row["actions"],
     row["decision"], row["kind"]) for row in records("guard_decision")] == [
    ("memory", "delete_entities", "guard_denied", "delete", "deny", "mcp")],
    records("guard_decision"))
graph = call(one, "read_graph", 30)
check("the others work, and nothing was deleted",
      '"a"' in json.dumps(graph).replace("\\", ""), graph)
check("tools/list still has it", "delete_entities" in json.dumps(
    one.ask("tools/list", 30)))
for wrong in ("../a", "x/../../y"):
    denied(f"arguments with {wrong}", call(one, "open_nodes", 30, names=[wrong]), "guard_arguments", "climbs",
        "$.names[0]")
denied("a URL where there is no network", call(one, "open_nodes", 30, names=["https://evil.example.com/x"]),
    "guard_arguments", "URL")
deep = []
for _ in range(30):
    deep = [deep]
denied("arguments too deep", call(one, "open_nodes", 30, names=deep),
       "guard_arguments", "deeper")
denied("arguments too long", call(one, "open_nodes", 60, names=["y" * (2 << 20)]), "guard_arguments", "1 MB")
denied("too many keys", call(one, "open_nodes", 60, names=[
    {str(i): 1 for i in range(10001)}]), "guard_arguments", "keys")
check("an absolute path is the sandbox's own", "result" in call(one, "open_nodes", 30, names=["/etc/passwd"]))
check("a text that only mentions a path or a URL passes", "result" in call(one, "search_nodes", 30, query="import x from '../y'; see https://a.example"))
one.close()
result = agentnode(home, "guard", "set", "delete", "allow", "--tool",
                   "memory/delete_entities")
check("allowed again for one tool", result.code == 0, result)
one = client()
check("it deletes", "result" in call(one, "delete_entities", 30, entityNames=["a"]))
denied("another that deletes does not", call(one, "delete_relations", 30, relations=[]), "guard_denied")
one.close()
agentnode(home, "guard", "unset", "delete", "--tool", "memory/delete_entities")
agentnode(home, "guard", "unset", "delete")

# Rules that change while the server runs.
one = client()
check("before a change", "result" in call(
    one, "delete_entities", 30, entityNames=["x"]))
agentnode(home, "guard", "set", "delete", "deny")
time.sleep(1)
denied("what is narrowed counts at once", call(
    one, "delete_entities", 30, entityNames=["x"]), "guard_denied")
agentnode(home, "guard", "unset", "delete")
time.sleep(1)
check("what the run began with comes back", "result" in call(
    one, "delete_entities", 30, entityNames=["x"]))
config = os.path.join(home, ".agentnode", "config.json")
with open(config) as file:
    text = file.read()
with open(config, "w") as file:
    file.write(text + "}")
time.sleep(1)
answer = call(one, "read_graph", 30)
check("rules that cannot be read allow nothing",
      reason(answer) == "guard_unavailable", answer)
with open(config, "w") as file:
    file.write(text)
one.close()

# Strict; and a tool that nobody agreed to.
one = client(AGENTNODE_GUARD_STRICT=1)
denied("strict denies", call(one, "delete_entities", 30, entityNames=["x"]),
       "guard_denied", "AGENTNODE_GUARD_STRICT")
check("strict lets read", "result" in call(one, "read_graph", 30))
one.close()
agentnode(home, "guard", "set", "read", "prompt")
one = client("few")
check("a prompt is answered by the consent to a listed tool",
      "result" in call(one, "read_graph", 30))
denied("a tool that is not listed", call(one, "delete_entities", 30,
       entityNames=[]), "tool_not_allowed")
one.close()
agentnode(home, "guard", "unset", "read")

# Somebody takes the consent to what tools do out: prompts are denials.
path = os.path.join(home, ".agentnode", "consent.json")
with open(path) as file:
    kept = file.read()
bare = json.loads(kept)
for item in bare["consents"]:
    item.pop("guard")
with open(path, "w") as file:
    json.dump(bare, file)
for env in ({}, {"CI": "true"}, {"AGENTNODE_NON_INTERACTIVE": "1"}):
    one = client(**env)
    denied(f"a prompt with nobody to ask is a denial {env}", call(one, "delete_entities", 30, entityNames=["x"]), "guard_consent",
        "lock seal", "delete")
    check("what is not asked about works", "result" in call(one, "read_graph", 30))
    one.close()
result = agentnode(home, "lock", "seal")
check("lock seal agrees again", result.code == 0, result)
one = client()
check("and the tool works", "result" in call(one, "delete_entities", 30, entityNames=["x"]))
one.close()

# One rate for eight processes.
mcp_setup.install(home, mcp_setup.MEMORY, "--name", "eight")
LIMIT = 25
agentnode(home, "config", "set", "guard.rate_limits", json.dumps(
    {"eight": {"calls_per_minute": LIMIT, "burst_size": 1000}}))
clients = [client("eight") for _ in range(8)]
BEGUN = time.monotonic()
counts, lock = {"made": 0, "refused": 0, "other": []}, threading.Lock()


def ask(one):
    for _ in range(8):
        answer = call(one, "read_graph", 60)
        with lock:
            if "result" in (answer or {}):
                counts["made"] += 1
            elif reason(answer) == "guard_rate_limit":
                counts["refused"] += 1
            else:
                counts["other"].append(answer)


threads = [threading.Thread(target=ask, args=(one,)) for one in clients]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("all of it within a minute of the first call",
      time.monotonic() - BEGUN < 30)
check(f"64 calls of 8 processes: exactly {LIMIT} are made",
      counts == {"made": LIMIT, "refused": 64 - LIMIT, "other": []}, counts)
denied("the refusal says how long", call(clients[0], "read_graph", 30),
       "guard_rate_limit", "25 calls per minute", "again in")
for one in clients:
    one.close()
check("each refusal is on record", len([
    row for row in records("guard_decision")
    if row["code"] == "guard_rate_limit"]) == 64 - LIMIT + 1)
result = agentnode(home, "audit", "verify")
check("the chain is whole", result.code == 0, result)
mcp_setup.forget(home)
harness.finish()
