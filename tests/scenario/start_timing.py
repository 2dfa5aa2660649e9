#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode mcp run --timing`: every step of a start is told with its place
and length, they lie within the whole, what runs at the same time overlaps,
and without the option nothing is said."""
import json
import os
import re
import subprocess

import harness
import mcp_setup
from harness import check

SERVER = r"""
const lines = require('readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const m = JSON.parse(line);
  if (m.id !== undefined)
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: {
      protocolVersion: m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'timed', version: '1' } } }) + '\n');
});
lines.on('close', () => process.exit(0));
"""
PACKAGE = json.dumps({"name": "timed", "version": "1.0.0",
                      "bin": {"timed": "server.js"}})
ASK = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize",
                  "params": {"protocolVersion": "2025-03-26",
                             "capabilities": {}, "clientInfo": {
                                 "name": "c", "version": "1"}}}) + "\n"
ROW = re.compile(r"^(.{24}) +([0-9.]+) +([0-9.]+)(?:  \|([ =]{40})\|)?$")
STEPS = ["config, lock, package", "ledger", "engine and image check",
         "launch record", "engine, to init's hello", "proxy", "volume check",
         "gate", "listeners and walls", "wait for proxy, volumes", "files in",
         "go, to first answer", "all of it"]


def run(home, *words):
    """One conversation of one request; (code, out, err)."""
    process = subprocess.Popen(
        [harness.AGENTNODE, "mcp", "run", *words, "timed"],
        env=harness.environment(home), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write(ASK)
    process.stdin.flush()
    answer = process.stdout.readline()
    out, err = process.communicate(timeout=60)
    return process.returncode, answer + out, err


def steps(text):
    """{name: (begin, length)} in ms."""
    found = {}
    for line in text.splitlines()[1:]:
        row = ROW.match(line)
        if not check(f"a step: {line[:24].strip()}", row is not None, line):
            continue
        found[row[1].strip()] = (float(row[2]), float(row[3]))
    return found


def main():
    home = mcp_setup.home()
    try:
        mcp_setup.install(home, mcp_setup.package(
            {"server.js": SERVER, "package.json": PACKAGE}, "timed"),
            "--allow", "allowed.example")
        code, out, err = run(home)
        check("without --timing nothing is said", code == 0 and err == ""
              and '"timed"' in out, (code, out, err))
        code, out, err = run(home, "--timing")
        check("the answer is the same", code == 0 and '"timed"' in out,
              (code, out, err))
        found = steps(err)
        check("every step is told, in order", list(found) == STEPS,
              list(found))
        whole = found["all of it"][1]
        check("each lies within the whole", all(
            begin >= 0 and begin + length <= whole + 0.2
            for begin, length in found.values()), found)
        end = {name: sum(times) for name, times in found.items()}
        check("the launch record is on disk before the engine begins",
              end["launch record"] <= found["engine, to init's hello"][0]
              + 0.1, found)
        for name in ("proxy", "volume check", "gate"):
            check(f"{name} runs beside the engine",
                  found[name][0] < end["engine, to init's hello"], found)
        check("go comes after walls, proxy and volumes",
              found["go, to first answer"][0] + 0.1 >= max(
                  end[name] for name in ("listeners and walls", "proxy",
                                         "volume check")), found)
        if os.environ.get("AGENTNODE_SHOW"):
            print(err)
    finally:
        mcp_setup.forget(home)
    harness.finish()


main()
