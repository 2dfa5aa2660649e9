#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The audit chain over files, under its key: several ledgers that write and
rotate at once are killed at random a hundred times, and every record that was
answered `synced` is in the chain, which stays valid; a rewritten tail,
another key and a file that is gone are found by the next start and by `audit
verify`; `audit show` and `audit stats` say the same."""
import json
import os
import random
import shutil
import signal

import harness
import ledger_client
import schema_check
from harness import agentnode, check

KILLS = int(os.environ.get("KILLS", "100"))
WRITERS = 4
LIMITS = {"audit_max_size": 8000, "audit_max_files": 1000}


def home():
    """A home whose chain has begun, key and all."""
    path = harness.folder()
    harness.agentnode(path, "config", "set", "audit.max_size", "4k")
    harness.agentnode(path, "config", "set", "audit.max_files", "3")
    for _ in range(2):
        refusal(path)
    return path


def refusal(path):
    """A run that is refused leaves a record."""
    return agentnode(path, "mcp", "run", "not-there")


def verify(path, code=0):
    result = agentnode(path, "audit", "verify", "--json", timeout=60)
    fault = schema_check.check_text(result.out, harness.SOURCE,
                                    "audit-verify")
    if result.code != code or fault:
        check("audit verify --json", False, (fault, result))
    return result.json()


def file(path, name):
    return os.path.join(path, ".agentnode", "ledger", name)


class Writer:
    """One ledger with this host's key, and what it said is on disk."""

    def __init__(self, path, number):
        self.number, self.count, self.synced = number, 0, []
        self.path = path
        self.start()

    def start(self):
        folder = os.path.join(self.path, ".agentnode", "ledger")
        self.ledger = ledger_client.Ledger(
            folder, os.path.join(self.path, "log"), **LIMITS)
        self.waiting = {}

    def submit(self):
        self.count += 1
        name = f"{self.number}-{self.count}"
        try:
            self.waiting[self.ledger.submit(
                random.choice(("launch", "removal")), package=name,
                code="x" * random.randrange(300))] = name
        except OSError:
            pass

    def drain(self, seconds):
        self.ledger.socket.settimeout(seconds)
        try:
            while self.waiting:
                answer = self.ledger.receive()
                if answer is None:
                    return
                name = self.waiting.pop(answer.get("id"), None)
                if answer["type"] == "synced" and name:
                    self.synced.append(name)
        except TimeoutError:
            return

    def kill(self):
        os.kill(self.ledger.process.pid, signal.SIGKILL)
        self.drain(5)  # what it said before it died counts
        self.ledger.end()
        self.start()


def killed():
    path = home()
    writers = [Writer(path, number) for number in range(WRITERS)]
    check("all ledgers start", all(
        w.ledger.first["type"] == "ready" for w in writers),
        [w.ledger.first for w in writers])
    bad = []
    for _ in range(KILLS):
        for writer in writers:
            for _ in range(random.randrange(1, 6)):
                writer.submit()
        victim = random.choice(writers)
        victim.drain(random.choice((0.0001, 0.002, 0.01)))
        victim.kill()
        if victim.ledger.first["type"] != "ready":
            bad.append(victim.ledger.first)
            break
    for writer in writers:
        writer.drain(10)
        writer.ledger.end()
    check(f"after {KILLS} kills each next ledger starts", not bad, bad)
    answer = verify(path)
    check("the chain verifies, sealed", answer["ok"] and answer["sealed"]
          and answer["first"] == 1, answer)
    shown = agentnode(path, "audit", "show", "--json", timeout=60).json()
    names = [r["fields"].get("package") for r in shown["records"]]
    lost = [n for w in writers for n in w.synced if n not in set(names)]
    total = sum(len(w.synced) for w in writers)
    check(f"none of {total} synced records is lost", total > KILLS
          and not lost, lost[:5])
    check("none is there twice", len([n for n in names if n and n[0].isdigit()])
          == len({n for n in names if n and n[0].isdigit()}))
    files = [n for n in os.listdir(file(path, ".")) if n.endswith(".jsonl")]
    check("in several files", len(files) > 5, files)
    events = {r["event"] for r in shown["records"]}
    check("rotations are records", "audit_rotated" in events, events)
    stats(path, shown["records"])


