#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode install` of agents: what is shown, sealed and recorded; a bad
manifest is one sentence with its place and leaves nothing; an entry that was
changed or comes from a stranger does not run; list, info, verify, remove."""
import json
import os
import secrets
import shutil

import engine_case
import harness
import mcp_setup
from harness import check

SOURCE = os.path.join(harness.SOURCE, "tests", "agents", "py")
home = mcp_setup.home({"agent_sandbox": {"enabled": True}})
lock = os.path.join(home, ".agentnode", "agentnode.lock")


def folder(change=lambda text: text, name="py"):
    path = os.path.join(harness.folder(), name)
    shutil.copytree(SOURCE, path)
    # Its volume, named after the content, is this scenario's own.
    with open(os.path.join(path, "tests.txt"), "w", encoding="ascii") as file:
        file.write(secrets.token_hex(8))
    place = os.path.join(path, "agentnode.yaml")
    with open(place, encoding="utf-8") as file:
        text = change(file.read())
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def install(path):
    return harness.agentnode(home, "install", path, timeout=120)


# ---- what cannot be installed -------------------------------------------------
for name, change, part in (
        ("no YAML", lambda t: t + "\n\t- x: [", "agentnode.yaml line"),
        ("an alias", lambda t: t + "x: &a 1\ny: *a\n", "anchors"),
        ("a key twice", lambda t: t + "version: 2.0.0\n", "there already"),
        ("an unknown field", lambda t: t + "surprise: 1\n",
         "manifest.surprise is no field"),
        ("no agent section", lambda t: t[:t.index("agent:")],
         "manifest.agent is missing"),
        ("a floating version", lambda t: t.replace("1.0.0", "latest"),
         "MAJOR.MINOR.PATCH"),
        ("a forged line", lambda t: t.replace(
            "publisher: agentnode-tests",
            'publisher: "x\\nreaches no host"'), "control character"),
        ("any host", lambda t: t.replace("agent:\n", (
            "permissions:\n  network: {level: restricted, "
            "allowed_domains: ['*.example.com']}\nagent:\n"), 1),
         "allowed_domains[0]"),
        ("no limit that is one", lambda t: t.replace(
            "max_tool_calls: 3", "max_tool_calls: 100000"), "from 1 to 500"),
        ("a dependency without its hash",
         lambda t: t + "dependencies: ['six==1.17.0']\n",
         "six==1.17.0 needs --hash=sha256:"),
        ("a tool pack", lambda t: t[:t.index("agent:")].replace(
            "package_type: agent", "package_type: toolpack"),
         "manifest.capabilities.tools is empty")):
    result = install(folder(change))
    check(f"{name}: refused with its place", result.code in (3, 5)
          and part in result.err, result)
empty = harness.folder()
result = install(empty)
check("a folder without a manifest", result.code == 5
      and "agentnode.yaml" in result.err, result)
result = install("npm:left-pad@1.3.0")
check("a package of npm is told where to go", result.code == 2
      and "mcp install" in result.err, result)
check("nothing was written", not os.path.exists(lock))

# ---- what can -------------------------------------------------------------------
path = folder()
result = install(path)
check("an agent is installed", result.code == 0, result)
check("and shown before", "everything" in result.err
      and "any that the host allows" in result.err
      and "no host" in result.err, result)
with open(lock, encoding="utf-8") as file:
    entry = json.load(file)["packages"]["py-agent"]
check("its entry is sealed", entry["package_type"] == "agent"
      and entry["volume_content_hash"].startswith("sha256:")
      and entry["artifact_hash"].startswith("sha256:")
      and entry["_integrity"]["canonical_version"] == 4, entry)
result = harness.agentnode(home, "list", "--json")
row = result.json()["packages"][0]
check("list: it can run", row["runnable"] is True and row["type"] == "agent",
      row)
info = harness.agentnode(home, "info", "py-agent", "--json").json()
check("info has what it asks for",
      info["agent"]["llm_access"]["max_calls"] == 3
      and info["volume"] == entry["sandbox_volume"], info)
check("verify", harness.agentnode(home, "verify", "py-agent").code == 0)
audit = harness.agentnode(home, "audit", "show", "--json").json()
check("the audit chain has it", any(
    r["event"] == "install" and r["fields"]["package"] == "py-agent"
    and r["fields"]["agent"]["limits"]["max_tool_calls"] == 3
    for r in audit["records"]), audit)
result = harness.agentnode(home, "agent", "run", "py-agent", timeout=60)
check("it runs", result.code == 0 and json.loads(result.out)["ok"] is True,
      result)
result = install(path)
check("again is the same", result.code == 0, result)

# ---- what was changed does not run ------------------------------------------------
with open(lock, encoding="utf-8") as file:
    good = file.read()
for name, old, new, code in (
        ("more calls", '"max_calls": 3', '"max_calls": 3000',
         "integrity_lockfile"),
        ("another volume", entry["sandbox_volume"],
         entry["sandbox_volume"][:-1]
         + ("1" if entry["sandbox_volume"].endswith("0") else "0"),
         "integrity_lockfile")):
    changed = good.replace(old, new)
    check(f"{name}: the test changes the lockfile", changed != good)
    with open(lock, "w", encoding="utf-8") as file:
        file.write(changed)
    result = harness.agentnode(home, "agent", "run", "py-agent")
    check(f"{name}: refused", result.code == 125 and code in result.err,
          result)
with open(lock, "w", encoding="utf-8") as file:
    file.write(good)
stranger = os.path.join(harness.folder(), "agentnode.lock")
changed = json.loads(good)
changed["packages"]["py-agent"]["agent"]["limits"]["max_tool_calls"] = 500
with open(stranger, "w", encoding="utf-8") as file:
    json.dump(changed, file)
harness.agentnode(home, "lock", "seal", "--force", "--lockfile", stranger)
other = mcp_setup.home({"agent_sandbox": {"enabled": True}})
result = harness.agentnode(other, "agent", "run", "py-agent", "--lockfile",
                           stranger)
check("a lockfile of somebody else needs consent", result.code == 125
      and "consent_missing" in result.err, result)
audit = harness.agentnode(other, "audit", "show", "--json").json()
check("and the refusal is recorded", any(
    r["event"] == "refusal" and r["fields"]["code"] == "consent_missing"
    and r["fields"]["kind"] == "agent" for r in audit["records"]), audit)

# ---- the end ------------------------------------------------------------------------
result = harness.agentnode(home, "remove", "py-agent")
check("remove", result.code == 0, result)
check("its volume is gone", engine_case.podman(
    "volume", "exists", entry["sandbox_volume"]).returncode != 0)
result = harness.agentnode(home, "agent", "run", "py-agent")
check("and it runs no more", result.code == 125
      and "not_installed" in result.err, result)
harness.finish()
