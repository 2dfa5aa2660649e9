#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Without an engine nobody but the supervisor cleans up: whichever process is
killed, runtime, supervisor or both, the workload and all it started are dead
within a second, and groups, place, bundle and runtime state are gone."""
import os
import signal
import subprocess
import time

import engine_case
import harness
import machine_pace
import oci_case
from harness import check

STUBBORN = ("trap '' TERM INT HUP; for i in 1 2 3; do "
            "(setsid sh -c 'while :; do sleep 0.1; done') & done; "
            "sleep 100 & echo up; while :; do sleep 1; done")
case = oci_case.OciHome()
check("a first run unpacks the image",
      case.agentnode("exec", "--", "/bin/true").code == 0)


def use(name):
    case.agentnode("config", "set", "sandbox.runtime", name)


def start():
    return engine_case.Case("/bin/sh", "-c", STUBBORN, home=case.home,
                            stdin=subprocess.DEVNULL)


def gone(run):
    return not oci_case.groups(run) and os.listdir("/run/agentnode/oci") == []


for runtime in ("crun", "runc"):
    use(runtime)
    for victims in (("init",), ("runtime",), ("supervisor",),
                    ("runtime", "supervisor")):
        label = f"{runtime}: {' and '.join(victims)} killed"
        run = start()
        if run.process.stdout.readline() != b"up\n":
            check(f"{label}: it runs", False, run.log()[-2000:])
            continue
        client = engine_case.children(run.pid)[runtime]
        init = engine_case.Init(client)
        pids = {"init": init.pid, "runtime": client, "supervisor": run.pid}
        deadline = machine_pace.Deadline(1)
        for who in victims:
            os.kill(pids[who], signal.SIGKILL)
        check(f"{label}: dead within a second",
              init.is_dead(10) and deadline.ends(), deadline)
        check(f"{label}: the runtime lives no longer", engine_case.wait(
            2, lambda pid=client: not os.path.exists(f"/proc/{pid}/exe")))
        ident = run.id()
        _, outcome = run.finish(15)
        if "supervisor" in victims:
            engine_case.run("/bin/true", home=case.home)
        else:
            check(f"{label}: the run says so and is removed", outcome.get(
                "code") in ("engine_died", "init_died")
                and outcome.get("removed"), outcome)
        check(f"{label}: groups, place, bundle and state are gone",
              engine_case.wait(3, lambda ident=ident: gone(ident)),
              oci_case.groups(ident))
        check(f"{label}: so is its file", not os.path.exists(
            f"/run/agentnode/runs/{ident}"))

# Killed while it starts, at many points.
alive = []
for runtime in ("crun", "runc"):
    use(runtime)
    for tries in range(8):
        run = start()
        time.sleep(0.015 * tries)
        below = dict(engine_case.children(run.pid))
        run.process.kill()
        run.process.wait()
        pids = [pid for name, pid in below.items() if "agentnode" not in name]
        if not engine_case.wait(5, lambda: not [
                pid for pid in pids if os.path.exists(f"/proc/{pid}/exe")]):
            alive.append((runtime, tries, below))
        run.process.stdout.close()
check("killed at any point of its start nothing stays", not alive, alive)
done = case.agentnode("sandbox", "gc", "--json")
check("gc ends what was left", done.code == 0
      and not done.json()["left"], done)
check("and the next run works", case.agentnode(
    "exec", "--", "/bin/true").code == 0)
harness.finish()
