#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i04_dead_mans_switch with the gate and traffic: an MCP server that answers
and fights, a client that never stops asking, and SIGKILL for the gate, the
supervisor, the proxy, the engine's client, its monitor and pairs of them at
random moments, with every processor busy. Dead within one second, no listener
held; the engine's record gone within five, or at the next start when the
monitor died too."""
import os
import random
import re
import subprocess
import sys
import threading
import time

import engine_case
import fighter
import harness
import machine_pace
import mcp_setup
from harness import check
from mcp_client import Client, Ended

ROUNDS = int(os.environ.get("AGENTNODE_KILL_ROUNDS", "50"))
VICTIMS = [("gate",), ("gate", "supervisor"), ("gate", "monitor"),
           ("supervisor",), ("gate", "client"), ("client",), ("gate", "proxy"),
           ("monitor",), ("proxy",), ("supervisor", "monitor"),
           ("proxy", "client"), ("proxy", "monitor"),
           ("supervisor", "client"), ("supervisor", "proxy"),
           ("client", "monitor"), ("gate", "supervisor", "monitor")]
NAMES = {"gate": "agentnode-gate", "proxy": "agentnode-egres",
         "client": "podman"}
# Answers every line with its id; fights from the first answer on.
SERVER = '''
import json, os, re, sys, threading
def fight():
''' + "\n".join("    " + line for line in
                fighter.FIGHTER.replace('sys.stdout.write("up\\n"); '
                                        'sys.stdout.flush()', "pass")
                .split("\n") if line and "signal.signal" not in line
                and not line.startswith(("import", "while True:", "    try: "
                                         "time.sleep(1)", "    except Exc",
                                         "for number", "    except (OSError"))
                ) + '''
started = False
for line in sys.stdin:
    ident = json.loads(line).get("id")
    if ident is None:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": ident, "result": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "serverInfo": {"name": "fighter", "version": "1"}}
        if not started else {}}), flush=True)
    if not started:
        started = True
        pid = os.fork()
        if pid == 0:
            fight()
            os._exit(0)
'''
slowest = 0.0


def ask_for_ever(client, stop):
    """Pings until the other side is gone."""
    while not stop.is_set():
        try:
            client.ask("ping", 2)
        except (Ended, ValueError, OSError):
            return


def container_of(client):
    """(monitor's pid, container id) of the run of this client."""
    words = engine_case.text(
        f"/proc/{engine_case.children(client.process.pid).get('podman')}"
        "/cmdline").split("\0")
    name = next((w.partition("=")[2] or words[i + 1]
                 for i, w in enumerate(words) if w.startswith("--name")), "")
    return (*engine_case.monitor(name), name)


def one(home, number, victims):
    global slowest
    label = f"{number} {'+'.join(victims)}"
    client = Client(mcp_setup.run_words("fighter", "--allow",
                                        "api.example.test"),
                    env=harness.environment(home))
    answer = client.initialize()
    monitor, container, name = container_of(client)
    children = engine_case.children(client.process.pid)
    found = {"supervisor": client.process.pid, "monitor": monitor,
             **{key: children.get(value) for key, value in NAMES.items()}}
    pids = [found[victim] for victim in victims]
    if not check(f"{label}: it runs", answer and "result" in answer
                 and container and None not in pids,
                 f"{answer} {found} {client.text()}"):
        client.process.kill()
        return
    stop = threading.Event()
    asking = threading.Thread(target=ask_for_ever, args=(client, stop),
                              daemon=True)
    asking.start()
    init = engine_case.Init(monitor)
    check(f"{label}: its listener is held", init.held(), init.listeners)
    time.sleep(random.uniform(0, 0.3))
    deadline = machine_pace.Deadline(1)
    record = machine_pace.Deadline(5)
    engine_case.kill(pids)
    dead = init.is_dead(10) and deadline.ends()
    slowest = max(slowest, deadline.took or 0)
    stop.set()
    check(f"{label}: dead within 1 s", dead
          and engine_case.wait(5, lambda: not engine_case.inside(container)),
          deadline)
    check(f"{label}: no listener is held", engine_case.wait(
        5, lambda: not init.held()), init.held())
    known = lambda: engine_case.podman(  # noqa: E731
        "container", "exists", name).returncode == 0
    gone = record.wait(lambda: not known())
    if {"supervisor", "monitor"} <= set(victims):
        engine_case.run("/bin/true", home=home)
        gone = not known()
    check(f"{label}: the engine's record is gone", gone, name)
    code = client.exit_code(10)
    check(f"{label}: the command ended",
          code == -9 if "supervisor" in victims else code not in (0, None),
          f"{code} {client.text()}")


def load():
    """A busy process for each processor, until the end of this one."""
    words = [sys.executable, "-c", "import os\nwhile os.getppid() == "
             + str(os.getpid()) + ": sum(range(100000))"]
    return [subprocess.Popen(words) for _ in range(os.cpu_count() or 1)]


def orphans():
    """Processes of ours whose supervisor is gone."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = engine_case.text(f"/proc/{pid}/cmdline").split("\0")
        if not words[0].startswith(harness.BUILD) or not re.search(
                r"/agentnode-(gate|egress-proxy|ledger|unpack)$", words[0]):
            continue
        stat = engine_case.text(f"/proc/{pid}/stat").rpartition(")")[2]
        parent = stat.split()[1] if stat.split() else "1"
        if not re.search(r"/(agentnode|run_sandbox|drive_proxy)\b",
                         engine_case.text(f"/proc/{parent}/cmdline")):
            found.append(words[0])
    return found


def main():
    harness.need("podman")
    home = mcp_setup.home(mcp_setup.MANY_CALLS)
    mcp_setup.install(home, mcp_setup.package({"server.py": SERVER},
                                              "fighter"),
                      "--name", "fighter", "--entry", "server.py")
    random.seed(int(os.environ.get("AGENTNODE_KILL_SEED",
                                   time.time_ns() % 10**6)))
    busy = load()
    for index in range(ROUNDS):
        one(home, index, VICTIMS[index % len(VICTIMS)])
    for process in busy:
        process.kill()
        process.wait()
    mcp_setup.forget(home)
    print(f"slowest death {slowest * 1000:.0f} ms of {ROUNDS}")
    left = orphans()
    check("no process of ours is left", not left, left)
    harness.finish()


if __name__ == "__main__":
    main()
