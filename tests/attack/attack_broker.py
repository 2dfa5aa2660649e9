# SPDX-License-Identifier: Apache-2.0
"""Attacks on the real, confined broker on the wire: the table of
tests/support/call_vectors.c, coded bodies, and, with the real llm-key behind
it, providers that turn against the key and agents that turn on the budget."""
import base64
import collections
import contextlib
import gzip
import json
import os
import sqlite3
import threading

import broker_host
import drive_calls
import harness
import provider_standin
from attack_tally import number
from broker_host import Broker, chat, read_response, request, response

PRINT = os.path.join(harness.BUILD, "tests", "call_vectors_print")
ANSWER = json.dumps({"choices": [{"message": {"content": "x"}}], "usage": {
    "prompt_tokens": 1, "completion_tokens": 1}}).encode()
# What is shared by all that have the key is no path of an agent's.
BESIDE = {"b76_files": (120,), "b76_gemini_upload": (120,),
          "b76_batches": (120,)}
CHAT = "/openai/v1/chat/completions"
MINI = "gpt-4o-mini"
# What a row of the table shows as passed is judged by its words upstream.
MORE = [
    (74, "the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
     + b"\0\0\4\3\0\0\0\0\1\0\0\0\x08" * 50, "bad_request"),
    (72, "credentials of a refused request", b"POST /openai/v1/none HTTP/1.1"
     b"\r\nHost: 127.0.0.1:4100\r\nAuthorization: Bearer sk-mine-9\r\n"
     b"Content-Length: 0\r\n\r\n", "path_not_allowed"),
    (71, "escapes in the target", b"GET /openai/\x1b[31m HTTP/1.1\r\n"
     b"Host: 127.0.0.1:4100\r\n\r\n", "bad_request"),
]


# Of the table: code "" when it is to pass, judged by what goes up.
Row = collections.namedtuple("Row", "items name data code has lacks")


class Reply:
    """What an agent is answered; nothing at all when it was cut."""

    def __init__(self, agent):
        agent.settimeout(5)
        try:
            self.status, self.fields, self.body = read_response(agent)
        except (OSError, ValueError, IndexError):
            self.status, self.fields, self.body = 0, {}, b""
        self.code = self.fields.get("x-agentnode-reason", "")

    def __repr__(self):
        return f"{self.status} {self.code} {self.body[-300:]!r}"


class Wire:
    """A broker whose lanes are served here; .heads is what went up."""

    def __init__(self, grant, program=broker_host.PROGRAM, **options):
        self.heads = []
        self.broker = Broker(grant_object=grant, program=program, **options)
        self.broker.serve(self.answer)

    def answer(self, call):
        self.heads.append(call.head + call.body.decode("latin1"))
        call.data(response(ANSWER))

    def send(self, data):
        """(reply, what went up for it)."""
        before = len(self.heads)
        data = data.replace(b"127.0.0.1:4100",
                            b"127.0.0.1:%d" % self.broker.port)
        with self.broker.agent() as agent:
            with contextlib.suppress(OSError):
                agent.sendall(data)
            got = Reply(agent)
        return got, "".join(self.heads[before:])

    def end(self):
        return self.broker.end()


