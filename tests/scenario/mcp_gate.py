"""The real agentnode-gate between a client and a server played here: what
passes, what is refused, what each kind of bad end looks like, and that no
flood or stalled reader makes it grow or hang."""
import hashlib
import json
import os
import socket
import threading
import time

from gate_harness import Gate
from harness import check, finish, need
from machine_pace import Deadline

import gate_harness

need(gate_harness.PROGRAM)
# A sanitizer keeps freed memory for a while.
MEMORY = 8 if b"__asan_init" in open(gate_harness.PROGRAM, "rb").read() else 1
MCP = {"mode": "mcp", "package": "demo", "tier": "unverified"}


def request(number, method, **params):
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    if params:
        message["params"] = params
    return json.dumps(message) + "\n"


def answer(number, **result):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}) \
        + "\n"


def layers():
    gate = Gate(MCP)
    found = gate.ready["layers"]
    for name in ("no_new_privs", "seccomp", "landlock", "unprivileged",
                 "not_dumpable", "no_core", "no_capabilities", "one_thread"):
        check(f"layer {name} is in force", found[name] is True, found)
    status = dict(
        line.split(":\t", 1) for line in
        open(f"/proc/{gate.process.pid}/status").read().splitlines()
        if ":\t" in line)
    check("the kernel says the same", status["Seccomp"] == "2" and
          status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0 and
          status["Uid"].split()[0] != "0", status)
    check("the supervisor's end is the gate's",
          gate.close() == 83, gate.error_text())


def passes():
    gate = Gate(MCP)
    secret = "argument-that-no-log-may-hold"
    lines = [request(i, "tools/call", name="echo", arguments={
        "text": secret, "pad": "x" * (i * 37 % 5000)}) for i in range(300)]
    good = True
    for number, text in enumerate(lines):
        gate.say("client_in", text)
        good &= gate.line("work_in") == text[:-1]
        gate.say("work_out", answer(number, content=[secret]))
        good &= gate.line("client_out") == answer(
            number, content=[secret])[:-1]
    check("300 calls pass byte for byte", good)
    big = request("big", "tools/call", name="echo",
                  arguments={"text": "y" * (10 << 20)})
    writer = threading.Thread(target=gate.say, args=("client_in", big, 30))
    writer.start()
    got = gate.line("work_in", 30)
    writer.join()
    check("a call of 10 MiB passes", got == big[:-1])
    time.sleep(1.1)
    calls = gate.events("mcp_call")
    check("every call has a log line", len(calls) + sum(
        e["count"] for e in gate.events("suppressed")
        if e.get("of") == "mcp_call") >= 300, len(calls))
    check("the line has method, tool, time and sizes",
          calls and calls[0]["method"] == "tools/call" and
          calls[0]["tool"] == "echo" and "ms" in calls[0] and
          calls[0]["request_bytes"] > 0, calls[:1])
    check("no log line holds an argument",
          secret not in open(gate.log_path).read())
    gate.close()


def hostile_server():
    gate = Gate({**MCP, "tools": ["echo"]})
    gate.say("work_out", "Starting...\n\x1b[31mred\x1b[0m\n{\"a\":1}\n")
    gate.say("work_out", request(1, "sampling/createMessage"))
    refused = json.loads(gate.line("work_in"))
    check("sampling is refused to the server",
          refused["error"]["data"]["reason"] == "capability_off", refused)
    gate.say("client_in", request(1, "initialize", capabilities={
        "roots": {}, "sampling": {}, "elicitation": {}}))
    seen = json.loads(gate.line("work_in"))
    check("capabilities are removed at initialize",
          seen["params"]["capabilities"] == {}, seen)
    gate.say("work_out", answer(1, capabilities={"tools": {}}))
    check("initialize is answered",
          json.loads(gate.line("client_out"))["id"] == 1)
    gate.say("client_in", request(2, "tools/list"))
    gate.line("work_in")
    gate.say("work_out", answer(2, tools=[
        {"name": "echo"}, {"name": "rm"}, {"name": "echo", "x": 1}]))
    listed = json.loads(gate.line("client_out"))["result"]["tools"]
    check("the list holds what is allowed, once",
          listed == [{"name": "echo"}], listed)
    gate.say("client_in", request(3, "tools/call", name="rm"))
    error = json.loads(gate.line("client_out"))["error"]
    check("a call of another tool says why and how to allow it",
          "rm" in error["message"] and "--tool rm" in error["message"] and
          error["data"]["reason"] == "tool_not_allowed", error)
    gate.say("work_out", answer(99) + answer(2, tools=[]))
    gate.say("work_out", request("p", "ping"))
    check("answers nobody asked for are dropped",
          json.loads(gate.line("client_out"))["method"] == "ping")
    noise = gate.events("mcp_noise")
    check("noise is in the log, counted and escaped",
          len(noise) == 3 and noise[-1]["count"] == 3 and
          "\x1b" not in open(gate.log_path).read(), noise)
    gate.say("work_err", "warn \x1b]0;title\x07 end\n")
    time.sleep(0.2)
    check("standard error is in the log",
          any("warn" in e["text"] for e in gate.events("workload_stderr")))
    gate.close()


