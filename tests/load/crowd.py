#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Crowds on the real, confined processes, bounded in count and time: idle
tunnels (5,000, then 8,000: two descriptors each of the 20,000 that a process
may have here), a flood of CONNECT attempts of which policy denies every one
while good clients go on, and 1,000 LLM streams. Good clients are served,
memory for each is bounded, and afterwards nothing is held.

  crowd.py [--tunnels N] [--attempts N] [--streams N] [--seconds N]"""
import argparse
import json
import os
import re
import resource
import subprocess
import threading
import time

import broker_world
import harness
import process_figures as figures
import tunnel_client
from harness import check

TOOLS = os.path.join(harness.BUILD, "tests")
UP, UP_PORT = "127.0.0.31", 18444
# What a tunnel may cost in the proxy, and a stream in broker and llm-key.
TUNNEL_KB, STREAM_KB = 4, 28
RATE = 5000  # attempts in a second that are offered


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tunnels", type=int, default=8000)
    parser.add_argument("--attempts", type=int, default=25000)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=5)
    return parser.parse_args()


def sanitized():
    with open(os.path.join(harness.BUILD, "CMakeCache.txt"),
              encoding="utf-8") as file:
        return re.search(r"AGENTNODE_MODE:\w+=asan", file.read()) is not None


def load(world, target, mode, slots, seconds):
    address, port = world.drive.address
    return subprocess.Popen(
        [os.path.join(TOOLS, "load_proxy"), f"{address}:{port}", target, mode,
         str(slots), str(seconds)], stdout=subprocess.PIPE, text=True)


class Tunnels:
    """A proxy and an upstream that keeps what it gets."""

    def __init__(self, mode):
        self.upstream = subprocess.Popen(
            [os.path.join(TOOLS, "load_upstream"), f"{UP}:{UP_PORT}", mode],
            stdout=subprocess.PIPE)
        self.upstream.stdout.readline()
        self.world = tunnel_client.World("--limit", "max_tunnels=20000",
                                         port=UP_PORT)
        self.pid = figures.only_child(self.world.drive.process.pid)
        self.start = self.now()

    def now(self):
        return figures.memory_kb(self.pid), figures.files(self.pid)

    def good(self):
        """One good client: whether it was served."""
        try:
            conn = self.world.tunnel()
            served = conn.recv(10) == b"x"
            conn.close()
            return served
        except (OSError, RuntimeError):
            return False

    def end(self):
        check("the proxy ends in order", self.world.drive.stop() == 0)
        self.upstream.kill()
        self.upstream.wait()


def held(place, count, seconds):
    """count idle tunnels; the memory that each takes."""
    running = load(place.world, place.world.target, "hold", count,
                   seconds + 60)
    begin = time.monotonic()
    line = running.stdout.readline()
    took = time.monotonic() - begin
    opened = check(f"{count} tunnels at one time", line.startswith("held"),
                   line)
    now, files = place.now()
    each = (now - place.start[0]) / count
    print(f"# {count} idle tunnels after {took:.1f} s: {now} kB, {files} "
          f"descriptors, {each:.2f} kB each")
    if opened:
        check(f"{count}: two descriptors each", files - place.start[1]
              >= 2 * count, files)
        check(f"{count}: at most {TUNNEL_KB} kB each",
              sanitized() or each <= TUNNEL_KB, each)
        check(f"{count}: one more is served beside them", place.good())
    running.kill()
    running.wait()
    check(f"{count}: all of them end", harness.wait_until(
        lambda: place.world.stats()["accepted"]
        == place.world.stats()["ended"], 60, 0.5), place.world.stats())
    check(f"{count}: no descriptor is left", harness.wait_until(
        lambda: place.now()[1] - 2 * place.world.stats()["pipes"]
        <= place.start[1], 10, 0.5), (place.start, place.now()))


def tunnels(most):
    place = Tunnels("hold")
    for count in sorted({min(5000, most), most}):
        held(place, count, 5)
    place.end()


def attempts(wanted):
    """Refused ones, as fast as they are answered; at least RATE a second
    are offered: so many are in flight that the proxy is never idle."""
    place = Tunnels("byte")
    check("a good client before", place.good())
    before, begin, made, slow = place.now(), time.monotonic(), 0, 0.0
    served = asked = 0
    while made < wanted and time.monotonic() - begin < 60:
        running = load(place.world, "denied.example.test:443", "connect",
                       512, 2)
        while running.poll() is None:
            start = time.monotonic()
            asked += 1
            served += place.good()
            slow = max(slow, time.monotonic() - start)
        result = json.loads(running.stdout.read())
        made += result["failed"]
        check("not one of them is let through", result["done"] == 0, result)
    seconds = time.monotonic() - begin
    print(f"# {made} denied attempts in {seconds:.1f} s, {made / seconds:.0f} "
          f"a second; {served} of {asked} good clients meanwhile, the slowest "
          f"{slow * 1000:.0f} ms")
    check(f"{wanted} attempts were answered", made >= wanted, made)
    check("good clients were served meanwhile", served == asked > 0,
          (served, asked))
    check("all of them end", harness.wait_until(
        lambda: place.world.stats()["accepted"]
        == place.world.stats()["ended"], 30, 0.5), place.world.stats())
    after = place.now()
    check("neither memory nor descriptors are left", (sanitized() or
          after[0] - before[0] < 16384) and after[1]
          - 2 * place.world.stats()["pipes"] <= place.start[1] + 1,
          (before, after))
    place.end()


def streams(count, seconds):
    """All open at one time, each with its first event, then read on."""
    world = broker_world.World(400, 500000, 40)
    watch = broker_world.Watch(world)
    before, begin = world.figures(), time.monotonic()
    running = subprocess.Popen(
        [os.path.join(TOOLS, "load_llm"), f"127.0.0.1:{world.port}",
         broker_world.PATH, "hold", str(count), str(seconds), "spread",
         "3000"], stdout=subprocess.PIPE, text=True)
    timer = threading.Timer(150, running.kill)
    timer.start()
    line = running.stdout.readline()
    check(f"{count} streams at one time, each with an event",
          line.startswith(f"held {count}"), line)
    took = time.monotonic() - begin
    rest = running.stdout.read()
    running.wait()
    timer.cancel()
    most = watch.end()
    print(f"# {count} streams after {took:.1f} s, " + json.dumps(
        {"rss_kb": most}))
    check("they are read on, none breaks off", rest.startswith("{")
          and json.loads(rest)["failed"] == 0, rest)
    for name in ("broker", "key"):
        each = (most[name] - before[name][0]) / count
        check(f"{name}: at most {STREAM_KB} kB for each stream",
              sanitized() or each <= STREAM_KB, each)
    harness.wait_until(lambda: world.files("broker") < count, 20, 0.5)
    told, ended = world.stop()
    check("no call is left, and they end in order",
          ended == 0 and told[0]["running"] == 0, told)


def main():
    given = options()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    tunnels(given.tunnels)
    attempts(given.attempts)
    streams(given.streams, given.seconds)
    harness.finish()


if __name__ == "__main__":
    main()
