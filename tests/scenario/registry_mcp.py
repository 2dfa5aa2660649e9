#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real MCP server of npm through a team's registry: its owner installs,
exports, attests and indexes it with the commands of the document; a host
installs it by its slug, sees its tier and runs it. Another integrity, another
hash, another kind, nobody who agrees: each is refused by its code and leaves
nothing."""
import copy
import hashlib
import json
import os
import re
import shlex

import engine_case
import harness
import mcp_setup
from harness import agentnode, check
from mcp_client import Client
from mcp_setup import run_words
from registry_world import Key, Registry, configure, home_with, need

harness.need("podman")
need()
VERSION = mcp_setup.MEMORY.rsplit("@", 1)[1]
SLUG = "team-memory"
work = harness.folder()
os.chmod(work, 0o755)
owner = mcp_setup.home(registry=True)
home = mcp_setup.home(registry=True)


def lock():
    try:
        return mcp_setup.lock(home)["packages"]
    except OSError:
        return {}


def volumes():
    out = engine_case.podman("volume", "ls", "--format={{.Name}}").stdout
    return {v for v in out.split() if SLUG in v}


def commands():
    """Those of the document's part about MCP servers, in their order."""
    with open(os.path.join(harness.SOURCE, "docs", "trust-registry.md"),
              encoding="utf-8") as file:
        part = file.read().split("## MCP servers", 1)[1].split("\n## ")[0]
    return re.findall(r"^    \$ (agentnode .*)$", part, re.M)


def owned():
    os.mkdir(os.path.join(work, "registry"))
    for name in ("publisher", "registry"):
        Key(os.path.join(work, name + ".pem"))
        with open(os.path.join(work, name + ".pem.pub"), "w",
                  encoding="ascii") as file:
            file.write(Key(os.path.join(work, name + ".pem")).hex + "\n")
    lines = commands()
    check("the document has commands", len(lines) == 6, lines)
    for line in lines[:4]:
        line = line.replace("2026.8.31", VERSION)
        done = agentnode(owner, *shlex.split(line)[1:], cwd=work,
                         timeout=400)
        check(line[:64], done.code == 0, done)
    with open(os.path.join(work, "registry", "index.json"),
              encoding="utf-8") as file:
        row = json.load(file)["packages"][SLUG]["versions"][VERSION]
    check("the index names the kind", row["kind"] == "mcp", row)
    return lines[4:], row


def installed(lines, row):
    registry = Key(os.path.join(work, "registry.pem"))
    configure(home, trust={"registry_keys": {"corp": registry.hex}},
              registry={"path": os.path.join(work, "registry")})
    done = agentnode(home, "install", SLUG, timeout=400)
    check("nobody agreed: consent_needed", done.code == 3
          and "(consent_needed)" in done.err and lock() == {}
          and "reaches   no host" in done.err, done)
    done = agentnode(home, "install", SLUG, "--yes", "--allow-scripts")
    check("no scripts", done.code == 3 and "(registry_server)" in done.err
          and lock() == {}, done)
    for line in lines:
        done = agentnode(home, *shlex.split(line)[1:], cwd=work, timeout=400)
        check(line[:64], done.code == 0, done)
    check("info --registry says mcp", " mcp " in done.out, done)
    entry = lock().get(SLUG, {})
    check("the entry is an MCP server with a tier",
          entry.get("runtime") == "mcp"
          and entry["trust_level"] == "trusted"
          and entry["artifact_hash"] == row["artifact_hash"]
          == entry["attestation"]["artifact_hash"]
          and entry["volume_content_hash"]
          == entry["mcp_preinstall"]["artifact_hash"]
          and entry["mcp_install"]["version"] == VERSION
          and entry["mcp_allowed_domains"] == [], entry)
    info = agentnode(home, "info", SLUG, "--json").json()
    check("info: trusted, it may run", info["tier"] == "trusted"
          and info["code"] == "" and info["runnable"] is True, info)
    done = agentnode(home, "verify", SLUG, timeout=120)
    check("verify agrees", done.code == 0, done)
    client = Client(run_words(SLUG), env=harness.environment(home))
    answer = client.initialize()
    check("it answers initialize", "serverInfo" in json.dumps(answer), answer)
    client.close()


def raised():
    """The minimum of the team lets it run, and not one without a tier."""
    configure(home, trust={"registry_keys": {
        "corp": Key(os.path.join(work, "registry.pem")).hex},
        "minimum_trust_level": "trusted"})
    info = agentnode(home, "info", SLUG, "--json").json()
    check("a minimum of trusted lets it run", info["runnable"] is True, info)


def refused():
    """A second registry, signed by openssl, with whatever one likes."""
    folder = harness.folder()
    os.chmod(folder, 0o755)
    shop = Registry(folder, Key(os.path.join(work, "registry.key")),
                    Key(os.path.join(work, "publisher.key")))
    configure(home, **home_with(shop))
    with open(os.path.join(work, "registry", "memory.mcp.json"),
              encoding="utf-8") as file:
        good = json.load(file)
    before, had = lock(), volumes()

    def case(name, code, change=None, row=None, exits=(6,), **attest):
        server = copy.deepcopy(good)
        if change:
            change(server)
        shop.put("other.mcp.json", json.dumps(server).encode())
        made = shop.add(SLUG, VERSION, "other.mcp.json", **attest)
        made.update({"kind": "mcp", **(row or {})})
        shop.write()
        done = agentnode(home, "install", SLUG, "--yes", timeout=400)
        check(f"{name}: {code}", done.code in exits
              and f"({code})" in done.err and lock() == before
              and volumes() == had, done)

    def forged(server):
        found = [d for d in server["dependencies"]
                 if d["integrity"].startswith("sha512-")][-1]
        found["integrity"] = "sha512-" + "A" * 86 + "=="

    case("a forged integrity, attested and signed", "registry_integrity",
         forged)
    case("an attestation for another hash", "trust_other_hash",
         row={"attestation": shop.attest(
             SLUG, VERSION, "sha256:" + hashlib.sha256(b"x").hexdigest())})
    case("another kind", "registry_kind", row={"kind": "plugin"})
    case("another manager", "registry_server",
         lambda s: s.update(manager="cargo"))
    case("a range", "registry_server", lambda s: s.update(version="^1.0.0"))
    case("a wildcard of many owners", "registry_server",
         lambda s: s.update(mcp_allowed_domains=["*.github.io:443"]),
         exits=(3, 6))
    done = agentnode(owner, "trust", "sign", "index", "--key",
                     os.path.join(work, "registry.pem"), "--add",
                     f"{SLUG}@{VERSION}", "--kind", "mcp", "--file",
                     "index.json", os.path.join(work, "registry"))
    check("sign index takes no other file", done.code == 1
          and "server" in done.err, done)


rest, signed = owned()
installed(rest, signed)
raised()
refused()
mcp_setup.forget(owner)
mcp_setup.forget(home)
harness.finish()
