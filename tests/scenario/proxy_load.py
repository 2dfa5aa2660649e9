"""Load on the real, confined proxy: at least 10,000 connections over at
least 60 s, half of them good, the others hostile in a dozen ways; then 2,000
clients that trickle their heads. Good clients are all served, memory and
descriptors are bounded meanwhile, and afterwards no descriptor, no child and
no memory is left of it."""
import asyncio
import os
import re
import resource
import socket
import subprocess
import time

import harness
import tunnel_client
from harness import check
from proxy_mix import drained, mix

def sanitized():
    cache = os.path.join(harness.BUILD, "CMakeCache.txt")
    with open(cache, encoding="utf-8") as file:
        return re.search(r"AGENTNODE_MODE:\w+=asan", file.read()) is not None


# Paced: COUNT connections spread over SECONDS. A slow machine takes longer,
# up to LIMIT_S.
COUNT, SECONDS = (1500, 20) if sanitized() else (10500, 60)
AT_LEAST = 1500 if sanitized() else 10000
LIMIT_S = 150


def raise_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Proxy:
    """The process behind drive_proxy, seen from /proc."""

    def __init__(self, world):
        parent = world.drive.process.pid
        with open(f"/proc/{parent}/task/{parent}/children",
                  encoding="ascii") as file:
            self.pid = int(file.read().split()[0])

    def files(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def memory_kb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def children(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/children",
                  encoding="ascii") as file:
            return file.read().split()

    def figures(self):
        return {"files": self.files(), "memory_kb": self.memory_kb(),
                "children": len(self.children())}

    async def watch(self, most, until):
        """Keep the most of each figure in `most`, until that time."""
        while time.monotonic() < until[0]:
            for key, value in self.figures().items():
                most[key] = max(most.get(key, 0), value)
            await asyncio.sleep(0.2)


async def watched_mix(world, proxy):
    """The load, and the most that the proxy had of anything meanwhile."""
    most, until = {}, [time.monotonic() + 2 * LIMIT_S]
    watch = asyncio.create_task(proxy.watch(most, until))
    failed, started = await mix(world, COUNT, 64, SECONDS, LIMIT_S)
    until[0] = 0
    await watch
    return failed, started, most


def mixed_load(world, proxy):
    asyncio.run(mix(world, COUNT // 10, 64, 0, 20))  # warm
    check("warmed up", harness.wait_until(lambda: drained(world), 15, 0.2),
          world.stats())
    before = proxy.figures()
    begin = time.monotonic()
    failed, started, most = asyncio.run(watched_mix(world, proxy))
    seconds = time.monotonic() - begin
    print(f"# {started} connections in {seconds:.1f} s")
    check(f"{AT_LEAST} connections and {SECONDS} s",
          started >= AT_LEAST and seconds >= SECONDS, (started, seconds))
    check("every good client was served, every refusal was the right one",
          not failed, failed[:10])
    check("all of them end", harness.wait_until(
        lambda: drained(world), 15, 0.2), world.stats())
    after, stats = proxy.figures(), world.stats()
    for name, row in (("before", before), ("at most", most),
                      ("after", after)):
        print(f"# {name}: {row['memory_kb']} kB, {row['files']} "
              f"descriptors, {row['children']} children")
    left_behind(before, most, after, stats)


def left_behind(before, most, after, stats):
    check("as many ended as were accepted",
          stats["accepted"] == stats["ended"], stats)
    # Idle pipes are kept for the next stream, at most 64.
    check("no descriptor is left", after["files"] - stats["pipes"] * 2
          <= before["files"], (before, after, stats))
    # 64 at once: two sockets and a pipe each, and as many that linger.
    check("descriptors are bounded meanwhile",
          most["files"] <= before["files"] + 64 * 4 + 128,
          (before, most))
    check("memory is bounded meanwhile", most["memory_kb"] -
          before["memory_kb"] < (131072 if sanitized() else 16384),
          (before, most))
    check("and afterwards", after["memory_kb"] - before["memory_kb"] <
          (65536 if sanitized() else 4096), (before, after))
    check("no child is left, and none was",
          most["children"] == after["children"] == 0, (most, after))


def trickle(world, count):
    """Connections that send a byte of a head now and then."""
    conns = []
    for _ in range(count):
        conn = socket.socket()
        conn.setblocking(False)
        conn.connect_ex(world.drive.address)
        conns.append(conn)
    return conns


def poke(conns):
    for conn in conns:
        try:
            conn.send(b"C")
        except OSError:
            pass


def slowloris(world, proxy):
    raise_files()
    memory = proxy.memory_kb()
    conns = trickle(world, 2000)
    served, slowest, begin = 0, 0.0, time.monotonic()
    for _ in range(20):
        poke(conns)
        start = time.monotonic()
        try:
            conn = world.tunnel()
            served += conn.recv(10) == b"x"
            conn.close()
        except (OSError, RuntimeError):
            pass
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.05)
    print(f"# slowest good client {slowest * 1000:.0f} ms, "
          f"{time.monotonic() - begin:.1f} s in all")
    check("2,000 slow heads do not stop a good client", served == 20, served)
    check("nor slow it down", slowest < (5 if sanitized() else 2), slowest)
    grown = proxy.memory_kb() - memory
    print(f"# 2,000 slow heads took {grown} kB")
    check("they cost little memory",
          grown < (200000 if sanitized() else 16384), grown)
    for conn in conns:
        conn.close()
    check("and are gone when they go", harness.wait_until(
        lambda: drained(world), 15, 0.2), world.stats())


def main():
    upstream = subprocess.Popen(
        [os.path.join(harness.BUILD, "tests", "load_upstream"),
         "127.0.0.31:18443", "byte"], stdout=subprocess.PIPE)
    upstream.stdout.readline()
    world = tunnel_client.World(
        "--limit", "idle_timeout_s=5", "--limit", "head_timeout_ms=5000",
        "--limit", "hello_timeout_ms=5000", port=18443)
    proxy = Proxy(world)
    mixed_load(world, proxy)
    slowloris(world, proxy)
    check("the proxy ends in order", world.drive.stop() == 0)
    upstream.kill()
    upstream.wait()
    harness.finish()


main()
