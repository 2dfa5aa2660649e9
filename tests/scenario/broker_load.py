"""Load on the real, confined broker, llm-key and ledger together: a fast
stream of 1 GiB for an agent that reads slowly, and 1,000 streams at one time
for a minute among clients that trickle, stall, break off and lie. Good
streams are all served; memory, descriptors and lanes are bounded meanwhile
and do not grow, and at the end nothing is held."""
import asyncio
import json
import os
import re
import resource
import socket
import struct
import subprocess
import time

import harness
from broker_world import PATH, TOOLS, Watch, World
from harness import check

MIB = 1 << 20


def sanitized():
    cache = os.path.join(harness.BUILD, "CMakeCache.txt")
    with open(cache, encoding="utf-8") as file:
        return re.search(r"AGENTNODE_MODE:\w+=asan", file.read()) is not None


# A sanitizer keeps freed memory on purpose, and takes ten times as long.
SANITIZED = sanitized()
SIZE = (64 if SANITIZED else 1024) * MIB
RATE = 64 * MIB  # bytes that the slow reader takes in a second
STREAMS, SECONDS = (200, 20) if SANITIZED else (1000, 60)
TRICKLERS = 100 if SANITIZED else 500
MOST_KB = (512 if SANITIZED else 32) << 10
GROWTH_KB = (64 if SANITIZED else 2) << 10


def request(port, stream=True, extra=""):
    body = json.dumps({
        "model": "gpt-4o-mini", "stream": stream,
        "messages": [{"role": "user", "content": "How many?"}]},
        separators=(",", ":"))
    return (f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/json\r\n{extra}"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


def slow_reader():
    world = World(SIZE // 15000 + 1, 0, 15000)
    watch = Watch(world)
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", world.port), 20) as agent:
        agent.settimeout(20)
        agent.sendall(request(world.port))
        time.sleep(3)  # the provider fills whatever takes it
        count, tail, started = 0, b"", time.monotonic()
        while not tail.endswith(b"0\r\n\r\n"):
            data = agent.recv(65536)
            if not data:
                break
            count += len(data)
            tail = (tail + data)[-200:]
            ahead = count / RATE - (time.monotonic() - started)
            if ahead > 0.01:
                time.sleep(ahead)
    most = watch.end()
    print(f"# {count // MIB} MiB in {time.monotonic() - begin:.1f} s, RSS at "
          f"most {most} kB")
    check(f"a stream of {SIZE // MIB} MiB came whole to a slow reader",
          count >= SIZE and b"[DONE]" in tail, (count, tail))
    for name in ("broker", "key"):
        check(f"{name}: less than {MOST_KB >> 10} MiB meanwhile",
              most[name] < MOST_KB, most)
    told, ended = world.stop()
    check("they end in order", ended == 0 and told[0]["running"] == 0, told)


# --- clients that are not good; each returns what it was told ---

async def connect(world):
    return await asyncio.open_connection("127.0.0.1", world.port)


async def trickle(world):
    reader, writer = await connect(world)
    try:
        for byte in request(world.port) * 10:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)
    except OSError:
        pass
    return await reader.read(2000)


async def half_body(world):
    reader, writer = await connect(world)
    writer.write(request(world.port)[:-10])
    await asyncio.sleep(5)
    writer.close()
    return b"half"


async def garbage(world):
    reader, writer = await connect(world)
    writer.write(os.urandom(300) + b"\r\n\r\n")
    return await reader.read(2000)


async def two_lengths(world):
    reader, writer = await connect(world)
    writer.write(request(world.port, extra="Content-Length: 3\r\n"))
    return await reader.read(2000)


async def chunk_overflow(world):
    reader, writer = await connect(world)
    head = request(world.port).split(b"Content-Length")[0]
    writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n"
                 b"fffffffffffffffff\r\n")
    return await reader.read(2000)


async def reset(world):
    """Break off in the middle of a stream."""
    reader, writer = await connect(world)
    writer.write(request(world.port))
    await reader.readuntil(b"data: ")
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()
    return b"reset"


async def leave(world):
    """Ask and go."""
    reader, writer = await connect(world)
    writer.write(request(world.port))
    writer.close()
    return b"left"


async def unread(world):
    """Ask for a stream and read none of it."""
    reader, writer = await connect(world)
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    writer.write(request(world.port))
    await asyncio.sleep(8)
    writer.close()
    return b"unread"


EXPECTED = {trickle: (b"", b" 408 "), half_body: (b"half",),
            garbage: (b"bad_request",), two_lengths: (b"bad_request",),
            chunk_overflow: (b"bad_request",), reset: (b"reset",),
            leave: (b"left",), unread: (b"unread",)}
