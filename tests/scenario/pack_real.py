#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seven tool packs with real libraries, installed sealed, and each of their
tools run as an operator does: the right answers, without a network; and what
somebody writes into their entries raises nothing."""
import json

import engine_case
import harness
import mcp_setup
import pack_case
import schema_check
from harness import check

TABLE = "a,b\n1,2\n3,4\n"
RUNS = [
    ("csv-tools/rows", {"text": TABLE},
     [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
    ("csv-tools/total", {"text": TABLE, "column": "b"}, 6),
    ("html-tools", {"html": "<h1>A <i>title</i></h1><p>text</p>"},
     "# A _title_\n\ntext"),
    ("markdown-tools/render", {"text": "# A\n"}, {"html": "<h1>A</h1>\n"}),
    ("markdown-tools/headings", {"text": "# A\n\n## B\n"},
     [{"level": 1, "text": "A"}, {"level": 2, "text": "B"}]),
    ("version-tools", {"versions": ["1.2.0", "1.10.1", "2.0.0"],
                       "range": "^1.0.0"}, {"newest": "1.10.1"}),
    ("yaml-tools/to_json", {"text": "a: [1, {b: null}]\n"},
     {"a": [1, {"b": None}]}),
    ("yaml-tools/set_value", {"text": "# kept\na: 1\n", "key": "a",
                              "value": 2}, "# kept\na: 2\n"),
    ("table-tools", {"rows": [[1, "x"]], "headers": ["n", "t"]},
     {"text": "  n  t\n---  ---\n  1  x"}),
    ("date-tools/parse", {"text": "30 Nov 2026 04:05"},
     {"date": "2026-11-30T04:05:00"}),
    ("date-tools/add_months", {"text": "2026-01-31", "months": 1},
     {"date": "2026-02-28"}),
]


def run(name, given):
    result = harness.agentnode(home, "run", name, "--json", "--json-input",
                               "-", stdin=json.dumps(given), timeout=120)
    try:
        return json.loads(result.out), result
    except ValueError:
        return {}, result


def forged(**fields):
    """A field that no seal covers, written by hand."""
    path = home + "/.agentnode/agentnode.lock"
    lock = mcp_setup.lock(home)
    before = json.dumps(lock)
    lock["packages"]["table-tools"].update(fields)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(lock, file)
    answer = run("table-tools", {"rows": [[1]]})
    with open(path, "w", encoding="utf-8") as file:
        file.write(before)
    return answer


home = mcp_setup.home(registry=True)
names = sorted({row[0].split("/")[0] for row in RUNS})
try:
    for name in names:
        result = pack_case.install(home, pack_case.ready(name))
        check(f"{name} is installed", result.code == 0, result)
    for name, given, expected in RUNS:
        report, result = run(name, given)
        check(f"{name} gives the right answer", result.code == 0 and
              report.get("result") == expected and
              report.get("place") == "sandbox" and schema_check.check_text(
                  result.out, harness.SOURCE, "run") == "", result)
    result = harness.agentnode(home, "run", "csv-tools/total", "--arg",
                               "text=" + TABLE, "--arg", "column=a")
    check("by words, without a report", result.out == "4\n", result)
    report, result = forged(trust_level="curated")
    check("i10: a claim of a tier is a claim: it runs in the sandbox",
          report.get("place") == "sandbox" and report.get("ok") is True,
          result)
    report, result = forged(trust_level="curated", build_mode="host")
    check("i08: an entry that says it was built for the host never starts",
          result.code == 125 and "host_build_stale" in result.err, result)
    report, result = forged(tools=[{"name": "layout",
                                    "entrypoint": "os:system"}])
    check("i09: another function is another seal", result.code == 125 and
          "integrity" in result.err, result)
finally:
    for entry in mcp_setup.lock(home)["packages"].values():
        engine_case.podman("volume", "rm", "-f", entry["sandbox_volume"])
harness.finish()
