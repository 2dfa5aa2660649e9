"""The real agentnode-gate in mode agent, on a loopback listener: run_tool
and the agent's result, the same tools over MCP with the official SDK's
client, what is refused, and that no flood, slow client or fault of the
supervisor's makes it grow, hang or say what it must not."""
import json
import os
import socket
import struct
import threading
import time

import gate_harness
import harness
from gate_harness import Gate
from harness import check
from mcp_clients import sdk_http, text as first_text
from tools_gate import ToolsGate, text

harness.need(gate_harness.PROGRAM)
MEMORY = 8 if b"__asan_init" in open(gate_harness.PROGRAM, "rb").read() else 1
PACKAGES = [{"slug": "alpha"}, {"slug": "beta", "tools": ["get"]}]
LISTS = {
    "alpha": [{"name": "echo", "description": "says it again",
               "inputSchema": {"type": "object"}},
              {"name": "add", "inputSchema": {"type": "object"},
               "outputSchema": {"type": "object", "properties": {
                   "sum": {"type": "number"}}, "required": ["sum"]}},
              {"name": "fail", "inputSchema": {"type": "object"}},
              {"name": "slow", "inputSchema": {"type": "object"},
               "execution": {"taskSupport": "required"}}],
    "beta": [{"name": "get", "inputSchema": {"type": "object"}},
             {"name": "put", "inputSchema": {"type": "object"}}],
}


def answer(call):
    """A supervisor with two packages."""
    arguments = call["arguments"] or {}
    if call["method"] == "list":
        return {"tools": LISTS[call["package"]]}
    if call["tool"] == "add":
        value = {"sum": arguments["a"] + arguments["b"]}
        return {**text(json.dumps(value)), "structuredContent": value}
    if call["tool"] == "fail":
        return text("it did not work", error=True)
    if call["tool"] == "slow":
        time.sleep(arguments.get("seconds", 1))
    if call["tool"] == "big":
        return text("b" * arguments["bytes"])
    if call["tool"] == "gone":
        return ("tool_ended", "the package's server ended")
    if call["tool"] == "odd":
        return arguments["answer"].encode()
    return text(arguments.get("text", "ok"))


def gate(**options):
    options = {"packages": PACKAGES, "max_tool_calls": 1000, **options}
    return ToolsGate(answer, **options)


def layers():
    one = gate()
    found = one.ready["layers"]
    check("every layer of confinement is in force",
          all(v for v in found.values()), found)
    check("the supervisor's end is the gate's", one.close() == 83,
          one.error_text())


def run_tool():
    one = gate()
    said = one.run_tool("alpha", "echo", {"text": "gr\u00fc\u00df \u202e"})
    check("run_tool: the text of a tool", said["result"] == {
        "success": True, "result": "gr\u00fc\u00df \u202e", "error": None,
        "mode_used": "sandbox"}, said)
    check("arguments travel in a sealed memfd, as they were sent",
          one.calls[-1]["sealed"] == [True] and one.calls[-1]["raw"] ==
          json.dumps({"text": "gr\u00fc\u00df \u202e"}).encode(),
          one.calls[-1])
    check("run_tool: a structured result", one.run_tool(
        "alpha", "add", {"a": 1, "b": 2})["result"]["result"] == {"sum": 3})
    said = one.run_tool("alpha", "fail")["result"]
    check("run_tool: what a tool reports as its failure", said == {
        "success": False, "result": None, "error": "it did not work",
        "mode_used": "sandbox"}, said)
    said = one.run_tool("alpha", "gone")
    check("run_tool: what a run reports has a code",
          said["error"]["data"]["code"] == "tool_ended", said)
    check("the package's one allowed tool needs no name",
          one.run_tool("beta")["result"]["success"] and
          one.calls[-1]["tool"] == "get")
    for name, bad in (("no JSON", "{"), ("no object", "[1]"),
                      ("no content", "{}"), ("two keys", '{"content":[],'
                                             '"content":[]}'),
                      ("content of its own kind", '{"content":{}}')):
        said = one.run_tool("alpha", "odd", {"answer": bad})
        check(f"i110: a result that is {name} is none",
              said["error"]["data"]["code"] == "tool_failed", said)
    refused = {
        "tool_not_allowed": [("gamma", "x"), ("beta", "put"),
                             ("alpha-beta", "get")],
        "bad_request": [("../etc", "x"), ("alpha", "a b"), ("", "x"),
                        ("ALPHA", "echo")]}
    for code, calls in refused.items():
        for slug, tool in calls:
            said = one.run_tool(slug, tool)
            check(f"i109: {slug}/{tool} is {code}",
                  said["error"]["data"]["code"] == code, said)
    check("and nobody was asked", {c["tool"] for c in one.calls} ==
          {"echo", "add", "fail", "gone", "get", "odd"})
    end = one.end()
    check("the end has counts and no text", end["tool_calls"] == 10 and
          end["tool_refusals"] == 3 and end["result"] == "none" and
          end["refusals"]["tool_not_allowed"] == 3, end)
    check("i12: every refusal was told", one.code_counts() ==
          {"tool_not_allowed": 3, "bad_request": 4}, one.code_counts())
    log = open(one.log_path, encoding="utf-8").read()
    check("no argument and no result is in the log",
          "gr\u00fc" not in log and "it did not work" not in log)
    check("it ends in order", one.close() == 0, one.error_text())