def table(tally):
    """Every row of the table, one connection each."""
    known = harness.run(PRINT).json()
    grant = json.loads(known["grant"])
    grant["limits"] = broker_host.grant()["limits"]
    wire = Wire(grant)
    items = set()
    for row in known["rows"]:
        item = number(row["name"])
        if not item or not tally.wants(
                item, *BESIDE.get(row["name"], ())):
            continue
        items.add(item)
        got, up = wire.send(row["request"].encode())
        if row["code"]:
            for one in (item, *BESIDE.get(row["name"], ())):
                items.add(one)
                tally.attack(one, row["name"], up, got.code, row["code"],
                             got)
            continue
        passed = (row["has"] or "") not in up or bool(
            row["lacks"] and row["lacks"].lower() in up.lower())
        if row["lacks"] or row["has"]:
            tally.attack(item, row["name"], passed or not up, got.code,
                         seen=(got, up))
    for item, name, data, wanted in MORE:
        if tally.wants(item):
            items.add(item)
            got, up = wire.send(data)
            tally.attack(item, name, up or b"sk-mine" in got.body
                         or b"\x1b" in got.body, got.code,
                         wanted, got)
    coded(tally, wire)
    got, up = wire.send(request(wire.broker, chat(), CHAT))
    tally.control(items | {73, 113}, "an honest call",
                  got.status == 200 and MINI in up, got)
    with open(wire.broker.log_path, encoding="utf-8") as file:
        text = file.read()
    tally.attack(71, "the broker's log", "\\u001b" in text or "\x1b" in text
                 or "\\u0007" in text, seen=text[-300:])
    tally.attack(117, "a key in a query, in the broker's log",
                 "AIza" in text, seen=text[-300:])
    tally.control((71, 117), "the log has the calls", "path_not_allowed"
                  in text and CHAT in text or "gemini" in text, text[-300:])
    wire.end()


def bodies():
    """73, 113: [item, name, coded body, its coding, code]."""
    honest, wrong = chat(), chat(model="gpt-4o", user=MINI)
    bomb = honest[:-1] + b" " * (17 << 20) + b"}"
    small = b"\x28\xb5\x2f\xfd\x00\x58" + zstd_raw(wrong)
    bad = "bad_request"
    return [
        (113, "another model in gzip", gzip.compress(wrong), "gzip",
         "model_not_allowed"),
        (113, "another model in zstd, the right one in sight", small, "zstd",
         "model_not_allowed"),
        (113, "no zstd at all", honest, "zstd", bad),
        (113, "gzip twice", gzip.compress(honest), "gzip, gzip", bad),
        (113, "brotli", honest, "br", bad),
        (73, "17 MiB in 17 KiB", gzip.compress(bomb, 9), "gzip", bad),
        (73, "a bomb in a bomb", gzip.compress(gzip.compress(bomb, 9)),
         "gzip", bad)]


def rows(tally):
    """All that is one request, for whoever plays it elsewhere."""
    class Inside:
        port = 4100

    known = harness.run(PRINT).json()["rows"]
    found = [Row((number(row["name"]), *BESIDE.get(row["name"], ())),
                 row["name"], row["request"].encode(), row["code"],
                 row["has"], row["lacks"])
             for row in known if number(row["name"])]
    found += [Row((item,), name, data, code, None, None)
              for item, name, data, code in MORE]
    found += [Row((item,), name, request(Inside, body, fields=[
        f"Content-Encoding: {coding}"]), code, None, None)
              for item, name, body, coding, code in bodies()]
    return [Row((), "honest", request(Inside, chat(), CHAT), "", None, None),
            *[row for row in found if tally.wants(*row.items)]]


def coded(tally, wire):
    """73, 113: what a coded body is judged by."""
    def send(body, coding):
        return wire.send(request(wire.broker, body, fields=[
            f"Content-Encoding: {coding}"]))

    got, up = send(gzip.compress(chat()), "gzip")
    tally.control((73, 113), "an honest coded body",
                  got.status == 200 and MINI in up, got)
    for item, name, body, coding, code in bodies():
        got, up = send(body, coding)
        tally.attack(item, name, up, got.code, code, got)


def zstd_raw(data):
    """A raw block of zstd, as small writers make it."""
    return ((len(data) << 3) | 1).to_bytes(3, "little") + data


class Provider:
    """The real broker and llm-key in front of a provider played here."""

    def __init__(self, *arguments, **more):
        self.drive = drive_calls.Drive(arguments=arguments, **more)
        self.calls = self.drive.standin.calls

    def ask(self, mode="normal", text="How many?", stream=False, headers=(),
            **more):
        self.drive.standin.mode = mode
        body = {"model": MINI, "messages": [{"role": "user",
                                             "content": text}], **more}
        if stream:
            body["stream"] = True
        return self.drive.post(CHAT, body, headers)

    def end(self):
        self.drive.end()
        self.drive.standin.close()


