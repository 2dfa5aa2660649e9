#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Variables an installation keeps: each run has them and the call's own
before them, they are part of what is sealed and agreed to, and none of them
can say what the sandbox says, whoever wrote the lockfile."""
import json
import os

import engine_case
import harness
import mcp_setup
import schema_check
from consent_seal import clone, sealed
from harness import agentnode, check

SERVER = """
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        result = {"protocolVersion": m["params"]["protocolVersion"],
                  "capabilities": {"tools": {}},
                  "serverInfo": {"name": "plain", "version": "1"}}
    elif m.get("method") == "tools/list":
        result = {"tools": [{"name": "env-" + name.lower(),
                             "description": value,
                             "inputSchema": {"type": "object"}}
                            for name, value in os.environ.items()]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}),
          flush=True)
"""
OURS = ("PATH", "path", "HOME", "HTTPS_PROXY", "https_proxy", "NO_PROXY",
        "LD_PRELOAD", "LD_LIBRARY_PATH", "NODE_OPTIONS", "NODE_PATH",
        "NODE_USE_ENV_PROXY", "PYTHONPATH", "PYTHONSTARTUP", "SSL_CERT_FILE",
        "AGENTNODE_HOME", "BASH_ENV")
WORD = "a b=c \u00e9\"$(x)"


def environment(home, *options, cwd=None):
    """What the server finds, as {NAME in small letters: value}."""
    result = agentnode(home, "mcp", "tools", "--json", *options, "plain",
                       timeout=120, cwd=cwd or home)
    if not check("mcp tools " + " ".join(options), result.code == 0, result):
        return {}
    return {tool["name"][4:]: tool["description"]
            for tool in result.json()["tools"]}


def kept(home):
    found = environment(home)
    check("what was installed arrives", found.get("colour") == "blue"
          and found.get("place") == "/state/file", found)
    found = environment(home, "--env", "COLOUR=red")
    check("the call's own counts", found.get("colour") == "red"
          and found.get("place") == "/state/file", found)
    entry = mcp_setup.lock(home)["packages"]["plain"]
    check("it stands in the entry", entry["env"] == {
        "COLOUR": "blue", "PLACE": "/state/file", "WORDS": WORD}, entry)
    check("and is sealed", entry["_integrity"]["canonical_version"] == 4
          and agentnode(home, "lock", "verify").code == 0)
    shown = agentnode(home, "info", "plain")
    check("info shows it", "sets" in shown.out and "COLOUR" in shown.out
          and "/state/file" in shown.out and shown.out.isascii(), shown.out)
    shown = agentnode(home, "info", "plain", "--json")
    fault = schema_check.check_text(shown.out, harness.SOURCE, "info")
    check("info --json shows it", not fault
          and shown.json()["env"] == entry["env"], fault)
    records = [r["fields"] for r in agentnode(
        home, "audit", "show", "--json", "--last",
        "100").json()["records"] if r["event"] == "install"]
    check("the record has names, no values", sorted(records[0]["env"]) == [
        "COLOUR", "PLACE", "WORDS"] and "/state/file" not in
        json.dumps(records), records)


def by_hand(home):
    """A lockfile that somebody wrote, sealed and even agreed to."""
    for name, value in [(name, "/x") for name in OURS] + [
            ("API_KEY", "x"), ("GITHUB_TOKEN", "x")]:
        lock = mcp_setup.lock(home)
        lock["packages"]["plain"]["env"] = {name: value}
        folder = clone(sealed(lock))
        for agreed in (False, True):
            result = agentnode(home, "mcp", "run", "plain", cwd=folder,
                               timeout=60)
            check(f"env.{name} in a lockfile is refused, agreed {agreed}",
                  result.code == 125 and "not_runnable: " in result.err
                  and f"env.{name}" in result.err, result)
            if not agreed:
                check(f"{name}: lock seal", agentnode(
                    home, "lock", "seal", cwd=folder).code == 0)
        row = agentnode(home, "list", "--json",
                        cwd=folder).json()["packages"][0]
        check(f"list says that env.{name} cannot run", not row["runnable"]
              and f"env.{name}" in row["fault"], row)
    lock = mcp_setup.lock(home)
    lock["packages"]["plain"]["env"]["COLOUR"] = "green"
    folder = clone(sealed(lock))
    result = agentnode(home, "mcp", "run", "plain", cwd=folder, timeout=60)
    check("another value needs another consent", result.code == 125
          and "consent_missing" in result.err, result)
    result = agentnode(home, "lock", "seal", cwd=folder)
    check("lock seal says it", 'sets {"COLOUR": "green"' in result.out,
          result)
    found = environment(home, cwd=folder)
    check("then it is set", found.get("colour") == "green", found)
    for value in (1, "a\u0001b", "x" * 1025, None, {}):
        lock["packages"]["plain"]["env"]["COLOUR"] = value
        result = agentnode(home, "mcp", "run", "plain",
                           cwd=clone(sealed(lock)), timeout=60)
        check(f"env of {str(value)[:9]!r} is no lockfile", result.code == 125
              and "bad_lockfile" in result.err
              and "env.COLOUR" in result.err, result)


def refused(home, folder):
    before = mcp_setup.lock(home)
    many = [word for i in range(33) for word in ("--env", f"N{i}=x")]
    for name, words, says in (
            [(name, ("--env", name + "=/x"), f"'{name}'") for name in OURS]
            + [("no =", ("--env", "COLOUR"), "NAME=VALUE"),
               ("no name", ("--env", "=x"), "no name"),
               ("a digit first", ("--env", "9A=x"), "'9A'"),
               ("a dash", ("--env", "A-B=x"), "'A-B'"),
               ("a long name", ("--env", "A" * 65 + "=x"), "no name"),
               ("a long value", ("--env", "A=" + "x" * 1025), "1024"),
               ("a line end", ("--env", "A=x\ny"), "control"),
               ("no UTF-8", ("--env", "A=\udcff"), "UTF-8"),
               ("a key", ("--env", "OPENAI_API_KEY=sk-x"), "key"),
               ("twice", ("--env", "A=1", "--env", "A=2"), "once"),
               ("too many", tuple(many), "32")]):
        result = agentnode(home, "mcp", "install", folder, *words)
        check(f"--env, {name}: is refused", result.code == 2
              and says in result.err and result.err.count("\n") == 1, result)
        check(f"--env, {name}: no value is repeated",
              "sk-x" not in result.err, result.err)
    check("nothing was installed", mcp_setup.lock(home) == before)


def main():
    harness.need("podman")
    home = mcp_setup.home()
    folder = mcp_setup.package({"server.py": SERVER}, "plain")
    mcp_setup.install(home, folder, "--entry", "server.py", "--env",
                      "COLOUR=blue", "--env", "PLACE=/state/file", "--env",
                      "WORDS=" + WORD)
    volume = mcp_setup.lock(home)["packages"]["plain"]["mcp_sandbox_volume"]
    try:
        kept(home)
        by_hand(home)
        refused(home, folder)
    finally:
        engine_case.podman("volume", "rm", "-f", volume)
    harness.finish()


main()
