"""Calls through the real, confined agentnode-llm-key: opaque bytes both ways,
redirects passed on and not followed, ends of every kind, deadlines,
keep-alive and what makes it stale, heads that are not canonical, keys that
come, change, are refused or malformed; and nowhere a key but upstream."""
import os
import signal
import socket
import struct
import threading
import time

import harness
import lane_trunk
import llm_key_client
import llm_key_world as world
from harness import check
from llm_key_client import CLOSE, KEEP, KEY_REFUSED
from machine_pace import Deadline


def started(reply=None, **options):
    place = world.World()
    place.server = world.Provider(place.pem, reply)
    place.port = place.server.port
    place.start([world.provider("one", place.port)], **options)
    return place


def ask(place, lane=None, **options):
    return place.key.call("one", world.authority(place.port), lane=lane,
                          **options)


def opaque():
    body = bytes(range(256)) * 1000
    said = {"reply": world.answer(
        b"", b"302 Found", b"Location: https://evil.example.test/\r\n")}
    place = started(lambda *_: said["reply"])
    data, end = ask(place)
    check("a redirect is passed on and not followed",
          data == said["reply"] and place.server.connections == 1
          and place.dns.asked("evil.example.test") == [], data)
    said["reply"] = b"\x00\xff not http at all \r\n\r\n" + world.answer(body)
    lane = place.key.lane()
    lane.open("one", llm_key_client.head(
        world.authority(place.port), "POST", "/v1/x", body), body)
    data, end = lane.response(lambda got: len(got) >= len(said["reply"]))
    check("a response is not looked at", data == said["reply"])
    check("a body arrives as it was", place.server.bodies[-1] == body)
    lane.release(CLOSE)
    lane.close()
    place.key.stop()


def ends():
    kinds = {
        "closed before a byte": (lambda *_: None, "closed", 0),
        "closed inside the response": (
            lambda conn, *_: conn.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf"),
            "closed", 43),
        "closed in order": (lambda conn, *_: _in_order(conn), "eof", 30),
        "reset": (lambda conn, *_: _reset(conn), "closed", 0),
    }
    for name, (reply, expected, length) in kinds.items():
        place = started(reply)
        data, end = ask(place)
        check(f"{name}: {expected}", end == expected and len(data) == length,
              (data, end))
        check(f"{name}: the request was sent once",
              len(place.server.heads) == 1, place.server.heads)
        stats = place.key.stats()
        check(f"{name}: the connection is gone",
              stats["connections"] == 0, stats)
        place.key.stop()


def reset_behind():
    """A reset that comes with the last bytes, in one event."""
    pids = []

    def reply(conn, *_):
        os.kill(pids[0], signal.SIGSTOP)
        threading.Timer(0.2, os.kill, (pids[0], signal.SIGCONT)).start()
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf")
        _reset(conn)

    place = started(reply)
    pids.append(place.key.process.pid)
    begin = time.monotonic()
    _, end = ask(place, first_ms=9000, idle_ms=9000)
    took = time.monotonic() - begin
    check("a reset behind the last bytes is seen at once",
          end == "closed" and took < 3, (end, took))
    place.key.stop()


def _in_order(conn):
    conn.sendall(b"HTTP/1.0 200 OK\r\n\r\nuntil close")
    conn.unwrap()


def _reset(conn):
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))


def deadlines():
    place = started(lambda *_: time.sleep(5))
    deadline = Deadline(1.5)
    data, end = ask(place, first_ms=500)
    check("no first byte: timeout", deadline.ends() and (data, end)
          == (b"", "timeout") and deadline.took > 0.4, (data, end, deadline))
    place.key.stop()
    place = started(lambda conn, *_: (
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
        time.sleep(5)))
    deadline = Deadline(1.5)
    data, end = ask(place, first_ms=4000, idle_ms=500)
    check("no next byte: timeout", deadline.ends() and end == "timeout"
          and data.endswith(b"half") and deadline.took > 0.4,
          (data, end, deadline))
    place.key.stop()