def count():
    one = gate(max_tool_calls=2)
    one.run_tool("gamma")
    codes = [one.run_tool("alpha", "echo").get("error", {}).get(
        "data", {}).get("code") for _ in range(4)]
    check("max_tool_calls counts calls, not refusals", codes ==
          [None, None, "too_many_tool_calls", "too_many_tool_calls"], codes)
    one.close()
    one = ToolsGate(answer)
    check("without options there is nothing", one.run_tool(
        "alpha", "echo")["error"]["data"]["code"] == "tool_not_allowed" and
        one.mcp("tools/list")["result"] == {"tools": []})
    one.close()


def result():
    one = gate()
    status, _, said = one.post("/agentnode/result",
                               {"ok": True, "value": {"a": "\u202e\x1b"}})
    check("the agent's result is taken", (status, said) ==
          (200, {"ok": True}), said)
    line = one.line("client_out")
    check("it is one line on standard output, safe to show",
          json.loads(line) == {"ok": True, "value": {"a": "\u202e\x1b"}} and
          line.isascii(), line)
    status, headers, said = one.post("/agentnode/result",
                                     {"ok": True, "value": 1})
    check("a second one is refused", status == 409 and
          said["code"] == "result_given" and
          headers["X-AgentNode-Reason"] == "result_given", said)
    one.say("work_out", "{\"ok\":true,\"value\":\"forged\"}\n")
    one.say("work_err", "\x1b]0;title\x07\n")
    seen = one.line("client_err") + one.line("client_err")
    check("i108: what an agent prints is not its result",
          "forged" in seen and "\x1b" not in seen and "\x07" not in seen,
          seen)
    end = one.end()
    check("the end says so", end["result"] == "ok" and
          one.rest("client_out") == b"", end)
    one.close()
    one = gate()
    one.post("/agentnode/result", {"ok": False, "error": "E: secret",
                                   "code": "step_failed"})
    check("a failure has its line, too", json.loads(
        one.line("client_out")) == {"ok": False, "error": "E: secret",
                                    "code": "step_failed"})
    end = one.end()
    check("and its word, not its text, in the end", end["result"] ==
          "failed" and end["code"] == "step_failed" and
          "secret" not in json.dumps(end), end)
    check("nor in the log", "secret" not in open(one.log_path).read())
    one.close()
    one = gate(result_max=2048)
    status, _, said = one.post("/agentnode/result",
                               {"ok": True, "value": "x" * 4096})
    check("a result has a bound", status == 413 and
          said["code"] == "too_long", said)
    one.close()


def sdk():
    one = gate()
    out = sdk_http(f"http://127.0.0.1:{one.port}/mcp", [
        ["ping"], ["tools"], ["call", "alpha__echo", {"text": "hello"}],
        ["call", "alpha__add", {"a": 2, "b": 3}],
        ["call", "alpha__fail", {}], ["call", "alpha__slow", {}],
        ["call", "beta__put", {}], ["call", "gamma__x", {}],
        ["call", "alpha__gone", {}]])
    steps = out.get("results") or [{}] * 9
    names = [t["name"] for t in steps[1].get("ok", {}).get("tools", [])]
    check("i109: the SDK lists the granted tools and no other",
          names == ["alpha__echo", "alpha__add", "alpha__fail",
                    "alpha__slow", "beta__get"], names)
    check("the SDK calls one",
          first_text(steps[2].get("ok")) == "hello", steps[2])
    check("the SDK checks a structured result against its schema",
          steps[3].get("ok", {}).get("structuredContent") == {"sum": 5},
          steps[3])
    check("the SDK sees a tool's failure",
          steps[4].get("ok", {}).get("isError") is True, steps[4])
    check("a tool that wants a task can be called plainly",
          "ok" in steps[5], steps[5])
    for step, code in zip(steps[6:9], ("-32602", "-32602", "-32000")):
        check(f"the SDK raises an error {code}",
              code in step.get("error", ""), step)
    check("an endpoint without resources says so",
          "resources" not in (out.get("capabilities") or {"resources": 1}),
          out.get("capabilities"))
    listed = [c for c in one.calls if c["method"] == "list"]
    check("each package was asked for its tools once", len(listed) == 2,
          listed)
    one.close()


