#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sandbox adds to the start of a container: the time from the call to
the first byte of the command's output, and to the end of everything, against
a bare `podman run` of the same command with the same runtime. Both ways take
turns, so that the machine's other load falls on both. Run by hand:

    PYTHONPATH=tests/support AGENTNODE_BUILD_DIR=build/release \\
        python3 tests/bench/bench_start.py [ROUNDS]
"""
import os
import statistics
import subprocess
import sys
import time

import bare_podman
import engine_case
import harness

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
HOME = harness.folder()
IMAGE = engine_case.image()
COMMAND = ("/bin/sh", "-c", "echo up")
ENV = harness.environment(HOME)
os.makedirs(ENV["AGENTNODE_HOME"], mode=0o700)
harness.run(engine_case.RUN_SANDBOX, "--image", IMAGE, "--outcome",
            "/dev/null", "--", "/bin/true", env=ENV)
BARE = bare_podman.words(ENV, IMAGE, *COMMAND)
OUTCOME = os.path.join(HOME, "outcome.json")
OURS = [engine_case.RUN_SANDBOX, "--image", IMAGE, "--outcome", OUTCOME]


def measure(argv):
    """Milliseconds to the first byte, and to the end."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    first = process.stdout.read(1)
    up = time.monotonic()
    process.stdout.read()
    if process.wait() != 0 or first != b"u":
        raise SystemExit(f"failed: {argv} {engine_case.text(OUTCOME)}")
    return (up - begin) * 1000, (time.monotonic() - begin) * 1000


WAYS = {"bare podman run": BARE, "sandbox": [*OURS, "--", *COMMAND],
        "sandbox with egress": [*OURS, "--allow", "api.example.com:443",
                                "--", *COMMAND]}
times = {name: [] for name in WAYS}
for _ in range(ROUNDS):
    for name, argv in WAYS.items():
        times[name].append(measure(argv))
base = [statistics.median(column) for column in zip(*times["bare podman run"])]
print(f"{ROUNDS} rounds, runtime {MEMORY['runtime']}, medians in ms")
for name, rows in times.items():
    up, end = (statistics.median(column) for column in zip(*rows))
    print(f"{name:22} first byte {up:6.0f} ({up - base[0]:+4.0f})   "
          f"end {end:6.0f} ({end - base[1]:+4.0f})")