def keep_alive():
    place = started()
    lane = place.key.lane()
    for _ in range(5):
        ask(place, lane)
    stats = place.key.stats()
    check("one connection for calls one after the other",
          place.server.connections == 1 and stats["reused"] == 4
          and stats["idle"] == 1, stats)
    ask(place, lane, release=CLOSE)
    check("CLOSE closes it", place.key.stats()["connections"] == 0)
    place.key.stop()


def stale():
    """A connection that ended, or spoke, while it rested."""
    def closes(conn, *_):
        conn.sendall(world.answer())
        return None

    rested = threading.Event()

    def speaks(conn, *_):
        conn.sendall(world.answer())
        if not rested.wait(10):
            return
        conn.sendall(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        time.sleep(5)

    for name, reply in (("ended", closes), ("spoke", speaks)):
        place = started(reply)
        lane = place.key.lane()
        ask(place, lane)
        if reply == speaks:  # behind the answer, however slow we are
            harness.wait_until(lambda: place.key.stats()["idle"] == 1, 5)
            rested.set()
        harness.wait_until(
            lambda: place.key.stats()["connections"] == 0, 5)
        rested.clear()
        check(f"a connection that {name} while it rested is closed",
              place.key.stats()["connections"] == 0)
        data, end = ask(place, lane)
        check(f"and the next call ({name}) has one of its own",
              data.endswith(b"fine\n") and end is None
              and place.server.connections == 2, (data, end))
        place.key.stop()


def stale_at_once():
    """The end comes between two turns of the loop: asked before written."""
    place = started(lambda conn, *_: conn.sendall(world.answer()))
    lane = place.key.lane()
    failed = 0
    for _ in range(200):
        data, end = ask(place, lane)
        failed += not data.endswith(b"fine\n")
    calls = len(place.server.heads)
    stats = place.key.stats()
    check("200 calls to a server that closes after each: each was sent once",
          calls == 200 + 0 * failed, (calls, failed, stats))
    check("only those fail whose connection ended behind the request",
          failed <= 20, (failed, stats))
    place.key.stop()


def rests_no_longer():
    place = started(idle_timeout_ms=400)
    ask(place)
    check("it rests", place.key.stats()["idle"] == 1)
    time.sleep(0.8)
    check("and is closed after idle_timeout_ms",
          place.key.stats()["connections"] == 0)
    place.key.stop()
    place = started(lambda *_: (time.sleep(0.3), world.answer())[1],
                    max_connections=2, max_idle=1)
    lanes = [place.key.lane() for _ in range(3)]
    for lane in lanes:
        lane.open("one", llm_key_client.head(world.authority(place.port)))
    results = [lane.response(llm_key_client.whole)[1] for lane in lanes]
    check("no more than max_connections", sorted(
        str(r) for r in results) == ["None", "None", "busy"], results)
    for lane in lanes:
        lane.release()
    harness.wait_until(lambda: place.key.stats()["connections"] == 1, 2)
    stats = place.key.stats()
    check("no more than max_idle rest", stats["idle"] == 1, stats)
    place.key.stop()


def heads():
    place = started()
    host = world.authority(place.port)
    bad = {
        "another host": llm_key_client.head("evil.example.test"),
        "two hosts": llm_key_client.head(host, extra=f"Host: {host}\r\n"),
        "no host": "GET / HTTP/1.1\r\nAccept: a\r\n",
        "a credential": llm_key_client.head(host, extra="X-Api-Key: x\r\n"),
        "the key's own field": llm_key_client.head(
            host, extra="AUTHORIZATION: Bearer x\r\n"),
        "a second request": llm_key_client.head(host)
        + "\r\n" + llm_key_client.head(host),
        "a bare LF": llm_key_client.head(host, extra="A: b\nC: d\r\n"),
        "a NUL": llm_key_client.head(host, extra="A: b\0\r\n"),
        "a folded line": llm_key_client.head(host, extra=" folded\r\n"),
        "chunked": llm_key_client.head(
            host, extra="Transfer-Encoding: chunked\r\n"),
        "another length": llm_key_client.head(
            host, extra="Content-Length: 5\r\n"),
        "an upgrade": llm_key_client.head(
            host, extra="Upgrade: websocket\r\n"),
        "an absolute target": "GET http://evil.example.test/ HTTP/1.1\r\n"
        f"Host: {host}\r\n",
        "no end": f"GET / HTTP/1.1\r\nHost: {host}",
    }
    for name, head in bad.items():
        lane = place.key.lane()
        lane.open("one", head)
        data, end = lane.response()
        check(f"a head with {name} is refused",
              (data, end) == (b"", "head"), (data, end))
        lane.release(CLOSE)
        data, end = ask(place, lane)
        check("and its lane serves the next call",
              data.endswith(b"fine\n"), (data, end))
        lane.close()
    lane = place.key.lane()
    lane.open("nobody", llm_key_client.head(host), b"body")
    check("an unknown provider is refused", lane.response()[1] == "head")
    check("of the bad ones nothing was sent",
          len(place.server.heads) == len(bad), len(place.server.heads))
    place.key.stop()


def before_its_lane():
    """A request is there before its lane, and one of no lane at all."""
    place = started()
    place.key.lane().close()
    frame = llm_key_client.request(1, "one", llm_key_client.head(
        world.authority(place.port)))
    place.key.trunk.told += 1
    place.key.trunk.put(2, frame)
    place.key.trunk.told -= 1
    time.sleep(0.3)
    check("a request waits for the lane that was opened before it",
          place.key.stats()["calls"] == 0 and place.server.connections == 0)
    lane = place.key.lane()
    lane.call = 1
    data, end = lane.response(llm_key_client.whole)
    check("and then is made", data.endswith(b"fine\n") and end is None,
          (data, end))
    lane.close()
    place.key.trunk.put(1, frame)
    check("what is of a lane that was closed is dropped",
          ask(place)[0].endswith(b"fine\n"))
    place.key.trunk.put(9, frame)
    check("a record of no lane ends the process with 84",
          place.key.process.wait(10) == 84)
    place.key.stop()


def broken_lanes():
    """A frame that does not belong ends the process; that is the rule."""
    frames = {
        "garbage": b"GET / HTTP/1.1\r\n\r\n" + b"x" * 64,
        "a RELEASE of nothing": llm_key_client.FRAME.pack(
            llm_key_client.MAGIC, llm_key_client.RELEASE, 1, 1),
        "a frame of ours": llm_key_client.FRAME.pack(
            llm_key_client.MAGIC, llm_key_client.DATA, 1, 1),
        "a head of no length": llm_key_client.FRAME.pack(
            llm_key_client.MAGIC, llm_key_client.OPEN, 0, 1)
        + llm_key_client.OPEN_REST.pack(b"one", 0, 1000, 1000, 1),
        "a head too long": llm_key_client.FRAME.pack(
            llm_key_client.MAGIC, llm_key_client.OPEN, 16385, 1)
        + llm_key_client.OPEN_REST.pack(b"one", 0, 1000, 1000, 1),
        "a name without an end": llm_key_client.FRAME.pack(
            llm_key_client.MAGIC, llm_key_client.OPEN, 9, 1)
        + llm_key_client.OPEN_REST.pack(b"x" * 32, 0, 1000, 1000, 1),
    }
    for name, frame in frames.items():
        place = started()
        place.key.lane().put(frame)
        try:
            code = place.key.process.wait(5)
        except Exception as error:  # noqa
            code = error
        check(f"{name} on a lane ends the process with 84", code == 84, code)
        place.key.stop()


def keys():
    place = world.World()
    server = world.Provider(place.pem)
    place.port = server.port
    providers = [world.provider("one", server.port), world.provider(
        "two", server.port, key={"header": "x-api-key", "format": "{key}"}),
        world.provider("open", server.port, key=None)]
    key = place.start(providers, keys=False, key_wait_ms=700)

    def call(name, **options):
        return key.call(name, world.authority(server.port), **options)

    data, end = call("open")
    check("a provider without a key gets no field",
          data.endswith(b"fine\n") and server.field("Authorization") == []
          and server.field("x-api-key") == [], server.heads)
    deadline = Deadline(1.5)
    data, end = call("one")
    check("a key that nobody brings: no_key after key_wait_ms",
          deadline.ends() and end == "no_key", (end, deadline))
    key.give_key("one", world.KEY, "missing")
    said = key.patterns()
    check("the broker hears that it is missing", said["status"] == "missing"
          and said["patterns"] == [], said)
    deadline = Deadline(0.3)
    data, end = call("one")
    check("a key that is missing: no_key at once", deadline.ends()
          and end == "no_key", (end, deadline))
    key.give_key("two", world.SECOND_KEY)
    key.patterns()
    call("two")
    check("another provider, another field",
          server.field("x-api-key") == [world.SECOND_KEY], server.heads[-1])
    key.stop()


def bad_keys():
    place = started(key_wait_ms=300)
    key = place.key
    good = world.KEY.encode()
    bad = {"short": b"sk-short", "a space": good + b" x",
           "a line end": good + b"\r\nX: y", "a NUL": good + b"\0",
           "not ASCII": good + "\u00e9".encode(), "too long": b"k" * 2049}
    for name, secret in bad.items():
        key.give_key("one", secret)
        said = key.patterns()
        check(f"a key with {name} is unavailable",
              said["status"] == "unavailable" and said["patterns"] == [],
              said)
        check(f"and no call is sent ({name})", ask(place)[1] == "no_key")

    def sequence(*datagrams, fds=()):
        mine = key.keyring()
        for datagram in datagrams:
            try:
                llm_key_client.send(mine, datagram, fds)
            except BrokenPipeError:
                pass
        llm_key_client.ended(mine)

    def message(**fields):
        return {"type": "key", "provider": "one", "status": "found",
                **fields}
    readable = os.open("/dev/null", os.O_RDONLY)
    wrong = {
        "no length": [message()],
        "a longer secret": [message(length=20), b"k" * 21],
        "a shorter secret": [message(length=20), b"k" * 19],
        "an end instead of the secret": [message(length=20)],
    }
    for name, datagrams in wrong.items():
        if name.startswith("an end"):
            mine = key.keyring()
            llm_key_client.send(mine, datagrams[0])
            mine.close()
        else:
            sequence(*datagrams)
        said = key.patterns()
        check(f"{name}: unavailable", said["status"] == "unavailable", said)
    sequence(good)
    sequence({"type": "key", "provider": "nobody", "status": "found",
              "length": 20}, b"k" * 20)
    sequence({"type": "stats"})
    sequence(message(length=20), fds=[readable])
    check("what is no key message ends its pair and changes nothing",
          len([l for l in key.lines()
               if l["event"] == "keyring_pair_ended"]) >= 8)
    mine = key.keyring()
    llm_key_client.send(mine, message(length=len(good)))
    llm_key_client.send(mine, good, [readable])
    said = key.patterns()
    check("a descriptor with the secret: unavailable",
          said["status"] == "unavailable", said)
    key.give_key("one", good)
    check("a good key after all that works",
          key.patterns()["status"] == "found"
          and ask(place)[0].endswith(b"fine\n"))
    os.close(readable)
    check("no key, good or bad, is in the log",
          world.KEY not in key.text() and "sk-short" not in key.text())
    key.stop()


def rotation():
    state = {"wait": 0.0}
    place = started(
        lambda *_: (time.sleep(state["wait"]), world.answer())[1],
        key_wait_ms=3000)
    key, server = place.key, place.server
    ask(place)
    check("a connection rests", key.stats()["idle"] == 1)
    state["wait"] = 0.6
    flying = key.lane()
    flying.open("one", llm_key_client.head(world.authority(place.port)))
    harness.wait_until(lambda: len(server.heads) == 2, 3)
    state["wait"] = 0
    key.tell("key_changed", provider="one")
    check("what rests is closed", harness.wait_until(
        lambda: key.stats()["idle"] == 0, 2))
    waiting = key.lane()
    waiting.open("one", llm_key_client.head(world.authority(place.port)))
    data, end = flying.response(llm_key_client.whole)
    flying.release()
    check("a call that was under way is answered",
          data.endswith(b"fine\n"), (data, end))
    check("one that came in between waits", len(server.heads) == 2)
    key.give_key("one", world.SECOND_KEY)
    said = key.patterns()
    data, end = waiting.response(llm_key_client.whole)
    waiting.release()
    check("and goes with the new key", data.endswith(b"fine\n")
          and server.field("Authorization")
          == ["Bearer " + world.SECOND_KEY], (data, end, said["status"]))
    check("the old connection does not rest", harness.wait_until(
        lambda: key.stats()["connections"] == 1, 2), key.stats())
    old = key.keyring()
    key.tell("key_changed", provider="one")
    key.give_key("one", world.SECOND_KEY)
    key.patterns()
    llm_key_client.send(old, {"type": "key", "provider": "one",
                              "status": "found", "length": len(world.KEY)})
    llm_key_client.send(old, world.KEY.encode())
    llm_key_client.ended(old)
    ask(place)
    check("a helper that was started before the change brings the old key "
          "in vain", server.field("Authorization")
          == ["Bearer " + world.SECOND_KEY])
    key.tell("key_changed", provider="nobody", id=7)
    check("an unknown provider: failed",
          key.receive()["type"] == "failed")
    key.stop()


def untold():
    """The broker cannot be told what to look for: no key goes anywhere."""
    place = started(lambda *_: world.answer())
    lane = place.key.lane()
    place.key.broker.shutdown(socket.SHUT_RD)
    place.key.give_key("one", world.KEY + "-new")
    check("without a way to tell the broker of a key it ends",
          place.key.process.wait(10) == 84, place.key.text()[-500:])
    check("and no key went out", place.server.connections == 0)
    lane.close()
    place.key.stop()


def breaker():
    place = started(lambda *_: world.answer(b"no\n", b"401 Unauthorized"),
                    breaker_ms=800)
    key, server = place.key, place.server
    for _ in range(2):
        ask(place, release=KEY_REFUSED)
    ask(place)  # one that went well
    for _ in range(3):
        check("refused, and still tried",
              ask(place, release=KEY_REFUSED)[1] is None)
    sent = len(server.heads)
    check("three in a row: not tried any more",
          ask(place)[1] == "breaker" and len(server.heads) == sent)
    time.sleep(0.9)
    check("after the pause, once", ask(place, release=KEY_REFUSED)[1] is None)
    check("and again not", ask(place)[1] == "breaker")
    time.sleep(0.9)
    check("the second pause is longer", ask(place)[1] == "breaker")
    key.tell("key_changed", provider="one")
    key.give_key("one", world.SECOND_KEY)
    key.patterns()
    check("a new key is tried at once", ask(place)[1] is None)
    check("the log says that it opened", len([
        l for l in key.lines() if l["event"] == "breaker_opened"]) == 2)
    key.stop()


def cancelled():
    place = started(lambda *_: time.sleep(3))
    lane = place.key.lane()
    lane.open("one", llm_key_client.head(world.authority(place.port)))
    harness.wait_until(lambda: len(place.server.heads) == 1, 3)
    lane.close()
    check("a lane that closes cancels its call upstream",
          harness.wait_until(
              lambda: place.key.stats()["connections"] == 0, 1))
    check("and is counted", place.key.stats()["cancelled"] == 1)
    body = b"x" * (lane_trunk.BODY_MAX + 9000)
    lane = place.key.lane()
    lane.open("one", llm_key_client.head(
        world.authority(place.port), "POST", "/", body), body,
        send_body=False)
    lane.body(body[:lane_trunk.BODY_MAX])
    harness.wait_until(lambda: len(place.server.heads) == 2, 3)
    os.kill(place.key.process.pid, signal.SIGSTOP)
    lane.body(body[lane_trunk.BODY_MAX:])
    lane.close()
    os.kill(place.key.process.pid, signal.SIGCONT)
    check("also one that closes right behind the last of its body",
          harness.wait_until(
              lambda: place.key.stats()["cancelled"] == 2, 1),
          place.key.stats())
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(1)
    place.key.stop()
    place = world.World()
    key = place.start([world.provider("one", silent.getsockname()[1])],
                      connect_timeout_ms=600, lookup_timeout_ms=400)
    lane = key.lane()
    lane.open("one", llm_key_client.head(
        world.authority(silent.getsockname()[1]), "POST", "/", b"x" * 9000),
        b"x" * 9000)
    time.sleep(0.2)
    lane.close()
    check("also while it connects", harness.wait_until(
        lambda: key.stats()["connections"] == 0, 0.3), key.stats())
    data, end = key.call("one", world.authority(silent.getsockname()[1]))
    check("a handshake that does not end: timeout",
          (data, end) == (b"", "timeout"), (data, end))
    key.stop()


def early_answer():
    """The provider answers and closes while the body still comes."""
    def reply(conn):
        conn.recv(1000)
        conn.sendall(world.answer(b"too large\n", b"413 Too Large"))
        time.sleep(0.2)
    place = world.World()
    server = world.Provider(place.pem)
    server.behaviour = reply
    key = place.start([world.provider("one", server.port)])
    body = b"x" * (8 << 20)
    lane = key.lane()
    lane.open("one", llm_key_client.head(
        world.authority(server.port), "POST", "/", body), body,
        send_body=False)
    data, end = lane.response(llm_key_client.whole)
    check("an answer before the body is all sent arrives",
          data.endswith(b"too large\n"), (data, end))
    lane.body(body)
    lane.release(CLOSE)
    server.behaviour = server._serve
    data, end = key.call("one", world.authority(server.port), lane=lane)
    check("and the lane goes on behind the whole body",
          data.endswith(b"fine\n"), (data, end))
    key.stop()


def memory():
    """After calls of every kind of end, a key is in secret memory alone."""
    place = started(lambda *_: world.answer(b"x" * 100))
    key = place.key
    lanes = [key.lane() for _ in range(8)]
    for turn in range(3):
        for lane in lanes:
            lane.open("one", llm_key_client.head(
                world.authority(place.port), "POST", "/v1/calls",
                b"b" * 20000), b"b" * 20000)
        for lane in lanes[:7] if turn == 2 else lanes:
            lane.response(llm_key_client.whole)
            lane.release(KEEP if turn == 0 else CLOSE)
    key.give_key("one", world.SECOND_KEY)
    key.patterns()
    ask(place)
    lanes[7].close()
    words = (world.KEY, world.KEY[8:24], world.SECOND_KEY,
             world.SECOND_KEY[8:24], world.HOST)
    try:
        found = key.memory_with(*words)
    except PermissionError:
        check("nobody but root may look into its memory",
              os.geteuid() != 0)
    else:
        check("no part of a key is in memory that can be read",
              not found & set(words[:4]), found)
        check("and the search finds what is there", world.HOST in found)
    key.stop()


def nothing_told():
    place = started()
    ask(place, body=b"x" * 100)
    key = place.key
    stats = str(key.stats())
    text = key.text()
    check("no key, head or target in log and counters", not any(
        word in text + stats for word in (
            world.KEY, world.KEY[4:20], "Bearer", "/v1", "Authorization")))
    check("every line has the run's id", all(
        line["sandbox"] == "test-run" for line in key.lines()))
    other = os.path.join(key.folder, "next.jsonl")
    file = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    key.tell("log_replace", [file])
    os.close(file)
    ask(place)
    check("a new log is written after log_replace", harness.wait_until(
        lambda: os.path.getsize(other) > 0, 3)
          and len(place.calls()) == 1)
    with open(f"/proc/{key.process.pid}/status", encoding="ascii") as file:
        status = file.read()
    check("one thread, no capability, filtered", "Threads:\t1" in status
          and "CapEff:\t0000000000000000" in status
          and "Seccomp:\t2" in status)
    uid = [line.split()[1] for line in status.splitlines()
           if line.startswith("Uid:")][0]
    check("no core, and a user of its own when root starts it",
          any(line.split()[-3:-1] == ["0", "0"] for line in
              open(f"/proc/{key.process.pid}/limits", encoding="ascii")
              if line.startswith("Max core"))
          and (os.geteuid() != 0 or uid == "1879048190"), uid)
    key.control.close()
    check("without its supervisor it ends with 83",
          key.process.wait(5) == 83)


opaque()
ends()
reset_behind()
deadlines()
keep_alive()
stale()
stale_at_once()
rests_no_longer()
heads()
before_its_lane()
broken_lanes()
keys()
bad_keys()
rotation()
untold()
breaker()
cancelled()
early_answer()
memory()
nothing_told()
harness.finish()
