#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i04_dead_mans_switch at start: supervisor, client and monitor are killed,
alone and in pairs, at a random moment while the engine still works on the
container. Nothing of it lives on (not even a runtime that waits for its
start for ever), and after the next start the engine knows nothing of it."""
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


def kept(container):
    """What the runtime or the kernel still has of it."""
    if container is None:
        return []
    return glob.glob(f"/run/crun/{container}*") + glob.glob(
        f"/run/runc/{container}*") + glob.glob(
            f"/sys/fs/cgroup/*/libpod_parent/libpod-{container}") + glob.glob(
                f"/sys/fs/cgroup/libpod_parent/libpod-{container}")


left = 0
engine_case.run("/bin/true", home=HOME)  # so that the engine is known
for index in range(ROUNDS):
    victims = VICTIMS[index % len(VICTIMS)]
    label = f"{index} {'+'.join(victims)}"
    case = engine_case.Case("/bin/sleep", "600", home=HOME)
    engine_case.wait(5, lambda: case.id() is not None)
    name = case.name
    time.sleep(random.uniform(0.01, 0.25))
    monitor, container = engine_case.monitor(name)
    pids = {"supervisor": case.pid, "monitor": monitor,
            "client": engine_case.children(case.pid).get("podman")}
    engine_case.kill([pids[victim] for victim in victims
                      if pids[victim] is not None])
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
    engine_case.run("/bin/true", home=HOME)
    check(f"{label}: nothing lives", engine_case.wait(
        3, lambda: not processes(name, container)),
          [engine_case.text(f"/proc/{pid}/cmdline").replace("\0", " ")[:300]
           for pid in processes(name, container)])
    check(f"{label}: the engine does not know it", not case.known(),
          case.log()[-1500:])
    # With its monitor the engine may lose the id of a container that init
    # has not spoken for: a record of the runtime and empty groups then stay
    # and are counted. Nobody may be in them; else nothing stays at all.
    engine_case.wait(3, lambda: not kept(container))
    if "monitor" not in victims:
        check(f"{label}: nothing is kept", not kept(container),
              kept(container))
    left += bool(kept(container))
    full = [path for path in kept(container)
            if engine_case.text(os.path.join(path, "cgroup.procs"))]
    check(f"{label}: nobody is in what is kept", not full, full)
print(f"{left} of {ROUNDS} left a record of the runtime or empty groups")
harness.finish()
