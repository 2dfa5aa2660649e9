"""One engine of the matrix: a home that uses it, and the three things that
must work on it: the selftest, an MCP conversation with an allowed and a
denied host, an agent that asks a model."""
import json
import os
import shutil
import subprocess

import agent_case
import harness
import mcp_client
import mcp_setup
import provider_standin

ALLOWED, DENIED = "api.example.test", "other.example.test"
SERVER = r"""
const net = require('net'), tls = require('tls');
const text = (id, t) => console.log(JSON.stringify({ jsonrpc: '2.0', id,
  result: { content: [{ type: 'text', text: String(t) }] } }));
function ask(id, host, port) {
  const s = net.connect(3128, '127.0.0.1');
  s.on('error', (e) => text(id, e));
  s.on('connect', () => s.write(
    `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`));
  s.once('data', (d) => {
    const head = d.toString();
    if (!head.startsWith('HTTP/1.1 200'))
      return text(id, (/x-agentnode-reason: *(\S+)/i.exec(head) || [])[1]);
    const t = tls.connect({ socket: s, servername: host,
      rejectUnauthorized: false }, () => t.write(
      `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
    let body = '';
    t.on('data', (b) => body += b).on('end', () => text(id, body));
  });
}
require('readline').createInterface({ input: process.stdin }).on('line', (l) => {
  const m = JSON.parse(l), a = (m.params || {}).arguments || {};
  if (m.method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0',
    id: m.id, result: { protocolVersion: m.params.protocolVersion,
      capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
  }));
  else if (m.method === 'tools/call') ask(m.id, a.host, a.port);
}).on('close', () => process.exit(0));
"""


class Row:
    """sandbox: the part of the configuration. user: an engine_case.User, or
    None for the caller. world: the test internet."""

    def __init__(self, name, sandbox, world, user=None, more_env=None):
        self.name, self.world, self.user = name, world, user
        self.results = {}
        self.home = user.home if user else harness.folder()
        self.env = {**harness.environment(self.home),
                    **(user.env if user else {}), **(more_env or {})}
        place = os.path.join(self.home, ".agentnode")
        self.env["AGENTNODE_HOME"] = place
        shutil.rmtree(place, ignore_errors=True)
        keys = os.path.join(self.home, "credentials")
        os.makedirs(place, mode=0o700)
        os.makedirs(keys, mode=0o700, exist_ok=True)
        self.env["CREDENTIALS_DIRECTORY"] = keys
        with open(f"{keys}/agentnode.openai", "w", encoding="ascii") as out:
            out.write(agent_case.KEYS["openai"])
        os.chmod(out.name, 0o600)
        with open(f"{place}/config.json", "w", encoding="ascii") as out:
            json.dump(self._config(sandbox), out)
        os.chmod(out.name, 0o600)
        if user:
            subprocess.run(["chown", "-R", f"{user.uid}:{user.gid}", place,
                            keys], check=True)

    def _config(self, sandbox):
        world = self.world
        return {"sandbox": sandbox,
                "egress": {"resolver": world.dns.address,
                           "extra_ranges": {ALLOWED: ["127.0.0.1/32"]}},
                "agent_sandbox": {"enabled": True, "llm": {
                    "max_calls": 100, "max_input_chars": 100000,
                    "max_output_chars": 100000}},
                "auth": {"backend": "credentials"},
                "llm": {"default_provider": "openai",
                        "default_model": "gpt-4o-mini",
                        "upstream": {"openai": {
                            "port": world.provider.port,
                            "cidrs": ["127.0.0.1/32"],
                            "ca": world.ca.root}}}}

    def words(self, *words):
        as_user = [*self.user.inside, "setpriv", f"--reuid={self.user.uid}",
                   f"--regid={self.user.gid}",
                   *self.user.groups] if self.user else []
        return [*as_user, harness.AGENTNODE, *words]

    def run(self, *words, timeout=120):
        return harness.run(*self.words(*words), env=self.env, cwd="/",
                           timeout=timeout)

    def note(self, what, good, detail):
        self.results[what] = bool(good)
        harness.check(f"{self.name}: {what}", good, detail)

    def selftest(self, expected=lambda probe: True):
        result = self.run("sandbox", "selftest", "--json")
        try:
            probes = result.json()["probes"]
        except (ValueError, KeyError):
            probes = []
        wrong = [one for one in probes if one["ok"] != expected(one)]
        self.note("selftest", len(probes) > 90 and not wrong, wrong or result)

    def mcp(self):
        package = mcp_setup.package({
            "package.json": json.dumps({"name": "asker", "version": "1.0.0",
                                        "bin": "server.js"}),
            "server.js": SERVER})
        port = self.world.server.port
        result = self.run("mcp", "install", package, "--name", "asker",
                          "--allow", f"{ALLOWED}:{port}")
        if result.code != 0:
            self.note("MCP", False, result)
            return
        client = mcp_client.Client(self.words("mcp", "run", "asker"),
                                   env=self.env, cwd="/")
        try:
            client.initialize()
            allowed = client.call("ask", host=ALLOWED, port=port)
            denied = client.call("ask", host=DENIED, port=port)
            code = client.close()
        except mcp_client.Ended as error:
            allowed = denied = code = str(error)
        self.note("MCP", "hello from the test internet" in json.dumps(allowed)
                  and "not_allowed" in json.dumps(denied) and code == 0,
                  (allowed, denied, code, client.text()))

    def agent(self):
        source = os.path.join(harness.folder(), "py")
        shutil.copytree(os.path.join(agent_case.AGENTS, "py"), source)
        os.chmod(os.path.dirname(source), 0o755)
        result = self.run("install", source, "--json", timeout=300)
        if result.code == 0:
            result = self.run("agent", "run", "py-agent", "--input",
                              json.dumps({"do": ["llm"]}))
        self.note("agent", result.code == 0
                  and "The answer is forty-two." in result.out, result)

    def end(self):
        """Everything it installed goes, and nothing of it is left."""
        for slug, what in (("asker", "MCP"), ("py-agent", "agent")):
            result = self.run("remove", slug)
            harness.check(f"{self.name}: {slug} is removed", result.code == 0
                          or not self.results.get(what), result)


class World:
    """The internet of every row."""

    def __init__(self):
        from internet import DNSServer, TLSServer
        from test_ca import TestCA
        self.folder = harness.folder()
        os.chmod(self.folder, 0o755)
        self.ca = TestCA(self.folder)
        self.server = TLSServer(self.ca.leaf(ALLOWED, DENIED))
        self.provider = provider_standin.Provider(
            self.ca.leaf(*provider_standin.NAMES))
        self.dns = DNSServer({name: ["127.0.0.1"] for name in (
            *provider_standin.NAMES, ALLOWED, DENIED)})

    def close(self):
        self.server.close()
        self.provider.close()
        self.dns.close()
