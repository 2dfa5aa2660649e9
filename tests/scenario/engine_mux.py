#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mux wiring: everything of a sandbox goes over the standard input and
output of the engine's client. Streams both ways, files in and out, secrets'
place, how ends are told, records; then each process that carries it is
killed, and the workload is dead."""
import hashlib
import json
import os
import struct
import time

import engine_case
import fighter
import harness
import machine_pace
from harness import check

HOME = harness.folder()
MAGIC = 0x414e5431
BIG = 24 << 20


def configure():
    folder = os.path.join(HOME, ".agentnode")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"sandbox": {"wiring": "mux"}}, file)
    os.chmod(path, 0o600)


def run(*command, options=(), **more):
    return engine_case.run(*command, options=options, home=HOME, **more)


def ended(name, outcome, **wanted):
    wrong = {key: outcome.get(key) for key, value in wanted.items()
             if outcome.get(key) != value}
    return check(name, not wrong and outcome.get("removed") is True,
                 (wrong, outcome))


def streams():
    """Bytes both ways at once, not one lost, and what is said at the end
    comes before the end."""
    case = engine_case.Case(
        "/usr/bin/python3", "-c", """
import hashlib, sys
seen, h = 0, hashlib.sha256()
while True:
    b = sys.stdin.buffer.read(65536)
    if not b:
        break
    h.update(b)
    sys.stdout.buffer.write(b)
sys.stdout.buffer.write(h.hexdigest().encode())
""", home=HOME)
    sent = os.urandom(1 << 20) * (BIG >> 20)
    out, _ = case.process.communicate(sent, timeout=60)
    wanted = hashlib.sha256(sent).hexdigest().encode()
    check("standard input and output, 24 MiB each", out == sent + wanted,
          (len(out), out[-64:]))
    check("it goes by frames", '"wiring":"mux"' in ledger(), "no such record")
    _, outcome = run("/bin/sh", "-c", "exit 37")
    ended("exit 37", outcome, exit_code=37, code="")
    _, outcome = run("/bin/sh", "-c", "kill -SEGV $$")
    ended("a signal", outcome, signal=11, code="")
    _, outcome = run("/no/such/program")
    ended("no such program", outcome, started=False, code="exec_failed")
    _, outcome = run("/bin/sleep", "600", options=["--stop", "4000"])
    ended("stopped in order", outcome, started=True, signal=9, code="")
    out, outcome = run("/bin/sh", "-c", "exec >&-; sleep 0.2; exit 5")
    ended("output closed early", outcome, exit_code=5)


def ledger():
    text = ""
    for folder, _, names in os.walk(os.path.join(HOME, ".agentnode",
                                                 "ledger")):
        for name in names:
            text += engine_case.text(os.path.join(folder, name))
    return text


def record(kind, path=b"", content=b"", mode=0o644):
    return struct.pack("=IIIIQ", MAGIC, kind, mode, len(path),
                       len(content)) + path + content


def trees():
    folder = harness.folder()
    tree_in, tree_out = (os.path.join(folder, name) for name in ("i", "o"))
    content = os.urandom(1 << 20)
    with open(tree_in, "wb") as file:
        file.write(record(2, b"a", content) + record(4))
    out, outcome = run(
        "/bin/sh", "-c", "sha256sum < /scratch/a; cp /scratch/a /scratch/b",
        options=["--tmpfs", "/scratch:8388608", "--import",
                 f"/scratch:{tree_in}", "--export", f"/scratch:{tree_out}"])
    ended("files in and out", outcome, exit_code=0, code="")
    check("files come in whole",
          out.startswith(hashlib.sha256(content).hexdigest()), out)
    with open(tree_out, "rb") as file:
        data = file.read()
    check("files come out whole", data.count(content) == 2, len(data))


def die(victims):
    """A workload that fights; those are killed; it is dead."""
    label = "+".join(victims)
    case = engine_case.Case("/usr/bin/python3", "-c", fighter.FIGHTER,
                            options=["--allow", ""], home=HOME)
    line = case.process.stdout.readline()
    monitor, container = engine_case.monitor(case.name)
    children = engine_case.children(case.pid)
    pids = [{"supervisor": case.pid, "client": children.get("podman"),
             "gate": children.get("agentnode-gate")}[one] for one in victims]
    if not check(f"{label}: it runs", line == b"up\n" and container
                 and None not in pids, (line, pids, case.log())):
        return case.process.kill()
    init = engine_case.Init(monitor)
    time.sleep(0.1)
    deadline, record_gone = (machine_pace.Deadline(limit)
                             for limit in (1.0, 5.0))
    engine_case.kill(pids)
    dead = init.is_dead(10) and deadline.ends()
    check(f"{label}: the workload is dead within a second",
          dead and engine_case.wait(
              5, lambda: not engine_case.inside(container)), deadline)
    check(f"{label}: the engine's record is gone",
          record_gone.wait(lambda: not case.known()), record_gone)
    if "supervisor" in victims:
        case.process.wait()
        return None
    _, outcome = case.finish(10)
    ended(f"{label}: the outcome says why", outcome, removed=True)
    return check(f"{label}: with a code", outcome.get("code") in
                 ("engine_died", "init_died", "init_protocol"), outcome)


configure()
streams()
trees()
for who in (("gate",), ("client",), ("supervisor",), ("supervisor", "gate"),
            ("supervisor", "client")):
    die(who)
harness.finish()
