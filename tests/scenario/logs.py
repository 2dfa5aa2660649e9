#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode logs`: one connection, one call of a model and one of a tool,
each followed through every process by its id; the merged view, its filters,
following through rotations and new files; docs/operating.md against the
source and against what the runs wrote."""
import json
import os
import subprocess
import threading
import time

import agent_case
import engine_case
import harness
import log_events
import mcp_setup
import schema_check
from harness import check
from tool_pool import odd_package

FOLDER = ".agentnode/log"


def document():
    """The tables against the source, both ways."""
    faults = list(log_events.differences())
    check("docs/operating.md has the events of the source, and no other",
          faults == [], faults[:10])
    faults = list(log_events.code_differences())
    check("and its codes", faults == [], faults[:10])
    check("a line with what no table has is seen", log_events.unknown(
        {"process": "agentnode-gate", "event": "mcp_call", "odd": 1},
        log_events.in_document()) != "")


def lines(home, *words, code=0):
    result = harness.agentnode(home, "logs", "--json", *words)
    if not check(f"logs {' '.join(words)}", result.code == code, result):
        return []
    return [json.loads(line) for line in result.out.splitlines()]


def places(rows):
    """(process without its prefix, event) of each line, in order."""
    return [(row["process"].removeprefix("agentnode-"), row.get("event", ""))
            for row in rows]


def followed(home):
    """One run with one request of each kind."""
    result = harness.agentnode(
        home.home, "agent", "run", "traced-agent", timeout=120,
        **home.session.agent())
    said = json.loads(result.out or "{}")
    check("the agent made one request of each kind", result.code == 0 and
          "403" in result.out and "success" in result.out, result)
    run = next((row["sandbox"] for row in lines(home.home)
                if row.get("event") == "call"), "none")
    rows = lines(home.home, "--run", run)
    check("the lines of a run are by time",
          [row["ts"] for row in rows] == sorted(row["ts"] for row in rows))
    names = {row["process"] for row in rows}
    check("and from every process that had part in it", names >= {
        "agentnode", "agentnode-gate", "agentnode-egress-proxy",
        "agentnode-llm-broker", "agentnode-llm-key"}, names)
    for kind, wanted in (
            ("c1", {("egress-proxy", "connection"),
                    ("agentnode", "egress_denied")}),
            ("l1", {("llm-broker", "call"), ("llm-key", "upstream_call")}),
            ("t1", {("gate", "tools_call"), ("agentnode", "tool_call"),
                    ("gate", "caller_call"), ("gate", "caller_answer"),
                    ("gate", "tools_answer")})):
        rows = lines(home.home, "--request", f"{run}.{kind}")
        check(f"request {kind} is followed through its processes",
              set(places(rows)) == wanted, places(rows))
    rows = lines(home.home, "--request", f"{run}.t1")
    check("a tool's sandbox has an id of its own, the request is the agent's",
          len({row["sandbox"] for row in rows if "sandbox" in row}) == 2
          and {row["request"] for row in rows} == {f"{run}.t1"}, rows)
    lines(home.home, "--request", f"{run}.c99", code=1)
    lines(home.home, "--run", "nobody", code=1)
    return said


def written(home):
    """What the run wrote, against schema and document."""
    with open(os.path.join(harness.SOURCE, "config", "schema",
                           "logs-line.json"), encoding="utf-8") as file:
        schema = json.load(file)
    rows = lines(home, "--last", "100000")
    faults = [fault for row in rows for fault in schema_check.faults(
        row, schema)]
    check("every line keeps the schema", rows and faults == [], faults[:5])
    known = log_events.in_document()
    faults = {log_events.unknown(row, known) for row in rows
              if "event" in row} - {""}
    check("every event and field is in docs/operating.md", faults == set(),
          faults)
    text = json.dumps(rows)
    check("no content of a request is in any line",
          "secret words" not in text and agent_case.KEYS["openai"] not in text)
    result = harness.agentnode(home, "logs", "gate", "--last", "100000")
    check("a workload's escape is shown, not done",
          "\\u001B[31m" in result.out.replace("\\u001b", "\\u001B")
          and "\x1b" not in result.out, result.out[-300:])


class Follow:
    """`agentnode logs --follow` and the lines it printed."""

    def __init__(self, home, *words):
        self.rows = []
        self.process = subprocess.Popen(
            [harness.AGENTNODE, "logs", "--follow", "--json", *words],
            env=harness.environment(home), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.rows.append(json.loads(line))

    def numbers(self):
        return [row["n"] for row in self.rows if row.get("event") == "tick"]

    def sees(self, numbers):
        return harness.wait_until(
            lambda: sorted(self.numbers()) == sorted(numbers), 10)

    def close(self):
        self.process.terminate()
        self.process.wait(10)


def put(path, number, end="\n"):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({
            "ts": f"2030-01-01T00:00:00.{number % 1000:03d}Z",
            "level": "info", "process": "x", "event": "tick",
            "n": number}, separators=(",", ":")) + end)
    os.chmod(path, 0o600)


def rotate(path):
    for i in range(5, 0, -1):
        older = f"{path}.{i - 1}" if i > 1 else path
        if os.path.exists(older):
            os.rename(older, f"{path}.{i}")


def lost(home):
    """Lines that cannot be written are a fault; a reader may leave."""
    for words in (["--last", "1"], ["--json"], ["--json", "--last", "99999"],
                  ["--follow", "--last", "1"], ["--names"]):
        result = harness.agentnode_into("/dev/full", home, "logs", *words)
        check(f"logs {words} onto a full disk", harness.is_lost(result)
              and result.err.count("could not be written") == 1, result)
        result = harness.agentnode_into(None, home, "logs", *words)
        check(f"logs {words}, and the reader left", result.code == 0
              and result.err == "", result)


def following(home):
    """New lines, files and rotations, as the kernel tells them."""
    folder = os.path.join(home, FOLDER)
    path = os.path.join(folder, "agentnode-watched.jsonl")
    put(path, 1)
    follow = Follow(home, "--last", "1")
    if not check("the last line is there", follow.sees([1]), follow.rows):
        return
    put(path, 2)
    put(path, 3, end="")
    check("a new line comes", follow.sees([1, 2]), follow.rows)
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n")
    check("an unfinished one when it is whole", follow.sees([1, 2, 3]),
          follow.rows)
    rotate(path)
    put(path, 4)
    rotate(path)
    put(path, 5)
    put(path + ".1", 6)  # who was not told yet
    check("nothing is lost or doubled in two rotations",
          follow.sees(range(1, 7)), follow.numbers())
    put(os.path.join(folder, "agentnode-another.jsonl"), 7)
    check("a new log is taken up", follow.sees(range(1, 8)),
          follow.numbers())
    with open(f"/proc/{follow.process.pid}/status", encoding="utf-8") as file:
        sleeps = [line for line in file if "voluntary_ctxt" in line]
    time.sleep(1)
    with open(f"/proc/{follow.process.pid}/status", encoding="utf-8") as file:
        check("while nothing happens it sleeps",
              [line for line in file if "voluntary_ctxt" in line] == sleeps,
              sleeps)
    follow.close()
    read = subprocess.Popen(
        [harness.AGENTNODE, "logs", "--follow"], stdout=subprocess.PIPE,
        env=harness.environment(home), stdin=subprocess.DEVNULL)
    read.stdout.readline()
    read.stdout.close()
    try:
        read.wait(10)
    except subprocess.TimeoutExpired:
        read.kill()
    check("it ends when its reader does", read.returncode == 0,
          read.returncode)


def filters(home):
    path = os.path.join(home, FOLDER, "agentnode-old.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for second in range(10):
            file.write('{"ts":"2020-05-05T05:05:0%d.000Z","level":"info",'
                       '"process":"x","event":"tick","n":%d}\n'
                       % (second, second))
        file.write("Segmentation fault \x1b[31m")
    os.chmod(path, 0o600)
    rows = lines(home, "--process", "old")
    check("a torn end is shown, escaped, under its process",
          len(rows) == 11 and rows[-1]["torn"] is True
          and rows[-1]["process"] == "agentnode-old"
          and "\x1b" not in rows[-1]["text"]
          and rows[-1]["ts"] == rows[-2]["ts"], rows[-2:])
    os.utime(path)
    rows = lines(home, "old", "--since", "2020-05-05T05:05:05Z")
    check("--since", [r["n"] for r in rows if "n" in r] == [5, 6, 7, 8, 9],
          rows)
    check("--since a little ago leaves it out",
          lines(home, "old", "--since", "1h") == [])
    first = lines(home, "--since", "2020-01-01")[0]
    check("the oldest of all logs comes first", first.get("n") == 0, first)
    for words in (["--since", "soon"], ["--run", ""], ["--run", "a b"],
                  ["--request", "x\n"], ["--last", "100001"],
                  ["gate", "--process", "gate"], ["--names", "--follow"]):
        result = harness.agentnode(home, "logs", *words)
        check(f"logs {words} is exit 2", result.code == 2
              and result.err.startswith("agentnode: "), result)
    result = harness.agentnode(home, "logs", "--names", "--json")
    check("--names", "agentnode-old" in result.json()["logs"], result)
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    result = harness.agentnode(home, "logs")
    check("a link is refused by its name", result.code == 5
          and "agentnode-old.jsonl" in result.err, result)
    os.unlink(path)


def main():
    document()
    case = agent_case.AgentCase(keys=("openai",))
    try:
        mcp_setup.install(case.home, odd_package(), "--name", "odd")
        case.install("traced")
        followed(case)
        written(case.home)
        lost(case.home)
        following(case.home)
        filters(case.home)
    finally:
        case.close()
    check("no container is left", engine_case.podman(
        "ps", "-aq", "--filter", "name=traced-agent").stdout == "")
    harness.finish()


main()
