# SPDX-License-Identifier: Apache-2.0
"""The real, confined broker, llm-key and ledger behind drive_broker, with a
provider beside them, and a watch over their memory: for load and soak."""
import atexit
import json
import os
import re
import signal
import subprocess
import threading
import time

import harness
import test_ca
from harness import check

HOST, UP = "api.openai.com", "127.0.0.51"
KEY = "sk-load-4Zq8w1Xy7Rb3Kd5Nf9Pj2Tm6Vh0Lc"
PATH = "/openai/v1/chat/completions"
LEDGER_UID = 1879048191
TOOLS = os.path.join(harness.BUILD, "tests")


class World:
    """A provider (upstream_llm), and the three processes of ours."""

    def __init__(self, events, gap_us, event_bytes):
        self.folder = harness.folder()
        os.chmod(self.folder, 0o755)
        ca = test_ca.TestCA(self.folder)
        pem = ca.leaf(HOST, UP)
        self.up_port = harness.free_port(UP)
        self.upstream = subprocess.Popen(
            [os.path.join(TOOLS, "upstream_llm"), f"{UP}:{self.up_port}",
             pem, KEY, "800", str(events), str(gap_us), str(event_bytes)],
            stdout=subprocess.PIPE)
        atexit.register(self.upstream.kill)
        self.upstream.stdout.readline()
        ledger = os.path.join(self.folder, "ledger")
        os.mkdir(ledger, 0o700)
        if os.geteuid() == 0:
            os.chown(ledger, LEDGER_UID, LEDGER_UID)
        self.port = harness.free_port("127.0.0.1")
        self.log = os.path.join(self.folder, "log.jsonl")
        key, write = os.pipe()
        os.write(write, KEY.encode())
        os.close(write)
        self.drive = subprocess.Popen(
            [os.path.join(TOOLS, "drive_broker"), f"127.0.0.1:{self.port}",
             "--provider", os.path.join(harness.SOURCE, "config",
                                        "providers", "openai.json"),
             "--key-fd", str(key), "--host", f"{HOST}:{self.up_port}",
             "--ca", ca.root, "--address", f"{HOST}={UP}",
             "--ledger", ledger, "--log", self.log, "--stats"],
            stdout=subprocess.PIPE, pass_fds=[key], text=True)
        atexit.register(self.drive.kill)
        os.close(key)
        check("the processes are ready",
              self.drive.stdout.readline().startswith("ready"))
        self.pids = self.find()
        self.base = {name: self.files(name) for name in self.pids}

    def find(self):
        parent = self.drive.pid
        names = {}
        with open(f"/proc/{parent}/task/{parent}/children",
                  encoding="ascii") as file:
            for pid in map(int, file.read().split()):
                with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    names[comm.read().strip()] = pid
        return {"broker": names["agentnode-llm-b"],
                "key": names["agentnode-llm-k"],
                "ledger": names["agentnode-ledge"]}

    def memory_kb(self, name):
        with open(f"/proc/{self.pids[name]}/status",
                  encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def files(self, name):
        return len(os.listdir(f"/proc/{self.pids[name]}/fd"))

    def figures(self):
        return {name: (self.memory_kb(name), self.files(name))
                for name in self.pids}

    def stop(self):
        """Counters of broker and llm-key, and how it ended."""
        self.drive.send_signal(signal.SIGTERM)
        told = [json.loads(line[6:]) for line in self.drive.stdout
                if line.startswith("stats ")]
        told.sort(key=lambda values: "running" not in values)
        ended = self.drive.wait(20)
        self.upstream.kill()
        self.upstream.wait()
        return told, ended


class Watch(threading.Thread):
    """The most of each process's memory, and what it was at times."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.most, self.samples = world, {}, []
        self.begin, self.over = time.monotonic(), threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.1):
            now = {name: self.world.memory_kb(name)
                   for name in self.world.pids}
            for name, value in now.items():
                self.most[name] = max(self.most.get(name, 0), value)
            self.samples.append((time.monotonic() - self.begin, now))

    def end(self):
        self.over.set()
        self.join()
        return self.most

    def median(self, name, first, last):
        """Between two times, in seconds."""
        found = sorted(now[name] for at, now in self.samples
                       if first <= at <= last)
        return found[len(found) // 2]
