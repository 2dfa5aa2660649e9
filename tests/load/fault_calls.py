#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails the Nth system call of each kind in each process of ours, one run
for each, and judges what came of it: refused, dead, or correct all the same.
Never open: no workload without its walls, no connection that the policy
denies, no key outside, nothing left behind, no hang.

  fault_calls.py [--stories a,b] [--seconds N] [--all a,b] [--program P]
      [--call NAME] [--workers N] [--seed N] [--write-docs] [--results FILE]

--results FILE adds to what an earlier run left there, for runs in several
parts. Stories of --all take every call of every kind; the others share --seconds:
first one call of each cell (process x kind), then more of each in turn."""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

import engine_case
import harness
import fault_agent
import fault_keys
import fault_world
from fault_errnos import ERRNOS, LEFT_OUT
from harness import check

FAIL_CALL = os.path.join(harness.BUILD, "tests", "fail_call")
STORIES = {one.name: one for one in (
    fault_world.Native, fault_world.Policy, fault_world.Container,
    fault_keys.Broker, fault_keys.Keyring, fault_agent.Agent,
    fault_agent.Server)}
PLAIN = ("native", "policy", "broker", "keyring")  # no image needed
RANK = ("correct", "refused", "dead", "OPEN")
DOCUMENT = os.path.join(harness.SOURCE, "docs", "fault-table.md")
Case = collections.namedtuple("Case", "story program call nth errno")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stories", default=",".join(STORIES))
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--all", default="")
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
    given.all = [one for one in given.all.split(",") if one]
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


class Table:
    """What came of each cell, filled by several workers."""

    def __init__(self):
        self.lock = threading.Lock()
        self.cells = collections.defaultdict(collections.Counter)
        self.made, self.open, self.missed = {}, [], 0

    def add(self, case, rank, wrong, text):
        with self.lock:
            self.cells[case.program, case.call][rank] += 1
            if rank == "OPEN":
                self.open.append((case, wrong, text))
                print(f"# OPEN {' '.join(map(str, case))}: {wrong}\n"
                      f"#   {text[-600:]!r}", flush=True)

    def load(self, path):
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for program, call, made, got in json.load(file):
                    self.cells[program, call].update(got)
                    self.made[program, call] = made

    def save(self, path):
        """Without what was open: that failed, and is run again."""
        if path:
            rows = [(*cell, self.made.get(cell, 0),
                     {rank: got[rank] for rank in RANK[:3] if got[rank]})
                    for cell, got in self.cells.items()]
            with open(path, "w", encoding="utf-8") as file:
                json.dump(rows, file)

    def worst(self, cell):
        return max(self.cells[cell], key=RANK.index)


def cases(story, counts, given, table):
    """Rounds of cases: the first of each cell first, and of those the cells
    that no story before had."""
    rounds = collections.defaultdict(list)
    picked = random.Random(given.seed)
    for (program, call), count in sorted(counts.items()):
        if (not program.startswith("agentnode") or call not in ERRNOS
                or program == "agentnode-probe"
                or given.program and program not in given.program
                or given.call and call not in given.call):
            continue
        numbers = list(range(1, count + 1))
        if story not in given.all:
            # Ends and middle first, the others by chance.
            first = [1, count, (count + 1) // 2]
            rest = [n for n in numbers if n not in first]
            picked.shuffle(rest)
            numbers = list(dict.fromkeys(first)) + rest
        if given.nth:
            numbers = [given.nth]
        errnos = ([given.errno] if given.errno else ERRNOS[call])
        start = picked.randrange(len(errnos))
        for place, nth in enumerate(numbers):
            rounds[place].append(Case(
                story, program, call, nth,
                errnos[(start + place) % len(errnos)]))
    for place in rounds:
        picked.shuffle(rounds[place])
        rounds[place].sort(key=lambda case: sum(table.cells.get(
            (case.program, case.call), {}).values()) > place)
    return [rounds[place] for place in sorted(rounds)]


def worker(story, queue, table, given, until):
    while True:
        with table.lock:
            if not queue or time.monotonic() > until:
                return
            case = queue.popleft()
        rows, out, err = run(
            story, [case.call], "--program", case.program, "--nth",
            str(case.nth), "--errno", case.errno)
        rank, wrong = judge(story, rows, out, err)
        if given.verbose:
            print("#", *case, rank, wrong, rows.get("status"), err[-200:])
        if not rows.get("injected") and rank != "OPEN":
            with table.lock:
                table.missed += 1  # this run made fewer calls of the kind
            continue
        table.add(case, rank, wrong, out[-300:] + err)


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
    for cell, count in rows["counts"].items():
        table.made[cell] = max(count, table.made.get(cell, 0))
    queue = collections.deque(
        case for cells in cases(name, rows["counts"], given,
                                           table)
        for case in cells)
    total, begin = len(queue), time.monotonic()
    share = (86400 if name in given.all else given.seconds
             / len([one for one in given.stories if one not in given.all]))
    stories = [first] + [first.twin() for _ in range(given.workers - 1)]
    for story in stories:
        story.timeout, story.linger = first.timeout, first.linger
    with concurrent.futures.ThreadPoolExecutor(given.workers) as pool:
        for done in [pool.submit(worker, story, queue, table, given,
                                 begin + share) for story in stories]:
            done.result()
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


def text_of(table, given):
    cells = sorted(cell for cell in table.cells)
    rows = ["# What a failing system call leads to", "",
            "Made by `tests/load/fault_calls.py --write-docs` "
            "([load.md](load.md)); do not edit.", "",
            f"{sum(sum(c.values()) for c in table.cells.values())} runs, each "
            "with one system call failed (ENOMEM, EMFILE, ENFILE, ENOSPC, "
            "EIO, EINTR, EAGAIN, EPERM, EACCES, EINVAL, ENOBUFS: those that "
            "fit the call). `calls` is how many of the kind the process makes "
            "in a run of the story that makes the most, `failed` how many "
            "runs failed one of them. **correct**: the result was right all "
            "the same. **refused**: no workload ran. **dead**: the run was "
            "ended and said so. Nothing else may happen; `OPEN` would be a "
            "workload without its walls, a connection that policy denies, a "
            "key outside, something left behind, or a hang.", ""]
    for program in sorted({program for program, _ in cells}):
        rows += [f"## {program}", "",
                 "| call | calls | failed | correct | refused | dead | worst |",
                 "|---|---|---|---|---|---|---|"]
        for cell in cells:
            if cell[0] != program:
                continue
            got = table.cells[cell]
            rows.append(
                f"| {cell[1]} | {table.made.get(cell, 0)} | "
                f"{sum(got.values())} | {got['correct']} | {got['refused']} "
                f"| {got['dead']} | {table.worst(cell)} |")
        rows.append("")
    rows += ["## Left alone", "", "| calls | why |", "|---|---|"]
    rows += [f"| {calls} | {why} |" for calls, why in LEFT_OUT.items()]
    return "\n".join(rows) + "\n"


def main():
    given = options()
    print(f"# seed {given.seed}")
    table, stories = Table(), []
    table.load(given.results)
    for name in given.stories:
        tell(name, table, given, stories)
    afterwards(stories)
    table.save(given.results)
    text = text_of(table, given)
    print(text)
    for cell in sorted(table.cells):
        worst = table.worst(cell)
        check(f"{cell[0]} {cell[1]}: {worst}", worst != "OPEN",
              [one for one in table.open
               if one[0][1:3] == cell][:2])
    if given.write_docs:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(text)
    harness.finish()


if __name__ == "__main__":
    sys.exit(main())
