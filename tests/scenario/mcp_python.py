"""A plain Python MCP server, packed as a wheel, installed from an index on
loopback, and used by the SDK's client and the Inspector."""
import json
import os

import engine_case
import harness
import mcp_setup
import package_registry
from harness import check
from internet import DNSServer
from mcp_clients import inspector, sdk, text
from test_ca import TestCA

SERVER = r'''
import json, os, sys, time

TOOLS = [{"name": "where", "description": "says where it runs",
          "inputSchema": {"type": "object"}},
         {"name": "count", "description": "counts, with progress",
          "inputSchema": {"type": "object"}}]


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(params):
    if params["name"] == "count":
        token = params.get("_meta", {}).get("progressToken")
        for step in range(1, 4):
            if token is not None:
                say(method="notifications/progress", params={
                    "progressToken": token, "progress": step, "total": 3})
            time.sleep(0.1)
        return "3"
    return json.dumps({"uid": os.getuid(), "python": sys.version_info[:2],
                       "home": os.environ["HOME"], "file": __file__})


def main():
    print("starting up, not a message")
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            say(id=message["id"], result={
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1.0.0"}})
        elif method == "tools/list":
            say(id=message["id"], result={"tools": TOOLS})
        elif method == "tools/call":
            say(id=message["id"], result={"content": [
                {"type": "text", "text": call(message["params"])}]})
        elif "id" in message and method:
            say(id=message["id"], result={})
'''

home = harness.folder()
ca = TestCA(harness.folder())
dns = DNSServer({package_registry.NAME: ["127.0.0.21"]})
registry = package_registry.Registry(ca.leaf(package_registry.NAME))
registry.add_pypi("plain-server", "plain_server-1.0.0-py3-none-any.whl",
                  package_registry.wheel(
                      "plain-server", "1.0.0",
                      {"plain_server/__init__.py": SERVER},
                      {"plain-server": "plain_server:main"}))
package_registry.configure(home, registry, dns.address, ca.root,
                           engine_case.image())
try:
    mcp_setup.install(home, "pypi:plain-server==1.0.0")
    out = sdk(home, "plain-server", [
        ["tools"], ["call", "where", {}], ["progress", "count", {}],
        ["ping"]])
    results = [r.get("ok", r) for r in out.get("results", [{}] * 4)]
    check("its tools are listed", [t["name"] for t in results[0].get(
        "tools", [])] == ["where", "count"], results[0])
    place = json.loads(text(results[1]) or "{}")
    check("it runs from the sealed volume, as nobody of the host",
          place.get("file", "").startswith("/pack/") and
          place.get("uid", 0) > 1000 and
          place.get("home") == "/sandbox-home", place)
    check("progress is delivered", results[2].get("seen") == [1, 2, 3],
          results[2])
    called, raw = inspector(home, "plain-server", "--method", "tools/call",
                            "--tool-name", "where")
    check("the Inspector calls a tool", "/pack/" in text(called), raw)
    log = os.path.join(home, ".agentnode", "log", "agentnode-gate.jsonl")
    check("its noise is in the log only", any(
        e["event"] == "mcp_noise" for e in harness.json_lines(log)))
finally:
    mcp_setup.forget(home)
harness.finish()
