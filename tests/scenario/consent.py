#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lockfile comes with a repository, consent does not: an entry runs where
it was installed or sealed by the user, wherever the file lies; one that was
written by somebody else, however well sealed, is refused by its code before
anything starts, and the refusal is in the chain."""
import hashlib
import json
import os

import engine_case
import harness
import mcp_setup
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
MUTABLE = {"installed_at", "last_trust_check", "trust_level", "source",
           "install_path", "install_mode", "capability_ids", "build_mode",
           "pinnable", "effective_host_trust_policy_at_install", "_integrity"}


def digest(value):
    return hashlib.sha256(json.dumps(
        value, sort_keys=True, separators=(",", ":"),
        ensure_ascii=False).encode()).hexdigest()


def sealed(lock):
    """Seals as anybody can compute them: they have no key."""
    for entry in lock["packages"].values():
        entry["_integrity"] = {
            "algorithm": "sha256", "canonical_version": 4, "hash": digest(
                {k: v for k, v in entry.items() if k not in MUTABLE})}
    lock["structure_digest"] = {
        "algorithm": "sha256", "canonicalization_version": 1, "hash": digest({
            "kind": "agentnode.lock.structure",
            "lockfile_version": lock["lockfile_version"],
            "canonicalization_version": 1,
            "entries": [[slug, lock["packages"][slug]["_integrity"]]
                        for slug in sorted(lock["packages"])]})}
    return lock


def clone(lock):
    """A repository that somebody else wrote."""
    path = harness.folder()
    with open(os.path.join(path, "agentnode.lock"), "w",
              encoding="utf-8") as file:
        json.dump(lock, file)
    return path


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


def agreed(home):
    folder = clone(sealed(changed(
        home, mcp_allowed_domains=["one.example.com:443"])))
    refused(home, "before lock seal", folder, "consent_missing")
    result = agentnode(home, "lock", "seal", cwd=folder)
    check("lock seal says to what", result.code == 0 and "plain" in result.out
          and "one.example.com:443" in result.out, result)
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