def long_lines():
    gate = Gate({**MCP, "line_max": 65536})
    gate.say("client_in", request(7, "ping") + request(8, "ping"))
    gate.say("work_out", '{"result":{"x":"' + "z" * 300000 +
             '"},"jsonrpc":"2.0","id":7}\n' + answer(8))
    error = json.loads(gate.line("client_out"))
    check("an answer over the cap becomes an error for its request",
          error["id"] == 7 and
          error["error"]["data"]["reason"] == "line_too_long", error)
    check("and the stream is in step",
          json.loads(gate.line("client_out"))["id"] == 8)
    gate.say("client_in", request(9, "tools/call", name="echo",
                                  arguments={"x": "w" * 100000}))
    error = json.loads(gate.line("client_out"))
    check("a request over the cap is answered",
          error["id"] == 9 and "65536" in error["error"]["message"], error)
    gate.close()


def ends():
    gate = Gate(MCP)
    gate.say("client_in", request(1, "ping") + request("two", "ping"))
    gate.line("work_in")
    gate.say("work_out", '{"jsonrpc":"2.0","id":1,"res')
    gate.shut("work_out")
    gate.shut("work_err")
    gate.work("workload_ended", {"exit_code": 3, "signal": 0})
    first = json.loads(gate.line("client_out"))
    second = json.loads(gate.line("client_out"))
    check("a server that dies in a call: the waiting requests are told",
          {first["id"], second["id"]} == {1, "two"} and
          "server ended (exit 3)" in second["error"]["message"],
          (first, second))
    check("then the client's stream ends", gate.line("client_out") == "")
    result = gate.done()
    check("then done", result and result["reason"] == "work_ended", result)
    check("and the gate ends in order", gate.close() == 0)

    gate = Gate({**MCP, "grace_ms": 500})
    gate.say("client_in", request(1, "ping"))
    deadline = Deadline(1.5)
    gate.shut("client_in")
    check("a client that leaves: what it said arrives",
          json.loads(gate.line("work_in"))["id"] == 1)
    check("and the server's input ends", gate.line("work_in") == "")
    result = gate.done()
    check("a server that stays gets its grace, no more",
          deadline.ends() and result and result["reason"] == "client_closed"
          and deadline.took > 0.4, (result, deadline))
    gate.close()

    gate = Gate(MCP)
    gate.shut("client_out")
    gate.say("work_out", request("p", "ping"))
    check("a client that stops reading ends its server's input",
          gate.line("work_in") == "")
    gate.shut("work_out")
    gate.work("workload_ended", {"exit_code": 0, "signal": 0})
    result = gate.done(3)
    check("and then all", result and result["reason"] == "client_closed",
          result)
    gate.close()

    gate = Gate({**MCP, "request_timeout_s": 1})
    gate.say("client_in", request(5, "tools/call", name="slow"))
    error = json.loads(gate.line("client_out", 4) or "{}")
    check("a server that never answers: the request is",
          error.get("id") == 5 and
          error["error"]["data"]["reason"] == "timeout", error)
    gate.line("work_in")
    check("and the server is told",
          "notifications/cancelled" in gate.line("work_in"))
    gate.close()


