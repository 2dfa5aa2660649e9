"""`agentnode llm usage`, `runs list` and `runs show` over what real ledgers
and records of agents left: sums by every column, pages, dates, names of
models that would move the terminal, files that cannot be used."""
import datetime
import json
import os
import sqlite3

import harness
import schema_check
from harness import agentnode, check
from ledger_client import Ledger

LEDGER_UID = 1879048191
home = harness.folder()
base = os.path.join(home, ".agentnode")
folder = os.path.join(base, "ledger")
log = os.path.join(home, "ledger.log")
os.makedirs(folder, mode=0o700)
os.chmod(base, 0o700)
if os.geteuid() == 0:
    os.chown(folder, LEDGER_UID, LEDGER_UID)
TODAY = datetime.datetime.now(datetime.timezone.utc).date()


def usage(*words):
    result = agentnode(home, "llm", "usage", "--json", *words)
    if result.code != 0:
        return result
    fault = schema_check.check_text(result.out, harness.SOURCE, "llm_usage")
    check("llm usage --json " + " ".join(words) + " fits its schema",
          fault == "", fault)
    return result.json()


answer = usage()
check("nothing was used", answer["rows"] == [] and answer["by"] == "day"
      and answer["total"]["calls"] == 0, answer)
check("the last 30 days", answer["since"]
      == str(TODAY - datetime.timedelta(29)), answer)

# Two agents, two providers, one price that is not known.
ledger = Ledger(folder, log)
one, _ = ledger.budget("one", package="agent-one")
two, _ = ledger.budget("two", package="agent-two")
for call in range(1, 4):
    one.reserve(call, tokens=1000)
    one.settle(call, input_chars=100, output_chars=50, tokens=200,
               cost_microusd=1500)
two.reserve(1, provider="gemini", model="\x1b[2Jevil", tokens=10,
            cost_microusd=-1)
two.settle(1, code="upstream_error", estimated=True, input_chars=7,
           output_chars=0, tokens=4, cost_microusd=-1)
two.reserve(2)  # under way
ledger.ask("budget_close", sandbox="one")

answer = usage("--by", "agent")
rows = {row["agent"]: row for row in answer["rows"]}
check("by agent", set(rows) == {"agent-one", "agent-two"}
      and rows["agent-one"]["calls"] == 3
      and rows["agent-one"]["served"] == 3
      and rows["agent-one"]["tokens"] == 600
      and rows["agent-one"]["cost_microusd"] == 4500
      and rows["agent-two"]["served"] == 0
      and rows["agent-two"]["estimated"] == 1
      and rows["agent-two"]["unpriced"] == 1, answer)
check("the total is their sum", answer["total"]["calls"] == 4
      and answer["total"]["input_chars"] == 307, answer)
answer = usage("--by", "model")
check("by model", [(r["provider"], r["model"]) for r in answer["rows"]] == [
    ("gemini", "\x1b[2Jevil"), ("openai", "gpt-4o-mini")], answer)
answer = usage("--by", "provider")
check("by provider", [r["provider"] for r in answer["rows"]]
      == ["gemini", "openai"], answer)
answer = usage("--by", "day", "--since", "1d")
check("by day", [r["day"] for r in answer["rows"]] == [str(TODAY)], answer)

result = agentnode(home, "llm", "usage", "--by", "model")
lines = result.out.splitlines()
check("a table: head, two rows, total, two remarks", result.code == 0
      and len(lines) == 6 and lines[3].startswith("total")
      and "0.0045+" in lines[3] and "~" in lines[3], result.out)
check("no escape reaches the terminal", "\x1b" not in result.out, result.out)
ledger.end()
answer = usage("--by", "agent")
check("a call that its ledger left under way counts as used",
      {r["agent"]: r["calls"] for r in answer["rows"]}
      == {"agent-one": 3, "agent-two": 2}, answer)

# Many rows come in pages; older days only when asked for.
ledger = Ledger(folder, log)
run, _ = ledger.budget("many", package="many")
for call in range(1, 101):
    run.submit(call, model=f"model-{call % 60:03}")
for _ in range(100):
    run.receive()
for call in range(1, 101):
    run.settle(call)
ledger.ask("budget_close", sandbox="many")
ledger.end()
answer = usage("--by", "model")
check("60 models on more pages than one", len(answer["rows"]) == 62
      and sum(r["calls"] for r in answer["rows"])
      == answer["total"]["calls"] == 105, len(answer["rows"]))
