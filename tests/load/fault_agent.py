# SPDX-License-Identifier: Apache-2.0
"""The stories with more of our processes in them: an agent that asks a model
(gate, broker, llm-key, keyring, the sealed volume), and an MCP server with a
client (gate, proxy, unpack). Each installs what it runs once."""
import json
import os
import shutil
import sys

import agent_case
import engine_case
import fault_world
import harness
import mcp_setup
from harness import check

AGENT = '''
import json, subprocess, sys, time


def run(ctx, words=(), sleep=0, **rest):
    if sleep:
        ctx.call_llm([{"role": "user", "content": "up"}])
        time.sleep(sleep)
    done = subprocess.run([sys.executable, *words], stdout=subprocess.PIPE)
    said = json.loads(done.stdout)
    told = ctx.call_llm([{"role": "user", "content": json.dumps(said)}])
    return {**said, "told": told}
'''
MANIFEST = '''manifest_version: "0.3"
package_id: walls-agent
package_type: agent
name: Walls
summary: Tries every wall and asks a model
publisher: agentnode-tests
version: 1.0.0
agent:
  entrypoint: agent.main:run
  goal: try the walls
  llm_access: {enabled: true, max_calls: 3}
  limits: {max_runtime_seconds: SECONDS}
'''
SERVER = '''
const { spawnSync } = require('child_process');
const say = (o) => process.stdout.write(JSON.stringify(o) + '\\n');
require('readline').createInterface({ input: process.stdin }).on('line', (l) => {
  const m = JSON.parse(l);
  if (m.method === 'initialize')
    say({ jsonrpc: '2.0', id: m.id, result: { protocolVersion:
      m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'walls', version: '1' } } });
  else if (m.method === 'tools/list')
    say({ jsonrpc: '2.0', id: m.id, result: { tools: [
      { name: 'walls', inputSchema: { type: 'object' } }] } });
  else if (m.method === 'tools/call') {
    const got = spawnSync('python3', process.argv.slice(2));
    say({ jsonrpc: '2.0', id: m.id, result: { content: [
      { type: 'text', text: String(got.stdout) }] } });
  }
}).on('close', () => process.exit(0));
'''


def homes(path, word):
    """Files below path, other than the keychain's, that hold word."""
    found = []
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    if word in file.read():
                        found.append(os.path.join(folder, name))
            except OSError:
                pass
    return found


class Agent(fault_world.Story):
    """The workload's verdict comes through the model as well."""
    name, timeout, runtime = "agent", 60, 30

    def __init__(self, image=None):
        super().__init__(image)
        self.case = agent_case.AgentCase({"llm": {
            "default_provider": "openai", "default_model": "gpt-4o-mini"}},
            keys=("openai",))
        shutil.rmtree(self.home)
        self.home = self.case.home
        self.state = os.path.join(self.home, ".agentnode")
        with open(os.path.join(self.home, "secret"), "w",
                  encoding="utf-8") as file:
            file.write("of the host\n")
        self.secret = os.path.join(self.home, "secret")
        self.env = harness.environment(self.home, **self.case.session.agent())
        place = os.path.join(harness.folder(), "walls-agent")
        os.makedirs(os.path.join(place, "agent"))
        for name, text in (("agentnode.yaml", MANIFEST.replace(
                "SECONDS", str(self.runtime))),
                           ("agent/__init__.py", ""),
                           ("agent/main.py", AGENT)):
            with open(os.path.join(place, name), "w",
                      encoding="utf-8") as file:
                file.write(text)
        done = self.case.run("install", place, "--json", timeout=300)
        check("agent: it is installed", done.code == 0, done)

    def words(self):
        return [harness.AGENTNODE, "agent", "run", "walls-agent", "--input",
                json.dumps({"words": self.inside(allow=False)[1:]})]

    def prepare(self):
        super().prepare()
        del self.case.provider.calls[:]

    def reports(self, out):
        rows = super().reports(out)
        texts = [message.get("content") for call in self.case.provider.calls
                 for message in call.json.get("messages", ())]
        try:
            texts.append(json.dumps(json.loads(out).get("value")))
        except (ValueError, AttributeError):
            pass
        for text in texts:
            try:
                row = json.loads(text)
                rows += [row] if "open" in row else []
            except (ValueError, TypeError):
                pass
        return rows

    def faults(self, out, err):
        found, ran = super().faults(out, err)
        key = agent_case.KEYS["openai"].encode()
        if key in out.encode() or key in err.encode():
            found.append("a key was printed")
        found += [f"a key is in {path}" for path in homes(self.state, key)]
        return found, ran

    def complete(self, out):
        try:
            value = json.loads(out)["value"]
            return "forty-two" in json.dumps(value["told"])
        except (ValueError, KeyError, TypeError):
            return False

    def close(self):
        self.case.close()
        super().close()


class Server(fault_world.Story):
    name, timeout = "server", 60

    def __init__(self, image=None):
        super().__init__(image)
        package = mcp_setup.package({
            "server.js": SERVER, "package.json": json.dumps({
                "name": "walls", "version": "1.0.0",
                "bin": {"walls": "server.js"}})})
        mcp_setup.install(self.home, package, "--name", "walls")

    def words(self):
        return [sys.executable, os.path.join(
            fault_world.HERE, "ask_server.py"), harness.AGENTNODE, "mcp",
            "run", "walls", "--allow",
            f"tcp://127.0.0.11:{self.allowed.port}", "--",
            *self.inside()[1:]]

    def prepare(self):
        self.env["PYTHONPATH"] = os.path.dirname(engine_case.__file__)
        self.env["PYTHONDONTWRITEBYTECODE"] = "1"
        super().prepare()

    def close(self):
        mcp_setup.forget(self.home)
        super().close()