def floods():
    gate = Gate(MCP)
    junk = (b"x" * 4000 + b"\n") * 1000
    total, begin = 0, time.monotonic()
    while time.monotonic() - begin < 2:
        total += gate.say("work_out", junk)
    gate.say("client_in", request(1, "ping"))
    check("through a flood of noise a request passes",
          json.loads(gate.line("work_in"))["id"] == 1)
    gate.say("work_out", answer(1))
    check("and its answer", json.loads(gate.line("client_out"))["id"] == 1)
    check("memory stays", gate.rss() < 30000 * MEMORY, gate.rss())
    size = os.path.getsize(gate.log_path)
    check("the log too", size < 2 << 20, (size, total))
    gate.close()

    gate = Gate(MCP)
    endless = b"x" * 65536
    for _ in range(1500):
        gate.say("work_out", endless)
    check("a line of 94 MiB costs no memory", gate.rss() < 60000 * MEMORY, gate.rss())
    gate.say("work_out", "\n" + request("p", "ping"))
    check("and the next one is in step",
          json.loads(gate.line("client_out"))["id"] == "p")
    gate.close()

    gate = Gate(MCP)
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message",
                       "params": {"data": "n" * 2000}}) + "\n"
    put = gate.say("work_out", note.encode() * 20000, 3)
    check("a client that does not read holds the server back",
          put < 2 << 20, put)
    gate.say("client_in", request(1, "ping"))
    check("but may still ask",
          json.loads(gate.line("work_in"))["id"] == 1)
    check("memory stays while it waits", gate.rss() < 30000 * MEMORY, gate.rss())
    gate.close()

    gate = Gate(MCP)
    put = gate.say("work_out", request(1, "roots/list").encode() * 200000, 4)
    check("a server that asks and does not read holds itself back",
          put < 64 << 20 and gate.rss() < 60000 * MEMORY, (put, gate.rss()))
    gate.close()


def modes():
    gate = Gate({"mode": "text", "output_max": 5000})
    gate.say("client_in", b"\x00raw in\xff")
    gate.shut("client_in")
    check("text mode: input is copied as it is",
          gate.rest("work_in") == b"\x00raw in\xff")
    gate.say("work_out", b"\x1b[2Jhi\r\n\xff")
    gate.say("work_out", b"z" * 10000)
    out = gate.rest("client_out")
    check("text mode: output is safe and capped",
          out.startswith(b"\\x1b[2Jhi\\x0d\n\\xff") and
          out.count(b"z") < 5000, out[:60])
    result = gate.done()
    check("with its reason", result["reason"] == "output_limit", result)
    gate.close()

    gate = Gate({"mode": "build", "label": "npm"},
                streams=("work_out", "client_err"))
    gate.say("work_out", b"\x1b[2Jhi\r\n" + b"flood\n" * 20000 +
             b"npm error 404 \xff no\nERROR: ENOSPC\nbye")
    gate.work("workload_ended", {"exit_code": 1, "signal": 0, "code": ""})
    gate.shut("work_out")
    out, result = gate.rest("client_err"), gate.done()
    check("build mode: lines are safe, few, and the last ones are there",
          out.startswith(b"npm: \\u001b[2Jhi\n") and out.endswith(
              b"npm: flood\nnpm: flood\nnpm: npm error 404 \\ufffd no\n"
              b"npm: ERROR: ENOSPC\nnpm: bye\n") and out.count(b"\n") < 12,
          out[:300])
    check("build mode: why it failed", result == {
        "reason": "work_ended", "detail": "404 \\ufffd no; ENOSPC",
        "full": True}, result)
    gate.close()
    gate = Gate({"mode": "build"}, streams=("work_out",))
    gate.say("work_out", b"unseen\n")
    gate.shut("work_out")
    gate.work("workload_ended", {"exit_code": 0, "signal": 0, "code": ""})
    check("build mode: without a watcher", gate.done() == {
        "reason": "work_ended", "detail": "", "full": False})
    gate.close()

    gate = Gate({"mode": "raw"},
                streams=gate_harness.STREAMS + ("client_err",))
    data = os.urandom(3 << 20)
    writer = threading.Thread(
        target=lambda: (gate.say("work_out", data), gate.shut("work_out"),
                        gate.say("work_err", b"e\x1b"),
                        gate.shut("work_err")))
    writer.start()
    out = gate.rest("client_out")
    writer.join()
    check("raw mode: output is exact", out is not None and hashlib.sha256(
        out).digest() == hashlib.sha256(data).digest())
    check("raw mode: standard error too",
          gate.rest("client_err") == b"e\x1b")
    check("raw mode: done", gate.done()["reason"] == "work_ended")
    gate.close()

    gate = Gate({"mode": "tools", "json": True, "tools": ["echo"]},
                streams=("client_out", "work_in", "work_out", "work_err"))
    first = json.loads(gate.line("work_in"))
    check("tools mode asks for initialize",
          first["method"] == "initialize", first)
    gate.say("work_out", answer(first["id"], capabilities={}))
    gate.line("work_in")
    ask = json.loads(gate.line("work_in"))
    gate.say("work_out", answer(ask["id"], tools=[
        {"name": "echo", "description": "says \x1b[1m it"},
        {"name": "rm", "description": "two\nlines"}]))
    listed = json.loads(gate.rest("client_out"))
    check("tools mode lists, safely",
          listed == {"tools": [
              {"name": "echo", "description": "says ?[1m it",
               "allowed": True},
              {"name": "rm", "description": "two lines",
               "allowed": False}]}, listed)
    check("tools mode is done", gate.done()["reason"] == "listed")
    gate.close()


