#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i04_dead_mans_switch at start: the supervisor is killed at a random moment
while the engine still works on the container. Nothing of it lives on, and
the next start leaves no record behind."""
import glob
import os
import random
import signal
import time

import engine_case
import harness

ROUNDS = int(os.environ.get("AGENTNODE_KILL_ROUNDS", "20"))
HOME = harness.folder()


def alive(name):
    """Anything that has the container's name in its words, or is in it."""
    _, container = engine_case.monitor(name)
    return container is not None and engine_case.inside(container)


def clients(name):
    return [path for path in glob.glob("/proc/[0-9]*/cmdline")
            if f"--name={name}" in engine_case.text(path).split("\0")]


engine_case.run("/bin/true", home=HOME)  # so that the engine is known
for index in range(ROUNDS):
    case = engine_case.Case("/bin/sleep", "600", home=HOME)
    engine_case.wait(5, lambda: case.id() is not None)
    time.sleep(random.uniform(0, 0.3))
    os.kill(case.pid, signal.SIGKILL)
    case.process.wait()
    name = case.name
    time.sleep(0.3)  # a client that still works may make it until here
    harness.check(f"{index}: nothing lives",
                  engine_case.wait(5, lambda: not alive(name)
                                   and not clients(name)))
    engine_case.run("/bin/true", home=HOME)
    harness.check(f"{index}: the next start leaves no record",
                  engine_case.wait(5, lambda: not case.known()), case.log())
harness.finish()