OTHERS = [kind for kind in EXPECTED if kind is not trickle]


class Hostile:
    def __init__(self, world, seconds):
        self.world, self.until = world, time.monotonic() + seconds
        self.done, self.odd = {}, []

    async def again(self, kind):
        while time.monotonic() < self.until:
            try:
                told = await asyncio.wait_for(kind(self.world), 30)
            except (OSError, asyncio.IncompleteReadError) as error:
                told = repr(error).encode()
            self.done[kind] = self.done.get(kind, 0) + 1
            if not any(word in told for word in EXPECTED[kind]):
                self.odd.append((kind.__name__, told[:200]))
            await asyncio.sleep(0.2)

    async def all(self):
        await asyncio.gather(
            *(self.again(trickle) for _ in range(TRICKLERS)),
            *(self.again(kind) for kind in OTHERS for _ in range(2)))


def load(world, streams, seconds):
    return subprocess.Popen(
        [os.path.join(TOOLS, "load_llm"), f"127.0.0.1:{world.port}", PATH,
         "streams", str(streams), str(seconds), "spread", "5000"],
        stdout=subprocess.PIPE)


def crowd():
    # Ten seconds a stream: each place has several in a minute.
    world = World(20, 500000, 40)
    running = load(world, STREAMS, SECONDS)
    hostile = Hostile(world, SECONDS)
    watch = Watch(world)
    asyncio.run(hostile.all())
    result = json.loads(running.communicate(timeout=60)[0])
    most = watch.end()
    # On a machine that others use as well, whatever sleeps wakes late.
    pace = min(1, len(watch.samples) / (watch.samples[-1][0] / 0.1))
    print("# " + json.dumps({**result, "rss_kb": most, "pace": pace}))
    wanted = STREAMS * (SECONDS // 10 - 1) * pace * (
        0.3 if SANITIZED else 0.8)
    check(f"{STREAMS} streams at one time for {SECONDS} s: all are served",
          result["failed"] == 0 and result["calls"] >= wanted, result)
    check("those that were not good were told so", not hostile.odd and all(
        hostile.done.get(kind, 0) > 0 for kind in EXPECTED),
        (hostile.odd[:5], hostile.done))
    for name in ("broker", "key"):
        early = watch.median(name, SECONDS * 0.4, SECONDS * 0.5)
        late = watch.median(name, SECONDS * 0.9, SECONDS)
        check(f"{name}: its memory does not grow with time",
              late - early < GROWTH_KB, (early, late))
        check(f"{name}: less than {MOST_KB >> 10} MiB with "
              f"{STREAMS} streams", most[name] < MOST_KB, most)
    return world


def settled(world, seconds=30):
    """Memory and descriptors once nobody is there any more."""
    last, stop = None, time.monotonic() + seconds
    while time.monotonic() < stop:
        now = {name: world.files(name) for name in world.pids}
        if now == last:
            break
        last = now
        time.sleep(3)
    return world.figures()


def second_crowd(world):
    """What the first one left is what the second one needs."""
    before = settled(world)
    result = json.loads(load(world, STREAMS, 12).communicate(timeout=60)[0])
    check("a second crowd is served", result["failed"] == 0, result)
    after = settled(world)
    print(f"# (kB, descriptors) after the first crowd {before}, after the "
          f"second {after}")
    check("it leaves no memory behind", all(
        after[name][0] - before[name][0] < GROWTH_KB for name in after))
    (broker, key), ended = world.stop()
    check("no call, reservation or agent is left in the broker",
          broker["running"] == broker["waiting"] == broker["leaving"] == 0
          and broker["reservations"] == 0
          and broker["accepted"] == broker["ended"]
          and broker["descriptor_shortages"] == 0, broker)
    check("each lane is free, and both ends know of the same",
          broker["lanes"] == broker["lanes_idle"] == key["lanes"]
          and broker["lanes"] <= 1024, (broker, key))
    check("each connection to the provider rests",
          key["connections"] == key["idle"] <= 64, key)
    held = {"broker": broker["lanes"] + 1, "ledger": 0,  # 1: the trunk
            "key": key["lanes"] + key["connections"] + 1}
    # The ledger opens its database with the first call.
    check("beside those no descriptor is held", all(
        after[name][1] - held[name] == world.base[name]
        for name in ("broker", "key"))
        and after["ledger"][1] == before["ledger"][1],
        (after, held, world.base))
    check("they end in order", ended == 0, ended)


_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
slow_reader()
second_crowd(crowd())
harness.finish()
