#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each engine's start, in one run: from the start of the runtime until init
speaks, until its listeners are here and its walls are compared, and until the
first byte of the command, against bare `podman run` with the same runtime and
`bwrap --unshare-all` without filter, limits or report. The ways take turns,
so that the machine's other load falls on all. As root; run by hand:

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

import engine_case
import harness

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
IMAGE = engine_case.image()
COMMAND = ("/bin/sh", "-c", "echo up")
ENGINES = {"podman": {"engine": "podman"},
           "oci crun": {"engine": "oci", "runtime": "crun"},
           "oci runc": {"engine": "oci", "runtime": "runc"}}
BWRAP = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr",
         "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib",
         "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc",
         "--dev", "/dev", "--tmpfs", "/tmp"]
harness.need("bwrap", "podman")


def home(sandbox):
    place = harness.folder()
    env = harness.environment(place, RUN_SANDBOX_LOG="1")
    os.makedirs(env["AGENTNODE_HOME"], mode=0o700)
    with open(f"{env['AGENTNODE_HOME']}/config.json", "w",
              encoding="ascii") as file:
        json.dump({"sandbox": {"image": IMAGE, **sandbox}}, file)
    os.chmod(file.name, 0o600)
    return env


HOMES = {name: home(sandbox) for name, sandbox in ENGINES.items()}


def words(outcome="/dev/null"):
    return [engine_case.RUN_SANDBOX, "--image", IMAGE, "--outcome", outcome,
            "--allow", "api.example.com:443", "--", *COMMAND]


def when(log, state):
    """Milliseconds of the moment that a state was entered."""
    for line in log.splitlines():
        one = json.loads(line)
        if one.get("event") == "sandbox_state" and one.get("to") == state:
            at = datetime.datetime.fromisoformat(one["ts"].replace("Z", ""))
            return at.timestamp() * 1000
    raise SystemExit(f"no state {state}: {log[-1000:]}")


def ours(name):
    begin = time.monotonic()
    child = subprocess.Popen(words(), env=HOMES[name],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    first = child.stdout.read(1)
    up = (time.monotonic() - begin) * 1000
    _, log = child.communicate()
    if first != "u":
        raise SystemExit(f"{name} failed: {log[-2000:]}")
    start = when(log, "hello")
    return (when(log, "listeners") - start, when(log, "checks") - start, up)


def bare(argv):
    begin = time.monotonic()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    first = child.stdout.read(1)
    up = (time.monotonic() - begin) * 1000
    child.communicate()
    if first != b"u":
        raise SystemExit(f"failed: {argv}")
    return (None, None, up)


def podman_words(memory):
    argv = ["podman", f"--runtime={memory['runtime']}", "run", "--rm",
            "--network=none", "--log-driver=none", "--ulimit=nofile=4096:4096",
            "--ulimit=nproc=4096:4096", IMAGE, *COMMAND]
    if memory["hide_unified"]:  # what this runtime needs here
        argv = ["unshare", "--mount", "--propagation=slave", "sh", "-c",
                "umount -l /sys/fs/cgroup/unified && exec \"$@\"", "sh", *argv]
    return argv


for one in HOMES:
    ours(one)  # what is found out once is found out, the image unpacked
with open(f"{HOMES['podman']['AGENTNODE_HOME']}/engine.json",
          encoding="utf-8") as known:
    BARE = podman_words(json.load(known))
WAYS = {"bare podman run": lambda: bare(BARE),
        "bwrap": lambda: bare([*BWRAP, *COMMAND]),
        **{one: lambda one=one: ours(one) for one in HOMES}}
times = {name: [] for name in WAYS}
for _ in range(ROUNDS):
    for name, way in WAYS.items():
        times[name].append(way())


def median(name, column):
    found = [row[column] for row in times[name]]
    return None if None in found else statistics.median(found)


base = median("bare podman run", 2)
print(f"{ROUNDS} rounds, medians in ms, load {os.getloadavg()[0]:.0f}")
print(f"{'':18}{'init spoke':>12}{'listeners':>12}{'first byte':>12}"
      f"{'bare podman / listeners':>26}")
for name in WAYS:
    spoke, listeners, first_byte = (median(name, n) for n in range(3))
    line = f"{name:18}"
    for value in (spoke, listeners, first_byte):
        line += f"{value:12.1f}" if value is not None else f"{'':12}"
    print(line + (f"{base / listeners:25.1f}x" if listeners else ""))
