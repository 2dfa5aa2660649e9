#!/usr/bin/env python3
"""Calls of the three providers' formats through the real broker and llm-key
to a provider that is a real TLS server: answers, streams, errors, cuts, and
the key echoed in every form, which never reaches the agent."""
import json
import time

import drive_calls
import provider_standin
from harness import check, finish

SAY = [{"role": "user", "content": "How many?"}]
REQUESTS = {
    "openai": ("/openai/v1/chat/completions",
               {"model": "gpt-4o-mini", "messages": SAY}),
    "anthropic": ("/anthropic/v1/messages",
                  {"model": "claude-sonnet-4-5", "max_tokens": 64,
                   "messages": SAY}),
    "gemini": ("/gemini/v1beta/models/gemini-2.5-flash:generateContent",
               {"contents": [{"role": "user",
                              "parts": [{"text": "How many?"}]}]}),
}


def ask(drive, provider, stream=False):
    path, body = REQUESTS[provider]
    body = dict(body)
    if stream and provider == "gemini":
        path = path.replace(":generateContent",
                            ":streamGenerateContent?alt=sse")
    elif stream:
        body["stream"] = True
    return drive.post(path, body)


def calls(drive):
    return [line for line in drive.log() if line["event"] == "call"]


def answers(drive, provider):
    status, fields, body = ask(drive, provider)
    check(f"{provider}: an answer", status == 200 and b"forty" in body, body)
    check(f"{provider}: its fields are on the list",
          "Set-Cookie" not in fields and "Server" not in fields
          and fields.get("x-request-id") == "req_1", fields)
    status, _, body = ask(drive, provider, stream=True)
    check(f"{provider}: a stream", status == 200
          and body.count(b"data: ") >= 6 and b"forty" in body, body)
    check(f"{provider}: the key went up",
          all(call.key() == drive.key for call in drive.standin.calls))
    check(f"{provider}: one connection served both",
          drive.standin.server.connections == 1)
    check(f"{provider}: usage is the provider's word", drive_calls.until(
        lambda: [(c["input_tokens"], c["output_tokens"], c["estimated"])
                 for c in calls(drive)] == [(11, 6, False)] * 2),
          calls(drive))


def echoes(drive, provider):
    for name, text in provider_standin.forms(drive.key).items():
        drive.standin.mode = "echo:" + name
        for stream in (False, True):
            status, fields, body = ask(drive, provider, stream)
            whole = repr(fields).encode() + body
            check(f"{provider}: {name} stays out, stream {stream}",
                  status == 200 and text.encode() not in whole
                  and drive.key.encode() not in whole
                  and b"****" in body, whole)
    drive.standin.mode = "normal"


def errors(drive, provider):
    for status, retry in ((429, "7"), (503, "3"), (529, ""), (400, ""),
                          (404, "")):
        drive.standin.mode = f"status:{status}:{retry}"
        got, fields, body = ask(drive, provider)
        error = json.loads(body)
        check(f"{provider}: {status} keeps its status", got == status,
              (got, body))
        check(f"{provider}: {status} and its pace",
              fields.get("Retry-After", "") == retry, fields)
        check(f"{provider}: {status} in the provider's shape without its "
              "text", "error" in error and drive.key.encode() not in body
              and b"the key" not in body, body)
    modes = {"redirect": "redirect_refused", "gzip": "upstream_bad",
             "raw:HTTP/1.1 200 OK\nX: y\n\n": "upstream_bad",
             "raw:HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2"
             "\r\n\r\n": "upstream_bad",
             "raw:HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: "
             "chunked\r\n\r\n": "upstream_bad",
             "raw:HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
             "Content-Length: 2\r\n\r\nhi": "upstream_bad",
             "raw:HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n":
             "upstream_bad", "raw:": "upstream_closed"}
    for mode, code in modes.items():
        drive.standin.mode = mode
        status, fields, body = ask(drive, provider)
        check(f"{provider}: {mode[:40]!r} is {code}", status == 502
              and fields.get("X-AgentNode-Reason") == code,
              (status, fields, body))
    drive.standin.mode = "normal"


def cuts(drive, provider):
    drive.standin.mode = "cut"
    status, _, body = ask(drive, provider, stream=True)
    # when it was cut before anything was passed on, it is a plain error
    told = body if status == 502 else body.split(b"\n\n")[-2]
    check(f"{provider}: a cut stream ends with an error that says so",
          status in (200, 502) and b"upstream_closed" in told, body)
    drive.standin.mode = "no_usage"
    ask(drive, provider, stream=True)
    check(f"{provider}: without usage it is an estimate", drive_calls.until(
        lambda: calls(drive)[-1]["estimated"]
        and calls(drive)[-1]["output_tokens"] > 0), calls(drive)[-1])
    drive.standin.mode = "normal"


def latency(drive, provider):
    """Events arrive while the stream is running, not at its end."""
    drive.standin.mode = "slow:150"
    began = time.monotonic()
    path, body = REQUESTS[provider]
    import http.client
    connection = http.client.HTTPConnection("127.0.0.1", drive.port)
    connection.request("POST", path, json.dumps({**body, "stream": True}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read1(65536)
    first = time.monotonic() - began
    answer.read()
    whole = time.monotonic() - began
    check(f"{provider}: events come as they are made",
          first < 0.15 and whole > 0.6, (first, whole))
    drive.standin.mode = "normal"
    connection.close()


def gone(drive, provider):
    """The agent leaves in the middle: so does the upstream call."""
    drive.standin.mode = "slow:100"
    path, body = REQUESTS[provider]
    import http.client
    connection = http.client.HTTPConnection("127.0.0.1", drive.port)
    connection.request("POST", path, json.dumps({**body, "stream": True}),
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read1(65536)
    answer.close()
    connection.close()
    check(f"{provider}: the call upstream is cancelled", drive_calls.until(
        lambda: drive.standin.cancelled == 1 and drive.standin.open == 0, 3))
    check(f"{provider}: and it is said so", drive_calls.until(
        lambda: calls(drive)[-1]["code"] == "cancelled"), calls(drive)[-1])
    drive.standin.mode = "normal"


def main():
    for provider in REQUESTS:
        drive = drive_calls.Drive(provider)
        if not check(f"{provider}: ready", drive.ready == "ready",
                     drive.ready):
            continue
        answers(drive, provider)
        echoes(drive, provider)
        errors(drive, provider)
        if provider != "gemini":
            cuts(drive, provider)
            latency(drive, provider)
            gone(drive, provider)
        code, lines = drive.end()
        check(f"{provider}: both processes end in order", code == 0, lines)
        text = "\n".join(lines) + open(drive.log_path,
                                       encoding="utf-8").read()
        check(f"{provider}: no message or log line has the key",
              drive.key not in text and drive.key[8:] not in text)
        drive.standin.close()
    finish()


main()