def streams():
    path = os.path.join(gate_harness.harness.folder(), "in")
    with open(path, "w") as file:
        file.write(request(1, "ping"))
    gate = Gate({**MCP, "grace_ms": 200},
                given={"client_in": os.open(path, os.O_RDONLY)})
    check("a regular file as input is read to its end",
          json.loads(gate.line("work_in"))["id"] == 1 and
          gate.line("work_in") == "")
    check("and ends like a client", gate.done()["reason"] ==
          "client_closed")
    check("no processor is burnt", cpu_ticks(gate) < 20, cpu_ticks(gate))
    gate.close()

    gate = Gate({"mode": "raw"},
                given={"client_in": os.open("/dev/null", os.O_RDONLY),
                       "client_out": os.open("/dev/null", os.O_WRONLY)})
    gate.say("work_out", b"x" * 100000)
    gate.shut("work_out")
    gate.shut("work_err")
    check("/dev/null on both sides", gate.done()["reason"] == "work_ended")
    gate.close()

    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    gate = Gate(MCP, given={"client_in": os.dup(theirs.fileno()),
                            "client_out": os.dup(theirs.fileno())})
    theirs.close()
    ours.sendall(request(1, "nope").encode())
    got = json.loads(ours.recv(65536))
    check("a socket as both streams",
          got["error"]["data"]["reason"] == "method_not_allowed", got)
    gate.close()

    reader, _writer = os.pipe()
    gate = Gate(MCP, begin=False)
    gate.stream("client_in", reader)
    check("a stream that would block is refused", gate.wait() == 84)
    gate = Gate(MCP, begin=False)
    gate.work("start", {})
    check("a start without streams is refused", gate.wait() == 84)
    gate = Gate(MCP, begin=False)
    gate.send("sandbox_close", {"sandbox": "test"})
    check("a message that is not for it is refused", gate.wait() == 84)
    for options in ({}, {"mode": "http"}, {**MCP, "extra": 1},
                    {**MCP, "line_max": 1}, {**MCP, "tools": [""]},
                    {**MCP, "tools": "echo"}, {**MCP, "uid": 0}):
        gate = Gate(options, begin=False)
        check(f"options {options} are refused", gate.wait() == 81)


def cpu_ticks(gate):
    fields = open(f"/proc/{gate.process.pid}/stat").read().split()
    return int(fields[13]) + int(fields[14])


def idle():
    gate, before = Gate(MCP), None
    for number in range(200):
        before = before or (number == 1 and gate.descriptors())
        gate.say("client_in", request(number, "ping"))
        gate.line("work_in")
        gate.say("work_out", answer(number))
        gate.line("client_out")
    check("descriptors stay", gate.descriptors() == before,
          (before, gate.descriptors()))
    ticks = cpu_ticks(gate)
    time.sleep(1)
    check("an idle gate costs nothing", cpu_ticks(gate) - ticks <= 1)
    gate.close()


for part in (layers, passes, hostile_server, long_lines, ends, floods, modes,
             streams, idle):
    print(f"# {part.__name__}", flush=True)
    part()
finish()
