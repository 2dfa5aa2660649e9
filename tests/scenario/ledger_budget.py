"""Budgets by real, confined ledger processes: exactly what fits passes, across
processes and deaths; a broker that misbehaves loses its own pair only; a file
that cannot be used lets nothing pass."""
import ctypes
import os
import shutil
import signal
import socket
import sqlite3
import time

import harness
from harness import check
from ledger_client import MAGIC, RESERVE, RESERVED, SETTLE, Ledger, ask

LEDGER_UID = 1879048191
home = harness.folder()
base = os.path.join(home, ".agentnode")
folder = os.path.join(base, "ledger")
log = os.path.join(home, "ledger.log")


def fresh():
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(base, 0o700)
    own(folder)


def own(path):
    if os.geteuid() == 0:
        os.chown(path, LEDGER_UID, LEDGER_UID)


def rows(sql):
    """Read usage.db beside the ledgers, as nobody but a test does."""
    path = os.path.join(folder, "usage.db")
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def kinds(answers):
    return [a["type"] if a else None for a in answers]


# One run, start to end.
fresh()
ledger = Ledger(folder, log)
check("no usage.db before the first run",
      not os.path.exists(os.path.join(folder, "usage.db")))
pair, answer = ledger.budget("r1", run={"requests": 2, "tokens": 100})
check("budget_open is answered", answer["type"] == "synced", answer)
check("usage.db and its companions are 0600", all(
    os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600
    for name in os.listdir(folder)), os.listdir(folder))
check("reserved", pair.reserve(1)["type"] == "reserved")
pair.settle(1, tokens=90)
answer = pair.reserve(2)
check("reserved up to the limit", answer["type"] == "reserved", answer)
answer = pair.reserve(3, tokens=0)
check("refused by run and requests", answer == {
    "type": "refused", "id": 3, "scope": "run", "amount": "requests",
    "limit": 2, "used": 2}, answer)
answer = ledger.ask("budget_open", [ledger.socket.fileno()], sandbox="r1",
                    package="agent", limits={})
check("the same run twice is refused", answer["type"] == "failed"
      and answer["code"] == "budget_exists", answer)
pair.settle(2, code="timeout", estimated=True, requests=0, tokens=3)
pair.close()
answer = ledger.ask("budget_close", sandbox="r1")
check("budget_close is answered", answer["type"] == "synced", answer)
check("what was sent before the close is settled", rows(
    "SELECT calls, served, estimated, requests, tokens FROM usage")
    == [(2, 1, 1, 1, 93)], rows("SELECT * FROM usage"))
check("nothing is left of the run", rows("SELECT * FROM run") == []
      and rows("SELECT * FROM call") == [])
answer = ledger.ask("budget_close", sandbox="r1")
check("a run that is none cannot be closed", answer["type"] == "failed",
      answer)

# Close while the broker lives and has a call open.
pair, answer = ledger.budget("r2")
pair.reserve(1, tokens=7)
answer = ledger.ask("budget_close", sandbox="r2")
check("closed with a call open", answer["type"] == "synced", answer)
check("the pair is gone", pair.receive() is None)
check("the open call counts as used", rows(
    "SELECT tokens FROM charged WHERE package = ''") == [(100,)]
    and rows("SELECT sum(calls), sum(estimated) FROM usage") == [(3, 2)])

# Calls ahead: reserved on disk, settled in parts, the rest given back.
pair, answer = ledger.budget("ahead")
answer = pair.reserve(1, calls=8, tokens=5)
check("8 calls are reserved at once", answer == {
    "type": "reserved", "id": 1, "calls": 8}, answer)
check("... on disk before the answer", rows(
    "SELECT calls, requests, tokens FROM call") == [(8, 8, 40)]
    and rows("SELECT open FROM run") == [(8,)], rows("SELECT * FROM call"))
pair.settle_some(1, calls=3, served=3, requests=3, tokens=6)
pair.settle_some(1, calls=0, unused=4, requests=0, input_chars=0,
                 output_chars=0, tokens=0, cost_microusd=0)
answer = ledger.ask("budget_close", sandbox="ahead")
check("3 were made, 4 were not, one is charged as it was reserved", rows(
    "SELECT requests, tokens FROM charged WHERE package = ''")
    == [(6, 111)] and rows("SELECT sum(calls), sum(served) FROM usage")
    == [(7, 4)], (rows("SELECT * FROM charged"), rows("SELECT * FROM usage")))
