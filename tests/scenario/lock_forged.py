#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each field of an installed entry forged by hand, entries added, removed,
exchanged and transplanted, and files that are none: refused with a code
before any engine is asked, and told by `lock verify --json`. The lockfile is
opened once per run: nothing can be exchanged between reading and use."""
import copy
import json
import os
import re
import subprocess

import harness
import mcp_setup
import schema_check
from consent_seal import MUTABLE, sealed
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


def lockfile(home):
    return os.path.join(home, ".agentnode", "agentnode.lock")


def put(home, content):
    with open(lockfile(home), "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str)
                   else json.dumps(content, indent=1))


def verified(home, code):
    result = agentnode(home, "lock", "verify", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE, "lock-verify")
    answer = result.json() if fault == "" else {}
    if result.code != code or fault or answer["ok"] != (code == 0):
        check("lock verify --json", False, (fault, result))
    return answer


def refused(home, name, code, slug="plain"):
    result = agentnode(home, "mcp", "tools", slug, timeout=60)
    return check(f"{name}: 125, {code}", result.code == 125 and
                 f"{code}: " in result.err and result.out == "" and
                 result.err.count("\n") == 1, result)


# Words that are as well known as the ones they replace.
WORDS = {"toolpack": "agent", "mcp": "node", "restricted": "none"}


def other(value):
    """Something of the same type, and as well formed as can be."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return WORDS.get(value, value[:-1] + (
            "1" if value[-1:] != "1" else "2"))
    if isinstance(value, list):
        return value[:-1] + [other(value[-1])] if value else [
            {"name": "a", "version": "1", "integrity": "x"}]
    last = sorted(value)[-1]
    return {**value, last: other(value[last])}


def every_field(home, lock):
    entry = lock["packages"]["plain"]
    for name in sorted(entry):
        for what, change in (("changed", lambda e, n=name: e.update(
                {n: other(e[n])})), ("removed", lambda e, n=name: e.pop(n))):
            forged = copy.deepcopy(lock)
            change(forged["packages"]["plain"])
            put(home, forged)
            if name in MUTABLE and name != "_integrity":
                answer = verified(home, 0)
                check(f"{name} {what}: not sealed, decides nothing",
                      answer.get("ok"), answer)
                continue
            status = {row["package"]: row["status"]
                      for row in verified(home, 1).get("packages", [])}
            check(f"{name} {what}: told by lock verify",
                  status.get("other") == "verified" and status.get("plain")
                  in ("mismatch", "missing", "invalid"), status)
            refused(home, f"{name} {what}", "integrity_lockfile")
    forged = copy.deepcopy(lock)
    forged["packages"]["plain"]["trust_level"] = "curated"
    put(home, forged)
    row = next(r for r in agentnode(home, "list", "--json").json()["packages"]
               if r["package"] == "plain")
    check("a claimed tier is none", row["tier"] == "unverified", row)


def entries(home, lock):
    packages = lock["packages"]

    def file(change):
        forged = copy.deepcopy(lock)
        forged["packages"] = change
        return forged

    third = dict(packages, third=packages["other"])
    for name, change in (
            ("an entry more", third),
            ("an entry less", {"plain": packages["plain"]}),
            ("two that changed places", {"plain": packages["other"],
                                         "other": packages["plain"]}),
            ("one in place of the other", {"plain": packages["other"],
                                           "other": packages["other"]}),
            ("another name", {"plain": packages["plain"],
                              "0ther": packages["other"]})):
        put(home, file(change))
        answer = verified(home, 1)
        check(f"{name}: the digest over all does not fit",
              answer.get("structure") == "mismatch", answer)
        refused(home, name, "integrity_lockfile")
    forged = copy.deepcopy(lock)
    forged["packages"]["plain"]["_integrity"] = \
        packages["other"]["_integrity"]
    put(home, forged)
    refused(home, "the seal of another entry", "integrity_lockfile")
    forged = copy.deepcopy(lock)
    forged["packages"]["plain"]["mcp_allowed_domains"] = ["b.example.com"]
    put(home, sealed(forged))
    verified(home, 0)
    refused(home, "sealed by hand, without consent", "consent_missing")


def broken(home, lock):
    text = json.dumps(lock, indent=1)
    hash_ = lock["packages"]["plain"]["volume_content_hash"]
    twice = text.replace(f'"volume_content_hash": "{hash_}"',
                         f'"volume_content_hash": "{hash_}",\n'
                         f'"volume_content_hash": "{hash_}"', 1)
    for name, content, words in (
            ("a duplicate key", twice, r"line \d+, column \d+: duplicate"),
            ("another version", text.replace('"0.1"', '"0.2"'),
             "lockfile_version"),
            ("cut", text[:len(text) // 2], r"line \d+, column \d+"),
            ("a byte of no text", text[:-2] + "\udcff}", "line|UTF-8|utf"),
            ("two values", text + text, r"line \d+, column \d+"),
            ("an unknown field", text.replace(
                '"runtime"', '"run_time"', 1), "run_time"),
            ("an unknown key", text.replace(
                '"updated_at"', '"updated_by"', 1), "updated_by"),
            ("another type", re.sub(r'"version": "[^"]*"', '"version": 1',
                                    text, count=1), r"\.version"),
            ("empty", "", "agentnode.lock")):
        with open(lockfile(home), "wb") as file:
            file.write(content.encode("utf-8", "surrogateescape"))
        refused(home, name, "bad_lockfile")
        answer = verified(home, 1)
        check(f"{name}: said where", answer.get("structure") == "invalid"
              and re.search(words, answer["detail"]), answer)


def opened(home, name, code, engine):
    """How often a run opens the lockfile, and whether it asked an engine."""
    trace = os.path.join(harness.folder(), "trace")
    done = subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=open,openat,openat2,execve",
         "-o", trace, harness.AGENTNODE, "mcp", "tools", "plain"],
        env=harness.environment(home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
        check=False)
    with open(trace, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    count = sum('agentnode.lock"' in line and "ENOENT" not in line
                for line in lines)
    podman = any("execve" in line and "podman" in line for line in lines)
    check(f"{name}: opened once", done.returncode == code and count == 1,
          (done, count))
    check(f"{name}: {'an' if engine else 'no'} engine was asked",
          podman == engine, done)


def main():
    harness.need("podman", "strace")
    home = mcp_setup.home()
    folder = mcp_setup.package({"server.py": SERVER}, "plain")
    mcp_setup.install(home, folder, "--state", "1m", "--allow",
                      "a.example.com")
    mcp_setup.install(home, folder, "--name", "other")
    lock = mcp_setup.lock(home)
    try:
        check("as installed: verified", verified(home, 0)["structure"]
              == "verified")
        opened(home, "a good run", 0, True)
        every_field(home, lock)
        entries(home, lock)
        forged = copy.deepcopy(lock)
        forged["packages"]["plain"]["version"] = "6.6.6"
        put(home, forged)
        opened(home, "a refused run", 125, False)
        broken(home, lock)
        put(home, lock)
        check("as it was: verified", verified(home, 0)["ok"])
        found = agentnode(home, "audit", "show", "--json").json()["records"]
        codes = {r["fields"].get("code") for r in found
                 if r["event"] == "refusal"}
        check("the refusals are in the chain", {
            "integrity_lockfile", "bad_lockfile", "consent_missing"}
            <= codes, codes)
    finally:
        put(home, lock)
        mcp_setup.forget(home)
    harness.finish()


if __name__ == "__main__":
    main()
