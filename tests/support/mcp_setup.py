"""A home of its own with the image and the registry configured, and MCP
servers installed into it."""
import ipaddress
import json
import os

import engine_case
import harness
import registry_config

EVERYTHING = "npm:@modelcontextprotocol/server-everything@2026.8.31"
FILESYSTEM = "npm:@modelcontextprotocol/server-filesystem@2026.8.31"
MEMORY = "npm:@modelcontextprotocol/server-memory@2026.8.31"


# For scenarios that call more than a person's client does.
MANY_CALLS = {"guard": {"rate_limits": {"default": {
    "burst_size": 100000, "calls_per_minute": 100000,
    "calls_per_hour": 100000}}}}


def mirrors():
    """Where the registry is reached through a mirror at a special address,
    the host's configuration says so, as it would in a company."""
    url, host, ranges, bundle = registry_config.settings()
    special = [cidr for cidr in ranges
               if not ipaddress.ip_network(cidr).is_global]
    return {"egress": {"extra_ranges": {host: special} if special else {}},
            "build": {"npm_registry": url, "ca_bundle": bundle}}


def home(extra=None, registry=False):
    """An AGENTNODE_HOME's parent, configured."""
    path = harness.folder()
    folder = os.path.join(path, ".agentnode")
    os.makedirs(folder, mode=0o700)
    config = {"sandbox": {"image": engine_case.image()}}
    if registry:
        config.update(mirrors())
    for key, value in (extra or {}).items():
        config.setdefault(key, {}).update(value)
    file = os.path.join(folder, "config.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(config, out)
    os.chmod(file, 0o600)
    return path


def install(path, *words, timeout=400):
    """`mcp install`; fails the scenario by name when it does not work."""
    result = harness.agentnode(path, "mcp", "install", *words,
                               timeout=timeout)
    if not harness.check(f"mcp install {words[0]}", result.code == 0, result):
        forget(path)
        harness.finish()
    return result


def lock(path):
    with open(os.path.join(path, ".agentnode", "agentnode.lock"),
              encoding="utf-8") as file:
        return json.load(file)


def forget(path):
    """Remove the volumes that were installed from this home."""
    try:
        packages = lock(path)["packages"]
    except OSError:
        return
    for entry in packages.values():
        engine_case.podman("volume", "rm", "-f", entry["mcp_sandbox_volume"])


def package(files, name="local"):
    """A folder with a package that everybody may read."""
    path = os.path.join(harness.folder(), name)
    os.makedirs(path)
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o755)
    for inner, text in files.items():
        target = os.path.join(path, inner)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(target, 0o644)
    return path


def run_words(slug, *words):
    return [harness.AGENTNODE, "mcp", "run", slug, *words]
