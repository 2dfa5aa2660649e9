#!/usr/bin/env python3
"""64 calls at one time against a budget for 10, with everything real: two
brokers with an llm-key and a ledger each, one usage.db, a provider that is a
TLS server. Exactly 10 reach it. Then the ends: a settlement that waited for
company is not lost when the broker ends, and what was open when somebody was
killed stays charged. And agents that are so busy that calls are reserved
ahead."""
import http.client
import json
import os
import signal
import socket
import sqlite3
import threading
import time

import drive_calls
import harness
import provider_standin
import test_ca
from drive_calls import until
from harness import check, finish

ASK = {"model": "gpt-4o-mini", "max_tokens": 64,
       "messages": [{"role": "user", "content": "How many?"}]}
BODY = json.dumps(ASK).encode()
REQUEST = (b"POST /openai/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
           b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
           % (len(BODY), BODY))
folder = harness.folder("budget-")
os.chmod(folder, 0o755)
ca = test_ca.TestCA(folder)
count = 0


def standin():
    return provider_standin.Provider(ca.leaf(*provider_standin.NAMES))


def fresh():
    global count
    count += 1
    return drive_calls.ledger_place(folder, f"ledger{count}")


def drive(path, provider, **limits):
    budget = os.path.join(folder, "limits")
    with open(budget, "w", encoding="ascii") as file:
        json.dump(limits, file)
    made = drive_calls.Drive(
        standin=provider,
        arguments=["--ledger", path, "--budget", budget, "--ca", ca.root])
    assert made.ready == "ready", made.ready
    return made


def rows(path, sql):
    with sqlite3.connect(f"file:{path}/usage.db?mode=ro", uri=True) as file:
        return file.execute(sql).fetchall()


def part(made, name):
    """The pid of one of its processes."""
    pid = made.process.pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        for child in file.read().split():
            with open(f"/proc/{child}/comm", encoding="ascii") as comm:
                if comm.read().strip() == name[:15]:
                    return int(child)
    raise RuntimeError(f"{name} does not run")


def charged(path):
    return rows(path, "SELECT requests FROM charged WHERE package = ''")[0][0]


class Crowd:
    """Agents that are connected and all ask at once."""

    def __init__(self, drives, each):
        self.agents = [socket.create_connection(("127.0.0.1", made.port), 20)
                       for made in drives for _ in range(each)]
        self.statuses = [None] * len(self.agents)
        self.threads = [threading.Thread(target=self.read, args=(i,))
                        for i in range(len(self.agents))]

    def read(self, index):
        agent = self.agents[index]
        agent.settimeout(60)
        try:
            head = agent.recv(65536)
            self.statuses[index] = int(head.split(b" ")[1]) if head else 0
        except OSError:
            self.statuses[index] = 0
        agent.close()

    def ask(self):
        for thread in self.threads:
            thread.start()
        for agent in self.agents:
            try:
                agent.sendall(REQUEST)
            except OSError:
                pass

    def end(self):
        for thread in self.threads:
            thread.join()
        return self.statuses


def race():
    for attempt in range(3):
        path, provider = fresh(), standin()
        two = [drive(path, provider, host_day={"requests": 10})
               for _ in range(2)]
        crowd = Crowd(two, 32)
        crowd.ask()
        statuses = crowd.end()
        check(f"race {attempt}: 10 of 64 are served, 54 hear of the budget",
              statuses.count(200) == 10 and statuses.count(429) == 54,
              statuses)
        check("... and 10 reached the provider", len(provider.calls) == 10,
              len(provider.calls))
        check("... each is settled before long", until(lambda: rows(
            path, "SELECT sum(calls), sum(served) FROM usage") == [(10, 10)]),
            rows(path, "SELECT * FROM usage"))
        check("... nothing is open, 10 are charged", rows(
            path, "SELECT count(*) FROM call") == [(0,)]
            and charged(path) == 10)
        for made in two:
            check("... it ends in order", made.end()[0] == 0)
        provider.close()


def killed(name):
    """Somebody is killed while the calls of the crowd are on their way."""
    for attempt in range(4):
        path, provider = fresh(), standin()
        two = [drive(path, provider, host_day={"requests": 10})
               for _ in range(2)]
        crowd = Crowd(two, 32)
        victim = part(two[0], name)
        timer = threading.Timer(0.002 * attempt * attempt, os.kill,
                                (victim, signal.SIGKILL))
        timer.start()
        crowd.ask()
        statuses = crowd.end()
        timer.join()
        check(f"{name} killed {attempt}: never more than 10 reach the "
              f"provider ({len(provider.calls)}), exactly 10 are charged",
              statuses.count(200) <= len(provider.calls) <= 10
              and until(lambda: charged(path) == 10),
              (statuses, len(provider.calls), charged(path)))
        for made in two:
            made.end()
        last = drive(path, provider, host_day={"requests": 11})
        check("... what was open is settled, the budget goes on from there",
              [last.post("/openai/v1/chat/completions", ASK)[0]
               for _ in range(2)] == [200, 429])
        check("... and nothing was lost", until(lambda: rows(
            path, "SELECT sum(calls) FROM usage") == [(11,)]),
            rows(path, "SELECT * FROM usage"))
        last.end()
        provider.close()


