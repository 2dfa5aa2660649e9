# SPDX-License-Identifier: Apache-2.0
"""Attacks on the real gate by a server and by a client: what corrupts the
conversation, and what gets around the list of tools."""
import json
import os
import time

from gate_harness import Gate

MCP = {"mode": "mcp", "package": "demo", "tier": "unverified",
       "tools": ["echo"]}


def message(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method,
            "params": params}


def said(gate, stream, seconds=3):
    """The next line as JSON; {} when there is none."""
    line = gate.line(stream, seconds)
    try:
        return json.loads(line or "{}")
    except ValueError:
        return {"odd": line}


def code(value):
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        reason = row.get("error", {}).get("data", {}).get("reason")
        if reason:
            return reason
    return ""


def reaches(gate):
    """Whether an honest ping goes to the server next."""
    gate.say("client_in", json.dumps(message(99, "ping")) + "\n")
    got = said(gate, "work_in")
    if got.get("method") == "ping":
        gate.say("work_out", json.dumps({"jsonrpc": "2.0", "id": 99,
                                         "result": {}}) + "\n")
    return got.get("method") == "ping"


def start():
    gate = Gate(MCP)
    gate.say("client_in", json.dumps(message(1, "initialize",
                                             capabilities={})) + "\n")
    said(gate, "work_in")
    gate.say("work_out", json.dumps({"jsonrpc": "2.0", "id": 1, "result": {
        "capabilities": {"tools": {}, "resources": {}}}}) + "\n")
    return gate, said(gate, "client_out")


def refused(tally, gate, name, request, wanted):
    """A request of the client's that must not reach the server."""
    gate.say("client_in", json.dumps(request) + "\n")
    got = said(gate, "client_out")
    tally.attack(109, name, not reaches(gate), code(got), wanted, got)
    said(gate, "client_out", 1)


def filters(tally):
    gate, hello = start()
    gate.say("client_in", json.dumps(message(
        2, "tools/call", name="echo", arguments={"text": "x"})) + "\n")
    got = said(gate, "work_in")
    gate.say("work_out", json.dumps({"jsonrpc": "2.0", "id": 2, "result": {
        "content": []}}) + "\n")
    tally.control(109, "a listed tool is called", hello.get("id") == 1
                  and got.get("params", {}).get("name") == "echo"
                  and said(gate, "client_out").get("id") == 2, (hello, got))
    call = "tools/call"
    for name, request, wanted in (
            ("a tool that is not listed", message(3, call, name="rm"),
             "tool_not_allowed"),
            ("its name in other case", message(4, call, name="Echo"),
             "tool_not_allowed"),
            ("its name with a space", message(5, call, name="echo "),
             "tool_name"),
            ("a batch with one that is not", [
                message(6, call, name="echo"), message(7, call, name="rm")],
             "batch_denied"),
            ("a method that does not exist", message(8, "tools/exec"),
             "method_not_allowed")):
        refused(tally, gate, name, request, wanted)
    gate.say("client_in", '{"jsonrpc":"2.0","id":9,"method":"tools/call",'
             '"params":{"name":"rm","name":"echo"}}\n')
    got = said(gate, "client_out")
    tally.attack(109, "a name given twice", not reaches(gate), code(got),
                 seen=got)
    said(gate, "client_out", 1)
    gate.say("client_in", json.dumps(message(10, "tools/list")) + "\n")
    said(gate, "work_in")
    gate.say("work_out", json.dumps({"jsonrpc": "2.0", "id": 10, "result": {
        "tools": [{"name": "echo"}, {"name": "rm"},
                  {"name": "echo", "description": "another"}]}}) + "\n")
    listed = said(gate, "client_out").get("result", {}).get("tools")
    tally.attack(109, "a list with more, and with a second of the name",
                 listed != [{"name": "echo"}], seen=listed)
    for method in ("sampling/createMessage", "roots/list",
                   "elicitation/create"):
        gate.say("work_out", json.dumps(message("s", method)) + "\n")
        got = said(gate, "work_in")
        tally.attack(109, f"the server asks for {method}", not code(got),
                     code(got), "capability_off", got)
    gate.close()


def noise(tally):
    gate, hello = start()
    tally.control(108, "an honest start", hello.get("id") == 1, hello)
    for number, (name, text) in enumerate((
                       ("text", "Starting...\n"),
                       ("escapes", "\x1b[2J\x1b]0;x\x07\n"),
                       ("JSON that is no message", '{"a":1}\n[1]\n"x"\n'),
                       ("an answer nobody asked for",
                        '{"jsonrpc":"2.0","id":77,"result":{}}\n'),
                       ("half a message and text",
                        '{"jsonrpc":"2.0","id":1,"resNow listening\n'),
                       ("carriage returns and zero bytes",
                        '\r\r\0\0{"jsonrpc":"2.0"}\n'))):
        gate.say("work_out", text)
        gate.say("work_out", json.dumps(message(number, "ping")) + "\n")
        got = said(gate, "client_out")
        tally.attack(108, name, got.get("method") != "ping", seen=got)
    junk = (b"x" * 4000 + b"\n") * 1000
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        gate.say("work_out", junk)
    gate.say("work_out", json.dumps(message("p", "ping")) + "\n")
    got = said(gate, "client_out", 10)
    tally.attack(108, "a flood of text", got.get("method") != "ping"
                 or os.path.getsize(gate.log_path) > 2 << 20, seen=got)
    before = gate.rss()
    for _ in range(800):
        gate.say("work_out", b"x" * 65536)
    gate.say("work_out", "\n" + json.dumps(message("q", "ping")) + "\n")
    got = said(gate, "client_out", 10)
    tally.attack(108, "a line of 50 MiB", got.get("id") != "q"
                 or gate.rss() - before > 200000, seen=(got, gate.rss()))
    gate.close()


def run(tally):
    if tally.wants(109):
        filters(tally)
    if tally.wants(108):
        noise(tally)
