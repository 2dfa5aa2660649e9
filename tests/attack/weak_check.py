#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite sees attacks that go through: with a wall taken away, what stood
behind it shows as PASSED and the run fails; with it, it does not."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), HERE]

import harness  # noqa: E402
from harness import check, finish  # noqa: E402

# What is weak, where it is run, what must go through, what must not.
WALLS = [
    ("allow", "wire", (1, 26), (6, 31)),
    ("redactor", "wire", (79, 114), (77,)),
    ("allow", "native", (26, 27, 66), (98,)),
    (None, "bare", (64, 90, 91, 92, 96, 97, 98, 99, 100, 101, 102, 104, 110),
     ()),
]


def run(engine, weak, items):
    words = ["--engine", engine, "--json"]
    for item in items:
        words += ["--item", str(item)]
    if weak:
        words += ["--weaken", weak]
    return harness.run(sys.executable, os.path.join(HERE, "run.py"), *words,
                       timeout=200, env=dict(os.environ))


for weak, engine, open_, shut in WALLS:
    done = run(engine, weak, open_ + shut)
    what = f"{engine} with {weak or 'no walls'}"
    try:
        rows = {row["item"]: row["verdict"] for row in json.loads(done.out)}
    except ValueError:
        rows = {}
    check(f"{what}: the suite fails", done.code == 1 and rows, done)
    for item in open_:
        check(f"{what}: {item} is seen to go through",
              rows.get(item) == "PASSED", (rows.get(item), done.err[-900:]))
    for item in shut:
        check(f"{what}: {item} is refused still",
              rows.get(item) == "refused", (rows.get(item), done.err[-900:]))
finish()