pair.close()

# Many runs at one time, and one too many.
pairs = [ledger.budget(f"m{i}") for i in range(16)]
check("16 runs", all(a["type"] == "synced" for _, a in pairs), pairs)
_, answer = ledger.budget("m16")
check("the 17th is refused", answer["type"] == "failed"
      and answer["code"] == "budget_busy", answer)
for index, (pair, _) in enumerate(pairs):
    pair.close()
    ledger.ask("budget_close", sandbox=f"m{index}")
_, answer = ledger.budget("m16")
check("and fits when they are gone", answer["type"] == "synced", answer)
ledger.ask("budget_close", sandbox="m16")

# Limits that are not understood are refused with their name.
for limits, named in (({"week": {}}, "limits.week"),
                      ({"run": {"request": 1}}, "limits.run.request"),
                      ({"run": {"tokens": -1}}, "limits.run.tokens"),
                      ({"host_day": {"cost_microusd": 1.5}},
                       "limits.host_day.cost_microusd")):
    _, answer = ledger.budget("bad", **limits)
    check(f"{named} is refused by name", answer["type"] == "failed"
          and answer["code"] == "budget_bad" and named in answer["detail"],
          answer)

# A broker that misbehaves: its pair ends, the supervisor hears of it, other
# runs and audit records go on.
good, _ = ledger.budget("good")
ASKED = ask(RESERVE, 2, "p", "m")
for name, datagram in (
        ("settles what is not open", ask(SETTLE, 9)),
        ("says what only a ledger says", ask(RESERVED, 1)),
        ("sends an audit record", b'{"v":1,"type":"audit","id":1,'
         b'"event":"x","fields":{}}'),
        ("sends no record", b"x" * len(ASKED)),
        ("sends half a record", ASKED[:-1]),
        ("sends a record and a half", ASKED + ASKED[:10]),
        ("sends too many at once", b"".join(
            ask(SETTLE, 1) for _ in range(65))),
        ("sends a wrong mark", ask(RESERVE, 2, "p", "m", magic=MAGIC + 1)),
        ("numbers a call 0", ask(RESERVE, 0, "p", "m")),
        ("numbers a call too high", ask(RESERVE, 1 << 63, "p", "m")),
        ("names no provider", ask(RESERVE, 2, "", "m")),
        ("names a model without end", ask(RESERVE, 2, "p", "m" * 208)),
        ("names what is no UTF-8", ask(RESERVE, 2, b"\xff", "m")),
        ("sends a negative amount", ask(RESERVE, 2, "p", "m",
                                        input_chars=-1)),
        ("sends a cost below unknown", ask(RESERVE, 2, "p", "m",
                                           cost_microusd=-2)),
        ("reserves no request", ask(RESERVE, 2, "p", "m", requests=0)),
        ("sends an amount too large", ask(RESERVE, 2, "p", "m",
                                          input_chars=10 ** 12 + 1)),
        ("sends a flag that is none", ask(SETTLE, 1, served=2)),
        ("reserves for no call", ask(RESERVE, 2, "p", "m", calls=0)),
        ("reserves too far ahead", ask(RESERVE, 2, "p", "m", calls=65)),
        ("settles more than it reserved", ask(SETTLE, 1, calls=2))):
    bad, answer = ledger.budget("bad")
    opened = ledger.next_id
    bad.reserve(1)
    bad.socket.send(datagram)
    message = ledger.receive()
    check(f"a broker that {name}: the supervisor is told",
          message["type"] == "failed" and message["code"] == "budget_pair"
          and message["id"] == opened and "bad" in message["detail"], message)
    check("... and its pair is over", bad.receive() is None)
    check("... other runs go on", good.reserve(100)["type"] == "reserved")
    good.settle(100)
    check("... audit records too", ledger.write()["type"] == "synced")
    answer = ledger.ask("budget_close", sandbox="bad")
    check("... and it is closed in order", answer["type"] == "synced", answer)
bad, answer = ledger.budget("twice")
bad.reserve(5)
bad.submit(5)
message = ledger.receive()
check("the same id twice ends the pair", message["code"] == "budget_pair"
      and bad.receive() is None, message)
