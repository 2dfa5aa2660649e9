#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lockfile comes with a repository, consent does not: an entry runs where
it was installed or sealed by the user, wherever the file lies; one that was
written by somebody else, however well sealed, is refused by its code before
anything starts, and the refusal is in the chain."""
import os

import engine_case
import harness
import mcp_setup
import schema_check
from consent_seal import clone, sealed
from harness import agentnode, check

SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        result = {"protocolVersion": m["params"]["protocolVersion"],
                  "capabilities": {"tools": {}},
                  "serverInfo": {"name": "plain", "version": "1"}}
    elif m.get("method") == "tools/list":
        result = {"tools": [{"name": "look",
                             "inputSchema": {"type": "object"}}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}),
          flush=True)
"""


def runs(home, name, cwd):
    result = agentnode(home, "mcp", "tools", "plain", cwd=cwd, timeout=120)
    return check(name, result.code == 0 and "look" in result.out, result)


def refused(home, name, cwd, code, *words, slug="plain"):
    for verb in ("run", "tools"):
        result = agentnode(home, "mcp", verb, slug, cwd=cwd, timeout=120)
        check(f"{name}: mcp {verb} is 125, {code}", result.code == 125
              and f"{code}: " in result.err and result.out == ""
              and result.err.count("\n") == 1
              and all(word in result.err for word in words), result)


def changed(home, **fields):
    lock = mcp_setup.lock(home)
    lock["packages"]["plain"].update(fields)
    return lock


def foreign(home):
    secret = harness.folder()
    for name, fields, words in (
            ("a folder of the host", {"files": {
                "dir": secret, "target": "/files"}}, (secret[:20], "0 hosts")),
            ("a host", {"mcp_allowed_domains": ["evil.example.com:443"]},
             ("1 hosts (evil.example.com:443)", "no folder")),
            ("a name cut inside a letter", {"files": {
                "dir": "/" + "\u00e9" * 40}}, ()),
            ("state", {"state": {"size": 4096}}, ()),
            ("other words", {"mcp_command": ["server.py", "--evil"]}, ()),
            ("a tool more", {"tools": ["look", "send"]}, ()),
            ("another command", {"mcp_preinstall_command": [
                "python", "/pack/other.py"]}, ())):
        refused(home, name + ", seal as it was", clone(
            changed(home, **fields)), "integrity_lockfile")
        refused(home, name + ", sealed by hand", clone(
            sealed(changed(home, **fields))), "consent_missing",
            "agentnode.lock", "lock seal", "mcp install", *words)
    lock = mcp_setup.lock(home)
    lock["packages"]["other"] = lock["packages"]["plain"]
    refused(home, "another slug", clone(sealed(lock)), "consent_missing",
            slug="other")
    found = agentnode(home, "audit", "show", "--json", "--last",
                      "500").json()["records"]
    codes = [r["fields"]["code"] for r in found if r["event"] == "refusal"]
    check("each refusal is in the chain",
          codes.count("consent_missing") == 16
          and codes.count("integrity_lockfile") == 14, codes)
    check("nothing was launched by them",
          len([r for r in found if r["event"] == "launch"]) == 2, found)


def listed(home, name, cwd, consent):
    """What list, mcp list and info say is what mcp run does."""
    for argv, pick in ((["list"], lambda a: a["packages"][0]),
                       (["mcp", "list"], lambda a: a["servers"][0]),
                       (["info", "plain"], lambda a: a)):
        result = agentnode(home, *argv, "--json", cwd=cwd)
        verb = "-".join(argv[:2] if argv[0] == "mcp" else argv[:1])
        fault = schema_check.check_text(result.out, harness.SOURCE, verb)
        check(f"{name}: schema of {verb}", not fault, fault)
        row = pick(result.json())
        check(f"{name}: {verb}", row["consent"] == consent
              and row["runnable"] == consent
              and ("needs consent" in row["fault"]) == (not consent)
              and ("lock seal" in row["fault"]) == (not consent), row)
        result = agentnode(home, *argv, cwd=cwd)
        check(f"{name}: {verb} for people", result.code == 0
              and ("needs consent" in result.out) == (not consent), result)


