#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The logs of a long run: each process of a living run, the supervisor too,
goes on in a new file when its own is full, and no line is lost or torn."""
import json
import os

import engine_case
import harness
import mcp_setup
from harness import check
from mcp_client import Client

COUNT = 200
SERVER = r"""
const net = require('net');
const lines = require('readline').createInterface({ input: process.stdin });
const say = (o) => process.stdout.write(JSON.stringify(o) + '\n');
const refused = (i) => new Promise((done) => {
  const host = `r${i}.refused.example:443`;
  const c = net.connect(3128, '127.0.0.1', () => c.write(
    `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
  c.on('data', () => {}); c.on('error', done); c.on('close', done);
});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const work = async () => { for (let i = 0; i < COUNT; i++) {
  await refused(i); await sleep(25); } };
lines.on('line', (line) => {
  const m = JSON.parse(line);
  if (m.method === 'initialize')
    say({ jsonrpc: '2.0', id: m.id, result: { protocolVersion:
      m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'noisy', version: '1' } } });
  else if (m.method === 'tools/call')
    work().then(() => say({ jsonrpc: '2.0', id: m.id,
      result: { content: [] } }));
});
lines.on('close', () => process.exit(0));
""".replace("COUNT", str(COUNT))
PACKAGE = json.dumps({"name": "noisy", "version": "1.0.0",
                      "bin": {"noisy": "server.js"}})
NAMES = ["agentnode", "agentnode-gate", "agentnode-ledger",
         "agentnode-egress-proxy"]


def lines_of(path):
    """The lines of a log that was filled with a hole."""
    with open(path, "rb") as file:
        text = file.read().replace(b"\0", b"")
    return [json.loads(line) for line in text.splitlines()]


def both(folder, name):
    path = os.path.join(folder, name + ".jsonl")
    return lines_of(path + ".1") + lines_of(path)


def process_of(client, name):
    """The pid of a process of this run; agentnode is the client's child."""
    if name == "agentnode":
        return client.process.pid
    return next((pid for comm, pid in
                 engine_case.children(client.process.pid).items()
                 if comm == name[:15]), None)


def opened(pid):
    """Number -> path of what a process has open."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
    return found


def has_open(pid, path):
    return path in opened(pid).values()


def has_let_go(pid, path):
    """Standard error too is on the new file."""
    found = opened(pid)
    return path + ".1" not in found.values() and found.get(2) == path


def main():
    harness.need("podman")
    home = mcp_setup.home()
    folder = os.path.join(home, ".agentnode", "log")
    package = mcp_setup.package({"server.js": SERVER,
                                 "package.json": PACKAGE}, "noisy")
    mcp_setup.install(home, package, "--allow", "a.example.com")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))  # of the installation
    client = Client(mcp_setup.run_words("noisy"),
                    env=harness.environment(home))
    check("the server runs", "result" in (client.initialize() or {}),
          client.text())
    work = client.post("tools/call", name="work", arguments={})
    inodes = {}
    for name in NAMES:
        path = os.path.join(folder, name + ".jsonl")
        inodes[name] = os.stat(path).st_ino
        os.truncate(path, 11 << 20)
    for name in NAMES:
        path = os.path.join(folder, name + ".jsonl")
        check(f"{name}: the full log is moved aside", engine_case.wait(
            10, lambda p=path, n=name: os.path.exists(p + ".1")
            and os.path.exists(p)
            and os.stat(p + ".1").st_ino == inodes[n]))
        pid = process_of(client, name)
        check(f"{name}: the process has the new one",
              pid and engine_case.wait(5, lambda p=path, i=pid: has_open(
                  i, p)), pid)
        if name != "agentnode":  # its standard error is the user's
            check(f"{name}: nothing stays on the old one",
                  pid and engine_case.wait(5, lambda p=path, i=pid:
                                           has_let_go(i, p)),
                  pid and opened(pid))
    check("the work goes on", client.wait(work, 60) is not None)
    client.process.stdin.close()
    check("the run ends in order", client.process.wait(30) == 0,
          client.text())
    lines = [line for line in both(folder, "agentnode-egress-proxy")
             if line.get("event") == "connection"]
    hosts = [json.dumps(line) for line in lines]
    missing = [i for i in range(COUNT) if sum(
        f'"r{i}.refused.example' in text for text in hosts) != 1]
    check(f"proxy: each of {COUNT} connections has its one line",
          missing == [], (missing, len(lines)))
    states = [(line["from"], line["to"]) for line in both(folder, "agentnode")
              if line.get("event") == "sandbox_state"]
    check("agentnode: the story of the sandbox is whole",
          states and states[0][0] == "new" and states[-1][1] == "end"
          and all(a[1] == b[0] for a, b in zip(states, states[1:])), states)
    check("gate and ledger: each line is whole", all(
        both(folder, name) is not None for name in NAMES[1:3]))
    mcp_setup.forget(home)
    harness.finish()


if __name__ == "__main__":
    main()
