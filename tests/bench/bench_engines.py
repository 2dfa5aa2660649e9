#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each engine's start, in one run: from the start of the runtime until init
speaks and until its listeners are here and its walls are compared; from the
call until the first byte of the command, and until an MCP server's first
answer. Against bare `podman run` with the same runtime, bare `docker run`, and
`bwrap --unshare-all` without filter, limits or report. The ways take turns, so
that the machine's other load falls on all; every figure is a median. As root,
with a Docker daemon of its own; run by hand:

    PYTHONPATH=tests/support AGENTNODE_BUILD_DIR=build/release \\
        python3 tests/bench/bench_engines.py [ROUNDS]
"""
import datetime
import json
import os
import statistics
import subprocess
import sys
import time

import bare_podman
import dockerd
import engine_case
import harness
import mcp_client
import mcp_setup

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
IMAGE = engine_case.image()
COMMAND = ("/bin/sh", "-c", "echo up")
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr",
         "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
         "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc",
         "--dev", "/dev", "--tmpfs", "/tmp"]
SERVER = r"""
require('readline').createInterface({ input: process.stdin }).on('line', (l) => {
  const m = JSON.parse(l);
  if (m.method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0',
    id: m.id, result: { protocolVersion: m.params.protocolVersion,
      capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
  }));
}).on('close', () => process.exit(0));
"""
COLUMNS = ("init spoke", "listeners", "first byte", "MCP answer")


class Ours:
    """An engine of ours: a home that uses it, with a server installed."""

    def __init__(self, home, image):
        self.home, self.image = home, image
        self.env = harness.environment(home, RUN_SANDBOX_LOG="1")
        mcp_setup.install(home, mcp_setup.package(
            {"server.js": SERVER, "package.json": json.dumps(
                {"name": "first", "version": "1.0.0", "bin": "server.js"})},
            "first"), "--allow", "api.example.com:443")

    def measure(self):
        begin = time.monotonic()
        child = subprocess.Popen(
            [engine_case.RUN_SANDBOX, "--image", self.image, "--outcome",
             "/dev/null", "--allow", "api.example.com:443", "--", *COMMAND],
            env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        first = child.stdout.read(1)
        up = (time.monotonic() - begin) * 1000
        _, log = child.communicate()
        if first != "u":
            raise SystemExit(f"failed: {log[-2000:]}")
        start = when(log, "hello")
        return (when(log, "listeners") - start, when(log, "checks") - start,
                up, self.answer())

    def answer(self):
        begin = time.monotonic()
        client = mcp_client.Client(mcp_setup.run_words("first"), env=self.env)
        if not client.initialize():
            raise SystemExit(f"no answer: {client.text()}")
        took = (time.monotonic() - begin) * 1000
        client.close()
        return took

    def end(self):
        harness.agentnode(self.home, "remove", "first", "--yes")


def when(log, state):
    """Milliseconds of the moment that a state was entered."""
    for line in log.splitlines():
        one = json.loads(line)
        if one.get("event") == "sandbox_state" and one.get("to") == state:
            at = datetime.datetime.fromisoformat(one["ts"].replace("Z", ""))
            return at.timestamp() * 1000
    raise SystemExit(f"no state {state}: {log[-1000:]}")


def bare(argv, env=None):
    begin = time.monotonic()
    child = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    first = child.stdout.read(1)
    up = (time.monotonic() - begin) * 1000
    child.communicate()
    if first != b"u":
        raise SystemExit(f"failed: {argv}")
    return (None, None, up, None)


def median(rows, column):
    found = [row[column] for row in rows]
    return None if None in found else statistics.median(found)


def show(times):
    podman, docker = (median(times[f"bare {one} run"], 2)
                      for one in ("podman", "docker"))
    print(f"{ROUNDS} rounds, medians in ms, load {os.getloadavg()[0]:.0f}; "
          "ratios: a bare run's first byte to our listeners")
    print(f"{'':18}" + "".join(f"{one:>12}" for one in COLUMNS)
          + f"{'podman':>10}{'docker':>10}")
    for name, rows in times.items():
        line = f"{name:18}"
        for column in range(len(COLUMNS)):
            value = median(rows, column)
            line += f"{value:12.1f}" if value is not None else f"{'':12}"
        listeners = median(rows, 1)
        if listeners is not None:
            line += f"{podman / listeners:9.1f}x{docker / listeners:9.1f}x"
        print(line)


def main():
    harness.need("bwrap", "podman", "crun", "runc")
    daemon = dockerd.Dockerd()
    ours = {}
    try:
        for name, sandbox in (("podman", {"engine": "podman"}),
                              ("oci crun", {"engine": "oci",
                                            "runtime": "crun"}),
                              ("oci runc", {"engine": "oci",
                                            "runtime": "runc"})):
            ours[name] = Ours(mcp_setup.home({"sandbox": sandbox}), IMAGE)
        ours["docker"] = Ours(daemon.home(), daemon.image)
        for one in ours.values():
            one.measure()  # what is found out once is found out
        podman = bare_podman.words(ours["podman"].env, IMAGE, *COMMAND)
        docker = [daemon.client, "run", "--rm", "--network=none",
                  "--log-driver=none", daemon.image, *COMMAND]
        env = {"PATH": dockerd.PATH, "DOCKER_CONFIG": daemon.run,
               "DOCKER_HOST": "unix://" + daemon.socket}
        ways = {"bare podman run": lambda: bare(podman),
                "bare docker run": lambda: bare(docker, env),
                "bwrap": lambda: bare([*BWRAP, *COMMAND]),
                **{name: one.measure for name, one in ours.items()}}
        times = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                times[name].append(way())
        show(times)
    finally:
        for one in ours.values():
            one.end()
        daemon.end()


main()