def keys(tally, broker):
    """77, 78, 79, 80, 83, 88, 114, 117, 118, 119: the key and its way."""
    made = Provider("--broker", broker)
    drive, key = made.drive, made.drive.key
    status, _, body = made.ask()
    good = status == 200 and b"forty" in body and made.calls[-1].key() == key
    tally.control((77, 78, 79, 80, 83, 88, 89, 114, 117, 118, 119, 72),
                  "a call goes up with the key, its answer comes", good,
                  (status, body))
    for name, text in provider_standin.forms(key).items():
        for stream in (False, True):
            _, fields, body = made.ask("echo:" + name, stream=stream)
            whole = repr(fields).encode() + body
            for item in (79, 114):
                tally.attack(item, f"echoed {name}, stream {stream}",
                             text.encode() in whole or key.encode() in whole,
                             seen=whole)
    for code in (401, 500):
        _, fields, body = made.ask(f"status:{code}")
        tally.attack(79, f"an error of {code}", key.encode() in body
                     or b"the key" in body, seen=body)
        tally.attack(72, f"the text of an error of {code}", b"the key"
                     in body, seen=body)
    before = len(made.calls)
    status, fields, body = made.ask("redirect")
    for item in (77, 78):
        tally.attack(item, "a redirect to another host", len(made.calls)
                     > before + 1 or "Location" in fields,
                     fields.get("X-AgentNode-Reason"), "redirect_refused",
                     (status, fields, body))
    mine = "sk-agent-placeholder-1"
    basic = "Basic " + base64.b64encode(f"x:{mine}".encode()).decode()
    for item, name, headers, text in (
            (80, "a placeholder in the text", {"Authorization": "Bearer "
             + mine}, f"say {mine} and ${{OPENAI_API_KEY}}"),
            (83, "every spelling", {"authorization": mine, "X-API-Key": mine,
             "api-key": mine, "x-goog-api-key": mine, "Cookie": mine,
             "Proxy-Authorization": basic}, "hi"),
            (118, "Basic of a placeholder", {"Authorization": basic}, "hi"),
            (119, "text like a key", {}, "sk-proj-AAAA {{KEY}} $KEY")):
        status, _, body = made.ask(text=text, headers=headers)
        call = made.calls[-1]
        heads = repr(call.fields)
        tally.attack(item, name, status != 200 or mine in heads
                     or basic in heads or call.key() != key
                     or call.json["messages"][0]["content"] != text
                     or key.encode() in call.body, seen=heads)
    events(tally, made)
    with open(drive.log_path, encoding="utf-8") as file:
        log = file.read()
    for item in (79, 117):
        tally.attack(item, "the logs", key in log or mine in log, seen="")
    made.end()


def events(tally, made):
    """88, 89: a stream as it is, and one that is cut."""
    status, fields, body = made.ask("slow:20", stream=True)
    tally.attack(88, "events that come slowly", status != 200
                 or body.count(b"data: ") < 6 or not body.endswith(
                     b"data: [DONE]\n\n") or "Content-Encoding" in fields,
                 seen=body)
    status, fields, body = made.ask("gzip", stream=True)
    tally.attack(88, "a coded answer nobody asked for", status == 200,
                 fields.get("X-AgentNode-Reason"), "upstream_bad", body)


class Ledger:
    """A provider with the real ledger behind it."""

    def __init__(self, limits, prices=()):
        folder = harness.folder("attack-ledger-")
        os.chmod(folder, 0o755)
        self.path = drive_calls.ledger_place(folder)
        words = {"budget": limits, "grant": {
            **broker_host.grant(), "ledger": True, "prices": [
                {"provider": "openai", "model": model,
                 "input_microusd_per_million": price,
                 "output_microusd_per_million": price}
                for model, price in prices]}}
        arguments = ["--ledger", self.path]
        for name, value in words.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(value, file)
            arguments += ["--" + name, path]
        self.made = Provider(*arguments)

    def rows(self, sql):
        with sqlite3.connect(f"file:{self.path}/usage.db?mode=ro",
                             uri=True) as file:
            return file.execute(sql).fetchall()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.made.end()


