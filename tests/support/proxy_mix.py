"""Clients of the proxy for load: good ones, and hostile ones in a dozen
ways, each of which says whether it was treated as it should be."""
import asyncio
import os
import random
import socket
import struct
import time

import hello_bytes
from tunnel_client import NAME

HELLO = hello_bytes.hello(names=(NAME.encode(),))
FOREIGN = hello_bytes.hello(names=(b"evil.example.test",))


def connect_head(target):
    return (f"CONNECT {target} HTTP/1.1\r\n"
            f"Host: {target}\r\n\r\n").encode()


async def head_of(reader):
    return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)


async def good(world, reader, writer):
    writer.write(connect_head(world.target))
    if b" 200 " not in await head_of(reader):
        return False
    writer.write(HELLO)
    return await asyncio.wait_for(reader.read(10), 10) == b"x"


async def good_in_pieces(world, reader, writer):
    for part in (connect_head(world.target)[:20],
                 connect_head(world.target)[20:]):
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.01)
    if b" 200 " not in await head_of(reader):
        return False
    for at in range(0, len(HELLO), 37):
        writer.write(HELLO[at:at + 37])
        await writer.drain()
    return await asyncio.wait_for(reader.read(10), 10) == b"x"


async def expect(reader, code):
    return code in await asyncio.wait_for(reader.read(2000), 10)


async def denied(_world, reader, writer):
    writer.write(connect_head("evil.example.test:443"))
    return await expect(reader, b"host_not_allowed")


async def garbage(_world, reader, writer):
    writer.write(os.urandom(300) + b"\r\n\r\n")
    return await expect(reader, b"bad_request")


async def long_head(_world, reader, writer):
    writer.write(b"GET http://x/ HTTP/1.1\r\n" + b"A: " + b"a" * 20000)
    return await expect(reader, b"bad_request")


async def half_head(_world, reader, writer):
    writer.write(b"CONNECT api")
    await writer.drain()
    writer.write_eof()
    return await reader.read(10) == b""


async def reset_early(world, reader, writer):
    writer.write(connect_head(world.target))
    await writer.drain()
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return True


async def silent(_world, reader, writer):
    await asyncio.sleep(random.random())
    return True


async def no_hello(world, reader, writer):
    writer.write(connect_head(world.target))
    await head_of(reader)
    await asyncio.sleep(random.random())
    return True


async def not_tls(world, reader, writer):
    writer.write(connect_head(world.target))
    await head_of(reader)
    writer.write(b"SSH-2.0-evil\r\n")
    return await asyncio.wait_for(reader.read(10), 10) == b""


async def foreign_name(world, reader, writer):
    writer.write(connect_head(world.target))
    await head_of(reader)
    writer.write(FOREIGN)
    return (await asyncio.wait_for(reader.read(10), 10))[:1] == b"\x15"


async def does_not_read(world, reader, writer):
    writer.write(connect_head(world.target) + HELLO + bytes(200000))
    await asyncio.sleep(0.2)
    return True


HOSTILE = [denied, garbage, long_head, half_head, reset_early, silent,
           no_hello, not_tls, foreign_name, does_not_read]


async def one(world, kind, failed):
    try:
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(*world.drive.address), 10)
    except OSError as error:
        failed.append((kind.__name__, repr(error)))
        return
    try:
        if not await kind(world, reader, writer):
            failed.append((kind.__name__, "answer"))
    except (OSError, asyncio.IncompleteReadError,
            asyncio.TimeoutError) as error:
        if kind in (good, good_in_pieces):
            failed.append((kind.__name__, repr(error)))
    finally:
        writer.close()


async def mix(world, count, at_once, seconds, limit):
    """Run count connections, evenly over that many seconds (or as fast as
    they go, with 0); those that failed, and how many there were."""
    failed, started, begin = [], 0, time.monotonic()
    gate = asyncio.Semaphore(at_once)
    tasks = set()

    async def bounded(kind):
        async with gate:
            await one(world, kind, failed)

    generator = random.Random(7)
    while started < count and time.monotonic() < begin + limit:
        kind = generator.choice([good, good, good, good_in_pieces]) \
            if generator.random() < 0.5 else generator.choice(HOSTILE)
        task = asyncio.create_task(bounded(kind))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        started += 1
        due = begin + started * seconds / count
        await asyncio.sleep(max(due - time.monotonic(),
                                0.005 if len(tasks) > 4 * at_once else 0))
    while tasks:
        await asyncio.wait(tasks, timeout=5)
    return failed, started


def drained(world):
    stats = world.stats()
    return all(stats[k] == 0
               for k in ("waiting", "opening", "open", "leaving"))