db = sqlite3.connect(os.path.join(folder, "usage.db"))
day = (TODAY - datetime.date(1970, 1, 1)).days
for back in (1, 6, 7, 40):
    db.execute("INSERT INTO usage(day, package, provider, model, calls)"
               " VALUES(?, 'old', 'openai', 'm', 1)", (day - back,))
db.commit()
db.close()
for name in ("", "-wal", "-shm"):
    path = os.path.join(folder, "usage.db" + name)
    if os.geteuid() == 0 and os.path.exists(path):
        os.chown(path, LEDGER_UID, LEDGER_UID)
for since, count in (("1d", 1), ("7d", 3), ("8d", 4), ("30d", 4),
                     ("400d", 5),
                     (str(TODAY - datetime.timedelta(6)), 3)):
    answer = usage("--since", since)
    check(f"--since {since}: {count} days", len(answer["rows"]) == count,
          answer["rows"])
for words in (("--since", "0d"), ("--since", "401d"), ("--since", "d"),
              ("--since", "-3d"), ("--since", "2026-02-30"),
              ("--since", "2026-1-1"), ("--since", "2026-01-01x"),
              ("--since", "yesterday"), ("--by", "colour"), ("--by", ""),
              ("extra",)):
    result = agentnode(home, "llm", "usage", *words)
    check("refused: " + " ".join(words), result.code == 2
          and "llm usage" in result.err, result)

# A file that is damaged is said to be, and the chain still verifies.
path = os.path.join(folder, "usage.db")
for name in ("-wal", "-shm"):
    if os.path.exists(path + name):
        os.remove(path + name)
with open(path, "r+b") as file:
    file.write(b"x" * 4096)
result = agentnode(home, "llm", "usage")
check("a damaged file", result.code == 6 and "usage.db" in result.err, result)
check("the chain verifies", agentnode(home, "audit", "verify").code == 0)
for name in ("", "-wal", "-shm", "-journal"):
    if os.path.exists(path + name):
        os.remove(path + name)

# Runs: the chain has the sums, the file of the run its lines.
RUN, BARE = "0123456789abcdef", "fedcba9876543210"
ledger = Ledger(folder, log)
ledger.write("launch", run=RUN, kind="agent", package="agent-one",
             version="1.0.0")
ledger.write("agent_run", run=RUN, package="agent-one", sandbox=True,
             llm={"calls": 3, "ok": 2}, tool_calls=5, tool_refusals=1)
ledger.write("removal", run=RUN, code="", exit_code=0)
ledger.write("launch", run=BARE, kind="mcp", package="server")
ledger.write("removal", run=BARE, code="", exit_code=0)
ledger.end()
runs = os.path.join(base, "runs")
os.mkdir(runs, 0o700)
with open(os.path.join(runs, RUN + ".jsonl"), "w") as file:
    os.chmod(file.name, 0o600)
    for event in ("start", "usage", "end"):
        file.write(json.dumps({"ts": "2026-01-01T00:00:00.000Z",
                               "event": event}) + "\n")
    file.write('{"ts":')
result = agentnode(home, "runs", "list", "--json")
fault = schema_check.check_text(result.out, harness.SOURCE, "runs-list")
check("runs list --json fits its schema", fault == "", fault)
listed = {run["run"]: run for run in result.json()["runs"]}
check("the list has the agent's calls", listed[RUN]["llm_calls"] == 3
      and listed[RUN]["tool_calls"] == 5
      and listed[BARE]["llm_calls"] is None, listed)
result = agentnode(home, "runs", "list")
check("so has the table", "llm 3 tools 5" in result.out, result.out)
result = agentnode(home, "runs", "show", RUN)
fault = schema_check.check_text(result.out, harness.SOURCE, "runs-show")
check("runs show fits its schema", fault == "", fault)
shown = result.json()
check("runs show has the sums and the lines",
      shown["agent"]["fields"]["tool_refusals"] == 1
      and [line["event"] for line in shown["record"]]
      == ["start", "usage", "end"], shown)
shown = agentnode(home, "runs", "show", BARE).json()
check("a run without a record", shown["agent"] is None
      and shown["record"] is None, shown)
os.chmod(os.path.join(runs, RUN + ".jsonl"), 0o666)
result = agentnode(home, "runs", "show", RUN)
check("a record that others may write is not shown", result.code == 5
      and "writable by others" in result.err, result)
harness.finish()
