"""Many and large calls through the real, confined agentnode-llm-key: 1,000
streams open at once, a reader that does not read while the provider sends
hundreds of megabytes, a large upload to a provider that does not read, and
that memory and descriptors are as before afterwards."""
import os
import threading
import time

import harness
import llm_key_client
import llm_key_world as world
from harness import check

STREAMS = 1000
BIG = 256 << 20
# A sanitizer keeps freed memory on purpose.
with open(llm_key_client.PROGRAM, "rb") as file:
    SANITIZED = b"__asan_init" in file.read()
GROWTH = (16 if SANITIZED else 1) << 10  # kB
MOST = (512 if SANITIZED else 32) << 10


def descriptors(key):
    return len(os.listdir(f"/proc/{key.process.pid}/fd"))


def streams():
    go = threading.Event()

    def reply(conn, *_):
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        go.wait(60)
        return b"ok"
    place = world.World()
    server = world.Provider(place.pem, reply)
    key = place.start([world.provider("one", server.port)],
                      max_connections=STREAMS, max_idle=STREAMS,
                      connect_timeout_ms=60000)
    before, files = key.rss_kb(), descriptors(key)
    lanes = []
    for _ in range(STREAMS):
        lane = key.lane()
        lane.open("one", llm_key_client.head(
            world.authority(server.port)), first_ms=60000, idle_ms=60000)
        lanes.append(lane)
    kinds = [lane.frame()[0] for lane in lanes]
    check(f"{STREAMS} streams are open at once",
          kinds == [llm_key_client.DATA] * STREAMS)
    time.sleep(1.5)
    while_open = key.rss_kb()
    print(f"# RSS {before} kB at rest, {while_open} kB with {STREAMS} "
          f"streams: {(while_open - before) / STREAMS:.1f} kB each")
    check("they take less than 32 kB each, all less than 32 MiB",
          while_open - before < STREAMS * 32 and while_open < 32 << 10
          or SANITIZED, (before, while_open))
    go.set()
    ends = [lane.response(lambda data: data == b"ok") for lane in lanes]
    check("each is served", ends == [(b"ok", None)] * STREAMS)
    for lane in lanes:
        lane.release()
    check("their connections rest", harness.wait_until(
        lambda: key.stats()["idle"] == STREAMS, 10), key.stats())
    for lane in lanes:
        lane.close()
    key.tell("key_changed", provider="one")
    check("all are closed with the key they served", harness.wait_until(
        lambda: key.stats()["connections"] == 0, 10), key.stats())
    check("no descriptor is left but the trunk", descriptors(key)
          == files + 1, (files, descriptors(key)))
    check("memory goes back", harness.wait_until(
        lambda: key.rss_kb() < before + (while_open - before) // 2
        or SANITIZED, 5),
          (before, while_open, key.rss_kb()))
    print(f"# RSS {key.rss_kb()} kB afterwards")
    check("it served all", key.stats()["served"] == STREAMS, key.stats())
    key.stop()


def slow_reader():
    sent = [0]

    def reply(conn, *_):
        conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        block = b"x" * (1 << 16)
        while sent[0] < BIG:
            conn.sendall(block)
            sent[0] += len(block)
    place = world.World()
    server = world.Provider(place.pem, reply)
    key = place.start([world.provider("one", server.port)])
    before = key.rss_kb()
    lane = key.lane()
    lane.open("one", llm_key_client.head(world.authority(server.port)),
              first_ms=1000, idle_ms=1000)
    highest = 0
    for _ in range(20):
        time.sleep(0.1)
        highest = max(highest, key.rss_kb())
    stuck = sent[0]
    check("a reader that does not read stops the provider",
          0 < stuck < 64 << 20, stuck)
    check("nobody's deadline ends it", key.stats()["failed"] == 0)
    check("memory does not grow", highest - before < GROWTH,
          (before, highest))
    total, begin = 0, time.monotonic()
    lane.sock.settimeout(30)
    while total < BIG // 2:
        kind, data = lane.frame()
        if kind != llm_key_client.DATA:
            break
        total += len(data)
        highest = max(highest, key.rss_kb()) if total % 64 == 0 else highest
    took = time.monotonic() - begin
    print(f"# {total >> 20} MiB in {took:.2f}s, RSS at most {highest} kB")
    check("and then the stream goes on", total >= BIG // 2, total)
    highest = max(highest, key.rss_kb())
    check("within 32 MiB", highest < MOST, highest)
    lane.close()
    key.stop()


def slow_provider():
    hold = threading.Event()
    got = []

    def behaviour(conn):
        head, _, rest = conn.recv(65536).partition(b"\r\n\r\n")
        hold.wait(30)
        total = len(rest)
        while total < BIG // 4:
            total += len(conn.recv(1 << 20))
        got.append(total)
        conn.sendall(world.answer(b"%d" % total))
    place = world.World()
    server = world.Provider(place.pem)
    server.behaviour = behaviour
    key = place.start([world.provider("one", server.port)])
    before = key.rss_kb()
    lane = key.lane()
    lane.open("one", llm_key_client.head(
        world.authority(server.port), "POST", "/", b"",
        extra="").replace("Length: 0", f"Length: {BIG // 4}"),
        body_len=BIG // 4, first_ms=60000)
    block, left = b"y" * (1 << 16), BIG // 4
    lane.body(block)
    left -= len(block)
    lane.sock.setblocking(False)
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline and left:
        try:
            left -= lane.sock.send(block[:left])
        except BlockingIOError:
            time.sleep(0.02)
    stuck = BIG // 4 - left
    check("a provider that does not read stops the broker",
          0 < stuck < 32 << 20, stuck)
    check("memory does not grow", key.rss_kb() - before < GROWTH,
          (before, key.rss_kb()))
    hold.set()
    lane.sock.setblocking(True)
    lane.sock.settimeout(20)
    while left:
        left -= lane.sock.send(block[:left])
    data, end = lane.response(llm_key_client.whole)
    check("and then the whole body arrives", got == [BIG // 4]
          and end is None, (got, data, end))
    check("within 32 MiB", key.rss_kb() < MOST, key.rss_kb())
    key.stop()


streams()
slow_reader()
slow_provider()
harness.finish()