def recorded(home):
    return [r["fields"] for r in agentnode(
        home, "audit", "show", "--json", "--last",
        "500").json()["records"] if r["event"] == "consent"]


def sealing_is_recorded(home, folder):
    """Before its effect: without a ledger there is no consent."""
    ledger = os.path.join(home, ".agentnode", "ledger")
    os.rename(ledger, ledger + ".away")
    with open(ledger, "w", encoding="ascii"):
        pass
    result = agentnode(home, "lock", "seal", cwd=folder)
    check("lock seal without a ledger is 70", result.code == 70
          and result.out == "", result)
    os.unlink(ledger)
    os.rename(ledger + ".away", ledger)
    listed(home, "not sealed without a ledger", folder, False)
    check("nothing is recorded yet", not recorded(home), recorded(home))
    check("lock seal", agentnode(home, "lock", "seal", cwd=folder).code == 0)
    found = recorded(home)
    check("lock seal is in the chain", len(found) == 1
          and found[0]["package"] == "plain"
          and found[0]["mcp_allowed_domains"] == ["one.example.com:443"]
          and found[0]["lockfile"] == os.path.join(folder, "agentnode.lock")
          and found[0]["whole"] is True and len(found[0]["entry_hash"]) == 64,
          found)
    shown = agentnode(home, "audit", "show", "--last", "500")
    check("audit show says so", " consent " in shown.out
          and "one.example.com:443" in shown.out, shown.out[-600:])
    check("the chain is whole",
          agentnode(home, "audit", "verify").code == 0)
    listed(home, "sealed", folder, True)


def agreed(home):
    folder = clone(sealed(changed(
        home, mcp_allowed_domains=["one.example.com:443"])))
    refused(home, "before lock seal", folder, "consent_missing")
    listed(home, "before lock seal", folder, False)
    sealing_is_recorded(home, folder)
    result = agentnode(home, "lock", "seal", cwd=folder)
    check("lock seal says to what", result.code == 0 and "plain" in result.out
          and "one.example.com:443" in result.out, result)
    check("a second one is no new consent", len(recorded(home)) == 1)
    runs(home, "after lock seal it runs", folder)
    runs(home, "and so does the installed one", home)
    check("remove takes it", agentnode(
        home, "remove", "plain", "--keep-volume", cwd=folder).code == 0)
    refused(home, "after remove", clone(sealed(changed(
        home, mcp_allowed_domains=["one.example.com:443"]))),
        "consent_missing")
    runs(home, "the installed one still runs", home)


def unreadable(home):
    file = os.path.join(home, ".agentnode", "consent.json")
    status = os.stat(file)
    check("the file is private", status.st_mode & 0o7777 == 0o600, status)
    with open(file, encoding="utf-8") as source:
        good = source.read()
    with open(file, "w", encoding="utf-8") as out:
        out.write(good[:-5])
    refused(home, "a cut consent.json", home, "consent_unreadable",
            "consent.json")
    row = agentnode(home, "list", "--json").json()["packages"][0]
    check("list with a cut consent.json", not row["runnable"]
          and "consent.json" in row["fault"], row)
    check("lock seal with a cut consent.json",
          agentnode(home, "lock", "seal").code == 5)
    os.unlink(file)
    refused(home, "no consent.json", home, "consent_missing")
    check("verify does not ask for it",
          agentnode(home, "verify", timeout=120).code == 0)
    check("lock seal consents again",
          agentnode(home, "lock", "seal").code == 0)
    runs(home, "as before", home)


def main():
    harness.need("podman")
    home = mcp_setup.home()
    folder = mcp_setup.package({"server.py": SERVER}, "plain")
    mcp_setup.install(home, folder, "--entry", "server.py")
    volume = mcp_setup.lock(home)["packages"]["plain"]["mcp_sandbox_volume"]
    try:
        runs(home, "as installed it runs", home)
        runs(home, "a copy of the lockfile runs as well",
             clone(mcp_setup.lock(home)))
        foreign(home)
        agreed(home)
        unreadable(home)
    finally:
        engine_case.podman("volume", "rm", "-f", volume)
    harness.finish()


main()
