#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The long one: tunnels, LLM streams, an MCP server that lives all the time,
and sandboxes that start and stop, mixed, for --minutes; memory, descriptors
and zombies of each process over time, as an SVG and a verdict: after the
warm-up nothing grows.

  soak.py [--minutes N] [--out FOLDER]"""
import argparse
import json
import os
import statistics
import subprocess
import threading
import time

import broker_world
import crowd
import engine_case
import fault_agent
import fault_world
import harness
import mcp_client
import process_figures as figures
import svg_lines
from harness import check

TOOLS = os.path.join(harness.BUILD, "tests")
WARM = 0.3  # of the time
# What may be more at the end than after the warm-up, of each process.
GROWTH_KB, GROWTH_SHARE, GROWTH_FILES = 2048, 0.05, 16
HELD, STREAMS = 500, 60


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--out", default=os.path.join(
        harness.SOURCE, "build", "soak"))
    return parser.parse_args()


class Soak:
    def __init__(self, minutes):
        self.begin = time.monotonic()
        self.until = self.begin + minutes * 60
        self.samples, self.counts, self.faults = {}, {}, []
        self.watched = {}  # name: pid
        self.lock = threading.Lock()
        self.zombies = []

    def count(self, name, good, detail=""):
        with self.lock:
            row = self.counts.setdefault(name, [0, 0])
            row[0 if good else 1] += 1
            if not good and len(self.faults) < 20:
                self.faults.append((name, str(detail)[:500]))

    def lives(self):
        return time.monotonic() < self.until

    def again(self, name, act, pause):
        """A thread that does act() until the end."""
        def loop():
            while self.lives():
                try:
                    good, detail = act()
                except Exception as error:  # the soak goes on and tells
                    good, detail = False, repr(error)
                self.count(name, good, detail)
                time.sleep(pause)
        thread = threading.Thread(target=loop)
        thread.start()
        return thread

    def sample(self):
        now = time.monotonic() - self.begin
        for name, pid in self.watched.items():
            self.samples.setdefault(name, []).append(
                (now, figures.memory_kb(pid), figures.files(pid)))
        self.zombies.append((now, len(figures.zombies(os.getpid()))))

    def watch(self, seconds):
        while self.lives():
            self.sample()
            time.sleep(seconds)


def program(pid):
    try:
        name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return "?"
    return name.split(" ")[0].removeprefix("memfd:")


def burst(place, mode, slots):
    """Connections one after the other for a second; all are served."""
    running = crowd.load(place.world, place.world.target, mode, slots, 1)
    result = json.loads(running.communicate(timeout=60)[0].splitlines()[-1])
    return result["failed"] == 0 and result["done"] > 0, result


def denied(place):
    running = crowd.load(place.world, "denied.example.test:443", "connect",
                         16, 0.5)
    result = json.loads(running.communicate(timeout=60)[0].splitlines()[-1])
    return result["done"] == 0 and result["failed"] > 0, result


def streams(world):
    done = subprocess.run(
        [os.path.join(TOOLS, "load_llm"), f"127.0.0.1:{world.port}",
         broker_world.PATH, "streams", str(STREAMS), "5", "spread", "1000"],
        stdout=subprocess.PIPE, check=False, timeout=120)
    result = json.loads(done.stdout)
    return result["failed"] == 0 and result["calls"] > 0, result


def started(story):
    """One sandbox from start to end, whose walls stood."""
    story.prepare()
    done = harness.run(*story.words(), env=story.env, timeout=90)
    wrong, ran = story.faults(done.out, done.err)
    return done.code == 0 and ran and not wrong, (wrong, done)


def called(client, server):
    result = client.call("walls", 30)
    text = ((result or {}).get("content") or [{}])[0].get("text") or ""
    lines, _ = server.allowed.take()
    return '"open": []' in text and len(lines) > 0, text or result


def verdict(soak, minutes):
    """A row for each process; True when nothing grew."""
    span = minutes * 60
    print(f"# {'process':26} {'kB then':>9} {'now':>9} {'kB/min':>8} "
          f"{'files then':>10} {'now':>6}")
    for name, rows in sorted(soak.samples.items()):
        late = [row for row in rows if row[0] >= WARM * span]
        if not check(f"{name}: it was there all the time", len(late) >= 6
                     and late[-1][1] > 0, rows[-1:]):
            continue
        third = len(late) // 3
        first, last = late[:third], late[-third:]
        then, now = (statistics.median(row[1] for row in part)
                     for part in (first, last))
        files = [statistics.median(row[2] for row in part)
                 for part in (first, last)]
        apart = (last[len(last) // 2][0] - first[len(first) // 2][0]) / 60
        print(f"# {name:26} {then:9.0f} {now:9.0f} "
              f"{(now - then) / max(apart, 0.01):8.1f} {files[0]:10.0f} "
              f"{files[1]:6.0f}")
        check(f"{name}: its memory does not grow", now - then
              <= max(GROWTH_KB, then * GROWTH_SHARE), (then, now))
        check(f"{name}: its descriptors do not grow",
              files[1] - files[0] <= GROWTH_FILES, files)
    # One that ended a moment ago is not reaped yet; one that stays counts.
    check("no zombie stays", statistics.median(
        count for _, count in soak.zombies) == 0, soak.zombies[-5:])


def draw(soak, minutes, folder):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "soak.svg")
    panels = []
    for title, column, scale in (("resident memory, MiB", 1, 1024),
                                 ("descriptors", 2, 1)):
        panels.append((title, {
            name: [(row[0], row[column] / scale) for row in rows]
            for name, rows in sorted(soak.samples.items())}))
    panels.append(("zombies", {"all processes": soak.zombies}))
    svg_lines.write(path, f"agentnode: a soak of {minutes:g} minutes",
                    panels, [(WARM * minutes * 60, "warm")])
    print(f"# {path}")


def main():
    given = options()
    place, world = crowd.Tunnels("hold"), broker_world.World(10, 100000, 40)
    image = engine_case.image()
    native, container = fault_world.Native(), fault_world.Container(image)
    server = fault_agent.Server(image)
    # Of a package's own, an hour's worth is used up before the end.
    many = {"walls": {"calls_per_minute": 6000, "calls_per_hour": 360000}}
    done = harness.agentnode(server.home, "config", "set",
                             "guard.rate_limits", json.dumps(many))
    check("the server may be called often", done.code == 0, done)
    server.prepare()
    client = mcp_client.Client(
        server.words()[2:], env=server.env)
    if not check("the server answers", "result" in (client.initialize() or {}),
                 client.text()):
        harness.finish()
    held = crowd.load(place.world, place.world.target, "hold", HELD,
                      given.minutes * 60 + 60)
    held.stdout.readline()
    soak = Soak(given.minutes)
    soak.watched = {"egress-proxy": place.pid, **{
        f"llm-{name}" if name != "ledger" else "ledger of the broker": pid
        for name, pid in world.pids.items()}}
    for pid in figures.below(client.process.pid):
        if program(pid).startswith("agentnode"):
            soak.watched[f"server: {program(pid)}"] = pid
    loops = [soak.again("tunnels", lambda: burst(place, "connect", 8), 4),
             soak.again("denied", lambda: denied(place), 5),
             soak.again("streams", lambda: streams(world), 1),
             soak.again("native", lambda: started(native), 1),
             soak.again("container", lambda: started(container), 3),
             soak.again("calls", lambda: called(client, server), 1)]
    soak.watch(max(1.0, given.minutes * 60 / 300))
    for loop in loops:
        loop.join()
    for name, (good, bad) in sorted(soak.counts.items()):
        print(f"# {name}: {good} good, {bad} not")
        check(f"{name}: all were right", good > 0 and bad == 0, [
            one for one in soak.faults if one[0] == name])
    verdict(soak, given.minutes)
    draw(soak, given.minutes, given.out)
    check("the server leaves in order", client.close() == 0, client.text())
    held.kill()
    held.wait()
    place.end()
    _, ended = world.stop()
    check("broker, llm-key and ledger end in order", ended == 0)
    for story in (native, container, server):
        check(f"{story.name}: nothing is left", not story.left())
        story.close()
    harness.finish()


if __name__ == "__main__":
    main()
