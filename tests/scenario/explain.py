#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may run where, on the command line: the matrix is the golden table,
explain tells of each kind what a run would decide, and a tier that is only
written into the lockfile changes nothing anywhere."""
import json
import os

import harness
import schema_check
from consent_seal import sealed
from harness import agentnode, check

HASH = "sha256:" + "a" * 64
VOLUME = "agentnode-pack-%s-1.0.0-aaaaaaaa"


def packages():
    """An entry of each kind, as an installation writes them."""
    common = {"version": "1.0.0", "trust_level": "unverified",
              "artifact_hash": HASH, "volume_content_hash": HASH}
    pin = {"manager": "local", "package": "one", "version": "1.0.0"}
    return {
        "a-server": {**common, "package_type": "toolpack", "runtime": "mcp",
                     "mcp_install": pin,
                     "mcp_preinstall": {**pin, "artifact_hash": HASH},
                     "mcp_preinstall_command": ["python", "/pack/s.py"],
                     "mcp_sandbox_volume": VOLUME % "a-server",
                     "volume_host_path": "/nowhere/_data",
                     "mcp_allowed_domains": ["api.example.com:443"],
                     "tools": ["look", "find"]},
        "a-pack": {**common, "package_type": "toolpack", "runtime": "python",
                   "entrypoint": "pack:run", "sandboxed": True,
                   "sandbox_volume": VOLUME % "a-pack",
                   "volume_host_path": "/nowhere/_data",
                   "tools": [{"name": "count"}],
                   "permissions": {"network_level": "none"}},
        "an-agent": {**common, "package_type": "agent", "runtime": "python",
                     "sandboxed": True, "sandbox_volume": VOLUME % "an-agent",
                     "volume_host_path": "/nowhere/_data",
                     "permissions": {"network_level": "none"},
                     "agent": {"entrypoint": "a:run", "goal": "find out",
                               "tool_access": {"allowed_packages":
                                               ["a-server"]},
                               "llm_access": {"enabled": False},
                               "limits": {"max_tool_calls": 3,
                                          "max_runtime_seconds": 60}}},
        "a-skill": {"version": "1.0.0", "package_type": "skill",
                    "runtime": "none", "trust_level": "unverified"},
    }


def write(home, entries):
    with open(os.path.join(home, ".agentnode", "agentnode.lock"), "w",
              encoding="utf-8") as file:
        json.dump(sealed({"lockfile_version": "0.1",
                          "updated_at": "2026-01-01T00:00:00Z",
                          "packages": entries}), file)


def explained(home, slug, **environment):
    result = agentnode(home, "explain", slug, "--json", **environment)
    if not check(f"explain {slug} --json", result.code == 0, result):
        return {}
    fault = schema_check.check_text(result.out, harness.SOURCE, "explain")
    check(f"explain {slug} fits its schema", fault == "", fault)
    return result.json()


def matrix(home):
    shown = agentnode(home, "explain", "--matrix")
    with open(os.path.join(harness.SOURCE, "tests", "golden",
                           "boundary.txt"), encoding="utf-8") as file:
        check("the matrix is the golden table", shown.code == 0
              and shown.out == file.read(), shown)
    result = agentnode(home, "explain", "--matrix", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE,
                                    "explain-matrix")
    check("the matrix fits its schema", fault == "", fault)
    check("every combination is there", len(result.json()["rows"]) == 480)
    for words in (["explain"], ["explain", "a", "b"],
                  ["explain", "--matrix", "a-pack"],
                  ["explain", "--frob", "a-pack"]):
        check(" ".join(words) + " is no use",
              agentnode(home, *words).code == 2)


def kinds(home):
    for slug, runs, kind in (("a-server", "sandbox", "mcp"),
                             ("a-pack", "sandbox", "toolpack"),
                             ("an-agent", "refused", "agent"),
                             ("a-skill", "nothing", "skill")):
        facts = explained(home, slug)
        check(f"{slug}: kind and place", facts["kind"] == kind
              and facts["runs"] == runs and facts["tier"] == "unverified"
              and facts["consent"] is False, facts)
    facts = explained(home, "a-server")
    check("network and tools of a server",
          facts["network"] == ["api.example.com:443"]
          and facts["tools"] == ["look", "find"], facts)
    facts = explained(home, "an-agent")
    check("an agent is off", facts["code"] == "agent_sandbox_disabled"
          and "agent_sandbox.enabled" in facts["remedy"], facts)
    facts = explained(home, "an-agent", AGENTNODE_AGENT_SANDBOX=1)
    check("unless the shell says so", facts["runs"] == "sandbox"
          and facts["tools"] == ["a-server"]
          and facts["limits"]["tool_calls"] == 3, facts)
    shown = agentnode(home, "explain", "a-server")
    check("for people", shown.code == 0 and "in the sandbox" in shown.out
          and "no attestation" in shown.out
          and "api.example.com:443" in shown.out
          and "lock seal" in " ".join(shown.out.split())
          and max(map(len, shown.out.splitlines())) <= 80, shown)
    shown = agentnode(home, "explain", "nothing-here")
    check("what is not installed", shown.code != 0
          and "agentnode list" in shown.err, shown)


def refused(home, name, code, slug, *words, **environment):
    result = agentnode(home, *words, slug, **environment)
    check(f"{name}: {code}", result.code == 125 and result.out == ""
          and f"{code}: " in result.err and result.err.count("\n") == 1,
          result)


def forged(home):
    """trust_level is a claim, whatever it claims."""
    entries = packages()
    before = {slug: explained(home, slug) for slug in entries}
    for claim in ("trusted", "curated", "verified", "no such tier", ""):
        for entry in entries.values():
            entry["trust_level"] = claim
        write(home, entries)
        for slug, was in before.items():
            now = explained(home, slug)
            check(f"{slug} claims '{claim}'", now["claimed_tier"] == claim
                  and all(now[key] == was[key] for key in was
                          if key not in ("claimed_tier", "words")), now)
    entries["an-agent"]["trust_level"] = "curated"
    write(home, entries)
    shown = agentnode(home, "explain", "an-agent")
    check("and it is said", "claims curated" in shown.out, shown)
    refused(home, "a curated agent by claim", "agent_sandbox_disabled",
            "an-agent", "agent", "run")
    agentnode(home, "config", "set", "trust.minimum_trust_level", "verified")
    for slug, *words in (("a-server", "mcp", "run"),
                         ("an-agent", "agent", "run")):
        refused(home, "a minimum, and a claim", "trust_too_low", slug, *words)
    facts = explained(home, "a-skill")
    check("a skill too", facts["code"] == "trust_too_low"
          and facts["runs"] == "refused", facts)
    agentnode(home, "config", "unset", "trust.minimum_trust_level")


def listed(home):
    """The tier of every list is the judged one, and the claim is said."""
    entries = packages()
    entries["a-pack"]["trust_level"] = "curated"
    write(home, entries)
    for verb, key in (("list", "packages"), ("mcp-list", "servers")):
        result = agentnode(home, *verb.split("-"), "--json")
        fault = schema_check.check_text(result.out, harness.SOURCE, verb)
        check(f"{verb} fits its schema", fault == "", fault)
        rows = result.json()[key]
        check(f"{verb}: nobody is more than unverified", rows and all(
            row["tier"] == "unverified" and not row["runnable"]
            for row in rows), rows)
    rows = {row["package"]: row for row in agentnode(
        home, "list", "--json").json()["packages"]}
    check("the claim is told", rows["a-pack"]["claimed_tier"] == "curated"
          and rows["a-server"]["claimed_tier"] == "", rows)
    check("what the boundary refuses", rows["an-agent"]["code"]
          == "agent_sandbox_disabled" and rows["a-pack"]["code"] == ""
          and "consent" in rows["a-pack"]["fault"], rows)
    shown = agentnode(home, "list")
    check("list for people", "claims curated" in shown.out
          and "unverified" in shown.out, shown)
    for slug in entries:
        result = agentnode(home, "info", slug, "--json")
        fault = schema_check.check_text(result.out, harness.SOURCE, "info")
        check(f"info {slug} fits its schema", fault == "", fault)
        shown = agentnode(home, "info", slug)
        check(f"info {slug} for people", shown.code == 0
              and "unverified" in shown.out
              and ("curated" in shown.out) == (slug == "a-pack"), shown)


def doctored(home, slug):
    result = agentnode(home, "sandbox", "doctor", slug, "--quick", "--json",
                       timeout=120)
    fault = schema_check.check_text(result.out, harness.SOURCE,
                                    "sandbox-doctor")
    check(f"doctor {slug} fits its schema", fault == "", fault)
    return {row["check"]: row for row in result.json()["checks"]
            if row["check"].startswith("package")}


def doctor(home):
    entries = packages()
    entries["a-pack"].update(trust_level="trusted", build_mode="host")
    write(home, entries)
    rows = doctored(home, "a-pack")
    check("doctor: the claim", rows["package_tier"]["ok"]
          and "claims trusted" in rows["package_tier"]["detail"], rows)
    check("doctor: built under an older policy",
          not rows["package_place"]["ok"]
          and "host_build_stale" in rows["package_place"]["detail"]
          and "older policy" in rows["package_place"]["detail"]
          and "install it again" in rows["package_place"]["fix"], rows)
    check("doctor: no consent", not rows["package_consent"]["ok"]
          and "consent_missing" in rows["package_consent"]["detail"]
          and "lock seal" in rows["package_consent"]["fix"], rows)
    check("doctor: no volume", not rows["package_volume"]["ok"], rows)
    rows = doctored(home, "an-agent")
    check("doctor: agents are off", not rows["package_place"]["ok"]
          and "agent_sandbox_disabled" in rows["package_place"]["detail"]
          and "AGENTNODE_AGENT_SANDBOX" in rows["package_place"]["fix"], rows)
    check("lock seal", agentnode(home, "lock", "seal").code == 0)
    rows = doctored(home, "a-skill")
    check("doctor: a skill is well", all(row["ok"] for row in rows.values())
          and "no code" in rows["package_place"]["detail"], rows)
    rows = doctored(home, "nothing-here")
    check("doctor: what is not installed",
          not any(row["ok"] for row in rows.values()), rows)
    os.unlink(os.path.join(home, ".agentnode", "consent.json"))
    for slug, status, code in (("a-skill", "verified", 0),
                               ("a-server", "changed", 6)):
        result = agentnode(home, "verify", slug, "--json")
        fault = schema_check.check_text(result.out, harness.SOURCE, "verify")
        check(f"verify {slug}: {status}", fault == "" and result.code == code
              and result.json()["packages"][0]["status"] == status, result)


def stale(home):
    """Built for the host, and the policy has another opinion."""
    entries = packages()
    entries["a-server"]["build_mode"] = "host"
    write(home, entries)
    facts = explained(home, "a-server")
    check("built for the host", facts["code"] == "host_build_stale"
          and facts["runs"] == "refused"
          and "install it again" in facts["words"][2]["text"], facts)
    refused(home, "it does not run", "host_build_stale", "a-server", "mcp",
            "run")
    entries["a-server"]["build_mode"] = "elsewhere"
    write(home, entries)
    refused(home, "a build mode that is none", "host_build_stale",
            "a-server", "mcp", "run")


def recorded(home):
    found = agentnode(home, "audit", "show", "--json", "--last",
                      "500").json()["records"]
    codes = [r["fields"]["code"] for r in found if r["event"] == "refusal"]
    check("each refusal is in the chain", codes == [
        "agent_sandbox_disabled", "trust_too_low", "trust_too_low",
        "host_build_stale", "host_build_stale"], codes)
    check("and nothing was launched",
          all(r["event"] != "launch" for r in found), found)


def main():
    home = harness.folder()
    os.makedirs(os.path.join(home, ".agentnode"), mode=0o700)
    write(home, packages())
    matrix(home)
    kinds(home)
    forged(home)
    listed(home)
    doctor(home)
    stale(home)
    recorded(home)
    harness.finish()


main()
