#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Docker by frames over a connection of our own to its daemon: bytes both
ways, how ends are told, no client of docker's beside it; then each process
that carries them is killed, and a workload that fights is dead within a
second. Nothing is left: no container, no process, no control group."""
import glob
import hashlib
import os
import signal

import engine_case
import fighter
import harness
import machine_pace
from dockerd import Dockerd, dead, inside
from harness import check

BIG = 4 << 20
ECHO = """
import hashlib, sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data)
sys.stdout.buffer.flush()
sys.stderr.write(hashlib.sha256(data).hexdigest())
"""

daemon = Dockerd()
HOME = daemon.home(wiring="mux")


def case(*command, options=()):
    return engine_case.Case(*command, options=options, home=HOME,
                            image_name=daemon.image)


def streams():
    sent = os.urandom(BIG)
    one = case("/usr/bin/python3", "-c", ECHO)
    out, _ = one.process.communicate(sent, timeout=120)
    check("standard input and output, 4 MiB each", out == sent,
          (len(out), one.log()[-800:]))
    check("standard error is a stream of its own",
          hashlib.sha256(sent).hexdigest() in one.log(), one.log()[-400:])
    ledger = "".join(
        engine_case.text(path) for path in
        glob.glob(HOME + "/.agentnode/ledger/**", recursive=True)
        if os.path.isfile(path))
    check("it goes by frames, and is recorded",
          '"wiring":"mux"' in ledger and '"engine":"docker"' in ledger,
          ledger[-400:])
    outcome = case("/bin/sh", "-c", "exit 37").finish(60)[1]
    check("exit 37", outcome.get("exit_code") == 37 and
          outcome.get("removed") is True, outcome)


def start():
    """A workload that fights: (case, {name: pid}, container, pids)."""
    one = case("/usr/bin/python3", "-c", fighter.FIGHTER,
               options=["--allow", ""])
    line = one.process.stdout.readline()
    ids = daemon.containers()
    if line != b"up\n" or len(ids) != 1:
        one.process.kill()
        print("missing part: a sandbox that starts:", line, ids,
              one.log()[-800:])
        daemon.end()
        raise SystemExit(1)
    return one, engine_case.children(one.pid), ids[0], inside(ids[0])


def groups(container):
    return glob.glob("/sys/fs/cgroup/**/*" + container + "*", recursive=True)


def over(what, container, pids, pace, record):
    good = pace.wait(lambda: all(dead(pid) for pid in pids) and
                     not inside(container))
    check(f"{what}: the workload is dead within a second", good, pace)
    check(f"{what}: the daemon's record is gone",
          record.wait(lambda: container not in daemon.containers()), record)
    check(f"{what}: no control group is left", engine_case.wait(
        5, lambda: not groups(container)), groups(container))


def told(what, one):
    outcome = one.finish(120)[1]
    check(what + ": the outcome says why",
          outcome.get("removed") is True and outcome.get("code") in
          ("engine_died", "init_died", "init_protocol"), outcome)


def die(*victims):
    one, parts, container, pids = start()
    pick = {"supervisor": one.pid, "gate": parts.get("agentnode-gate")}
    what = " and ".join(victims) + " killed"
    if not check(what + ": they are there",
                 all(pick[name] for name in victims), parts):
        one.process.kill()
        return
    record, pace = machine_pace.Deadline(5.0), machine_pace.Deadline(1.0)
    engine_case.kill([pick[name] for name in victims])
    over(what, container, pids, pace, record)
    if "supervisor" in victims:
        one.process.wait()
    else:
        told(what, one)


def in_order():
    one, parts, container, pids = start()
    check("no client of docker's lives beside it", "docker" not in parts,
          parts)
    record, pace = machine_pace.Deadline(5.0), machine_pace.Deadline(1.0)
    one.process.send_signal(signal.SIGTERM)
    over("ended in order", container, pids, pace, record)
    one.finish(60)


def kill_daemon():
    """Here it is in the path: without it there is no workload."""
    one, _, container, pids = start()
    pace = machine_pace.Deadline(1.0)
    daemon.kill()
    check("the daemon killed: the workload is dead within a second",
          pace.wait(lambda: all(dead(pid) for pid in pids)), pace)
    outcome = one.finish(120)[1]
    check("the daemon killed: the outcome says why",
          outcome.get("code") in ("engine_died", "init_died"), outcome)
    daemon.start()
    outcome = case("/bin/true").finish(60)[1]
    check("the daemon back: the next start works",
          outcome.get("exit_code") == 0, outcome)
    check("and nothing is left", engine_case.wait(
        5, lambda: container not in daemon.containers()),
        daemon.containers())


try:
    streams()
    for who in (("gate",), ("supervisor",), ("supervisor", "gate")):
        die(*who)
    in_order()
    kill_daemon()
finally:
    daemon.end()
harness.finish()