ledger.ask("budget_close", sandbox="twice")

# A broker that does not read loses its pair; nobody waits for it.
deaf, _ = ledger.budget("deaf")
deaf.socket.setblocking(False)
sent = 1
stop = time.monotonic() + 20
while time.monotonic() < stop:
    try:
        deaf.submit(sent)
        sent += 1
    except BlockingIOError:
        time.sleep(0.001)
    except (BrokenPipeError, ConnectionResetError):
        break
message = ledger.receive()
check("a broker that does not read loses its pair",
      message["code"] == "budget_pair", message)
check("... while another's call is answered",
      good.reserve(101)["type"] == "reserved")
answer = ledger.ask("budget_close", sandbox="deaf")
check("... and closes", answer["type"] == "synced", answer)
check("nothing of it is open", rows(
    "SELECT count(*) FROM call JOIN run ON call.run = run.id"
    " WHERE run.name != 'good'") == [(0,)])

# The supervisor is gone: what arrived before is done.
good.settle(101, tokens=1)
good.reserve(102)
good.settle(102, tokens=2)
check("the ledger ends with its supervisor", ledger.end() == 83)
check("what was sent before is settled", rows(
    "SELECT count(*) FROM call") == [(0,)], rows("SELECT * FROM call"))

# 64 calls at one time against a budget for 10, over two processes.
for attempt in range(5):
    fresh()
    two = [Ledger(folder, log), Ledger(folder, log)]
    ends = [process.budget(f"race{i}", host_day={"requests": 10})[0]
            for i, process in enumerate(two)]
    for call in range(1, 33):
        for end in ends:
            end.submit(call)
    answers = [end.receive() for _ in range(32) for end in ends]
    passed = kinds(answers).count("reserved")
    check(f"race {attempt}: exactly 10 of 64 pass", passed == 10
          and kinds(answers).count("refused") == 54, kinds(answers))
    waits = [a.get("retry_after_s") for a in answers
             if a["type"] == "refused"]
    check("... the others hear when the day ends", all(
        w is not None and abs(w - (86400 - time.time() % 86400)) < 60
        for w in waits), waits)
    check("... and the file says the same", rows(
        "SELECT requests FROM charged WHERE package = ''") == [(10,)])
    for process in two:
        process.end()

# The same with kill -9 in the middle, at any moment.
lost = 0
for attempt in range(12):
    fresh()
    two = [Ledger(folder, log), Ledger(folder, log)]
    ends = [process.budget(f"kill{i}", host_day={"requests": 10})[0]
            for i, process in enumerate(two)]
    for call in range(1, 33):
        for end in ends:
            try:
                end.submit(call)
            except (BrokenPipeError, ConnectionResetError):
                pass
        if call == 1 + attempt:
            two[0].process.kill()
    two[0].process.wait(10)
    dead = []
    while True:
        answer = ends[0].receive()
        if answer is None:
            break
        dead.append(answer)
    living = [ends[1].receive() for _ in range(32)]
    passed = kinds(dead + living).count("reserved")
    charged = rows("SELECT requests FROM charged WHERE package = ''")[0][0]
    unheard = charged - passed
    lost += unheard
    check(f"kill {attempt}: exactly 10 are charged, {passed} were told so",
          charged == 10 and 0 <= unheard <= 10 and passed <= 10,
          (charged, passed))
    third = Ledger(folder, log)
    after, answer = third.budget("after", host_day={"requests": 11})
    check("... its reservations are settled, not lost",
          answer["type"] == "synced" and rows(
              "SELECT count(*) FROM run WHERE name = 'kill0'") == [(0,)])
    answers = [after.reserve(1), after.reserve(2)]
    check("... and the budget goes on from there",
          kinds(answers) == ["reserved", "refused"], answers)
    third.end()
    two[1].end()
print(f"# {lost} reservations were charged to a ledger that died before it "
      "answered")

