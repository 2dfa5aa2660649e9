#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ends while it runs: an attestation and a consent to secrets that expire
end the run at that instant, and a configuration that would not start it any
more ends it at once; MCP servers, tool packs, agents and the tools of agents
alike."""
import calendar
import json
import os
import shutil
import subprocess
import threading
import time

import harness
import mcp_client
import mcp_setup
import pack_runs
from harness import agentnode, check
from registry_world import Key, Registry, home_with, pack

LIFE_S, EARLIER_S = 30, 5
CODE = """
import time


def sleeps(n):
    time.sleep(n)
    return n
"""
TOOLS = [{"name": "sleeps", "capability_id": "sleeps",
          "description": "Sleeps.", "action_type": "read",
          "entrypoint": "lib:sleeps",
          "input_schema": {"type": "object", "properties": {
              "n": {"type": "number"}}}}]
SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {
            "protocolVersion": m["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "waits", "version": "1"}}}), flush=True)
"""


def readable(path):
    for place, _, names in os.walk(path):
        os.chmod(place, 0o755)
        for name in names:
            os.chmod(os.path.join(place, name), 0o644)


class World:
    def __init__(self):
        work = harness.folder()
        folder = harness.folder()
        os.chmod(folder, 0o755)
        self.registry = Registry(folder, *(Key(os.path.join(work, name))
                                           for name in ("r.pem", "p.pem")))
        self.case = pack_runs.PackCase({
            "agent_sandbox": {"enabled": True}, **home_with(self.registry)})
        self.home = self.case.home

    def folder_of(self, slug):
        agents = os.path.join(harness.SOURCE, "tests", "agents", "packs")
        folder = os.path.join(harness.folder(), slug)
        shutil.copytree(agents, folder)
        path = os.path.join(folder, "agentnode.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("packs-agent", slug))
        readable(folder)
        return folder

    def attest(self, slug, folder, name, **more):
        pack(folder, os.path.join(self.registry.folder, name))
        return self.registry.add(slug, "1.0.0", name,
                                 publisher="agentnode-tests", **more)

    def install(self, *words, timeout=120):
        result = self.case.run("install", *words, "--yes", timeout=timeout)
        check(f"{os.path.basename(words[0])} is installed", result.code == 0,
              result)

    def popen(self, *words, **env):
        return subprocess.Popen(
            [harness.AGENTNODE, *words],
            env=harness.environment(self.home, **env),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)


class Ends:
    """A process and when it ended."""

    def __init__(self, process):
        self.process = process
        self.thread = threading.Thread(target=self.wait, daemon=True)
        self.thread.start()

    def wait(self):
        self.out, self.err = self.process.communicate()
        self.at = time.time()

    def get(self, seconds):
        self.thread.join(seconds)
        if self.thread.is_alive():
            self.process.kill()
            self.thread.join()
        return self


def attestations(world):
    """Three runs at once that outlive what proves them."""
    folder = mcp_setup.package({
        "lib.py": CODE, "salt.txt": pack_runs.TOKEN,
        "agentnode.yaml": pack_runs.MANIFEST.format(
            slug="pypack", runtime="python", tools=json.dumps(TOOLS))},
        "pypack")
    row = world.attest("pypack", folder, "pypack.tar.gz", expires=LIFE_S)
    world.attest("proven-agent", world.folder_of("proven-agent"),
                 "agent.tar.gz", expires=LIFE_S - EARLIER_S)
    world.registry.write()
    until = calendar.timegm(time.strptime(
        row["attestation"]["expires"], "%Y-%m-%dT%H:%M:%SZ"))
    for name in ("pypack", "proven-agent", world.folder_of("packs-agent")):
        world.install(name)
    call = json.dumps({"calls": [["pypack", "sleeps", {"n": 90}]]})
    runs = {
        "pack": world.popen("run", "pypack", "--json", "--arg", "n=90"),
        "tool": world.popen("agent", "run", "packs-agent", "--input", call),
        "agent": world.popen("agent", "run", "proven-agent", "--input",
                             json.dumps({"calls": []}).replace(
                                 "[]", '[["jspack", "none", {}], '
                                 '["pypack", "sleeps", {"n": 90}]]'))}
    ends = {name: Ends(process) for name, process in runs.items()}
    check("they run before that", harness.wait_until(
        lambda: len(world.case.audit("launch")) >= 5, LIFE_S)
        and time.time() < until, world.case.audit("launch"))
    for name, end in ends.items():
        end.get(until - time.time() + 30)
        late = end.at - until + (EARLIER_S if name == "agent" else 0)
        # Not before; behind it a busy machine takes its time to end.
        check(f"{name}: it ended when its attestation did",
              -0.5 <= late < 30, (late, end.out, end.err))
    end = ends["pack"]
    check("the run of a tool says so", end.process.returncode == 137
          and json.loads(end.out)["error"]["code"] == "trust_expired",
          (end.process.returncode, end.out, end.err))
    end = ends["tool"]
    said = json.loads(end.out) if end.out else {}
    check("an agent is told of its tool", end.process.returncode == 0
          and "trust_expired" in said["value"]["calls"][0].get("text", ""),
          (end.out, end.err))
    end = ends["agent"]
    check("an agent ends", end.process.returncode == 137
          and "trust_expired" in end.err, (end.process.returncode, end.err))
    result = world.case.tool("pypack", {"n": 0})
    check("none of them starts again", result.code == 125
          and "trust_expired" in result.err, result)


def server(world, **env):
    return mcp_client.Client(
        [harness.AGENTNODE, "mcp", "run", "waits"],
        env=harness.environment(world.home, **env), cwd=world.home)


def consents(world):
    """The consent to the secrets of a living server ends."""
    path = os.path.join(world.home, ".agentnode", "secret_grants.json")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    until = int(time.time()) + 6
    data["grants"][-1]["expires"] = until
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
    client = server(world, SOME_TOKEN="x" * 20)
    client.initialize()
    check("a server runs", time.time() < until)
    code = client.exit_code()
    late = time.time() - until
    check("it ended when the consent did", -0.5 <= late < 12, late)
    check("with its code", code == 137, code)
    result = agentnode(world.home, "mcp", "run", "waits", SOME_TOKEN="x" * 20)
    check("and does not start again", result.code == 125
          and "credentials_consent_expired" in result.err, result)


def minimum(world):
    """A higher minimum is for what runs, too."""
    agentnode(world.home, "consent", "add", "waits", "--yes")
    world.case.put("napper", {"lib.py": CODE}, TOOLS)
    before = len(world.case.audit("launch"))
    client = server(world, SOME_TOKEN="x" * 20)
    client.initialize()
    end = Ends(world.popen("run", "napper", "--json", "--arg", "n=60"))
    check("both run", harness.wait_until(
        lambda: len(world.case.audit("launch")) == before + 2, 20))
    time.sleep(2)  # behind its record a run still begins
    begin = time.time()
    agentnode(world.home, "config", "set", "trust.minimum_trust_level",
              "verified")
    code = client.exit_code()
    check("the server ended at once", code == 137
          and time.time() - begin < 15, (code, time.time() - begin))
    end.get(30)
    check("and the tool", end.process.returncode == 137
          and end.at - begin < 30
          and json.loads(end.out)["error"]["code"] == "policy_changed",
          (end.out, end.err))
    result = agentnode(world.home, "mcp", "run", "waits", SOME_TOKEN="x")
    check("neither starts again", result.code == 125
          and "trust_too_low" in result.err, result)


def main():
    world = World()
    try:
        attestations(world)
        folder = mcp_setup.package({
            "server.py": SERVER, "salt.txt": pack_runs.TOKEN}, "waits")
        mcp_setup.install(world.home, folder, "--entry", "server.py",
                          "--secret", "SOME_TOKEN")
        consents(world)
        minimum(world)
    finally:
        world.case.close()
    harness.finish()


main()