def cancelled():
    """The SDK's own cancellation, and connections that end: the supervisor
    hears of each, and the place is free although no answer came."""
    one = gate(max_tool_calls=40)
    out = sdk_http(f"http://127.0.0.1:{one.port}/mcp", [
        ["cancel", "alpha__slow", {"seconds": 9}, 300],
        ["call", "alpha__echo", {"text": "still"}]])
    steps = out.get("results") or [{}] * 2
    check("the SDK cancels a call", steps[0].get("ok", {}).get("cancelled"),
          steps[0])
    check("and calls the next one", first_text(steps[1].get("ok")) ==
          "still", steps[1])
    told = [c["id"] for c in one.calls if c["method"] == "cancel"]
    slow = [c["id"] for c in one.calls if c["tool"] == "slow"]
    check("the supervisor hears which one", told == slow and told, one.calls)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run_tool",
                       "params": {"slug": "alpha", "tool_name": "slow",
                                  "arguments": {"seconds": 60}}}).encode()
    head = b"POST /agentnode/rpc HTTP/1.1\r\nHost: localhost\r\n" \
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % \
        len(body)
    for how in ("close", "reset", "half"):
        before = len(told)
        clients = [socket.create_connection(("127.0.0.1", one.port))
                   for _ in range(8)]
        for client in clients:
            client.sendall(head + body)
        check("all places are taken", harness.wait_until(
            lambda: one.run_tool("alpha", "echo").get("error", {}).get(
                "data", {}).get("code") == "too_many_requests", 10))
        for client in clients:
            if how == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))
            if how == "half":
                client.shutdown(socket.SHUT_WR)
            else:
                client.close()
        check(f"{how}: every call is cancelled", harness.wait_until(
            lambda: len([c for c in one.calls if c["method"] == "cancel"]) ==
            before + 8, 10), one.calls[-4:])
        told = [c["id"] for c in one.calls if c["method"] == "cancel"]
        check(f"{how}: and its place free",
              one.run_tool("alpha", "echo")["result"]["success"])
    for _ in range(40):
        said = one.run_tool("alpha", "echo")
    check("what was cancelled stays counted",
          said["error"]["data"]["code"] == "too_many_tool_calls" and
          len([c for c in one.calls if c["method"] == "call"]) == 40, said)
    one.close()


def rebinding():
    one = gate()
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for name, headers, status in (
            ("a name of elsewhere", {"Host": "evil.example"}, 403),
            ("a name that begins like ours",
             {"Host": f"127.0.0.1.evil.example:{one.port}"}, 403),
            ("another port", {"Host": "127.0.0.1:1"}, 403),
            ("a page's origin", {"Origin": "http://evil.example"}, 403),
            ("a page without one", {"Origin": "null"}, 403),
            ("a form", {"Content-Type": "text/plain"}, 415)):
        got = one.post("/mcp", body, headers)
        check(f"i107_rebinding: {name} is turned away", got[0] == status,
              got)
    got = one.post("/mcp", None, {"Access-Control-Request-Method": "POST",
                                  "Origin": "http://evil.example"},
                   method="OPTIONS")
    check("i107_rebinding: a preflight gets no leave",
          got[0] in (403, 405) and not any(
              k.lower().startswith("access-control") for k in got[1]), got)
    check("i107_rebinding: its own origin may",
          one.post("/mcp", body, {"Origin": f"http://localhost:{one.port}"})
          [2]["result"] == {})
    for method in ("GET", "DELETE", "PUT", "HEAD"):
        got = one.post("/mcp", None, method=method)
        check(f"{method} is 405", got[0] == 405 and
              got[1]["Allow"] == "POST", got)
    one.close()


