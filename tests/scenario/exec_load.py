#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hundred commands behind each boundary: forks, floods, huge and sparse
files, deep directories, deafness to SIGTERM. All end in time, each with its
own result, and nothing is left: processes, containers, control groups,
scratch directories, runs that say they run."""
import concurrent.futures
import glob
import os
import sys
import time

import exec_case
import harness
from harness import check

COUNT = 200
# Every container is a dozen processes of the engine's: as many at a time as
# the machine takes. The others are all at once.
AT_ONCE = {"container": max(4, 3 * (os.cpu_count() or 1)), "native": COUNT,
           "policy": COUNT}
MOST_S = {"container": 400, "native": 120, "policy": 120}
MARK = "271.25"
KINDS = {
    "forks": ("i=0; while [ $i -lt 20 ]; do sleep 0.05 & i=$((i+1)); done; "
              "wait; echo ok", 0, "ok\n"),
    "flood": ("yes | head -c 3000000; yes no | head -c 1000000 >&2", 0, None),
    "files": ("truncate -s 20m sparse; head -c 2m /dev/zero >huge; "
              "d=.; i=0; while [ $i -lt 60 ]; do d=$d/d; mkdir $d; "
              "i=$((i+1)); done; echo ok", 0, "ok\n"),
    "deaf": (f"trap '' TERM INT HUP; (trap '' TERM; setsid sleep {MARK}) & "
             f"echo ok; while :; do sleep {MARK}; done", 124, "ok\n"),
    "exits": (f"setsid sleep {MARK} & echo ok; exit 9", 9, "ok\n"),
}
case = exec_case.ExecCase()


def marked():
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if file.read().startswith(b"sleep\0" + MARK.encode()):
                    found.append(path)
        except OSError:
            pass
    return found


def one(boundary, number):
    name = list(KINDS)[number % len(KINDS)]
    script, code, said = KINDS[name]
    limit = "3s" if name == "deaf" else "120s"
    result = case.run("sh", "-c", f"echo {number} >mine; {script}", options=(
        "--boundary", boundary, "--timeout", limit), timeout=MOST_S[boundary])
    if result["rc"] != code or (said is not None
                                and result["stdout"] != said):
        return name, result
    if name != "files" and case.files(result)["mine"]["text"] != f"{number}\n":
        return name, result
    if name == "flood" and (result["stdout_bytes"] != 3000000
                            or result["stderr_bytes"] != 1000000):
        return name, result
    return None


for boundary in sys.argv[1:] or ("policy", "native", "container"):
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE[boundary]) as pool:
        faults = [fault for fault in pool.map(
            lambda number: one(boundary, number), range(COUNT)) if fault]
    took = time.monotonic() - begin
    check(f"{boundary}: {COUNT} commands, each with its own result",
          not faults, (len(faults), faults[:2]))
    check(f"{boundary}: within {MOST_S[boundary]} s (took {took:.1f})",
          took < MOST_S[boundary])
    check(f"{boundary}: nothing of them lives", harness.wait_until(
        lambda: not marked(), 5), marked())
    check(f"{boundary}: nothing else is left", harness.wait_until(
        lambda: not case.left() and not case.containers(), 15),
        (case.left()[:5], case.containers()[:5]))
rows = harness.agentnode(case.home, "runs", "list", "--json",
                         timeout=100).json()["runs"]
check("no run says that it runs", all(row["status"] != "running"
                                      for row in rows), rows[:3])
check("the chain is whole", harness.agentnode(
    case.home, "audit", "verify", timeout=100).code == 0)
harness.finish()
