#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dead man's switch of the native boundary: whichever process of ours is
killed, the workload and all it started are dead within a second, and nothing
is left; when it was the supervisor itself, the next start removes the rest.
A workload that ignores signals, forks and spins is one of them."""
import glob
import json
import os
import signal
import subprocess
import time

import engine_case
import harness
from harness import check

RUN = os.path.join(harness.BUILD, "tests", "run_sandbox")
HOME = harness.folder()
ENV = harness.environment(HOME)
OUTCOME = os.path.join(HOME, "outcome")
STUBBORN = ("trap '' TERM INT HUP; for i in 1 2 3; do "
            "(setsid sh -c 'while :; do :; done') & done; "
            "sleep 100 & echo up; while :; do sleep 1; done")


def groups(run):
    return glob.glob(f"/sys/fs/cgroup/*/native-{run}") + \
        glob.glob(f"/sys/fs/cgroup/native-{run}")


def start(*options):
    """run_sandbox with the stubborn workload, which says when it is up."""
    child = subprocess.Popen(
        [RUN, "--native", "read-only", "--outcome", OUTCOME, *options, "--",
         "/bin/sh", "-c", STUBBORN], env=ENV, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if child.stdout.readline() != b"up\n":
        raise SystemExit("the workload did not start")
    launcher = engine_case.children(child.pid)["agentnode-nativ"]
    return child, launcher, engine_case.Init(launcher)


def finish(child):
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()


def outcome():
    with open(OUTCOME, encoding="utf-8") as file:
        return json.load(file)


for who in ("agentnode-nativ", "agentnode-ledge", "agentnode-egres", "init"):
    options = ["--allow", "example.com:443"] if who.endswith("egres") else []
    child, launcher, init = start(*options)
    victims = dict(engine_case.children(child.pid), init=init.pid)
    before = time.monotonic()
    os.kill(victims[who], signal.SIGKILL)
    dead = init.is_dead(3)
    took = time.monotonic() - before
    check(f"{who} is killed: the workload is dead in a second",
          dead and took < 1.0, took)
    finish(child)
    check(f"{who} is killed: nothing of it lives",
          engine_case.wait(2, lambda: init.count() == 0), init.count())
    said = outcome()
    check(f"{who} is killed: the run says so and is removed",
          said["code"] in ("engine_died", "init_died", "audit_failed",
                           "proxy_died") and said["removed"]
          and not groups(said["id"]), said)

child, launcher, init = start()
before = time.monotonic()
os.kill(child.pid, signal.SIGKILL)
dead = init.is_dead(3)
took = time.monotonic() - before
check("the supervisor is killed: the workload is dead in a second",
      dead and took < 1.0, took)
check("the supervisor is killed: nothing of it lives",
      engine_case.wait(2, lambda: init.count() == 0), init.count())
check("the supervisor is killed: so is the launcher",
      engine_case.wait(2, lambda: not os.path.exists(f"/proc/{launcher}")))
finish(child)


def empty(place):
    """A group that is there, without a process."""
    return os.path.isdir(place) and not engine_case.text(
        place + "/cgroup.procs")


OLD = set(glob.glob("/sys/fs/cgroup/*/native-*"))
done = harness.run(RUN, "--native", "read-only", "--outcome", OUTCOME, "--",
                   "/bin/true", env=ENV, timeout=30)
check("the next run works", done.code == 0 and outcome()["removed"], done)
# Others may run beside this test: theirs are not in OLD, ours was.
check("the next start removed its control groups",
      engine_case.wait(5, lambda: not [one for one in OLD if empty(one)]),
      OLD)

# Killed while it starts, at many points.
alive = 0
for tries in range(12):
    child = subprocess.Popen(
        [RUN, "--native", "read-only", "--outcome", OUTCOME, "--",
         "/bin/sleep", "60"], env=ENV, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)
    time.sleep(0.004 * tries)
    below = dict(engine_case.children(child.pid))
    child.kill()
    child.wait()
    pids = [pid for name, pid in below.items() if name != "agentnode-ledge"]
    if not engine_case.wait(2, lambda: not [
            pid for pid in pids if os.path.exists(f"/proc/{pid}")]):
        alive += 1
check("killed at any point of its start nothing stays", alive == 0, alive)
done = harness.run(RUN, "--native", "read-only", "--outcome", OUTCOME, "--",
                   "/bin/true", env=ENV, timeout=30)
check("and the next run works", done.code == 0, done)

# Groups with the name of a run of which no file tells: what is empty goes,
# what somebody lives in is said and left alone.
child, launcher, init = start()
places = [os.path.dirname(one)
          for one in glob.glob("/sys/fs/cgroup/*/native-*")
          if str(init.pid) in open(one + "/cgroup.procs",
                                   encoding="ascii").read().split()]
empty, full = "native-" + "0" * 16, "native-" + "1" * 16
for place in places:
    os.mkdir(f"{place}/{empty}")
    os.mkdir(f"{place}/{full}")
stranger = subprocess.Popen(["/bin/sleep", "100"])
for place in places:
    with open(f"{place}/{full}/cgroup.procs", "w", encoding="ascii") as file:
        file.write(str(stranger.pid))
done = harness.run(harness.AGENTNODE, "sandbox", "gc", "--json", env=ENV,
                   timeout=60)
report = json.loads(done.out)
check("gc kills no run that lives", places and not init.is_dead(0.5)
      and child.poll() is None, done)
check("nor who is in a group that no file tells of", stranger.poll() is None
      and full in [row["name"] for row in report["left"]], report)
check("what is empty is removed", empty in [
    row["name"] for row in report["removed"]] and not any(
        os.path.isdir(f"{place}/{empty}") for place in places), report)
stranger.kill()
stranger.wait()
for place in places:
    os.rmdir(f"{place}/{full}")
child.kill()
finish(child)

# In time, whatever it does.
before = time.monotonic()
done = harness.run(RUN, "--native", "read-only", "--wall", "1", "--outcome",
                   OUTCOME, "--", "/bin/sh", "-c", STUBBORN, env=ENV,
                   timeout=30)
said = outcome()
check("a time limit ends the whole tree", said["code"] == "timeout" and
      said["removed"] and time.monotonic() - before < 5, said)
check("and its control groups", not groups(said["id"]), said)
harness.finish()
