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
from mcp_client import Client
from mcp_clients import inspector, sdk, text
from test_ca import TestCA

SERVER = r'''
import json, os, sys, time

TOOLS = [{"name": "where", "description": "says where it runs",
          "inputSchema": {"type": "object"}},
         {"name": "count", "description": "counts, with progress",
          "inputSchema": {"type": "object"}},
         {"name": "delete_rows", "description": "deletes",
          "inputSchema": {"type": "object"}},
         {"name": "get_called", "description": "every call there was",
          "inputSchema": {"type": "object"}}]
CALLED = []


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(params):
    CALLED.append(params["name"])
    if params["name"] == "get_called":
        return json.dumps(CALLED)
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
        "tools", [])] == ["where", "count", "delete_rows", "get_called"], results[0])
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
    # Guard in front of it: what it denies the server never sees.
    result = harness.agentnode(home, "guard", "check",
                               "plain-server/delete_rows", "--json")
    check("guard check knows its tools", result.code == 0 and result.json()[
        "action_types"] == ["delete"] and result.json()["consent"], result)
    harness.agentnode(home, "guard", "set", "delete", "deny")
    one = Client(mcp_setup.run_words("plain-server"),
                 env=harness.environment(home))
    one.initialize(60)

    def reason(tool, **arguments):
        said = one.ask("tools/call", 30, name=tool, arguments=arguments)
        return said.get("error", {}).get("data", {}).get("reason", "made")

    check("a tool that deletes is denied, others are not", [
        reason("delete_rows"), reason("where"), reason("where", a="../x"),
        reason("count", **{"n": {"../y": 1}})] == [
            "guard_denied", "made", "guard_arguments", "guard_arguments"])
    said = one.ask("tools/call", 30, name="get_called", arguments={})
    check("nothing of what was denied reached it", json.loads(
        text(said.get("result", {})) or "[]") == ["where", "get_called"], said)
    one.close()
    harness.agentnode(home, "guard", "unset", "delete")
    one = Client(mcp_setup.run_words("plain-server"),
                 env=harness.environment(home))
    one.initialize(60)
    check("the consent of the installation covers it then",
          reason("delete_rows") == "made")
    one.close()
    denied = [r["fields"] for r in harness.agentnode(
        home, "audit", "show", "--json", "--last", "1000").json()["records"]
        if r["event"] == "guard_decision"]
    check("each denial is on record", [
        (r["package"], r["tool"], r["code"]) for r in denied] == [
        ("plain-server", "delete_rows", "guard_denied"),
        ("plain-server", "where", "guard_arguments"),
        ("plain-server", "count", "guard_arguments")], denied)
    log = os.path.join(home, ".agentnode", "log", "agentnode-gate.jsonl")
    check("its noise is in the log only", any(
        e["event"] == "mcp_noise" for e in harness.json_lines(log)))
finally:
    mcp_setup.forget(home)
harness.finish()
