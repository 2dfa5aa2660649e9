#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails the Nth system call of each kind in each process of ours, one run
for each, and judges what came of it: refused, dead, or correct all the same.
Never open: no workload without its walls, no connection that the policy
denies, no key outside, nothing left behind, no hang.

  fault_calls.py [--stories a,b] [--seconds N | --full] [--most N]
      [--every a,b] [--program P] [--call NAME] [--nth N] [--errno E]
      [--workers N] [--seed N] [--write-docs] [--results FILE]

Without --full the stories share --seconds and get as far as that goes: first
one call of each cell (process x kind), then more of each in turn. --full
takes the whole plan (fault_plan.py): every call, or with --most of a kind that
is made more often so many, but for the stories of --every. --results FILE adds
to what an earlier run left there and leaves out what that has, for runs in
parts."""
import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

import engine_case
import harness
import fault_agent
import fault_keys
import fault_plan
import fault_table
import fault_world
from fault_errnos import ERRNOS
from harness import check

FAIL_CALL = os.path.join(harness.BUILD, "tests", "fail_call")
STORIES = {one.name: one for one in (
    fault_world.Native, fault_world.Policy, fault_world.Container,
    fault_world.Mux, fault_world.Oci, fault_keys.Broker, fault_keys.Keyring, fault_agent.Agent,
    fault_agent.Server)}
PLAIN = ("native", "policy", "broker", "keyring")  # no image needed
DOCUMENT = os.path.join(harness.SOURCE, "docs", "fault-table.md")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stories", default=",".join(STORIES))
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--every", default="")
    parser.add_argument("--program", action="append")
    parser.add_argument("--call", action="append")
    parser.add_argument("--nth", type=int)
    parser.add_argument("--errno")
    parser.add_argument("--workers", type=int,
                        default=max(2, os.cpu_count() or 1))
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--results")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    given.stories = given.stories.split(",")
    given.every = given.every.split(",")
    return given


def run(story, calls, *words):
    """The story's command under fail_call: (its report, output, error)."""
    report = tempfile.mktemp(dir=story.home)
    story.prepare()
    begin = time.monotonic()
    done = subprocess.run(
        [FAIL_CALL, "--calls", ",".join(calls), "--timeout",
         str(story.timeout), "--linger", str(story.linger), "--report",
         report, *words, "--",
         *story.words()], env=story.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        cwd=story.home)
    rows = {"counts": {}, "seconds": time.monotonic() - begin}
    for line in engine_case.text(report).splitlines():
        key, _, rest = line.partition(" ")
        if key == "count":
            program, call, count = rest.split()
            rows["counts"][program, call] = int(count)
        else:
            rows[key] = int(rest)
    if os.path.exists(report):
        os.unlink(report)
    return (rows, done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"))


def judge(story, rows, out, err):
    """(rank, what is wrong)."""
    wrong, ran = story.faults(out, err)
    if rows.get("hung"):
        wrong.append(f"hung for {story.timeout:.0f} s")
    if rows.get("left"):
        wrong.append("left behind: " + ", ".join(re.findall(
            r"fail_call: left: (.*)", err)))
    if rows.get("status") == 0 and not story.complete(out):
        wrong.append("exit 0 without its result")
    if wrong:
        return "OPEN", wrong
    if rows.get("status") == 0:
        return "correct", []
    return ("dead" if ran else "refused"), []


def one(story, case, table, given):
    """Runs a case. One that made fewer calls of the kind than the counted
    run is followed by one with a lower number."""
    rows, out, err = run(
        story, [case.call], "--program", case.program, "--nth",
        str(case.nth), "--errno", case.errno)
    rank, wrong = judge(story, rows, out, err)
    if given.verbose:
        print("#", *case, rank, wrong, rows.get("status"), err[-200:])
    if rows.get("injected") or rank == "OPEN":
        table.add(case, rank, wrong, out[-300:] + err)
        return None
    return fault_plan.lower(case, table.tried[case[:3]])


def worker(story, queue, table, given, until):
    saved = time.monotonic()
    while True:
        with table.lock:
            if not queue or time.monotonic() > until:
                return
            case = queue.popleft()
        while case is not None:
            case = one(story, case, table, given)
        if time.monotonic() > saved + 20:
            table.save()
            saved = time.monotonic()


def tell(name, table, given, made):
    """A story once without a fault, counted, then with its faults."""
    first = STORIES[name](None if name in PLAIN else engine_case.image())
    rows, out, err = run(first, ["execve"])
    rank, wrong = judge(first, rows, out, err)
    if not check(f"{name}: without a fault it is correct",
                 rank == "correct", (rank, wrong, rows, out, err)):
        return
    # What is long on this machine now.
    first.timeout = max(first.timeout, 15 * rows["seconds"])
    first.linger = max(first.linger, 5 * rows["seconds"])
    rows, out, err = run(first, list(ERRNOS))
    rank, wrong = judge(first, rows, out, err)
    check(f"{name}: counted, it is correct too", rank == "correct",
          (rank, wrong, out, err))
    counts = {cell: count for cell, count in rows["counts"].items()
              if fault_plan.counted(*cell, given)}
    for cell, count in counts.items():
        # Of a run in parts, the count that its plan was made of.
        counts[cell] = table.made.setdefault((name, *cell), count)
    queue = collections.deque(fault_plan.plan(name, counts, given, table))
    total, begin = len(queue), time.monotonic()
    share = 86400 if given.full else given.seconds / len(given.stories)
    stories = [first] + [first.twin() for _ in range(given.workers - 1)]
    for story in stories:
        story.timeout, story.linger = first.timeout, first.linger
    with concurrent.futures.ThreadPoolExecutor(given.workers) as pool:
        for done in [pool.submit(worker, story, queue, table, given,
                                 begin + share) for story in stories]:
            done.result()
    table.save()
    print(f"# {name}: {total - len(queue)} of {total} faults in "
          f"{time.monotonic() - begin:.0f} s, {rows['seconds']:.2f} s for a "
          "counted run", flush=True)
    made.extend(stories)


def afterwards(stories):
    """What may be there until the next start or gc must be gone after it."""
    for story in stories:
        harness.agentnode(story.home, "sandbox", "gc", timeout=60)
        check(f"{story.name}: nothing is left in its home", not story.left(),
              story.left()[:5])
        done = harness.agentnode(story.home, "audit", "verify")
        check(f"{story.name}: the audit chain is whole, or says where not",
              done.code in (0, 1), done)
        story.close()


def main():
    given = options()
    print(f"# seed {given.seed}")
    table, stories = fault_table.Table(given.results), []
    for name in given.stories:
        tell(name, table, given, stories)
    afterwards(stories)
    text = fault_table.text_of(table)
    print(text)
    for cell in table.cells():
        worst = table.worst(*cell)
        check(f"{cell[0]} {cell[1]}: {worst}", worst != "OPEN" and
              (worst != "none" or not given.full),
              [one for one in table.open if one[0][1:3] == cell][:2])
    if given.write_docs:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    harness.finish()


if __name__ == "__main__":
    sys.exit(main())