def stats(path, records):
    result = agentnode(path, "audit", "stats", "--json", timeout=60)
    fault = schema_check.check_text(result.out, harness.SOURCE, "audit-stats")
    check("audit stats --json fits its schema", result.code == 0
          and fault == "", (fault, result))
    answer = result.json()
    wanted = {}
    for record in records:
        wanted[record["event"]] = wanted.get(record["event"], 0) + 1
    check("it counts what show shows", answer["records"] == len(records)
          and {k: v["count"] for k, v in answer["events"].items()} == wanted,
          answer["events"].keys())
    codes = answer["events"]["refusal"]["codes"]
    check("and codes", sum(codes.values()) == wanted["refusal"], codes)
    middle = records[len(records) // 2]["ts"][:19] + "Z"
    some = agentnode(path, "audit", "show", "--json", "--since", middle,
                     "--event", "launch", timeout=60).json()["records"]
    check("--since and --event", some == [
        r for r in records if r["event"] == "launch"
        and r["ts"] >= middle[:-1]], len(some))
    one = next(r for r in records if r["event"] == "launch")
    check("--package and --code", agentnode(
        path, "audit", "show", "--json", "--package",
        one["fields"]["package"], "--code", one["fields"]["code"],
        timeout=60).json()["records"] == [one])
    check("--since so long ago", agentnode(
        path, "audit", "stats", "--json", "--since", "1h",
        timeout=60).json()["records"] == len(records))
    check("--since: the future", agentnode(
        path, "audit", "stats", "--json", "--since", "2999-01-01",
        timeout=60).json()["records"] == 0)
    for words in (["--since", "yesterday"], ["--since", "5"],
                  ["--since", "2026-1-1"], ["--last", "0"], ["more"]):
        check("audit show " + " ".join(words) + ": exit 2", agentnode(
            path, "audit", "show", *words).code == 2)
    text = agentnode(path, "audit", "stats", timeout=60)
    check("as text", text.code == 0 and "launch" in text.out
          and text.out.startswith(f"{len(records)} records, "), text)


def dropped():
    """By agentnode itself, with its configuration: three files of 4 KiB."""
    path = home()
    for _ in range(60):
        refusal(path)
    answer = verify(path)
    check("older files were dropped, the rest is proved", answer["ok"]
          and answer["first"] > 1 and answer["sealed"], answer)
    check("audit.jsonl is empty", os.path.getsize(file(path, "audit.jsonl"))
          == 0)
    text = agentnode(path, "audit", "verify")
    check("verify says so", "dropped by rotation" in text.out, text)
    kept = sorted((n for n in os.listdir(file(path, "."))
                   if n.endswith(".jsonl") and os.path.getsize(
                       file(path, n))), key=len)
    check("three are kept", len(kept) == 3, kept)
    oldest = min(kept, key=lambda n: int(n.split(".")[1]))
    with open(file(path, oldest), "r+b") as out:
        saved = out.read()
        out.truncate(0)
    answer = verify(path, 1)
    check("one more dropped by hand", "no rotation says so"
          in answer["detail"], answer)
    with open(file(path, oldest), "wb") as out:
        out.write(saved.replace(b"refusal", b"refusaI", 1))
    answer = verify(path, 1)
    check("the first wrong line and its file", answer["file"] == oldest
          and answer["line"] is not None, answer)
    with open(file(path, oldest), "wb") as out:
        out.write(saved)
    check("as it was", verify(path)["ok"])


def refused(path, what, words):
    """The next run does not start, and says why."""
    with open(file(path, "audit.jsonl"), "rb") as log:
        before = log.read()
    result = refusal(path)
    with open(file(path, "audit.jsonl"), "rb") as log:
        check(f"{what}: the next run writes nothing and says why",
              result.code != 0 and log.read() == before
              and words in logged(path), result)


def keyless(path, what, words):
    """A run does not start, and says itself what is wrong with the key."""
    agentnode(path, "config", "set", "sandbox.image",
              os.environ["AGENTNODE_TEST_IMAGE"])
    result = agentnode(path, "exec", "--json", "--", "true")
    answer = result.json()
    check(f"{what}: exec says so", answer["code"] == "audit_failed"
          and words in answer["detail"], result)


def logged(path):
    with open(os.path.join(path, ".agentnode", "log",
                           "agentnode-ledger.jsonl"), encoding="utf-8") as log:
        return log.read().splitlines()[-1]


def rewritten():
    """Somebody who has the folder writes the chain anew, with every hash."""
    path, forger = home(), home()
    for name in ("audit.jsonl", "audit.head"):
        shutil.copyfile(file(path, name), file(path, name + ".saved"))
        shutil.copyfile(file(forger, name), file(path, name))
    answer = verify(path, 1)
    check("a rewritten tail: the seal", "not sealed with this host's key"
          in answer["detail"] and not answer["sealed"], answer)
    first = Writer(path, 0).ledger.first
    check("and no ledger starts", first["type"] == "failed"
          and first["code"] == "audit_broken" and "key" in first["detail"],
          first)
    with open(file(path, "audit.head"), encoding="utf-8") as head:
        block = json.load(head)
    block.pop("mac")
    with open(file(path, "audit.head"), "w", encoding="utf-8") as head:
        head.write(json.dumps(block, separators=(",", ":"),
                              sort_keys=True).ljust(255) + "\n")
    answer = verify(path, 1)
    check("without a seal", "has no seal" in answer["detail"], answer)
    refused(path, "without a seal", "has no seal")
    with open(file(path, "audit.head"), "w", encoding="utf-8") as head:
        block = {"hash": "0" * 64, "seq": 0, "size": 0, "v": 1}
        head.write(json.dumps(block, separators=(",", ":")).ljust(255) + "\n")
    answer = verify(path, 1)
    check("the head of an empty chain before a log",
          "has no seal" in answer["detail"], answer)
    refused(path, "the head of an empty chain", "has no seal")
    for name in ("audit.jsonl", "audit.head"):
        shutil.copyfile(file(path, name + ".saved"), file(path, name))
    check("as it was", verify(path)["ok"])
    key = os.path.join(path, ".agentnode", "audit.key")
    os.rename(key, key + ".saved")
    answer = verify(path, 1)
    check("a seal, and no key", "no audit.key" in answer["detail"]
          and not answer["sealed"], answer)
    refused(path, "without the key", "no audit.key")
    check("no other key is made", not os.path.exists(key))
    os.rename(key + ".saved", key)
    os.chmod(key, 0o644)
    result = agentnode(path, "audit", "verify")
    check("a key that others may read is none", result.code == 1
          and "0600" in result.err, result)
    keyless(path, "a key that others may read", "0600")
    os.chmod(key, 0o600)
    os.rename(key, key + ".saved")
    with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "wb"):
        pass
    keyless(path, "an empty key", "audit.key")
    os.rename(key + ".saved", key)
    check("as it was again", verify(path)["ok"])


def main():
    dropped()
    rewritten()
    killed()
    harness.finish()


if __name__ == "__main__":
    main()