def race(tally):
    """85: more at once than are allowed in a day."""
    with Ledger({"host_day": {"requests": 10}}) as ledger:
        got = []

        def one():
            status, fields, _ = ledger.made.ask()
            got.append((status, fields.get("X-AgentNode-Reason", "")))

        threads = [threading.Thread(target=one) for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        served = sum(status == 200 for status, _ in got)
        codes = {code for status, code in got if status != 200}
        tally.attack(85, "40 calls at once, 10 allowed", served > 10
                     or len(ledger.made.calls) > 10, ",".join(sorted(codes)),
                     "budget_exceeded", got)
        tally.control(85, "10 are served", served == 10, got)


def prices(tally):
    """86: no price is not a price of zero; a price of zero is one."""
    with Ledger({"host_day": {"cost_microusd": 5}}, [
            ("gpt-4.1-mini", 0), ("gpt-4o", 10 ** 9)]) as ledger:
        status, fields, body = ledger.made.ask(model="gpt-4.1-mini")
        tally.control(86, "a model that is free", status == 200, body)
        for name, model in (("a model without a price", MINI),
                            ("a model over the budget", "gpt-4o")):
            before = len(ledger.made.calls)
            status, fields, body = ledger.made.ask(model=model)
            tally.attack(86, name, len(ledger.made.calls) > before,
                         fields.get("X-AgentNode-Reason"), "budget_exceeded",
                         (status, body))


def cut(tally):
    """89: a stream that is cut is charged; so is one nobody waits for."""
    for mode in ("cut", "no_usage"):
        with Ledger({"host_day": {"requests": 1}}) as ledger:
            ledger.made.ask(mode, stream=True)
            drive_calls.until(lambda: ledger.rows(
                "SELECT calls FROM usage") == [(1,)], 5)
            rows = ledger.rows("SELECT calls, estimated, tokens FROM usage")
            before = len(ledger.made.calls)
            _, fields, _ = ledger.made.ask()
            tally.attack(89, f"a stream: {mode}", not rows or rows[0][2] == 0
                         or len(ledger.made.calls) > before,
                         fields.get("X-AgentNode-Reason"), "budget_exceeded",
                         rows)


def plain(tally):
    """84: a key never goes over plain HTTP."""
    for tls, name in ((False, "plain HTTP with a key"), (True, "")):
        provider = broker_host.provider("openai")
        if not tls:
            provider["upstream"]["tls"] = False
        broker = Broker.__new__(Broker)
        with contextlib.suppress(OSError):
            broker.__init__(providers=[provider])
        started = getattr(broker, "ready", None) is not None
        if tls:
            tally.control(84, "the same with TLS", started)
            broker.end()
            continue
        code = broker.process.wait(10)
        tally.attack(84, name, started or code == 0,
                     broker.log()[-1].get("event"), "config_refused",
                     broker.log())


def no_key(tally):
    """81: nothing goes up instead of a key."""
    known = broker_host.grant()
    wire = Wire(known, key=None)
    wire.broker.pattern("openai", status="missing")
    got, up = wire.send(request(wire.broker, fields=[
        "Authorization: Bearer placeholder"]))
    tally.attack(81, "a call of a provider without a key", up,
                 got.code, "credential_unavailable",
                 (got, up))
    wire.end()
    wire = Wire(known)
    got, up = wire.send(request(wire.broker))
    tally.control(81, "the same with a key", MINI in up, got)
    wire.end()


def run(tally, broker=broker_host.PROGRAM):
    table(tally)
    if tally.wants(77, 78, 79, 80, 83, 88, 89, 114, 117, 118, 119):
        keys(tally, broker)
    for item, part in ((84, plain), (85, race), (86, prices), (89, cut)):
        if tally.wants(item):
            part(tally)
    if tally.wants(81):
        no_key(tally)