def last_word():
    """The settlement of a call whose broker ends at once."""
    for attempt in range(5):
        path, provider = fresh(), standin()
        made = drive(path, provider)
        status, _, _ = made.post("/openai/v1/chat/completions", ASK)
        made.end()
        check(f"ended {attempt}: the last call is settled as it was", status
              == 200 and rows(path, "SELECT calls, served, estimated, tokens"
                              " FROM usage") == [(1, 1, 0, 17)],
              rows(path, "SELECT * FROM usage"))
        provider.close()


def cut_off():
    """A broker that is killed cannot settle: the most is charged."""
    path, provider = fresh(), standin()
    made = drive(path, provider)
    provider.mode = "silent"
    agent = socket.create_connection(("127.0.0.1", made.port), 20)
    agent.sendall(REQUEST)
    check("a call is open", until(lambda: provider.calls))
    most = rows(path, "SELECT tokens FROM call")[0][0]
    os.kill(part(made, "agentnode-llm-broker"), signal.SIGKILL)
    check("the broker is dead: its call is charged what it reserved",
          until(lambda: rows(path, "SELECT calls, served, estimated, tokens"
                             " FROM usage") == [(1, 0, 1, most)])
          and most >= 64, (most, rows(path, "SELECT * FROM usage")))
    check("... and is not open any more", rows(
        path, "SELECT count(*) FROM call") == [(0,)])
    agent.close()
    made.end()
    provider.close()


class Busy:
    """Agents that call one after the other until nothing is left."""

    def __init__(self, drives, each):
        self.served = 0
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.call, args=(made.port,))
                        for made in drives for _ in range(each)]
        for thread in self.threads:
            thread.start()

    def call(self, port):
        refused = 0
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while refused < 4:
            try:
                line.request("POST", "/openai/v1/chat/completions", BODY,
                             {"Content-Type": "application/json",
                              "Host": "localhost"})
                answer = line.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return
            with self.lock:
                self.served += answer.status == 200
            refused = 0 if answer.status == 200 else refused + 1
            if refused:  # what others have ahead comes back in a moment
                time.sleep(0.05)

    def end(self):
        for thread in self.threads:
            thread.join()


def ahead():
    """Agents that call so often that calls are reserved ahead."""
    path, provider = fresh(), standin()
    two = [drive(path, provider, host_day={"requests": 480})
           for _ in range(2)]
    busy = Busy(two, 12)
    check("while many calls come, some are reserved ahead", until(
        lambda: (rows(path, "SELECT max(calls) FROM call")[0][0] or 0) > 1))
    most = 0
    while any(thread.is_alive() for thread in busy.threads):
        most = max(most, charged(path))
        time.sleep(0.005)
    busy.end()
    check("... never more than fits is reserved, all of it is served",
          most <= 480 and busy.served == 480 == len(provider.calls),
          (most, busy.served, len(provider.calls)))
    check("... and settled, each call as it was", until(lambda: rows(
        path, "SELECT sum(calls), sum(served), sum(estimated), sum(requests),"
        " sum(tokens) FROM usage") == [(480, 480, 0, 480, 480 * 17)])
        and rows(path, "SELECT count(*) FROM call") == [(0,)]
        and rows(path, "SELECT requests, tokens FROM charged WHERE package ="
                 " ''") == [(480, 480 * 17)],
        (rows(path, "SELECT * FROM usage"), rows(path, "SELECT * FROM call")))
    for made in two:
        check("... it ends in order", made.end()[0] == 0)
    provider.close()


def ahead_killed(name):
    """Somebody is killed while calls are reserved ahead: what reached the
    provider is charged, and of what did not at most what was ahead."""
    path, provider = fresh(), standin()
    made = drive(path, provider)
    busy = Busy([made], 16)
    ready = until(lambda: len(provider.calls) > 100 and (rows(
        path, "SELECT max(calls) FROM call")[0][0] or 0) > 1)
    os.kill(part(made, name), signal.SIGKILL)
    busy.end()
    made.end()
    last = drive(path, provider)
    status = last.post("/openai/v1/chat/completions", ASK)[0]
    last.end()
    used = rows(path, "SELECT sum(calls), sum(requests) FROM usage")[0]
    check(f"{name} killed with calls ahead: what was called is charged, and "
          "no more than was ahead", ready and status == 200
          and used[0] == used[1] == charged(path)
          and len(provider.calls) <= used[0] <= len(provider.calls) + 128,
          (len(provider.calls), used, charged(path)))
    check("... and nothing is open", rows(
        path, "SELECT count(*) FROM call") == [(0,)]
        and rows(path, "SELECT count(*) FROM run") == [(0,)])
    provider.close()


race()
ahead()
ahead_killed("agentnode-llm-broker")
ahead_killed("agentnode-ledger")
killed("agentnode-llm-broker")
killed("agentnode-ledger")
last_word()
cut_off()
finish()
