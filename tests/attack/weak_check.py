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

OPEN = (64, 90, 91, 92, 98, 99, 100, 101, 102, 104, 110)
# What is weak, where it is run, what must go through in each, what must not.
WALLS = [
    ("allow", ("wire",), (1, 26), (6, 31)),
    ("redactor", ("wire",), (79, 114), (77,)),
    ("allow", ("native", "podman-mux", "docker", "docker-mux", "oci-runsc"),
     (26, 27, 66), (98,)),
    ("models", ("podman-mux", "oci-runsc"), (87, 113), (76,)),
    (None, ("bare", "bare-docker"), (*OPEN, 96, 97), ()),
    (None, ("bare-runsc",), OPEN, ()),
]


def run(engines, weak, items):
    words = ["--json"]
    for engine in engines:
        words += ["--engine", engine]
    for item in items:
        words += ["--item", str(item)]
    if weak:
        words += ["--weaken", weak]
    return harness.run(sys.executable, os.path.join(HERE, "run.py"), *words,
                       timeout=600, env=dict(os.environ))


def verdicts(rows, engine, item):
    """Those of an item's places on an engine."""
    return [verdict for row in rows if row["item"] == item
            for place, verdict in row["places"].items()
            if place.endswith("/" + engine)]


for weak, places, open_, shut in WALLS:
    done = run(places, weak, open_ + shut)
    try:
        rows = json.loads(done.out)
    except ValueError:
        rows = []
    for engine in places:
        what = f"{engine} with {weak or 'no walls'}"
        check(f"{what}: the suite fails", done.code == 1 and rows, done)
        for item in open_:
            seen = verdicts(rows, engine, item)
            check(f"{what}: {item} is seen to go through", "PASSED" in seen,
                  (seen, done.err[-900:]))
        for item in shut:
            seen = verdicts(rows, engine, item)
            check(f"{what}: {item} is refused still", seen
                  and set(seen) == {"refused"}, (seen, done.err[-900:]))
finish()
