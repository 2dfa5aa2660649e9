#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i04_dead_mans_switch at start: supervisor, client and monitor are killed,
alone and in pairs, at a random moment while the engine still works on the
container. Nothing of it lives on (not even a runtime that waits for its
start for ever), and after the next start, or gc, neither the engine, the
runtime nor the kernel has anything of it."""
import glob
import os
import random
import signal
import time

import engine_case
import harness
from harness import check

ROUNDS = int(os.environ.get("AGENTNODE_KILL_ROUNDS", "24"))
HOME = harness.folder()
VICTIMS = [("supervisor",), ("client",), ("supervisor", "client"),
           ("monitor",), ("client", "monitor"),
           ("supervisor", "client", "monitor")]


def processes(*words):
    """Pids of processes with one of words in their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        line = engine_case.text(path)
        if any(word and word in line for word in words):
            found.append(int(path.split("/")[2]))
    return found


def written(run):
    """The id that the engine wrote down; None before it does."""
    return engine_case.text(f"/run/agentnode/runs/{run}.cid") or None


def kept(container):
    """What the runtime or the kernel still has of it."""
    if container is None:
        return []
    return glob.glob(f"/run/crun/{container}*") + glob.glob(
        f"/run/runc/{container}*") + glob.glob(
            f"/sys/fs/cgroup/*/libpod_parent/libpod-{container}") + glob.glob(
                f"/sys/fs/cgroup/libpod_parent/libpod-{container}")


engine_case.run("/bin/true", home=HOME)  # so that the engine is known
for index in range(ROUNDS):
    victims = VICTIMS[index % len(VICTIMS)]
    label = f"{index} {'+'.join(victims)}"
    case = engine_case.Case("/bin/sleep", "600", home=HOME)
    engine_case.wait(5, lambda: case.id() is not None)
    name = case.name
    time.sleep(random.uniform(0.01, 0.25))
    monitor, container = engine_case.monitor(name)
    container = container or written(case.id())
    pids = {"supervisor": case.pid, "monitor": monitor,
            "client": engine_case.children(case.pid).get("podman")}
    engine_case.kill([pids[victim] for victim in victims
                      if pids[victim] is not None])
    # It may have been the one that the monitor forks itself from.
    while "monitor" in victims and monitor is not None:
        monitor, _ = engine_case.monitor(name)
        engine_case.kill([monitor] if monitor else [])
    if "supervisor" in victims:
        case.process.wait()
    elif any(pids[victim] for victim in victims):
        _, outcome = case.finish(30)
        check(f"{label}: the outcome says why", outcome.get("code")
              in ("engine_died", "engine_failed") and outcome["removed"],
              (outcome, case.log()[-1500:]))
    else:
        os.kill(case.pid, signal.SIGKILL)
        case.process.wait()
    # A client that still works may make it until init sees that nobody
    # is there; the rest is the next start's.
    engine_case.wait(3, lambda: not processes(name))
    if index // len(VICTIMS) % 2 == 0:
        engine_case.run("/bin/true", home=HOME)
    else:
        result = harness.agentnode(HOME, "sandbox", "gc", timeout=60)
        check(f"{label}: gc", result.code == 0, result)
    check(f"{label}: nothing lives", engine_case.wait(
        3, lambda: not processes(name, container)),
          [engine_case.text(f"/proc/{pid}/cmdline").replace("\0", " ")[:300]
           for pid in processes(name, container)])
    check(f"{label}: the engine does not know it", not case.known(),
          case.log()[-1500:])
    # Neither a record of the runtime nor an empty group, whoever died.
    engine_case.wait(3, lambda: not kept(container))
    check(f"{label}: nothing is kept", not kept(container), kept(container))
harness.finish()
