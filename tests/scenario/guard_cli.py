#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Guard on the command line: the rules, their changes, what the team policy
leaves of them, and what `guard check` says of a tool; it leaves no trace."""
import json
import os
import threading

import harness
import schema_check
from consent_seal import sealed
from harness import agentnode, check

ACTIONS = ["read", "compute", "write_local", "write_external", "delete",
           "execute", "credential_use", "network_egress", "unknown"]
DEFAULTS = dict.fromkeys(ACTIONS, "allow") | dict.fromkeys(
    ["write_external", "delete", "execute", "credential_use", "unknown"],
    "prompt")
home = harness.folder()
folder = os.path.join(home, ".agentnode")
HASH = "sha256:" + "a" * 64


def entry(**more):
    return {"version": "1.0.0", "package_type": "toolpack", "runtime": "mcp",
            "trust_level": "curated", "artifact_hash": HASH,
            "permissions": {"network_level": "none", "allowed_domains": []},
            "mcp_allowed_domains": []} | more


def shown(**env):
    result = agentnode(home, "guard", "show", "--json", **env)
    fault = schema_check.check_text(result.out, harness.SOURCE, "guard-show")
    check("guard show --json keeps its schema", not fault, fault)
    return result.json()


def answers(**env):
    return {row["action"]: row["answer"] for row in shown(**env)["actions"]}


def asked(target, *more, **env):
    result = agentnode(home, "guard", "check", target, "--json", *more, **env)
    check(f"guard check {target} {' '.join(more)} exits 0",
          result.code == 0, result)
    fault = schema_check.check_text(result.out, harness.SOURCE, "guard-check")
    check("and keeps its schema", not fault, fault)
    return result.json()


def said(name, target, want, *more, **env):
    got = asked(target, *more, **env)
    wrong = {key: got[key] for key in want if got[key] != want[key]}
    check(name, not wrong, f"{wrong} instead of {want}")


# The rules.
check("the defaults", answers() == DEFAULTS, answers())
result = agentnode(home, "guard", "show")
check("guard show for people", result.code == 0 and "delete" in result.out
      and "strict: off" in result.out, result)
for action in ACTIONS:
    for answer in ("allow", "prompt", "deny"):
        result = agentnode(home, "guard", "set", action, answer)
        check(f"set {action} {answer}", result.code == 0
              and result.out == f"{action}: {answer}\n", result)
    check(f"{action} is denied now", answers()[action] == "deny")
    result = agentnode(home, "guard", "unset", action)
    check(f"unset {action}", result.code == 0
          and result.out == f"{action}: {DEFAULTS[action]}\n", result)
for argv, code in ((["set", "delete"], 2), (["set", "erase", "deny"], 2),
                   (["set", "delete", "maybe"], 2), (["unset"], 2),
                   (["set", "delete", "deny", "--tool", "no-slash"], 5),
                   (["set", "delete", "deny", "--tool", "UP/x"], 5),
                   (["show", "more"], 2), (["check"], 2)):
    result = agentnode(home, "guard", *argv)
    check("refused: guard " + " ".join(argv), result.code == code
          and result.err.count("\n") == 1, result)
for name, text in (
        ("an action that is none", {"a/b": {"erase": "deny"}}),
        ("an answer that is none", {"a/b": {"delete": "no"}}),
        ("a target that is none", {"a": {"delete": "deny"}})):
    result = agentnode(home, "config", "set", "guard.tool_overrides",
                       json.dumps(text))
    check("refused: " + name, result.code == 5, result)
for text in ({"a": {"calls_per_minute": 0}}, {"a": {"calls": 3}}, {"A": {}},
             {"a": 3}):
    result = agentnode(home, "config", "set", "guard.rate_limits",
                       json.dumps(text))
    check(f"refused: rates {text}", result.code == 5, result)

# A lockfile, and what is said of its tools.
lock = {"lockfile_version": "0.1", "packages": {
    "plain": entry(), "few": entry(tools=["delete_it", "get_it"]),
    "net": entry(permissions={"network_level": "restricted",
                              "allowed_domains": ["a.example.com:443"]},
                 mcp_allowed_domains=["a.example.com:443"]),
    "skill": entry(package_type="skill", runtime="none")}}
os.makedirs(folder, mode=0o700, exist_ok=True)
with open(os.path.join(folder, "agentnode.lock"), "w") as file:
    json.dump(sealed(lock), file)
said("nobody agreed", "plain/delete_x", {
    "decision": "prompt", "source": "global", "action_types": ["delete"],
    "action_types_source": "name", "consent": False, "risk_level": "medium",
    "risk_score": 40, "trust_level": "unverified", "strict_mode": False,
    "missing_consent": ["delete"], "without_terminal": "deny",
    "code": "guard_consent", "slug": "plain", "tool_name": "delete_x"})
result = agentnode(home, "lock", "seal")
check("lock seal is consent", result.code == 0, result)
said("agreed", "plain/delete_x", {
    "decision": "prompt", "consent": True, "missing_consent": [],
    "without_terminal": "allow", "code": ""})
said("a read", "plain/get_x", {
    "decision": "allow", "action_types": ["read"], "risk_level": "low"})
said("an unknown tool", "plain/frobnicate", {
    "decision": "prompt", "action_types": ["unknown"],
    "action_types_source": "unknown", "without_terminal": "allow"})
said("the network is a signal", "net/frobnicate", {
    "action_types": ["network_egress", "unknown"], "risk_level": "high",
    "action_types_source": "unknown+permissions"})
said("a listed tool", "few/delete_it", {"without_terminal": "allow"})
said("a tool that is not listed", "few/delete_more", {
    "without_terminal": "deny", "missing_consent": ["delete"]})
said("as if declared", "plain/get_x", {
    "action_types": ["execute"], "action_types_source": "declared",
    "decision": "prompt"}, "--action", "execute")
said("a skill", "skill/anything", {"decision": "allow", "source": "skill"})
for action, strict in (("delete", "deny"), ("write_external", "deny"),
                       ("execute", "deny"), ("unknown", "deny"),
                       ("credential_use", "prompt"),
                       ("write_local", "prompt"), ("read", "allow"),
                       ("compute", "allow"), ("network_egress", "allow")):
    said(f"strict: {action}", "plain/x", {
        "decision": strict, "strict_mode": True, "source": "global"
        if action == "credential_use" or strict == "allow" else "strict"},
        "--action", action, AGENTNODE_GUARD_STRICT=1)
for target, code in (("plain", 1), ("plain/", 1), ("none/x", 1), ("/x", 1)):
    result = agentnode(home, "guard", "check", target, "--json")
    check(f"guard check {target} is {code}", result.code == code
          and result.out == "" and result.err.count("\n") == 1, result)
result = agentnode(home, "guard", "check", "plain/x", "--action", "erase")
check("guard check with an action that is none", result.code == 1, result)
result = agentnode(home, "guard", "check", "plain/delete_x")
check("guard check for people", result.code == 0
      and "prompt" in result.out and "risk: medium" in result.out, result)

# One tool has its own answer; strict does not ask for it.
agentnode(home, "guard", "set", "delete", "deny")
result = agentnode(home, "guard", "set", "delete", "allow", "--tool",
                   "plain/delete_x")
check("set --tool", result.out == "plain/delete_x delete: allow\n", result)
said("its own answer wins", "plain/delete_x", {
    "decision": "allow", "source": "tool_override"})
said("the others keep theirs", "plain/delete_y", {
    "decision": "deny", "source": "global", "code": "guard_denied"})
said("strict ignores it", "plain/delete_x", {"decision": "deny",
     "source": "strict"}, AGENTNODE_GUARD_STRICT="true")
result = agentnode(home, "guard", "unset", "delete", "--tool",
                   "plain/delete_x")
check("unset --tool", result.out == "plain/delete_x delete: deny\n", result)
with open(os.path.join(folder, "config.json")) as file:
    text = file.read()
check("nothing is left of it", "tool_overrides" not in text, text)
agentnode(home, "guard", "unset", "delete")

# Many at once: none is lost.
threads = [threading.Thread(target=agentnode, args=(
    home, "guard", "set", "delete", "deny", "--tool", f"many/tool{i}"))
    for i in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("twelve changes at once", len(shown()["tool_overrides"]) == 12)

# The team policy only narrows.
MOUNTED = r"""
set -e
mkdir -p "$1/etc" && cp -a /etc/passwd /etc/group /etc/nsswitch.conf "$1/etc/"
mount --bind "$1/etc" /etc && mkdir -p /etc/agentnode
chmod 755 /etc/agentnode && cp "$2" /etc/agentnode/policy.json
chmod 644 /etc/agentnode/policy.json && shift 2 && exec "$@"
"""
UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]


def team(policy, *argv):
    scratch = harness.folder()
    os.chmod(scratch, 0o755)
    path = os.path.join(scratch, "policy.json")
    with open(path, "w") as file:
        json.dump(policy, file)
    return harness.run(*UNSHARE, "sh", "-c", MOUNTED, "sh", scratch, path,
                       harness.AGENTNODE, *argv,
                       env=harness.environment(home))


agentnode(home, "config", "set", "guard.tool_overrides", json.dumps(
    {"plain/delete_x": {"delete": "allow"}, "plain/get_x": {"read": "deny"}}))
for name, policy, target, want in (
        ("an action", {"guard": {"delete": "deny"}}, "plain/delete_x",
         "deny"),
        ("an action, less", {"guard": {"delete": "allow"}}, "plain/delete_y",
         "prompt"),
        ("a tool", {"guard": {"tool_overrides": {
            "plain/delete_x": {"delete": "prompt"}}}}, "plain/delete_x",
         "prompt"),
        ("a tool the user has nothing for", {"guard": {"tool_overrides": {
            "plain/list_x": {"read": "deny"}}}}, "plain/list_x", "deny"),
        ("a tool, wider", {"guard": {"tool_overrides": {
            "plain/get_x": {"read": "allow"}, "plain/delete_y": {
                "delete": "allow"}}}}, "plain/get_x", "deny"),
        ("a tool, wider than all", {"guard": {"tool_overrides": {
            "plain/delete_y": {"delete": "allow"}}}}, "plain/delete_y",
         "prompt"),
        ("a tool, with strict", {"guard": {"strict": True, "tool_overrides": {
            "plain/list_x": {"read": "deny"}}}}, "plain/list_x", "deny"),
        ("an action, with strict", {"guard": {"strict": True,
                                              "compute": "deny"}},
         "plain/count_x", "deny"),
        ("strict", {"guard": {"strict": True}}, "plain/delete_x", "deny"),
        ("no strict", {"guard": {"strict": False}}, "plain/delete_x",
         "allow")):
    result = team(policy, "guard", "check", target, "--json")
    check(f"the team's word on {name}", result.code == 0
          and result.json()["decision"] == want, result)
result = team({"guard": {"rate_limits": {"default": {"burst_size": 3}}}},
              "guard", "show", "--json")
check("the team's rate", result.code == 0 and result.json()["rate_limits"][
    "toolpack"] == {"burst_size": 3, "calls_per_minute": 60,
                    "calls_per_hour": 1000}, result)

# Rates.
agentnode(home, "config", "set", "guard.rate_limits", json.dumps(
    {"default": {"calls_per_minute": 7}, "plain": {"burst_size": 2}}))
rates = shown()["rate_limits"]
check("rates of all and of one", rates["toolpack"]["calls_per_minute"] == 7
      and rates["agent"] == {"burst_size": 20, "calls_per_minute": 7,
                             "calls_per_hour": 2000}
      and rates["packages"] == {"plain": {
          "burst_size": 2, "calls_per_minute": 7, "calls_per_hour": 1000}},
      rates)
agentnode(home, "config", "set", "guard.rate_limits", json.dumps(
    {"default": {"calls_per_minute": 5000}}))
check("strict is a ceiling of rates", shown(
    AGENTNODE_GUARD_STRICT=1)["rate_limits"]["toolpack"] == {
        "burst_size": 10, "calls_per_minute": 30, "calls_per_hour": 500})

# No trace.
result = agentnode(home, "audit", "show", "--json")
check("guard check left no record", "guard" not in [
    row["event"].split("_")[0] for row in result.json()["records"]], result)
harness.finish()
