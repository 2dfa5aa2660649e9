"""The real, confined ledger: records are synced before they are answered,
several ledgers share one chain, kills at any moment leave a chain that
verifies, tampering is found by the next start and by `audit verify`, and a
full disk is an answer."""
import ctypes
import os
import random
import re
import shutil
import signal
import threading
import time

import harness
import schema_check
from harness import agentnode, check
from ledger_client import Ledger

LEDGER_UID = 1879048191
home = harness.folder()
base = os.path.join(home, ".agentnode")
folder = os.path.join(base, "ledger")
log = os.path.join(home, "ledger.log")
chain = os.path.join(folder, "audit.jsonl")
head = os.path.join(folder, "audit.head")


def fresh():
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(base, 0o700)
    if os.geteuid() == 0:
        os.chown(folder, LEDGER_UID, LEDGER_UID)


def records():
    result = agentnode(home, "audit", "verify", "--json")
    return result.json()["records"] if result.code == 0 else result


# Before anything ran.
result = agentnode(home, "audit", "verify")
check("no chain at all verifies", result.code == 0 and "0 records"
      in result.out, result)
result = agentnode(home, "audit", "show", "--json")
check("no chain shows nothing", result.json() == {"records": []}, result)

fresh()
ledger = Ledger(folder, log)
layers = (ledger.first or {}).get("layers", {})
check("ready, with every layer", ledger.first["type"] == "ready" and all(
    layers[name] for name in ("seccomp", "landlock", "no_new_privs",
                              "not_dumpable", "no_core", "no_capabilities",
                              "one_thread")), ledger.first)
if os.geteuid() == 0:
    status = open(f"/proc/{ledger.process.pid}/status").read()
    check("it runs under its own uid", re.search(
        rf"^Uid:\s+{LEDGER_UID}\s+{LEDGER_UID}\s+{LEDGER_UID}", status,
        re.MULTILINE), status)
answer = ledger.write("launch", package="x", note="ü \x1b[31m \" \\")
check("synced", answer == {"v": 1, "type": "synced", "id": 1}, answer)
check("on disk when it says so", records() == 1)
check("0600", os.stat(chain).st_mode & 0o777 == 0o600
      and os.stat(head).st_mode & 0o777 == 0o600)
for event in ("Bad", "a b", "x" * 64 + "y", "../x"):
    answer = ledger.write(event)
    check(f"event {event[:8]!r} is refused", answer is None
          or answer["type"] == "failed", answer)
    if answer is None:
        ledger = Ledger(folder, log)
large = ledger.write("launch", text="y" * 60000)
check("60 KB of fields are one record", large["type"] == "synced", large)
ids = [ledger.submit("refusal", n=i) for i in range(200)]
answers = [ledger.receive() for _ in ids]
check("200 records in flight: each answered, in order",
      [a["id"] for a in answers] == ids
      and all(a["type"] == "synced" for a in answers))
check("all verify", records() == 202, records())
started = time.monotonic()
for _ in range(100):
    ledger.write("launch", package="x")
rate = (time.monotonic() - started) * 10
print(f"# one record and its answer: {rate:.2f} ms")
result = agentnode(home, "audit", "show", "--json", "--last", "5")
fault = schema_check.check_text(result.out, harness.SOURCE, "audit-show")
check("audit show --json fits its schema", fault == ""
      and len(result.json()["records"]) == 5, fault)
result = agentnode(home, "audit", "show")
check("audit show: no control byte", result.code == 0
      and "\x1b" not in result.out
      and len(result.out.splitlines()) == 302, result)
fault = schema_check.check_text(
    agentnode(home, "audit", "verify", "--json").out, harness.SOURCE,
    "audit-verify")
check("audit verify --json fits its schema", fault == "", fault)
check("the supervisor's end is exit 83", ledger.end() == 83)

# Runs, as the chain tells them.
fresh()
check("runs list without a chain", agentnode(
    home, "runs", "list", "--json").json() == {"runs": []})
ledger = Ledger(folder, log)
for run, end, code in (("a" * 16, "removal", ""), ("b" * 16, "refusal",
                                                   "image_missing"),
                       ("c" * 16, None, "")):
    if end != "refusal":
        ledger.write("launch", run=run, kind="mcp", package="server-x",
                     version="1.0.0")
    if end:
        ledger.write(end, run=run, kind="mcp", package="server-x", code=code,
                     exit_code=0, signal=0)
ledger.write("install", package="server-x")
ledger.end()
result = agentnode(home, "runs", "list", "--json")
fault = schema_check.check_text(result.out, harness.SOURCE, "runs-list")
check("runs list --json fits its schema", fault == "", fault)
check("runs list: ended, refused, lost", [
    (row["run"][0], row["status"], row["code"])
    for row in result.json()["runs"]] == [
        ("a", "ended", ""), ("b", "refused", "image_missing"),
        ("c", "lost", None)], result)
result = agentnode(home, "runs", "list", "--last", "2")
check("runs list --last", len(result.out.splitlines()) == 2
      and "image_missing" in result.out, result)
result = agentnode(home, "runs", "show", "a" * 16)
fault = schema_check.check_text(result.out, harness.SOURCE, "runs-show")
check("runs show fits its schema", fault == "", fault)
result = agentnode(home, "runs", "show", "d" * 16)
check("runs show of none is exit 1", result.code == 1, result)

# Two ledgers at the same time, from two threads.
fresh()
pair = [Ledger(folder, log), Ledger(folder, log)]
failures = []


def work(which):
    for number in range(150):
        answer = which.write("launch", n=number)
        if not answer or answer["type"] != "synced":
            failures.append(answer)


