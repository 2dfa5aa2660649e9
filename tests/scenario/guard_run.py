#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guard before `run`: rules, arguments and rates are asked before anything
starts, a refusal is on record, a person at a terminal can be asked, and CI or
a pipe cannot."""
import json
import os
import pty
import select
import subprocess
import time

import harness
import pack_runs
from harness import check

case = pack_runs.PackCase()
FILES = {"tools.py": """
def call(**arguments):
    return {"got": sorted(arguments)}
"""}
SCHEMA = {"type": "object", "required": ["path"], "properties": {
    "path": {"type": "string", "maxLength": 40},
    "n": {"type": "integer", "minimum": 1},
    "link": {"type": "string", "format": "uri"},
    "text": {"type": "string"}}}
case.put("guarded", FILES, [
    {"name": "delete_rows", "entrypoint": "tools:call"},
    {"name": "get_rows", "entrypoint": "tools:call",
     "input_schema": SCHEMA},
    {"name": "tidy", "entrypoint": "tools:call", "action_type": "delete"},
    {"name": "frob", "entrypoint": "tools:call"}])


def launches():
    return len(case.audit("launch"))


def refused(name, result, code, *words):
    check(name, result.code == 125 and f"{code}: " in result.err
          and all(word in result.err for word in words), result)


def terminal(answer, *argv, **env):
    """The command on a terminal of its own; what it said and its code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [harness.AGENTNODE, *argv], stdin=theirs, stderr=theirs,
        stdout=subprocess.PIPE, start_new_session=True,
        env=harness.environment(case.home, **env))
    os.close(theirs)
    said, end = b"", time.monotonic() + 90
    while time.monotonic() < end:
        ready, _, _ = select.select([ours], [], [], 1)
        if ready:
            try:
                said += os.read(ours, 4096)
            except OSError:
                break
            if answer is not None and b"[y/N]" in said:
                os.write(ours, answer)
                answer = None
        elif process.poll() is not None:
            break
    out = process.stdout.read()
    return process.wait(30), out + said


# Consent at install.
result = case.tool("guarded/delete_rows", {})
check("a consented tool that deletes runs", result.code == 0
      and json.loads(result.out) == {"got": []}, result)
check("and one that declares it", case.tool("guarded/tidy", {}).code == 0)
check("the call is on record", any(
    row["package"] == "guarded" and row["allowed"] == 1
    and row["tools"] == {"delete_rows": 1} and row["kind"] == "run"
    for row in case.audit("guard_calls")), case.audit("guard_calls"))

# The rules.
before = launches()
case.run("guard", "set", "delete", "deny")
refused("the rules deny", case.tool("guarded/delete_rows", {}),
        "guard_denied", "guarded/delete_rows", "guard set")
refused("what a tool declares counts", case.tool("guarded/tidy", {}),
        "guard_denied")
check("the refusal is on record", [
    row["code"] for row in case.audit("refusal")] == ["guard_denied"] * 2,
    case.audit("refusal"))
case.run("guard", "unset", "delete")
refused("strict", case.tool("guarded/frob", {}, AGENTNODE_GUARD_STRICT=1),
        "guard_denied", "AGENTNODE_GUARD_STRICT")

# The arguments.
for given, words in (({}, ("lack",)), ({"path": 1}, ("type", "$.path")),
                     ({"path": "a;b"}, ("shell",)),
                     ({"path": "../a"}, ("climbs",)),
                     ({"path": "x" * 41}, ("too long",)),
                     ({"path": "a", "n": 0}, ("range",)),
                     ({"path": "a", "text": "https://a.example/"},
                      ("URL", "$.text"))):
    refused(f"arguments {json.dumps(given)[:40]}",
            case.tool("guarded/get_rows", given), "guard_arguments", *words)
check("nothing of it was started", launches() == before)
result = case.tool("guarded/get_rows", {
    "path": "/etc/x", "n": 3, "link": "https://a.example/", "more": [1]})
check("what is in order runs", result.code == 0, result)

# Somebody to ask, and nobody.
path = os.path.join(case.home, ".agentnode", "consent.json")
with open(path) as file:
    kept = json.load(file)
for item in kept["consents"]:
    item.pop("guard")
with open(path, "w") as file:
    json.dump(kept, file)
before = launches()
refused("without a terminal a prompt is a denial",
        case.tool("guarded/delete_rows", {}), "guard_consent", "delete")
for env in ({"CI": "1"}, {"GITHUB_ACTIONS": "true"},
            {"AGENTNODE_NON_INTERACTIVE": "1"}):
    code, said = terminal(b"y\n", "run", "guarded/delete_rows", **env)
    check(f"nor is it asked with {env}", code == 125
          and b"[y/N]" not in said and b"guard_consent" in said, said)
for answer in (b"\n", b"n\n", b"yes please\n", b"Y\n", b"\x04"):
    code, said = terminal(answer, "run", "guarded/delete_rows")
    check(f"{answer} is a no", code == 125 and b"[y/N]" in said
          and b"guard_consent" in said, said)
check("nothing was started", launches() == before)
code, said = terminal(b"y\n", "run", "guarded/delete_rows")
check("y is a yes", code == 0 and b'"got"' in said and b"delete" in said, said)
code, said = terminal(b"y\n", "run", "guarded/get_rows", "--arg", "path=a;b")
check("so for arguments that may be asked about", code == 0
      and b"shell" in said, said)
code, said = terminal(b"y\n", "run", "guarded/get_rows", "--arg", "path=../a")
check("others are denied there too", code == 125
      and b"[y/N]" not in said, said)
code, said = terminal(b"y\n", "run", "guarded/get_rows", "--arg", "path=a;b",
                      "--arg", "text=../a")
check("what is denied is found behind what is asked about", code == 125
      and b"[y/N]" not in said and b"climbs" in said, said)
check("lock seal agrees again", case.run("lock", "seal").code == 0)

# The rate.
case.run("config", "set", "guard.rate_limits", json.dumps(
    {"guarded": {"calls_per_hour": 100, "calls_per_minute": 100,
                 "burst_size": 100}}))
made = len(case.audit("guard_calls"))
case.run("config", "set", "guard.rate_limits", json.dumps(
    {"guarded": {"calls_per_hour": made + 1}}))
check("one more is made", case.tool("guarded/frob", {}).code == 0)
before = launches()
refused("then there is no room", case.tool("guarded/frob", {}),
        "guard_rate_limit", "calls per hour")
check("and nothing was started", launches() == before)
check("that is on record", case.audit("guard_decision")[-1]["code"]
      == "guard_rate_limit", case.audit("guard_decision"))
check("the chain is whole", case.run("audit", "verify").code == 0)
case.close()
harness.finish()
