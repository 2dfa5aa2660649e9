#!/usr/bin/env python3
"""The real, confined broker between agents and a double of llm-key and the
ledger: order, backpressure, bounds, ends, and the key in every form."""
import json
import os
import select
import signal
import socket
import struct
import time

import broker_host
import harness
from broker_host import (CLOSE, KEEP, KEY, KEY_REFUSED, STREAM_HEAD, Broker,
                         chat, chunk, read_chunks, read_head, read_response,
                         request, response)
from drive_calls import until
from harness import check, finish
from machine_pace import Deadline
from provider_standin import forms

MIB = 1 << 20
ANSWER = json.dumps({
    "choices": [{"message": {"role": "assistant", "content": "forty-two"}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 6}}).encode()
EVENT = (b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n')
SANITIZED = "asan" in harness.BUILD


def ways(broker):
    layers = broker.ready["layers"]
    check("every layer is in force", all(
        layers[name] for name in layers if name != "landlock_abi"), layers)
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call()
    check("the head is the broker's own",
          call.head.startswith("POST /v1/chat/completions HTTP/1.1\r\n"
                               "Host: api.openai.com\r\n")
          and "127.0.0.1" not in call.head, call.head)
    call.data(response(ANSWER))
    check("a whole answer", read_response(agent)[::2] == (200, ANSWER))
    check("its lane is kept", call.released() == KEEP)
    agent.sendall(request(broker, chat(True)))
    call = broker.call(call.lane)
    check("the next call of the connection uses the same lane", call.number
          == 2 and json.loads(call.body)["stream_options"]
          == {"include_usage": True}, call.body)
    call.data(STREAM_HEAD + chunk(EVENT % b"for"))
    status, fields, rest = read_head(agent)
    check("a stream begins before it ends", status == 200
          and fields["content-type"] == "text/event-stream")
    first, _ = read_chunks(agent, rest, b"\n\n")
    check("the event is there as it was", first == EVENT % b"for", first)
    call.data(chunk(EVENT % b"ty") + chunk(
        b'data: {"choices":[],"usage":{"prompt_tokens":3,'
        b'"completion_tokens":2}}\n\n') + chunk(b"data: [DONE]\n\n")
        + b"0\r\n\r\n")
    more, ended = read_chunks(agent, b"")
    check("what was asked for by us is left out", ended and more
          == EVENT % b"ty" + b"data: [DONE]\n\n", more)
    check("and its lane is kept", call.released() == KEEP)
    agent.close()
    check("usage is told in sums", until(
        lambda: broker.stats() and sum(u["count"] for u in broker.usage) == 2
        and sum(u["amounts"]["tokens"] for u in broker.usage) == 22),
        broker.usage)


def late_frames(broker):
    """What crosses the release of a call is not the next one's."""
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call(broker.lanes[-1])
    call.data(response(ANSWER) + b"more than it said")
    read_response(agent)
    check("bytes behind the end cost the connection",
          call.released() == CLOSE)
    call.data(b"and more")
    call.eof()
    agent.sendall(request(broker))
    again = broker.call(call.lane)
    call.failed(8)
    again.data(response(ANSWER))
    check("frames of the call before are dropped",
          read_response(agent)[2] == ANSWER)
    again.released()
    agent.close()


def pace(broker):
    """Event after event, each at once."""
    agent = broker.agent()
    agent.sendall(request(broker, chat(True)))
    call = broker.call(broker.lanes[-1])
    call.data(STREAM_HEAD)
    _, _, rest = read_head(agent)
    worst, deadline = 0, Deadline(0.25)
    for number in range(200):
        began = time.monotonic()
        text = EVENT % (b"%d" % number)
        call.data(chunk(text))
        got, _ = read_chunks(agent, rest, b"\n\n")
        rest = b""
        worst = max(worst, time.monotonic() - began)
        if got != text:
            check("each event as it was", False, got)
            return
    check("each of 200 events came at once", deadline.ends(worst), deadline)
    call.data(b"0\r\n\r\n")
    read_chunks(agent, b"")
    call.released()
    agent.close()


def slow_reader(broker):
    """A GiB for an agent that does not read: nothing piles up."""
    agent = broker.agent()
    agent.sendall(request(broker, chat(True)))
    call = broker.call(broker.lanes[-1])
    call.data(STREAM_HEAD)
    read_head(agent)
    piece = chunk(EVENT % (b"x" * 32000))
    frame = broker_host.FRAME.pack(broker_host.MAGIC, broker_host.DATA,
                                   len(piece), call.number) + piece
    size, sent, done, peak = 1 << 30, 0, 0, 0
    if SANITIZED:
        size >>= 4
    call.lane.setblocking(False)
    agent.setblocking(False)
    before, waiting = broker.rss(), b""
    stalled = 0
    began = time.monotonic()
    while sent < size or waiting:
        if not waiting and sent < size:
            waiting = frame * 8
        try:
            count = call.lane.send(waiting)
            waiting = waiting[count:]
            sent += count
            stalled = 0
            continue
        except BlockingIOError:
            stalled += 1
        if stalled < 3 and done < 64 * MIB:
            time.sleep(0.02)  # nobody reads: does it grow?
            peak = max(peak, broker.rss())
            continue
        try:
            done += len(agent.recv(4 * MIB))
        except BlockingIOError:
            time.sleep(0.001)
    peak = max(peak, broker.rss("VmHWM"))
    check("a GiB in front of a slow reader stays bounded",
          SANITIZED or peak < 32 * MIB, (before, peak))
    print(f"# {size >> 20} MiB in {time.monotonic() - began:.1f} s, RSS "
          f"{before >> 10} KiB before, {peak >> 10} KiB at most")
    check("the upstream was made to wait", done > 0)
    agent.close()
    check("the agent left: the lane is closed", call.released() == 0)


def many(broker):
    """1,000 streams at one time."""
    count = 100 if SANITIZED else 1000
    agents, calls = [], []
    before = broker.rss()
    for number in range(count):
        agent = broker.agent()
        agent.sendall(request(broker, chat(True)))
        call = broker.call(seconds=20)
        call.data(STREAM_HEAD + chunk(EVENT % b"begun"))
        agents.append(agent)
        calls.append(call)
    for agent in agents:
        read_chunks(agent, read_head(agent)[2], b"\n\n")
    after = broker.rss()
    print(f"# {count} open streams: {(after - before) >> 10} KiB, "
          f"{after >> 10} KiB in all")
    check("streams are small", SANITIZED or after - before < 32 * MIB,
          after - before)
    check("all of them run", broker.stats()["running"] == count,
          broker.stats())
    for round_ in range(5):
        for call in calls:
            call.data(chunk(EVENT % b"%d" % round_))
        for agent in agents:
            read_chunks(agent, b"", b"\n\n")
    for call in calls:
        call.data(b"0\r\n\r\n")
    check("each ends whole", all(
        read_chunks(agent, b"")[1] for agent in agents))
    check("each lane is kept", all(
        call.released() == KEEP for call in calls))
    for agent in agents:
        agent.close()
    check("nothing is left of them", until(
        lambda: broker.stats()["waiting"] == 0), broker.stats())
    limit = {"concurrent": 2}
    small = Broker(grant_object=broker_host.grant(**limit))
    agents = [small.agent() for _ in range(3)]
    for agent in agents[:2]:
        agent.sendall(request(small))
        small.call()
    agents[2].sendall(request(small))
    status, fields, _ = read_response(agents[2])
    check("the limit of concurrent calls holds", status == 429
          and fields["x-agentnode-reason"] == "too_many_calls", fields)
    small.end()


def burst(broker):
    """As many calls as may be, before llm-key has looked at one."""
    count = 200 if SANITIZED else 1000
    agents = [broker.agent() for _ in range(count)]
    for agent in agents:
        agent.sendall(request(broker))
    check("all of them wait for their answer", until(
        lambda: broker.stats()["running"] == count), broker.stats())
    for _ in agents:
        broker.call().data(response(ANSWER))
    check("each gets it", all(
        read_response(agent)[0] == 200 for agent in agents))
    for agent in agents:
        agent.close()


def reset(agent):
    agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                     struct.pack("ii", 1, 0))
    agent.close()


def resets(broker):
    """Agents whose reset comes with bytes, so that a read does not see it."""
    agents, lane = [broker.agent() for _ in range(3)], None
    for agent in agents:
        agent.sendall(request(broker))
        call = broker.call(lane)
        lane = call.lane
        call.data(response(ANSWER))
        read_response(agent)
        call.released()
    calls = broker.stats()["calls"]
    os.kill(broker.process.pid, signal.SIGSTOP)
    whole, part, fresh = agents[0], agents[1], broker.agent()
    whole.sendall(request(broker))
    part.sendall(request(broker)[:-1])
    fresh.sendall(request(broker))
    for agent in (whole, part, fresh):
        reset(agent)
    os.kill(broker.process.pid, signal.SIGCONT)
    check("reset with a request: each is gone", until(
        lambda: broker.stats()["calls"] == calls + 3
        and broker.stats()["waiting"] == 1, 3), broker.stats())
    check("nothing was asked for them: their lanes end",
          broker.call(lane) is None and broker.call() is None)
    # A reset behind bytes of a next request, while a call runs.
    agents[2].sendall(request(broker))
    call = broker.call()
    agents[2].sendall(request(broker)[:9])
    time.sleep(0.05)
    reset(agents[2])
    check("reset behind a next request's bytes: cancelled",
          call.released() == 0)


def ends(broker):
    """Agents that leave, and providers that break."""
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call()
    agent.close()
    check("gone before the answer: cancelled", call.released() == 0)
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call()
    reset(agent)
    check("reset before the answer: cancelled", call.released() == 0)
    resets(broker)
    rows = [
        (lambda c: c.failed(5), 502, "dial_failed", CLOSE),
        (lambda c: c.failed(7), 504, "timeout", CLOSE),
        (lambda c: c.eof(), 502, "upstream_closed", 0),
        (lambda c: c.data(b"HTTP/1.1 200 OK\nX: y\n\n"), 502,
         "upstream_bad", 0),
        (lambda c: c.data(b"\x16\x03\x01\x00\x02hi"), 502, "upstream_bad", 0),
        (lambda c: c.data(b"A" * 17000), 502, "upstream_bad", 0),
        (lambda c: c.data(b"HTTP/1.1 200 OK\r\nContent-Type: application/json"
                          b"\r\nTransfer-Encoding: chunked\r\n\r\n"
                          b"ffffffffffffffff\r\n"), 502, "upstream_bad",
         0),
        (lambda c: c.data(response(b"", 401)), 502, "key_refused",
         KEY_REFUSED),
        (lambda c: c.data(response(b"x" * 70000, 500)), 500,
         "upstream_error", CLOSE),
        (lambda c: c.data(b"HTTP/1.1 100 C\r\n\r\n" * 9), 502,
         "upstream_bad", 0),
    ]
    lane = None
    for act, status, code, released in rows:
        agent = broker.agent()
        agent.sendall(request(broker))
        call = broker.call(lane)
        act(call)
        got, fields, _ = read_response(agent)
        check(f"{code} is told", got == status
              and fields.get("x-agentnode-reason") == code, (got, fields))
        how = call.released()
        check(f"{code}: the lane", how == released, how)
        lane = call.lane if how else None
        agent.close()
    # cut inside a stream
    agent = broker.agent()
    agent.sendall(request(broker, chat(True)))
    call = broker.call(lane)
    call.data(STREAM_HEAD + chunk(EVENT % b"for"))
    read_chunks(agent, read_head(agent)[2], b"\n\n")
    call.failed(8)
    content, ended = read_chunks(agent, b"")
    check("a cut stream ends with an event in the provider's shape",
          ended and b"upstream_closed" in content
          and json.loads(content.split(b"data: ")[-1])["error"], content)
    check("and its lane is free", call.released() == CLOSE)
    agent.close()


def bad_requests(broker):
    """Nothing of what is malformed reaches a lane."""
    host = f"Host: 127.0.0.1:{broker.port}\r\n"
    line = "POST /openai/v1/chat/completions HTTP/1.1\r\n"
    kind = "Content-Type: application/json\r\n"
    rows = [
        (line.replace("\r\n", "\n") + "\n", 400),
        (line + host + host + kind + "Content-Length: 0\r\n\r\n", 400),
        (line + kind + "Content-Length: 0\r\n\r\n", 400),
        (line + host + kind + "Content-Length: 2\r\nContent-Length: 2\r\n"
         "\r\n{}", 400),
        (line + host + kind + "Content-Length: 2\r\nTransfer-Encoding: "
         "chunked\r\n\r\n{}", 400),
        (line + host + kind + "Content-Length: +3\r\n\r\n{} ", 400),
        (line + host + kind + "Content-Length: 0x3\r\n\r\n{} ", 400),
        (line + host + kind + "Transfer-Encoding: chunked\r\n\r\n"
         "fffffffffffffffff\r\n", 400),
        (line + host + kind + " folded: x\r\n\r\n", 400),
        (line + host + "Content-Type : x\r\n\r\n", 400),
        (line + host + "Content_Type: x\r\n\r\n", 400),
        (line + host + kind + "X: a\0b\r\n\r\n", 400),
        (line.replace("1.1", "2.0") + host + "\r\n", 505),
        ("GET /openai/v1/chat/completions HTTP/1.1\r\n" + host
         + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 400),
    ]
    for text, wanted in rows:
        agent = broker.agent()
        agent.sendall(text.encode("latin1"))
        status, _, body = read_response(agent)
        check(f"refused: {text[40:90]!r}", status == wanted, (status, body))
        agent.close()
    check("no lane was asked for", broker.new_lane(0.2) is None)
    slow = Broker(head_timeout_ms=600)
    agent = slow.agent()
    began = time.monotonic()
    status = 0
    for byte in line + host:
        try:
            agent.sendall(byte.encode())
        except OSError:
            break
        time.sleep(0.03)
        if time.monotonic() - began > 0.9:
            break
    status, fields, _ = read_response(agent)
    check("a trickled head times out", status == 408
          and fields["x-agentnode-reason"] == "timeout", (status, fields))
    slow.end()


def echoes(broker, wanted):
    """The provider repeats the key. wanted: is it to be found?"""
    found, lane = [], None
    for name, text in forms(KEY).items():
        for at in (1, 5, 7):
            agent = broker.agent()
            agent.sendall(request(broker, chat(True)))
            call = broker.call(lane)
            call.data(STREAM_HEAD.replace(
                b"\r\n\r\n", b"\r\nx-request-id: " + text.encode()
                + b"\r\n\r\n"))
            data = chunk(b'data: {"choices":[{"delta":{"content":"'
                         + text.encode() + b'"}}]}\n\n') + b"0\r\n\r\n"
            for start in range(0, len(data), at):
                call.data(data[start:start + at])
            status, fields, rest = read_head(agent)
            content = repr(fields).encode() + read_chunks(agent, rest)[0]
            if text.lower().encode() in content.lower():
                found.append((name, at))
            lane = call.lane if call.released() else None
            agent.close()
    if wanted:
        check("the search finds every form when nothing is redacted",
              len({name for name, _ in found}) == len(forms(KEY)), found)
    else:
        check("no form of the key comes through, whatever the splits",
              not found, found)


def overtaken(broker, agent, lane, new):
    """An answer is there before the pattern that was sent before it."""
    agent.sendall(request(broker))
    call = broker.call(lane)
    broker.trunk.told += 1
    call.data(response(json.dumps([new]).encode()))
    ready, _, _ = select.select([agent], [], [], 0.3)
    check("an answer waits for the pattern that came before it", not ready)
    broker.pattern("openai", new)
    _, _, body = read_response(agent)
    check("and then the key is found in it", len(body) == len(new) + 4
          and new not in body.decode(), body)
    call.released()


def rotation(broker):
    """A new key is looked for at once, and the old one still is."""
    new = KEY[::-1]
    broker.pattern("openai", new)
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call()
    call.data(response(json.dumps([KEY, new]).encode()))
    _, _, body = read_response(agent)
    check("after a rotation neither key comes through",
          KEY not in body.decode() and new not in body.decode(), body)
    call.released()
    overtaken(broker, agent, call.lane, KEY[::-1].swapcase())
    broker.pattern("openai", status="missing")
    agent.sendall(request(broker))
    status, fields, _ = read_response(agent)
    check("without a key the call is refused", status == 503
          and fields["x-agentnode-reason"] == "credential_unavailable",
          fields)
    agent.close()


def untold():
    """Nothing was said of the key: asked, but nothing is passed on."""
    broker = Broker(key=None)
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call()
    check("a call may wait for its key at llm-key", call is not None)
    call.data(response(ANSWER))
    status, fields, _ = read_response(agent)
    check("an answer that cannot be looked through is not passed on",
          status == 503 and fields["x-agentnode-reason"]
          == "credential_unavailable", fields)
    agent.sendall(request(broker))
    call = broker.call()
    broker.pattern("openai")
    call.data(response(KEY.encode().join([b'"', b'"'])))
    _, _, body = read_response(agent)
    check("what to look for comes in time", KEY.encode() not in body
          and b"****" in body, body)
    broker.key.close()
    agent.close()
    agent = broker.agent()
    agent.sendall(request(broker))
    status, fields, _ = read_response(agent)
    check("llm-key is gone: no call", status == 503, (status, fields))
    broker.end()


def ledger():
    """Asked before, settled after, whatever happens."""
    broker = Broker(ledger=True)
    agent = broker.agent()
    agent.sendall(request(broker))
    ask = broker.ledger.read()
    check("the budget is asked first", ask["type"] == "reserve"
          and ask["amounts"]["requests"] == 1
          and broker.new_lane(0.2) is None, ask)
    broker.ledger.answer(ask["id"])
    call = broker.call()
    call.data(response(ANSWER))
    read_response(agent)
    settle = broker.ledger.read()
    check("and settled by the provider's word", settle["type"] == "settle"
          and settle["id"] == ask["id"] and settle["served"]
          and settle["amounts"]["tokens"] == 17
          and not settle["estimated"], settle)
    call.released()
    agent.sendall(request(broker))
    ask = broker.ledger.read()
    broker.ledger.answer(ask["id"], ("run", "tokens", 10, 9, 7))
    status, fields, body = read_response(agent)
    check("a refusal is the provider's 429", status == 429
          and fields["retry-after"] == "7"
          and b"rate_limit" in body, (fields, body))
    # the agent leaves while the answer is due
    agent.sendall(request(broker))
    ask = broker.ledger.read()
    agent.close()
    check("the call is over", until(
        lambda: broker.stats()["running"] == 0), broker.stats())
    broker.ledger.answer(ask["id"])
    settle = broker.ledger.read()
    check("a reservation that came too late is given back",
          settle["id"] == ask["id"] and settle["amounts"]["tokens"] == 0,
          settle)
    # cut in the middle
    agent = broker.agent()
    agent.sendall(request(broker, chat(True)))
    ask = broker.ledger.read()
    broker.ledger.answer(ask["id"])
    call = broker.call(call.lane)
    call.data(STREAM_HEAD + chunk(EVENT % b"forty-two"))
    read_head(agent)
    agent.close()
    settle = broker.ledger.read()
    check("a cut stream is charged by estimate", settle["estimated"]
          and not settle["served"]
          and settle["amounts"]["output_chars"] == 9, settle)
    agent = broker.agent()
    agent.sendall(request(broker))
    broker.ledger.read()
    broker.ledger.close()
    status, fields, _ = read_response(agent)
    check("the ledger is gone: no call", status == 503
          and fields["x-agentnode-reason"] == "policy_unavailable", fields)
    agent.close()
    broker.end()


def settled(broker, ready, made=None):
    """Settled calls by the number of their reservation; a reservation that
    is asked for between them is "again"."""
    made = made or {}
    while not ready(made):
        record = broker.ledger.read()
        if record["type"] == "reserve":
            made["again"] = record
        else:
            made[record["id"]] = made.get(record["id"], 0) + record["calls"]
    return made


def together():
    """Calls that come together are asked for together, and settled so."""
    broker = Broker(ledger=True)
    broker.serve(lambda call: call.data(response(ANSWER)))
    agents = [broker.agent() for _ in range(8)]
    check("eight agents", until(
        lambda: broker.stats()["waiting"] == 8), broker.stats())
    broker.process.send_signal(signal.SIGSTOP)
    for agent in agents:
        agent.sendall(request(broker))
    broker.process.send_signal(signal.SIGCONT)
    asks = [broker.ledger.read()]
    check("eight calls are one datagram", len(broker.ledger.asks) == 4,
          broker.ledger.asks)
    asks += [broker.ledger.read() for _ in range(4)]
    check("four are asked for alone, the others by one of them, for it and "
          "as many more as came", len({a["id"] for a in asks}) == 5
          and [a["calls"] for a in asks] == [1, 1, 1, 1, 5]
          and all(a["type"] == "reserve" for a in asks), asks)
    for ask in asks[:4]:
        broker.ledger.answer(ask["id"])
    shared = asks[4]["id"]
    broker.ledger.answer(shared, calls=3)
    said = settled(broker, lambda made: "again" in made)
    again = said.pop("again")
    check("too little ahead: the last one asks for itself", again["calls"]
          == 1 and again["id"] not in {a["id"] for a in asks}, again)
    broker.ledger.answer(again["id"])
    check("each is served", all(
        read_response(agent)[::2] == (200, ANSWER) for agent in agents))
    said = settled(broker, lambda made: sum(made.values()) == 8, said)
    check("each is settled once, those of one reservation together", said
          == {shared: 3, **{a["id"]: 1 for a in asks[:4] + [again]}}, said)
    # what waits for company is said before the end, what is left given back
    agents[0].sendall(request(broker))
    ask = broker.ledger.read()
    broker.ledger.answer(ask["id"], calls=ask["calls"])
    read_response(agents[0])
    broker.control.close()
    ends = [broker.ledger.read()]
    while sum(e["calls"] + e["unused"] for e in ends) < ask["calls"]:
        ends.append(broker.ledger.read())
    check("the last one is settled before the broker ends",
          {e["id"] for e in ends} == {ask["id"]} and ends[0]["served"]
          and sum(e["calls"] for e in ends) == 1, ends)
    for agent in agents:
        agent.close()
    broker.end()


def control():
    """What the supervisor asks, in and out of order."""
    broker = Broker()
    broker.send("grant", {"sandbox": "other", "grant": broker_host.grant()},
                number=5)
    answer = broker.receive("failed")
    check("one sandbox per broker", answer and answer["id"] == 5, answer)
    broker.send("listen", {"sandbox": "other", "kind": "llm"},
                [broker.listener.fileno()], number=6)
    check("no listener for another", broker.receive("failed")["id"] == 6)
    wider = broker_host.grant(requests=10 ** 9)
    broker.send("grant", {"sandbox": "test", "grant": wider}, number=7)
    check("a grant is never widened", broker.receive("failed")["id"] == 7)
    agent = broker.agent()
    agent.sendall(request(broker, chat(True)))
    call = broker.call()
    call.data(STREAM_HEAD + chunk(EVENT % b"for"))
    _, _, rest = read_head(agent)
    narrow = broker_host.grant()
    narrow["providers"] = [{"name": "anthropic"}]
    broker.send("grant", {"sandbox": "test", "grant": narrow})
    content, _ = read_chunks(agent, rest)
    check("a narrower grant ends what it does not cover",
          b"provider_not_allowed" in content, content)
    check("and its lane", call.released() == 0)
    agent = broker.agent()
    agent.sendall(request(broker, b'{"model":"m","max_tokens":5,"messages":[]'
                          b',"stream":true}', "/anthropic/v1/messages"))
    call = broker.call()
    call.data(STREAM_HEAD)
    read_head(agent)
    broker.send("sandbox_close", {"sandbox": "test"})
    check("closing the sandbox cancels", call.released() == 0)
    try:
        left = agent.recv(10)
    except ConnectionResetError:
        left = "reset"
    check("and resets its agents", left == "reset", left)
    stats = broker.stats()
    check("nothing is open any more", stats["running"] == 0
          and stats["waiting"] == 0, stats)
    check("what was decided is told", {
        d["code"] for d in broker.decisions} >= {"provider_not_allowed"},
        broker.decisions)
    check("the broker ends with its supervisor", broker.end() == 83)


def shortage():
    """Few descriptors: agents are turned away, nothing spins or breaks."""
    broker = Broker(files=60)
    agents = [broker.agent() for _ in range(80)]
    check("it is noticed", until(
        lambda: broker.stats()["descriptor_shortages"] > 0, 5),
        broker.stats())
    for agent in agents:
        agent.close()
    check("they are forgotten", until(
        lambda: broker.stats()["waiting"] == 0, 5), broker.stats())
    agent = broker.agent()
    agent.sendall(request(broker))
    call = broker.call(seconds=5)
    check("and it serves again", call is not None)
    broker.end()


def main():
    broker = Broker()
    if not check("the broker is ready", broker.ready is not None):
        finish()
    ways(broker)
    late_frames(broker)
    pace(broker)
    slow_reader(broker)
    ends(broker)
    bad_requests(broker)
    log = open(broker.log_path, encoding="utf-8").read()
    check("no line has a key or a request's text",
          KEY not in log and "hello" not in log and "forty" not in log)
    check("it ends in order", broker.end() == 83)
    for step in (many, burst, echoes, rotation):
        broker = Broker()
        if step is echoes:
            step(broker, False)
        else:
            step(broker)
        check(f"{step.__name__}: it ends in order", broker.end() == 83)
    bare = Broker(program=os.path.join(harness.BUILD, "tests",
                                       "broker_redact_none"))
    echoes(bare, True)
    bare.end()
    untold()
    ledger()
    together()
    control()
    shortage()
    finish()


main()
