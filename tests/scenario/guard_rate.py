#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rates in the real, confined ledger: eight processes at once get exactly
what there is, and kills at any moment leave no call that was allowed without
its row, no denial without its record, and a chain that verifies."""
import json
import os
import random
import sqlite3
import threading
import time

import harness
from harness import agentnode, check
from ledger_client import Ledger

LEDGER_UID = 1879048191
MANY = 1000000
KILLS = 100
home = harness.folder()
base = os.path.join(home, ".agentnode")
folder = os.path.join(base, "ledger")
log = os.path.join(home, "ledger.log")
os.makedirs(folder, mode=0o700)
os.chmod(base, 0o700)
if os.geteuid() == 0:
    os.chown(folder, LEDGER_UID, LEDGER_UID)


def take(ledger, package, count=1, second=MANY, minute=MANY, hour=MANY,
         wait=0):
    return ledger.ask("rate_take", package=package, count=count,
                      second=second, minute=minute, hour=hour, wait_ms=wait)


def rows(package):
    # The ledgers are gone, so the log of the last one may be read anew.
    with sqlite3.connect(os.path.join(folder, "rate.db")) as database:
        return database.execute("SELECT count(*) FROM call WHERE package = ?",
                                (package,)).fetchone()[0]


one = Ledger(folder, log)
for i in range(5):
    check(f"call {i} of 5", take(one, "p", minute=5)["type"] == "synced")
answer = take(one, "p", minute=5)
check("the sixth is refused with the time", answer["type"] == "failed"
      and answer["code"] == "guard_rate_limit"
      and "5 calls per minute" in answer["detail"]
      and "again in" in answer["detail"], answer)
answer = take(one, "p", count=6, hour=5)
check("too many at once", answer["code"] == "guard_rate_limit"
      and "at once" in answer["detail"], answer)
started = time.monotonic()
words = [take(one, "slow", second=3, wait=2000)["type"] for _ in range(8)]
check("who is a little too fast is slowed down", words == ["synced"] * 8
      and 1.9 < time.monotonic() - started < 10,
      (words, time.monotonic() - started))
started = time.monotonic()
check("who would have to wait for long is not", take(
    one, "slow", minute=8, wait=2000)["type"] == "failed"
    and time.monotonic() - started < 2)
check("another package has its own", take(one, "q", minute=1)["type"]
      == "synced")
for wrong in ({"count": 0}, {"count": 65}, {"second": 0},
              {"hour": MANY + 1}, {"minute": "5"}, {"wait_ms": 5001}):
    other = Ledger(folder, log)
    fields = {"count": 1, "second": 1, "minute": 1, "hour": 1,
              "wait_ms": 0} | wrong
    check(f"{wrong} ends the conversation", other.ask(
        "rate_take", package="p", **fields) is None)
    other.end()
one.end()

# Eight processes.
LIMIT = 150
ledgers = [Ledger(folder, log) for _ in range(8)]
sums, lock = {"synced": 0, "guard_rate_limit": 0}, threading.Lock()


def ask(ledger):
    for _ in range(40):
        answer = take(ledger, "eight", hour=LIMIT)
        with lock:
            word = answer.get("code", answer["type"])
            sums[word] = sums.get(word, 0) + 1


started = time.monotonic()
threads = [threading.Thread(target=ask, args=(ledger,)) for ledger in ledgers]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
seconds = time.monotonic() - started
check("320 calls of 8 ledgers: exactly 150 are made", sums == {
    "synced": LIMIT, "guard_rate_limit": 320 - LIMIT}, sums)
print(f"# {320 / seconds:.0f} answers a second from eight ledgers")
for ledger in ledgers:
    ledger.end()
one = Ledger(folder, log)
started = time.monotonic()
for _ in range(200):
    take(one, "alone")
print(f"# {(time.monotonic() - started) / 200 * 1e6:.0f} us a call, alone")
one.end()
check("each has its row", rows("eight") == LIMIT, rows("eight"))

# Kills.
random.seed(11)
lost, unrecorded, broken = [], [], []
for turn in range(KILLS):
    pair = [Ledger(folder, log), Ledger(folder, log)]
    package, made, denied = f"kill{turn}", [0, 0], []

    def work(index):
        try:
            until_killed(index)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def until_killed(index):
        for number in range(10000):
            if number % 5 == 4:
                answer = pair[index].write(
                    "guard_decision", package=package, number=number,
                    writer=index)
                if answer is None:
                    return
                if answer["type"] == "synced":
                    denied.append((index, number))
            else:
                answer = take(pair[index], package)
                if answer is None:
                    return
                made[index] += answer["type"] == "synced"

    threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    time.sleep(random.uniform(0.001, 0.06))
    for ledger in pair:
        ledger.process.kill()
    for thread in threads:
        thread.join()
    for ledger in pair:
        ledger.socket.close()
        ledger.process.wait(10)
    if rows(package) < sum(made) or rows(package) > sum(made) + 2:
        lost.append((turn, rows(package), made))
    unrecorded.append((package, denied))
check(f"{KILLS} kills: every call that was allowed has its row", not lost,
      lost)
check("and calls were made", sum(rows(f"kill{i}") for i in range(KILLS)) > 50)
result = agentnode(home, "audit", "verify")
check("the chain verifies", result.code == 0, result)
kept = set()
with open(os.path.join(folder, "audit.jsonl")) as file:
    for line in file:
        fields = json.loads(line)["fields"]
        kept.add((fields.get("package"), fields.get("writer"),
                  fields.get("number")))
missing = [(package, *row) for package, some in unrecorded for row in some
           if (package, *row) not in kept]
check("every denial that was answered has its record", not missing, missing)
check("and there were some", sum(len(some) for _, some in unrecorded) > 10)
one = Ledger(folder, log)
check("the rate still counts", take(one, "p", minute=5)["type"] in (
    "synced", "failed"))
one.end()
harness.finish()
