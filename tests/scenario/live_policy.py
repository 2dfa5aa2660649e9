#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""While a sandbox runs, its policy follows the configuration down and never
up: a tunnel whose host is denied is reset within a second, after the record;
what is allowed later has no effect; a file that became unreadable ends the
run."""
import json
import os
import select
import time

import engine_case
import harness
import internet
import machine_pace
import test_ca
import tree_bytes
from harness import agentnode, check

NAMES = {name + ".live.test": f"127.0.0.{41 + i}"
         for i, name in enumerate("abcd")}


def echo(conn):
    while True:
        data = conn.recv(4096)
        if not data:
            return
        conn.sendall(data)


class World:
    def __init__(self):
        self.home = harness.folder()
        ca = test_ca.TestCA(harness.folder())
        self.dns = internet.DNSServer({k: [v] for k, v in NAMES.items()})
        pem = ca.leaf("*.live.test")
        self.servers = [internet.TLSServer(pem, address, 443, echo)
                        for address in NAMES.values()]
        self.folder = os.path.join(self.home, ".agentnode")
        os.makedirs(self.folder, mode=0o700)
        self.write(json.dumps({"egress": {
            "resolver": self.dns.address,
            "allow": ["d.live.test"],
            "extra_ranges": {k: [v + "/32"] for k, v in NAMES.items()}}}))

    @property
    def config(self):
        return os.path.join(self.folder, "config.json")

    def write(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.config, 0o600)

    def set(self, *words):
        result = agentnode(self.home, "config", *words)
        if result.code != 0:
            check("config " + " ".join(words), False, result)
        return time.monotonic()

    def log(self, run):
        path = os.path.join(self.folder, "log",
                            "agentnode-egress-proxy.jsonl")
        return [line for line in harness.json_lines(path)
                if line.get("sandbox") == run]

    def records(self):
        result = agentnode(self.home, "audit", "show", "--json")
        return json.loads(result.out)["records"]


class Inside:
    """The sandbox and its tunnels."""

    def __init__(self, world):
        stream = os.path.join(harness.folder(), "t.tree")
        with open(os.path.join(harness.SOURCE, "tests", "support",
                               "inside_tunnels.py"), "rb") as file:
            script = file.read()
        with open(stream, "wb") as file:
            file.write(tree_bytes.pack({"tunnels.py": script}))
        self.case = engine_case.Case(
            "python3", "/t/tunnels.py", home=world.home,
            options=["--tmpfs", "/t:1048576", "--import", f"/t:{stream}",
                     "--allow", "a.live.test", "--allow", "b.live.test",
                     "--configured", "d.live.test", "--wall", "120"])
        self.events, self.rest = [], b""
        if not self.wait(lambda e: "ready" in e, 30):
            check("the sandbox starts", False, self.case.log()[-2000:])
            harness.finish()

    def wait(self, condition, seconds):
        """The first event that fits, and when it came."""
        end = time.monotonic() + seconds
        out = self.case.process.stdout
        while True:
            for event in self.events:
                if condition(event[0]):
                    self.events.remove(event)
                    return event
            left = end - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                return None
            data = os.read(out.fileno(), 65536)
            if not data:
                return None
            lines = (self.rest + data).split(b"\n")
            self.rest = lines.pop()
            now = time.monotonic()
            self.events += [(json.loads(line), now) for line in lines]

    def say(self, text):
        self.case.process.stdin.write(text.encode() + b"\n")
        self.case.process.stdin.flush()

    def open(self, key, way, name):
        self.say(f"open {key} {way} {name}.live.test")
        event = self.wait(lambda e: e.get("open") == key, 10)
        return event[0]["answer"] if event else "no answer"

    def echo(self, key):
        self.say("echo " + key)
        event = self.wait(lambda e: e.get("echo") == key, 10)
        return bool(event and event[0]["ok"])

    def ended(self, key, since, name):
        event = self.wait(lambda e: e.get("ended") == key, 5)
        late = event[1] - since if event else None
        check(f"{name}: {key} is reset within a second", event
              and late < 1.0 and event[0]["how"] == "ConnectionResetError",
              (late, event))
        if event:
            print(f"# {key}: {late * 1000:.0f} ms after the command")


def narrowing(world, inside):
    run = inside.case.id()
    for key, way, name in (("a1", "proxy", "a"), ("a2", "direct", "a"),
                           ("b1", "proxy", "b"), ("d1", "proxy", "d")):
        check(f"tunnel {key} is open", inside.open(key, way, name) == "ok"
              and inside.echo(key))
    since = world.set("set", "egress.deny", "a.live.test")
    inside.ended("a1", since, "deny")
    inside.ended("a2", since, "deny")
    check("the other tunnels live", inside.echo("b1") and inside.echo("d1"))
    check("a new one is host_denied",
          inside.open("a3", "proxy", "a") == "host_denied")
    check("nothing is looked up again", sum(
        q[0].startswith("a.") for q in world.dns.queries) <= 4,
        world.dns.queries)
    since = world.set("set", "egress.allow", "c.live.test")
    inside.ended("d1", since, "egress.allow without it")
    check("a new one is host_not_allowed",
          inside.open("d2", "proxy", "d") == "host_not_allowed")
    check("what was allowed meanwhile is not reached",
          inside.open("c1", "proxy", "c") == "host_not_allowed")
    codes = [line["code"] for line in world.log(run)
             if line.get("event") == "connection"]
    check("the log names the codes", codes.count("host_denied") >= 3
          and codes.count("host_not_allowed") >= 3, codes)


def widening(world, inside):
    world.set("unset", "egress.deny")
    world.set("set", "egress.allow", "a.live.test,c.live.test,d.live.test")
    time.sleep(0.5)
    for key, name, code in (("a4", "a", "host_denied"),
                            ("c2", "c", "host_not_allowed"),
                            ("d3", "d", "host_not_allowed")):
        check(f"widening has no effect: {name}",
              inside.open(key, "proxy", name) == code)
    check("and ends nothing", inside.echo("b1"))
    before = len(world.records())
    for i in range(20):
        world.set("set", "egress.max_tunnels", str(100 + i))
    time.sleep(0.3)
    check("what narrows nothing is not recorded",
          len(world.records()) == before)
    ranges = {k: [v + "/32"] for k, v in NAMES.items() if k[0] != "b"}
    since = world.set("set", "egress.extra_ranges", json.dumps(ranges))
    inside.ended("b1", since, "a range that is gone")
    check("a range that is gone: a new one is refused",
          inside.open("b2", "proxy", "b") == "address_not_allowed")
    world.set("set", "egress.extra_ranges", json.dumps(
        {**ranges, "b.live.test": ["127.0.0.0/8"]}))
    time.sleep(0.5)
    check("and does not come back",
          inside.open("b3", "proxy", "b") == "address_not_allowed")


def records(world, run):
    found = [r for r in world.records() if r["event"] == "policy_replace"]
    check("each narrowing is one record of this run", len(found) == 3
          and all(r["fields"]["run"] == run for r in found), found)
    fields = [r["fields"] for r in found] + [{}] * 3
    check("the deny is recorded",
          fields[0].get("deny_added") == ["a.live.test"], fields[0])
    check("the removed entry is recorded",
          fields[1].get("allow_removed") == ["d.live.test:443"], fields[1])
    check("the range is recorded", [
        r["name"] for r in fields[2].get("ranges_removed", [])]
        == ["b.live.test"], fields[2])
    check("the chain verifies",
          agentnode(world.home, "audit", "verify").code == 0)


def unreadable(world, name, spoil):
    """A run that ends because of spoil(); the configuration is put back."""
    with open(world.config, encoding="utf-8") as file:
        good = file.read()
    inside = Inside(world)
    check(f"{name}: a tunnel", inside.open("b", "proxy", "b") == "ok"
          and inside.echo("b"))
    # For a moment only: an editor writes in place.
    world.write('{"egress":')
    time.sleep(0.2)
    world.write(good)
    time.sleep(1.2)
    check(f"{name}: half a file for a moment ends nothing",
          inside.case.process.poll() is None and inside.echo("b"))
    deadline = machine_pace.Deadline(3)
    spoil()
    # Its standard input stays open: it does not end by itself.
    in_time = deadline.wait(lambda: inside.case.process.poll() is not None)
    _, outcome = inside.case.finish(20)
    check(f"{name}: the run ends with config_unreadable",
          outcome.get("code") == "config_unreadable"
          and outcome.get("removed"), outcome)
    check(f"{name}: within three seconds", in_time, deadline)
    print(f"# {deadline}: {outcome.get('detail')}")
    world.write(good)


def main():
    harness.need("podman", "openssl")
    world = World()
    inside = Inside(world)
    run = inside.case.id()
    narrowing(world, inside)
    widening(world, inside)
    inside.case.process.stdin.close()
    inside.case.process.stdin = None
    _, outcome = inside.case.finish()
    check("the run ends in order", outcome.get("exit_code") == 0
          and outcome.get("code") == "" and outcome.get("removed"), outcome)
    records(world, run)
    world.set("set", "egress.extra_ranges", json.dumps(
        {k: [v + "/32"] for k, v in NAMES.items()}))
    unreadable(world, "malformed",
               lambda: world.write('{"egress":{"deny":["a b"]}}'))
    unreadable(world, "unknown key", lambda: world.write('{"egres":{}}'))
    unreadable(world, "writable by others",
               lambda: os.chmod(world.config, 0o666))
    harness.finish()


if __name__ == "__main__":
    main()
