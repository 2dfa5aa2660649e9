#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""32 connections of a real container over the mux wiring, all busy: each gets
its part, both ways. And the engine's processes are not in the link's path:
what init reads and writes are the gate's own pipes."""
import json
import os

import engine_case
import harness
import many_streams
from harness import check

HOME = harness.folder()
STREAMS = 32
TOTAL = 64 << 20
# Loose: what is shown here is that nobody starves, on any machine; the
# bench says how even it is.
MOST = 0.5


def configure():
    folder = os.path.join(HOME, ".agentnode")
    os.makedirs(folder, mode=0o700)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"sandbox": {"wiring": "mux"}}, file)
    os.chmod(path, 0o600)


def pipes(pid):
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    return {one for one in found if one.startswith("pipe:")}


def path_of_bytes():
    """Who has an end of a pipe that init and the gate share."""
    case = engine_case.Case("/bin/cat", home=HOME)
    case.process.stdin.write(b"there\n")
    case.process.stdin.flush()
    check("a workload answers",
          case.process.stdout.readline() == b"there\n", case.log()[-400:])
    monitor, _ = engine_case.monitor(case.name)
    parts = engine_case.children(case.pid)
    init = engine_case.Init(monitor)
    link = pipes(init.pid) & pipes(parts["agentnode-gate"])
    check("init has both pipes of the gate", len(link) == 2, link)
    check("the engine's monitor has neither",
          not link & pipes(monitor), (link, pipes(monitor)))
    workload = engine_case.children(init.pid).get("cat")
    check("nor has the workload", workload and not link & pipes(workload),
          (workload, link))
    case.process.stdin.close()
    case.process.wait(30)


configure()
path_of_bytes()
for way, text in (("out", "out of it"), ("in", "into it")):
    seen, rate = many_streams.run(way, STREAMS, TOTAL, HOME)
    check(f"{STREAMS} connections {text}: each gets its part",
          many_streams.unfair(seen) < MOST,
          (seen, f"{rate / 1e9:.3f} GB/s"))
harness.finish()