threads = [threading.Thread(target=work, args=(one,)) for one in pair]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
check("two ledgers, 300 records: all synced", not failures, failures[:3])
check("two ledgers: one chain", records() == 300, records())
# One stops while it holds the lock or not; the other goes on or says so.
pair[0].process.send_signal(signal.SIGSTOP)
answer = pair[1].write("launch")
check("a stopped ledger does not stop the other",
      answer["type"] in ("synced", "failed"), answer)
pair[0].process.send_signal(signal.SIGCONT)
for one in pair:
    one.end()

# Killed at any moment, with records in flight.
fresh()
synced = 0
bad = []
for turn in range(100):
    ledger = Ledger(folder, log)
    if ledger.first["type"] != "ready":
        bad.append(ledger.first)
        break
    deadline = time.monotonic() + random.uniform(0, 0.02)
    while time.monotonic() < deadline:
        for _ in range(5):
            ledger.submit("launch", text="z" * random.randrange(2000))
        answer = ledger.receive()
        if answer and answer["type"] == "synced":
            synced += 1
    ledger.process.send_signal(signal.SIGKILL)
    ledger.process.wait()
    while True:
        answer = ledger.receive()
        if answer is None:
            break
        if answer["type"] == "synced":
            synced += 1
    result = agentnode(home, "audit", "verify", "--json")
    if result.code != 0 or result.json()["records"] < synced:
        bad.append((synced, result))
check("100 kills: no synced record lost, the chain verifies", not bad, bad[:2])
ledger = Ledger(folder, log)
ledger.write("launch")
ledger.end()
check("and the next ledger goes on",
      agentnode(home, "audit", "verify").code == 0)

# Tampering: found by verify, with the line, and by the next start.
fresh()
ledger = Ledger(folder, log)
for number in range(5):
    ledger.write("launch", package=f"package-{number}")
ledger.end()
with open(chain, "rb") as file:
    whole = file.read()
lines = whole.splitlines(keepends=True)
for name, text, line, starts in (
        ("edited", whole.replace(b"package-2", b"package-9"), 3, None),
        ("deleted", b"".join(lines[:1] + lines[2:]), 2, "failed"),
        ("exchanged", b"".join([lines[1], lines[0]] + lines[2:]), 1, None),
        ("end cut", b"".join(lines[:4]), None, "failed"),
        ("end edited", whole.replace(b"package-4", b"package-9"), 5,
         "failed"),
        ("emptied", b"", None, "failed"),
        ("repeated", whole + lines[4], 6, "failed"),
        ("a blank more", whole.replace(b'{"event', b'{ "event', 1), 1,
         None)):
    with open(chain, "wb") as file:
        file.write(text)
    result = agentnode(home, "audit", "verify", "--json")
    check(f"{name}: verify is exit 1 and names line {line}",
          result.code == 1 and result.json()["line"] == line
          and result.json()["detail"] != "", result)
    result = agentnode(home, "audit", "verify")
    check(f"{name}: one sentence", result.code == 1
          and result.err.startswith("agentnode: audit.jsonl")
          and (line is None or f"line {line}:" in result.err), result)
    result = agentnode(home, "audit", "show")
    check(f"{name}: show is exit 6 and stops before it", result.code == 6
          and len(result.out.splitlines())
          == (line - 1 if line else len(text.splitlines())), result)
    if starts:
        ledger = Ledger(folder, log)
        check(f"{name}: no ledger starts on it",
              ledger.first["type"] == starts
              and ledger.first["code"] == "audit_broken", ledger.first)
        ledger.process.wait(10)
with open(chain, "wb") as file:
    file.write(whole)
check("put back, it verifies", records() == 5)
os.unlink(head)
check("without head it does not",
      agentnode(home, "audit", "verify").code == 1)

# Cut while a ledger runs.
fresh()
ledger = Ledger(folder, log)
ledger.write("launch")
ledger.write("launch")
os.truncate(chain, 100)
answer = ledger.write("launch")
check("cut under a running ledger: failed, audit_broken",
      answer["type"] == "failed" and answer["code"] == "audit_broken", answer)
ledger.end()

# A full disk, in a mount namespace of this process's own.
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
libc = ctypes.CDLL(None, use_errno=True)
fresh()
user, group = os.geteuid(), os.getegid()
if libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if user else 0)) == 0 and user:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"),
                       ("gid_map", f"{group} {group} 1")):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
if libc.mount(
        b"none", b"/", None, 0x4000 | 0x40000, None) != 0 or libc.mount(
        b"none", folder.encode(), b"tmpfs", 0, b"size=32k,mode=0700") != 0:
    check("a small disk can be mounted", False, ctypes.get_errno())
    harness.finish()
if os.geteuid() == 0:
    os.chown(folder, LEDGER_UID, LEDGER_UID)
ledger = Ledger(folder, log)
good = 0
while True:
    answer = ledger.write("launch", text="f" * 2000)
    if answer["type"] != "synced" or good > 100:
        break
    good += 1
check("a full disk: failed, audit_write", answer["type"] == "failed"
      and answer["code"] == "audit_write" and "No space" in answer["detail"],
      answer)
check("what was synced stays", records() == good, records())
answer = ledger.write("launch", text="g" * 4000)
check("and again", answer["type"] == "failed", answer)
libc.mount(b"none", folder.encode(), b"tmpfs", 32, b"size=256k")
answer = ledger.write("launch")
check("with room again it goes on", answer["type"] == "synced"
      and records() == good + 1, answer)
ledger.end()
libc.umount2(folder.encode(), 2)

with open(log, encoding="utf-8") as file:
    broken = [line for line in file if not line.startswith("{")]
check("its log is JSON lines", not broken, broken[:3])
harness.finish()
