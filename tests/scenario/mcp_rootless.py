"""An ordinary user installs and runs MCP servers: the same commands, files
and state, with an engine and a gate that are not root's."""
import json
import os
import subprocess

import engine_case
import harness
import mcp_setup
from harness import check
from mcp_client import Client
from mcp_setup import run_words

SERVER = r"""
const fs = require('fs');
const out = (id, t) => console.log(JSON.stringify({ jsonrpc: '2.0', id,
  result: { content: [{ type: 'text', text: String(t) }] } }));
require('readline').createInterface({ input: process.stdin }).on('line', (l) => {
  const m = JSON.parse(l), a = (m.params || {}).arguments || {};
  if (m.method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0',
    id: m.id, result: { protocolVersion: m.params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' } } }));
  else if (m.method === 'tools/call') {
    if (m.params.name === 'put') fs.writeFileSync('/state/n', a.text);
    if (m.params.name === 'die') process.exit(5);
    try { out(m.id, fs.readFileSync(a.path || '/state/n', 'utf8')); }
    catch (e) { out(m.id, e); }
  }
}).on('close', () => process.exit(0));
"""
USER = engine_case.User("agentnode-mcp")
HOME = USER.home if USER.made else harness.folder()
ENV = {**harness.environment(HOME), **USER.env}
AS = ["setpriv", f"--reuid={USER.uid}", f"--regid={USER.gid}",
      "--clear-groups"] if USER.made else []


def agentnode(*words, timeout=120):
    return harness.run(*AS, harness.AGENTNODE, *words, env=ENV, cwd="/",
                       timeout=timeout)


def start():
    client = Client(AS + run_words("kept"), env=ENV, cwd="/")
    check("it starts", "result" in (client.initialize() or {}),
          client.text())
    return client


def said(result):
    return (result or {}).get("content", [{}])[0].get("text")


try:
    agentnode("config", "set", "sandbox.image", USER.image)
    agentnode("config", "set", "sandbox.overrides", "no_cgroup_limits")
    package = mcp_setup.package({
        "package.json": json.dumps({"name": "kept", "version": "1.0.0",
                                    "bin": "server.js"}),
        "server.js": SERVER})
    files = os.path.join(HOME, "files")
    os.makedirs(files)
    with open(os.path.join(files, "a.txt"), "w", encoding="utf-8") as file:
        file.write("mine alone")
    for path in (files, file.name):
        os.chmod(path, 0o700)
    if USER.made:
        subprocess.run(["chown", "-R", f"{USER.uid}:{USER.gid}", files],
                       check=True)
    result = agentnode("mcp", "install", package, "--name", "kept",
                       "--state", "1m", "--files", files)
    check("mcp install", result.code == 0, result)
    client = start()
    check("a file of the user's is there", said(client.call(
        "get", path="/files/a.txt")) == "mine alone")
    client.call("put", text="noted")
    check("it ends in order", client.close() == 0, client.text())
    client = start()
    check("its state is kept", said(client.call("get")) == "noted")
    error = client.call("die")
    check("a server that exits: its code",
          "server ended (exit 5)" in json.dumps(error) and
          client.exit_code() == 5, (error, client.text()))
    gate = [line for line in harness.json_lines(os.path.join(
        HOME, ".agentnode", "log", "agentnode-gate.jsonl"))
        if line["event"] == "mcp_call"]
    check("the gate wrote its log", len(gate) >= 4, gate)
    left = USER.podman("ps", "-a", "--format={{.Names}}").stdout.split() \
        if USER.made else []
    check("no container is left", left == [], left)
finally:
    USER.end()
harness.finish()
