#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i04_dead_mans_switch: whichever process of ours or of the engine is killed
with SIGKILL, at a random moment, alone or in pairs, a workload that fights is
dead within one second, and the engine's record is gone within five seconds,
or at the next start when the engine's monitor died too."""
import os
import random
import time

import engine_case
import fighter
import harness
import machine_pace

VICTIMS = [("supervisor",), ("client",), ("monitor",), ("proxy",),
           ("ledger",), ("supervisor", "client"), ("supervisor", "monitor"),
           ("supervisor", "proxy"), ("client", "monitor"),
           ("proxy", "client"), ("proxy", "monitor"),
           ("supervisor", "client", "monitor")]
ROUNDS = int(os.environ.get("AGENTNODE_KILL_ROUNDS", "50"))
DEAD_WITHIN, GONE_WITHIN = 1.0, 5.0
HOME = harness.folder()
slowest = 0.0


def pids_of(case, victims, monitor):
    children = engine_case.children(case.pid)
    found = {"supervisor": case.pid, "monitor": monitor,
             "client": children.get("podman"),
             "proxy": children.get("agentnode-egres"),
             "ledger": children.get("agentnode-ledge")}
    return [found[victim] for victim in victims]


def one(number, victims):
    """One start, one kill; the time of death and of the record."""
    global slowest
    label = f"{number} {'+'.join(victims)}"
    case = engine_case.Case("/usr/bin/python3", "-c", fighter.FIGHTER,
                            options=["--allow", ""], home=HOME)
    line = case.process.stdout.readline()
    monitor, container = engine_case.monitor(case.name)
    pids = pids_of(case, victims, monitor)
    if not harness.check(f"{label}: it runs", line == b"up\n" and container
                         and None not in pids, (line, pids, case.log())):
        return case.process.kill()
    init = engine_case.Init(monitor)
    harness.check(f"{label}: its listener is held", init.held())
    time.sleep(random.uniform(0, 0.2))
    deadline = machine_pace.Deadline(DEAD_WITHIN)
    record = machine_pace.Deadline(GONE_WITHIN)
    engine_case.kill(pids)
    in_time = init.is_dead(10) and deadline.ends()
    slowest = max(slowest, deadline.took or 0)
    dead = in_time and engine_case.wait(
        5, lambda: not engine_case.inside(container))
    harness.check(f"{label}: the workload is dead within {DEAD_WITHIN} s",
                  dead, f"{deadline}, left {engine_case.inside(container)}")
    harness.check(f"{label}: no listener is held", engine_case.wait(
        5, lambda: not init.held()), init.held())
    gone = record.wait(lambda: not case.known())
    if {"supervisor", "monitor"} <= set(victims):
        engine_case.run("/bin/true", home=HOME)
        gone = not case.known()
    harness.check(f"{label}: the engine's record is gone", gone, case.log())
    if "supervisor" not in victims:
        _, outcome = case.finish(10)
        harness.check(f"{label}: the outcome says why",
                      outcome.get("code") in ("engine_died", "proxy_died",
                                              "audit_failed", "init_died")
                      and outcome.get("removed") is True, outcome)
    else:
        case.process.wait()
    return None


random.seed(int(os.environ.get("AGENTNODE_KILL_SEED", time.time_ns() % 10**6)))
for index in range(ROUNDS):
    one(index, VICTIMS[index % len(VICTIMS)])
print(f"slowest death {slowest * 1000:.0f} ms of {ROUNDS}")
harness.finish()
