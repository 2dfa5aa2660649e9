#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Invariant 4, init's part: whatever a workload does, it is dead within one
second after its supervisor was killed, or told init to kill it."""
import os
import signal
import subprocess
import sys

from harness import check, finish
from init_sandbox import (Run, make_image, namespace_of, seconds_until_dead,
                          variant)
from machine_pace import Deadline

LIMIT = 1.0

make_image()


def after_supervisor(run, ready):
    """From the supervisor's SIGKILL to the last process's death: whether in
    time, and the deadline."""
    if run.wait_for(**ready) is None:
        return False, None
    namespace = namespace_of(run.wait_for("hello")["pid"])
    deadline = Deadline(LIMIT)
    os.kill(run.process.pid, signal.SIGKILL)
    took = seconds_until_dead(namespace)
    return took is not None and deadline.ends(took), deadline


def after_kill(*words, **more):
    """The same for INIT_KILL, told 1.5 s after the start; with its run."""
    deadline = Deadline(LIMIT)
    run = Run(*words, options=("--kill-after", "1500"), **more).finish()
    killed, status = run.one("kill"), run.one("status")
    in_time = bool(killed and status) and deadline.ends(
        (status["ms"] - killed["ms"]) / 1000)
    return in_time, deadline, run


for attack, ready in (("bomb", "bomb"), ("stop", "stopping"),
                      ("scheduling", "spinning")):
    run = Run("attack_init", attack)
    in_time, deadline = after_supervisor(
        run, {"kind": "stdout", "text": ready})
    check(f"i04_dead_after_supervisor_{attack}", in_time,
          (deadline, run.events))
    print(f"# {attack}: {deadline} after the supervisor's death")
    run.stop()

run = Run("agentnode-probe", "--spin")
in_time, deadline = after_supervisor(run, {"kind": "go"})
check("i04_dead_after_supervisor_at_once", in_time, deadline)
run.stop()

for attack in ("bomb", "stop", "scheduling"):
    in_time, deadline, run = after_kill("attack_init", attack)
    check(f"i04_dead_after_kill_{attack}", in_time
          and run.one("status").get("signal") == signal.SIGKILL,
          (deadline, run.events))
    print(f"# {attack}: {deadline} after the order")

# The guard filter is what keeps pid 1 scheduled like everybody else. How
# long an idled pid 1 takes depends on the kernel's scheduler; that it can be
# idled at all is what must not be.
for name, init, answer in (("unguarded", variant("unguarded"), "success"),
                           ("guarded", None, "EPERM")):
    run = Run("attack_init", "scheduling", **({"init": init} if init else {}))
    run.wait_for("stdout", text="spinning")
    pid = run.wait_for("hello")["pid"]
    facts = run.facts()
    check(f"{name}_answers", all(facts.get(word) == answer for word in
                                 ("affinity", "idle", "nice")), run.events)
    touched = (os.sched_getscheduler(pid) == os.SCHED_IDLE,
               os.sched_getaffinity(pid) == {0},
               os.getpriority(os.PRIO_PROCESS, pid) == 19)
    if os.cpu_count() == 1:
        touched = touched[::2]
    check(f"{name}_pid1_is_{'' if answer == 'success' else 'not_'}touched",
          set(touched) == {answer == "success"}, touched)
    _, deadline = after_supervisor(
        run, {"kind": "stdout", "text": "spinning"})
    print(f"# {name}: {deadline} after the supervisor's death")
    run.stop()

# Orphans do not outlive the main program, whose code is kept.
run = Run("attack_init", "orphans")
status = run.wait_for("status")
check("orphans_die_with_the_program", status is not None
      and status["exit"] == 5 and status["signal"] == 0, run.events)
run.finish()
check("orphans_engine_ends", run.one("engine").get("exit") == 0, run.events)

# Descriptors in flight are counted by user: its own, and nobody else's.
run = Run("attack_init", "flood")
run.wait_for("stdout", text="in flight")
other = subprocess.run([sys.executable, "-c", """
import os, socket, array
os.setgid(65534); os.setuid(65534)
a, b = socket.socketpair()
socket.send_fds(a, [b'x'], [0])
print(len(socket.recv_fds(b, 1, 4)[1]))
"""], capture_output=True, text=True, check=False)
check("flood_hits_only_its_own_user", run.facts().get("in") is not None
      and other.stdout.strip() == "1", (run.output(), other))
namespace = namespace_of(run.one("hello")["pid"])
deadline = Deadline(LIMIT)
os.kill(run.process.pid, signal.SIGKILL)
took = seconds_until_dead(namespace)
check("flood_dead_after_supervisor", took is not None and deadline.ends(took),
      deadline)
run.stop()
finish()