# Killed between two answers: what was reserved there is charged, the other
# process lets exactly the rest pass.
for before in (1, 4, 9):
    fresh()
    two = [Ledger(folder, log), Ledger(folder, log)]
    ends = [process.budget(f"between{i}", host_day={"requests": 10})[0]
            for i, process in enumerate(two)]
    first = [ends[0].reserve(call) for call in range(1, before + 1)]
    ends[0].settle(1)
    two[0].process.kill()
    two[0].process.wait(10)
    for call in range(1, 65 - before):
        ends[1].submit(call)
    rest = [ends[1].receive() for _ in range(1, 65 - before)]
    check(f"killed after {before} of 64: exactly 10 pass",
          kinds(first + rest).count("reserved") == 10
          and kinds(first + rest).count("refused") == 54,
          kinds(first + rest))
    two[1].end()

# A broker that is killed: its open calls count as used, without a word of
# the supervisor's.
fresh()
ledger = Ledger(folder, log)
pair, _ = ledger.budget("killed", host_day={"concurrent": 2})
pair.reserve(1, tokens=5)
pair.reserve(2, tokens=6)
pair.close()
other, _ = ledger.budget("other", host_day={"concurrent": 1})
check("a broker's calls are no longer open when it is gone",
      other.reserve(1)["type"] == "reserved")
check("... and are counted with their model", rows(
    "SELECT model, calls, estimated, tokens FROM usage")
    == [("gpt-4o-mini", 2, 2, 11)], rows("SELECT * FROM usage"))
check("... and its run can still be closed", ledger.ask(
    "budget_close", sandbox="killed")["type"] == "synced")
ledger.end()

# Calls that a dead ledger left open count no longer as open.
fresh()
two = [Ledger(folder, log), Ledger(folder, log)]
ends = [process.budget(f"open{i}", host_day={"concurrent": 4})[0]
        for i, process in enumerate(two)]
for call in range(1, 5):
    ends[0].reserve(call)
answer = ends[1].reserve(1)
check("four are open on the host", answer["type"] == "refused"
      and answer["amount"] == "concurrent"
      and answer["retry_after_s"] == 1, answer)
two[0].process.send_signal(signal.SIGKILL)
two[0].process.wait(10)
check("none when their ledger is dead",
      ends[1].reserve(2)["type"] == "reserved")
two[1].end()

# Files that cannot be used: nothing passes, the audit chain goes on.
for name, damage, code in (
        ("not a database", lambda path: open(path, "wb").write(b"x" * 9000),
         "budget_corrupt"),
        ("of a later version", lambda path: later(path), "budget_corrupt"),
        ("for all to read", lambda path: (open(path, "wb").close(),
                                          os.chmod(path, 0o644), own(path)),
         "budget_corrupt"),
        ("a folder", lambda path: os.mkdir(path), "budget_"),
        ("a link", lambda path: os.symlink("/etc/passwd", path), "budget_"),
        ("somebody else's", lambda path: foreign(path), "budget_")):
    def later(path):
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version = 7")
        db.close()
        os.chmod(path, 0o600)
        own(path)

    def foreign(path):
        open(path, "wb").close()
        os.chmod(path, 0o400)
        if os.geteuid() == 0:
            os.chown(path, 0, 0)
    fresh()
    path = os.path.join(folder, "usage.db")
    damage(path)
    if name == "not a database":
        own(path)
    ledger = Ledger(folder, log)
    _, answer = ledger.budget("x")
    check(f"usage.db is {name}: no run", answer["type"] == "failed"
          and answer["code"].startswith(code), answer)
    check("... the chain goes on", ledger.write()["type"] == "synced")
    check("... and so does the process", ledger.end() == 83)

# A file that breaks while in use.
fresh()
ledger = Ledger(folder, log)
pair, _ = ledger.budget("x")
pair.reserve(1)
db = sqlite3.connect(os.path.join(folder, "usage.db"))
db.execute("UPDATE charged SET tokens = -5")
db.commit()
answer = pair.reserve(2)
check("a sum that makes no sense: nothing passes", answer == {
    "type": "refused", "id": 2, "scope": "run",
    "amount": "unavailable", "limit": 0, "used": 0}, answer)

# Another program keeps the file locked: an answer after two seconds, and
# audit records meanwhile.
db.execute("UPDATE charged SET tokens = 5")
db.commit()
db.execute("BEGIN IMMEDIATE")
start = time.monotonic()
pair.submit(3)
check("audit records do not wait for it", ledger.write()["type"] == "synced"
      and time.monotonic() - start < 1)
