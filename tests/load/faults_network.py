#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bad network around the real, confined proxy, in a network namespace of
the test's own: packets that are lost, a relay that delays, an interface that
goes down, and name servers that lie, stall or answer hugely. What arrives is
right or nothing does; nobody is dialled whom the policy denies; everything
ends in its time; the proxy lives and serves the next one."""
import concurrent.futures
import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import harness
import hello_bytes
import internet
import process_figures as figures
import tunnel_client
from harness import check

NAME, ADDRESS = tunnel_client.NAME, tunnel_client.ADDRESS
LIMITS = ("--limit", "idle_timeout_s=3", "--limit", "dial_timeout_ms=2000",
          "--limit", "head_timeout_ms=3000", "--limit",
          "hello_timeout_ms=3000")
# A lookup may take its own time limit, then dialling; the rest is slack.
ANSWER_S = 20


def own_network():
    harness.need("ip", "nft")
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(0x40000000) != 0:
        print("missing part: root (for a network namespace)")
        sys.exit(1)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def rules(text):
    subprocess.run(["nft", "-f", "-"], input=text.encode(), check=True)


def echo(conn):
    while True:
        data = conn.recv(65536)
        if not data:
            return
        conn.sendall(data)


def drained(world):
    stats = world.stats()
    return stats["accepted"] == stats["ended"]


def lives(label, world, pid):
    check(f"{label}: all of them end", harness.wait_until(
        lambda: drained(world), 30, 0.2), world.stats())
    check(f"{label}: the proxy lives and is confined still",
          world.drive.process.poll() is None and pid in figures.below(
              world.drive.process.pid))


def served(world):
    try:
        conn = world.tunnel()
        conn.settimeout(10)
        hello = hello_bytes.hello(names=(NAME.encode(),))
        got = b""
        while len(got) < len(hello):
            more = conn.recv(65536)
            if not more:
                return False
            got += more
        conn.sendall(b"ping")
        fine = got == hello and conn.recv(10) == b"ping"
        conn.close()
        return fine
    except (OSError, RuntimeError):
        return False


# ---- lost packets -----------------------------------------------------------------

def transfer(world, wanted, results):
    """One tunnel, wanted bytes there and back: right, cut or wrong."""
    try:
        conn = world.tunnel()
        conn.settimeout(30)
        skip = len(hello_bytes.hello(names=(NAME.encode(),)))
        sent = os.urandom(wanted)
        threading.Thread(target=lambda: conn.sendall(sent),
                         daemon=True).start()
        got = b""
        while len(got) < skip + wanted:
            more = conn.recv(65536)
            if not more:
                break
            got += more
        whole = got[skip:]
        results.append("right" if whole == sent else
                       "cut" if sent.startswith(whole) else "wrong")
        conn.close()
    except (OSError, RuntimeError):
        results.append("cut")


def lost_packets():
    world = tunnel_client.World(*LIMITS, behaviour=echo)
    pid = figures.only_child(world.drive.process.pid)
    rules(f"""table inet faults {{
  chain in {{ type filter hook input priority 0;
    ip daddr {ADDRESS} tcp dport {world.port} numgen random mod 100 < 5 drop
    ip saddr {ADDRESS} tcp sport {world.port} numgen random mod 100 < 5 drop
  }}
}}""")
    results = []
    threads = [threading.Thread(target=transfer, args=(world, 100000, results))
               for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    rules("flush ruleset")
    print(f"# 5 % lost: {results.count('right')} right, "
          f"{results.count('cut')} cut of {len(threads)}")
    check("lost packets: every transfer ended", len(results) == len(threads),
          results)
    check("lost packets: not one byte is wrong", "wrong" not in results)
    check("lost packets: most arrive", results.count("right")
          > len(threads) // 2, results)
    rules(f"""table inet faults {{
  chain in {{ type filter hook input priority 0;
    ip daddr {ADDRESS} tcp dport {world.port} drop
  }}
}}""")
    begin = time.monotonic()
    _, head = world.ask(timeout=ANSWER_S)
    check("no packet arrives: refused with a code, in its time",
          tunnel_client.reason(head) in ("dial_failed", "timeout")
          and time.monotonic() - begin < ANSWER_S, head)
    rules("flush ruleset")
    lives("lost packets", world, pid)
    check("lost packets: the next one is served", served(world))
    check("the proxy ends in order", world.drive.stop() == 0)


# ---- delay, and links that go down ---------------------------------------------------

def delaying(conn):
    """Everything comes back late, in small pieces."""
    while True:
        data = conn.recv(65536)
        if not data:
            return
        for at in range(0, len(data), 200):
            time.sleep(0.05)
            conn.sendall(data[at:at + 200])


def links_down():
    world = tunnel_client.World(*LIMITS, behaviour=delaying)
    pid = figures.only_child(world.drive.process.pid)
    check("a relay that delays: served all the same", served(world))
    conns = [world.tunnel() for _ in range(20)]
    subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
    time.sleep(4)  # longer than idle_timeout_s
    check("link down: idle tunnels end in their time", harness.wait_until(
        lambda: drained(world), 10, 0.2), world.stats())
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for conn in conns:
        conn.close()
    lives("link down", world, pid)
    check("link up again: the next one is served", harness.wait_until(
        lambda: served(world), 10, 0.5))
    check("the proxy ends in order", world.drive.stop() == 0)


# ---- name servers ---------------------------------------------------------------------

class Server(internet.DNSServer):
    """answer() is bent by kind."""
    kind = "good"

    def answer(self, data):
        good = super().answer(data)
        if good is None or self.kind == "good":
            return good
        return getattr(self, "_" + self.kind)(data, good)

    @staticmethod
    def _other_id(_, good):
        return struct.pack("!H", struct.unpack("!H", good[:2])[0] ^ 1
                           ) + good[2:]

    @staticmethod
    def _other_question(_, good):
        return good.replace(b"\x03api", b"\x03apj")

    @staticmethod
    def _garbage(data, _):
        return data[:2] + os.urandom(500)

    @staticmethod
    def _short(_, good):
        return good[:11]

    @staticmethod
    def _counts(_, good):
        """More answers promised than there are."""
        return good[:6] + b"\xff\xff" + good[8:]

    @staticmethod
    def _loop(_, good):
        """A name that points at itself."""
        return good[:12] + b"\xc0\x0c" + good[14:]

    @staticmethod
    def _truncated(_, good):
        """Asks for TCP, and answers nothing there either."""
        return good[:2] + b"\x83\x80" + good[4:6] + bytes(6) + good[12:]

    def _silence(self, *_):
        return None

    def _huge(self, data, _):
        """As many addresses as fit into 64 KiB, by UDP what fits there; all
        of them somewhere that the policy denies."""
        at = 12
        while data[at]:
            at += 1 + data[at]
        question = data[12:at + 5]
        count = 4000
        row = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes(
            [10, 0, 0, 7])
        return data[:2] + struct.pack("!HHHHH", 0x8180, 1, count, 0, 0
                                      ) + question + row * count

    def _private(self, data, good):
        return good.replace(socket.inet_aton(ADDRESS),
                            socket.inet_aton("10.0.0.7"))

    def _loopback(self, data, good):
        return good.replace(socket.inet_aton(ADDRESS),
                            socket.inet_aton("127.0.0.1"))

    def _metadata(self, data, good):
        return good.replace(socket.inet_aton(ADDRESS),
                            socket.inet_aton("169.254.169.254"))


LATE, BAD, DENIED = {"timeout"}, {"timeout", "lookup_failed"}, {
    "address_not_allowed"}
# What a client may be told when the name server answers so.
KINDS = {"other_id": LATE, "other_question": LATE, "garbage": BAD,
         "short": BAD, "counts": BAD, "loop": BAD, "truncated": BAD,
         "silence": LATE, "huge": BAD | DENIED, "private": DENIED,
         "loopback": DENIED, "metadata": DENIED}


class BadNames:
    """A proxy whose name server answers in one bad way, and a listener
    where the lies may point to."""

    def __init__(self, kind):
        self.kind, self.trap = kind, socket.create_server(("127.0.0.1", 0))
        self.server = Server({NAME: [ADDRESS]}, ttl=0)
        self.server.kind = kind
        other = f"{NAME}:{self.trap.getsockname()[1]}"
        self.world = tunnel_client.World(
            *LIMITS, behaviour=echo, allow=[other], dns=self.server)
        self.targets = (self.world.target, other)
        self.pid = figures.only_child(self.world.drive.process.pid)

    def codes(self):
        """What two clients are told, who ask at the same time."""
        def ask(target):
            try:
                conn, head = self.world.ask(target, timeout=ANSWER_S)
                conn.close()
                return tunnel_client.reason(head) or "let through"
            except OSError as error:
                return repr(error)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return set(pool.map(ask, self.targets))

    def reached(self):
        self.trap.settimeout(0.1)
        try:
            self.trap.accept()
            return True
        except OSError:
            return False

    def close(self):
        self.world.drive.stop()
        self.server.close()
        self.trap.close()


def bad_names(kind):
    case, label = BadNames(kind), f"name server {kind}"
    memory, begin = figures.memory_kb(case.pid), time.monotonic()
    codes = case.codes()
    print(f"# {label}: {', '.join(codes)} after "
          f"{time.monotonic() - begin:.1f} s")
    check(f"{label}: refused with its code", codes <= KINDS[kind], codes)
    check(f"{label}: nobody else was dialled", not case.reached())
    grown = figures.memory_kb(case.pid) - memory
    check(f"{label}: memory is bounded", grown < 8192, grown)
    case.server.kind = "good"
    check(f"{label}: with a good one the next is served", harness.wait_until(
        lambda: served(case.world), 15, 0.5))
    lives(label, case.world, case.pid)
    case.close()


def name_servers():
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(bad_names, KINDS))


PARTS = {"lost": lost_packets, "down": links_down, "names": name_servers}
own_network()
for part in sys.argv[1:] or PARTS:
    started = time.monotonic()
    PARTS[part]()
    print(f"# {part}: {time.monotonic() - started:.1f} s")
harness.finish()