# What recipes of request smuggling are made of.
MALFORMED = (
    ("bare LF", b"POST /mcp HTTP/1.1\nHost: localhost\nContent-Length: 2\n\n"),
    ("two lengths", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n"),
    ("no Host", b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n"),
    ("two Hosts", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Host: localhost\r\n\r\n"),
    ("a folded line", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nA: b\r\n"
     b" c\r\n\r\n"),
    ("a blank before the colon", b"POST /mcp HTTP/1.1\r\nHost : localhost"
     b"\r\n\r\n"),
    ("an underscore", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Content_Length: 2\r\n\r\n"),
    ("length +3", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: +3\r\n\r\n"),
    ("length 0x3", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 0x3\r\n\r\n"),
    ("length and chunks", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("a NUL", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n"),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("a chunk that overflows", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
     b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"ffffffffffffffffff\r\n{}"),
)


def malformed():
    one = gate()
    for name, data in MALFORMED:
        said = one.raw(data, 5, shut=True)
        check(f"i11: {name} is refused", said.split(b" ", 2)[1:2] in
              ([b"400"], [b"505"]) and b"Connection: close" in said, said)
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    head = (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % len(body))
    said = one.raw(head + body + head + body, 1)
    check("two requests in one packet: two answers in order",
          said.count(b"HTTP/1.1 200 OK") == 2, said)
    deep = b'{"a":' * 200 + b"1" + b"}" * 200
    said = one.post("/agentnode/rpc", b'{"jsonrpc":"2.0","id":1,"method":'
                    b'"run_tool","params":{"slug":"alpha","tool_name":"echo",'
                    b'"arguments":' + deep + b"}}")
    check("depth has a bound", said[0] == 400 and
          said[2]["error"]["data"]["code"] == "bad_request", said)
    one.close()


def bounds():
    one = gate(calls_at_once=2, arguments_max=4096, tool_result_max=100000)
    said = one.run_tool("alpha", "echo", {"text": "x" * 5000})
    check("arguments have a bound",
          said["error"]["data"]["code"] == "too_long", said)
    said = one.run_tool("alpha", "big", {"bytes": 200000})
    check("a tool's result has a bound",
          said["error"]["data"]["code"] == "too_long", said)
    answers = [None] * 6

    def call(index):
        answers[index] = one.run_tool("alpha", "slow", {"seconds": 1}, index)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = [a for a in answers if "result" in a]
    busy = [a for a in answers if "error" in a and
            a["error"]["data"]["code"] == "too_many_requests"]
    check("two calls at a time and no third", len(done) == 2 and
          len(busy) == 4, answers)
    check("answers have their own ids",
          all(a["id"] == i for i, a in enumerate(answers)), answers)
    one.close()


def crowd():
    """Connections: many, slow, silent, and gone in the middle of a call."""
    one = gate()
    one.run_tool("alpha", "echo")
    before, files = one.rss(), one.descriptors()
    clients = [socket.create_connection(("127.0.0.1", one.port))
               for _ in range(200)]
    check("a crowd of silent clients does not keep others out",
          one.run_tool("alpha", "echo")["result"]["success"])
    check("and has a bound", one.descriptors() <= files + 65,
          one.descriptors())
    for client in clients:
        client.close()
    trickling = [socket.create_connection(("127.0.0.1", one.port))
                 for _ in range(64)]
    for client in trickling:
        client.sendall(b"POST /mcp HT")
    begin = time.monotonic()
    said = one.run_tool("alpha", "echo")
    check("a crowd of slow ones is sent away in time",
          said["result"]["success"] and time.monotonic() - begin < 15, said)
    check("each of them is told", b"408" in one.read(trickling[0], 14))
    for client in trickling:
        client.close()
    for _ in range(50):
        client = socket.create_connection(("127.0.0.1", one.port))
        client.sendall(b"POST /agentnode/rpc HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: 110\r\n\r\n"
                       b'{"jsonrpc":"2.0","id":1,"method":"run_tool",'
                       b'"params":{"slug":"alpha","tool_name":"big",'
                       b'"arguments":{"bytes":8}}}'.ljust(110))
        client.close()
    check("clients that go away during a call leave nothing behind",
          harness.wait_until(lambda: one.descriptors() <= files, 5) and
          one.run_tool("alpha", "echo")["result"]["success"],
          one.descriptors())
    # Requests that are begun and never finished, with large bodies.
    half = []
    for _ in range(40):
        client = socket.create_connection(("127.0.0.1", one.port))
        client.setblocking(False)
        client.setblocking(True)
        client.settimeout(1)
        try:
            client.sendall(b"POST /agentnode/result HTTP/1.1\r\n"
                           b"Host: localhost\r\nContent-Type: "
                           b"application/json\r\nContent-Length: 8000000"
                           b"\r\n\r\n" + b" " * 4000000)
        except OSError:
            pass
        half.append(client)
    check("what they all hold has a bound",
          one.rss() - before < 160 * 1024 * MEMORY, one.rss() - before)
    for client in half:
        client.close()
    check("it goes on", one.run_tool("alpha", "echo")["result"]["success"])
    one.close()


def slow_reader():
    """Answers that nobody reads take a call's place, no more."""
    one = gate(calls_at_once=2)
    clients = []
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run_tool",
                       "params": {"slug": "alpha", "tool_name": "big",
                                  "arguments": {"bytes": 7000000}}}).encode()
    for _ in range(2):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", one.port))
        client.sendall(b"POST /agentnode/rpc HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        clients.append(client)
    time.sleep(1)
    said = one.run_tool("alpha", "echo")
    check("two answers that are not read are two calls", said.get(
        "error", {}).get("data", {}).get("code") == "too_many_requests", said)
    for client in clients:
        client.close()
    check("until their readers are gone", harness.wait_until(
        lambda: "result" in one.run_tool("alpha", "echo"), 5))
    one.close()


def flood():
    one = gate()
    begin = one.rss()
    stop = time.monotonic() + 3

    def refuse():
        client = __import__("http.client").client.HTTPConnection(
            "127.0.0.1", one.port)
        number = 0
        while time.monotonic() < stop:
            number += 1
            client.request("POST", "/agentnode/rpc", json.dumps({
                "jsonrpc": "2.0", "id": 1, "method": "run_tool", "params": {
                    "slug": f"no-{number % 500}"}}),
                {"Content-Type": "application/json"})
            client.getresponse().read()
        sent.append(number)

    sent = []
    threads = [threading.Thread(target=refuse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    end = one.end()
    total = sum(sent)
    check("i12: a flood of refusals is counted, every one of them",
          end["tool_refusals"] == total and
          one.code_counts().get("tool_not_allowed") == total,
          (total, end, one.code_counts()))
    check("i12: in few messages", len(one.decisions) < 64 * 8,
          len(one.decisions))
    check("and costs no memory", one.rss() - begin < 8 * 1024 * MEMORY,
          one.rss() - begin)
    one.close()


def product():
    """A program that is an agent: its output is the caller's."""
    one = gate(product=True, output_max=1000)
    one.say("work_out", "answer \x1b[31m\n")
    check("a product is made safe", one.line("client_out") ==
          "answer \\x1b[31m")
    one.say("work_out", "x" * 2000)
    end = one.end()
    check("and capped", end["reason"] == "output_limit", end)
    one.close()
    one = gate(product=True, raw=True)
    one.say("work_out", "answer \x1b[31m\n")
    check("raw, it is as it was", one.line("client_out") ==
          "answer \x1b[31m")
    one.end()
    one.close()


def supervisor_faults():
    """What the supervisor must not send."""
    for name, send in (
            ("a listener of another kind", lambda g: g.send(
                "listen", {"sandbox": "test", "kind": "llm"},
                [g.listener.fileno()])),
            ("a second listener", lambda g: g.send(
                "listen", {"sandbox": "test", "kind": "tools"},
                [g.listener.fileno()])),
            ("a descriptor that is no listener", lambda g: g.send(
                "listen", {"sandbox": "test", "kind": "tools"}, [0])),
            ("a job of another mode", lambda g: g.work("call", {}))):
        one = gate()
        one.run_tool("alpha", "echo")
        send(one)
        check(f"{name} ends it", one.wait(5) == 84, one.log()[-1:])
    other = Gate({"mode": "mcp", "packages": []})
    check("options of mode agent are only for it", other.wait(5) == 81,
          other.log())
    other = Gate({"mode": "agent", "packages": [{"slug": "a__b"}]})
    check("a slug that is none is no option", other.wait(5) == 81,
          other.log())


def main():
    for part in (layers, run_tool, count, result, sdk, cancelled, rebinding,
                 malformed, bounds, crowd, slow_reader, flood, product,
                 supervisor_faults):
        print(f"# {part.__name__}", flush=True)
        part()
    harness.finish()


main()
