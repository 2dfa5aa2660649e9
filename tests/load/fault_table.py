# SPDX-License-Identifier: Apache-2.0
"""What came of each fault, by story, process and kind of call; kept in a
file between runs in parts, and written as the document."""
import collections
import json
import os
import threading

from fault_errnos import LEFT_OUT

RANK = ("correct", "refused", "dead", "OPEN")
HEAD = ("# What a failing system call leads to", "",
        "Made by `tests/load/fault_calls.py --write-docs` "
        "([load.md](load.md)); do not edit.", "")


class Table:
    """Filled by several workers. `tried` is {(story, program, call): {(nth,
    errno): rank}}, `made` how many calls the story made, counted."""

    def __init__(self, path):
        self.lock, self.path = threading.Lock(), path
        self.tried = collections.defaultdict(dict)
        self.made, self.open = {}, []
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for *cell, made, got in json.load(file):
                    self.made[tuple(cell)] = made
                    for nth, errno, rank in got:
                        self.tried[tuple(cell)][nth, errno] = rank

    def save(self):
        """Without what was open: that failed, and is run again."""
        if not self.path:
            return
        with self.lock:
            rows = [[*cell, made, [[*key, rank] for key, rank in
                                   self.tried.get(cell, {}).items()
                                   if rank != "OPEN"]]
                    for cell, made in sorted(self.made.items())]
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump(rows, file)
            os.replace(self.path + ".new", self.path)

    def has(self, case):
        return (case.nth, case.errno) in self.tried.get(case[:3], {})

    def add(self, case, rank, wrong, text):
        with self.lock:
            self.tried[case[:3]][case.nth, case.errno] = rank
            if rank == "OPEN":
                self.open.append((case, wrong, text))
                print(f"# OPEN {' '.join(map(str, case))}: {wrong}\n"
                      f"#   {text[-600:]!r}", flush=True)

    def cells(self):
        """(program, call) of what a story was seen to make."""
        return sorted({cell[1:] for cell in self.made})

    def ranks(self, program, call):
        """How often which rank."""
        return collections.Counter(
            rank for cell, got in list(self.tried.items())
            if cell[1:] == (program, call) for rank in got.values())

    def failed(self, program, call):
        return sum(self.ranks(program, call).values())

    def worst(self, program, call):
        return max(self.ranks(program, call), key=RANK.index, default="none")

    def which(self, program, call):
        """Which of the calls were failed, over all stories that make them."""
        made = failed = 0
        for cell, count in self.made.items():
            if cell[1:] == (program, call):
                made += count
                failed += len({nth for nth, _ in self.tried.get(cell, ())})
        return "every one" if failed >= made else f"{failed} of {made}"


def stories(table):
    """One row for each story."""
    rows = ["| story | processes | kinds | calls | failed | runs |",
            "|---|---|---|---|---|---|"]
    for story in sorted({cell[0] for cell in table.made}):
        mine = [cell for cell in table.made if cell[0] == story]
        failed = sum(len({nth for nth, _ in table.tried.get(cell, ())})
                     for cell in mine)
        rows.append(
            f"| {story} | {len({cell[1] for cell in mine})} | {len(mine)} | "
            f"{sum(table.made[cell] for cell in mine)} | {failed} | "
            f"{sum(len(table.tried.get(cell, ())) for cell in mine)} |")
    return rows


def text_of(table):
    runs = sum(len(got) for got in table.tried.values())
    cells = table.cells()
    rows = [*HEAD,
            f"{runs} runs, each with one system call failed (ENOMEM, EMFILE, "
            "ENFILE, ENOSPC, EIO, EINTR, EAGAIN, EPERM, EACCES, EINVAL, "
            f"ENOBUFS: those that fit the call), in {len(cells)} cells "
            "(process × kind of call): all that the stories below make.", "",
            "`which` is how many of the calls of a kind were failed, summed "
            "over the stories that make them (`calls` and `failed` of the "
            "stories): every one, or in a story whose runs take long the "
            "first of each kind and then, as time allowed, the last, the "
            "second and third, and some by chance. What is missing in a "
            "story of which every one was failed are calls that a run makes "
            "or does not. **correct**: the result was right "
            "all the same. **refused**: no workload ran. **dead**: the run "
            "was ended and said so. Nothing else may happen; `OPEN` would be "
            "a workload without its walls, a connection that policy denies, "
            "a key outside, something left behind, or a hang.", "",
            *stories(table), ""]
    for program in sorted({program for program, _ in cells}):
        rows += [f"## {program}", "",
                 "| call | which | runs | correct | refused | dead | worst |",
                 "|---|---|---|---|---|---|---|"]
        for cell in cells:
            if cell[0] != program:
                continue
            got = table.ranks(*cell)
            rows.append(
                f"| {cell[1]} | {table.which(*cell)} | {sum(got.values())} | "
                f"{got['correct']} | {got['refused']} | {got['dead']} | "
                f"{table.worst(*cell)} |")
        rows.append("")
    rows += ["## Left alone", "", "| calls | why |", "|---|---|"]
    rows += [f"| {calls} | {why} |" for calls, why in LEFT_OUT.items()]
    return "\n".join(rows) + "\n"