answer = pair.receive()
check("locked: refused after two seconds", answer["amount"] == "unavailable"
      and 1.5 < time.monotonic() - start < 5, answer)
pair.submit(4)
time.sleep(0.1)
db.rollback()
check("unlocked: reserved", pair.receive()["type"] == "reserved")
db.close()
ledger.end()

# The same while the files are to be opened first: audit records do not wait,
# and what does wait goes on when the lock is let go of, or has its answer.
RATE = {"package": "p", "count": 1, "second": 9, "minute": 9, "hour": 9,
        "wait_ms": 0}


def opening(ledger):
    """A budget and a call of a package that wait for their files."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ledger.send({"v": 1, "type": "budget_open", "id": 1000, "sandbox": "o",
                 "package": "agent", "limits": {}}, [theirs.fileno()])
    ledger.send({"v": 1, "type": "rate_take", "id": 1001, **RATE})
    theirs.close()
    return ours


fresh()
ledger = Ledger(folder, log)
ledger.budget("first")
check("rate.db is made", ledger.ask("rate_take", **RATE)["type"] == "synced")
ledger.end()
held = [sqlite3.connect(os.path.join(folder, name), isolation_level=None)
        for name in ("usage.db", "rate.db")]
for db in held:
    db.execute("BEGIN IMMEDIATE")
ledger = Ledger(folder, log)
pair = opening(ledger)
slowest, told = 0, set()
for _ in range(20):
    start = time.monotonic()
    told.add(ledger.write()["type"])
    slowest = max(slowest, time.monotonic() - start)
check("audit records do not wait for an opening",
      told == {"synced"} and slowest < 0.5, (told, slowest))
for db in held:
    db.rollback()
answers = sorted((ledger.receive() for _ in range(2)), key=lambda a: a["id"])
check("unlocked: opened, and counted", [(a["id"], a["type"]) for a in answers]
      == [(1000, "synced"), (1001, "synced")], answers)
ledger.end()
for db in held:
    db.execute("BEGIN IMMEDIATE")
ledger = Ledger(folder, log)
start = time.monotonic()
pair = opening(ledger)
answers = sorted((ledger.receive() for _ in range(2)), key=lambda a: a["id"])
check("kept locked: said after two seconds",
      [a.get("code") for a in answers] == ["budget_locked", "rate_locked"]
      and 1.5 < time.monotonic() - start < 5, answers)
for db in held:
    db.rollback()
    db.close()
check("and another try opens them",
      ledger.ask("rate_take", **RATE)["type"] == "synced"
      and ledger.budget("again")[1]["type"] == "synced")
ledger.end()

# A full disk, in a mount namespace of this process's own: nothing passes
# that is not written, what was reserved stays, and with room it goes on.
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
        b"none", folder.encode(), b"tmpfs", 0, b"size=400k,mode=0700") != 0:
    check("a small disk can be mounted", False, ctypes.get_errno())
    harness.finish()
own(folder)
ledger = Ledger(folder, log)
pair, _ = ledger.budget("full")
passed, call, settled = 0, 0, 0
while call < 5000:
    call += 1
    answer = pair.reserve(call, model=f"model-{call}")
    if answer["type"] != "reserved":
        break
    passed += 1
    if call % 2:
        pair.settle(call)
        settled += 1
check(f"a full disk: refused after {passed} calls",
      answer["amount"] == "unavailable" and passed > 10, answer)
check("and again", pair.reserve(6000)["amount"] == "unavailable")
libc.mount(b"none", folder.encode(), b"tmpfs", 32, b"size=16m")
answer = pair.reserve(6001)
check("with room again it goes on", answer["type"] == "reserved", answer)
check("nothing that passed is lost, nothing else is charged", rows(
    "SELECT requests FROM charged WHERE package = ''") == [(passed + 1,)],
    (rows("SELECT requests FROM charged WHERE package = ''"), passed))
check("audit records go on", ledger.write()["type"] == "synced")
answer = ledger.ask("budget_close", sandbox="full")
check("and the run closes", answer["type"] == "synced" and rows(
    "SELECT sum(calls) FROM usage") == [(passed + 1,)], answer)
ledger.end()
libc.umount2(folder.encode(), 2)
harness.finish()
