#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload's standard streams over the mux wiring, with Podman and with
Docker, against the same program behind `exec -i` and `run -i` of the same
engine, and behind a connection attached to Docker's daemon (the floor:
nothing of ours in it), and, as the yardstick, against inherited descriptors:
bytes per second in and out, and the time of one byte there and back; then 32
connections of a sandbox at once. All in one run, alternating; medians of the
rounds; ratios are ours to theirs.

usage: bench_mux.py [--rounds N] [--megabytes M] [--trips N] [--streams N]

Needs root, the sandbox image and dockerd, which it starts for itself. exec
and run have no walls and no limits here; ours has both."""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
os.environ.setdefault("AGENTNODE_SOURCE_DIR", SOURCE)
os.environ.setdefault("AGENTNODE_BUILD_DIR",
                      os.path.join(SOURCE, "build", "release"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import engine_case  # noqa: E402
import harness  # noqa: E402
import many_streams  # noqa: E402
from dockerd import Dockerd  # noqa: E402

# One program for all: "i N" takes N bytes and says so, "o N" gives N, "t N"
# gives back N single bytes; it says when it is there.
INSIDE = """
import os, sys
room = memoryview(bytearray(1 << 20))
def take(n):
    while n:
        n -= os.readv(0, [room[:min(n, 1 << 20)]])
def put(n):
    block = bytes(1 << 16)
    while n:
        n -= os.write(1, block[:min(n, 1 << 16)])
os.write(1, b"r")
while True:
    line = b""
    while not line.endswith(b"\\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(0)
        line += byte
    what, count = line.split()
    count = int(count)
    if what == b"i":
        take(count)
        os.write(1, b"d")
    elif what == b"o":
        put(count)
    else:
        for _ in range(count):
            os.write(1, os.read(0, 1))
"""


ROOM = memoryview(bytearray(1 << 20))


class Way:
    """One running program and its two pipes."""

    def __init__(self, process):
        self.process = process
        self.to, self.back = (process.stdin.fileno(),
                              process.stdout.fileno())
        self.read(1)

    def read(self, count):
        while count:
            got = os.readv(self.back, [ROOM[:min(count, 1 << 20)]])
            if got == 0:
                raise RuntimeError("it ended")
            count -= got

    def ask(self, what, count):
        os.write(self.to, b"%s %d\n" % (what, count))

    def upload(self, count):
        block, left = bytes(1 << 16), count
        start = time.monotonic()
        self.ask(b"i", count)
        while left:
            left -= os.write(self.to, block[:min(left, 1 << 16)])
        self.read(1)
        return count / (time.monotonic() - start)

    def download(self, count):
        start = time.monotonic()
        self.ask(b"o", count)
        self.read(count)
        return count / (time.monotonic() - start)

    def trip(self, count):
        times = []
        self.ask(b"t", count)
        for _ in range(count):
            start = time.monotonic()
            os.write(self.to, b"x")
            self.read(1)
            times.append(time.monotonic() - start)
        return statistics.median(times)

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


class Attached(Way):
    """A connection to the daemon, and what it puts between the bytes."""

    def __init__(self, daemon):
        made = daemon("create", "--interactive", "--rm", "--log-driver=none",
                      *Peer.RUN, "--entrypoint=/usr/bin/python3",
                      daemon.image, "-c", INSIDE).stdout.strip()
        self.link = socket.socket(socket.AF_UNIX)
        self.link.connect(daemon.socket)
        self.link.sendall(
            b"POST /containers/%s/attach?stream=1&stdin=1&stdout=1 HTTP/1.1"
            b"\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            b"Content-Length: 0\r\n\r\n" % made.encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self.link.recv(1)
        self.to, self.left, self.head = self.link.fileno(), 0, b""
        daemon("start", made)
        self.read(1)

    def read(self, count):
        while count:
            while self.left == 0:
                self.head += self.link.recv(8 - len(self.head))
                if len(self.head) == 8:
                    self.left = int.from_bytes(self.head[4:], "big")
                    self.head = b""
            got = self.link.recv_into(ROOM[:min(self.left, count, 1 << 20)])
            if got == 0:
                raise RuntimeError("it ended")
            count -= got
            self.left -= got

    def end(self):
        self.link.close()


def home_of(wiring):
    home = harness.folder()
    folder = os.path.join(home, ".agentnode")
    os.makedirs(folder, mode=0o700)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"sandbox": {"wiring": "%s"}}' % wiring)
    os.chmod(path, 0o600)
    return home


def sandbox(home, image=None):
    return Way(engine_case.Case("/usr/bin/python3", "-c", INSIDE,
                                home=home, image_name=image).process)


class Peer:
    """An engine by its own words: one container to exec in, one that is
    attached from the start."""
    RUN = ["--network=none", "--ulimit=nofile=4096:4096",
           "--ulimit=nproc=4096:4096"]

    def __init__(self, engine, image, env=None):
        self.engine, self.image, self.env = engine, image, env
        self.container = None

    def words(self, *words):
        """With both versions of control groups mounted podman is not shown
        the newer one, as in a sandbox of ours."""
        if self.engine == "podman" and os.path.isdir("/sys/fs/cgroup/unified"):
            return ["unshare", "--mount", "--propagation=slave", "sh", "-c",
                    "umount -l /sys/fs/cgroup/unified && exec \"$@\"", "sh",
                    self.engine, *words]
        return [self.engine, *words]

    def way(self, *words):
        return Way(subprocess.Popen(
            self.words(*words, "-c", INSIDE), env=self.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE))

    def exec(self):
        started = subprocess.run(
            self.words("run", "-d", "--rm", *self.RUN, "--entrypoint=sleep",
                       self.image, "600"),
            stdout=subprocess.PIPE, text=True, check=True, env=self.env)
        self.container = started.stdout.strip()
        return self.way("exec", "-i", self.container, "/usr/bin/python3")

    def run(self):
        return self.way("run", "-i", "--rm", "--log-driver=none", *self.RUN,
                        "--entrypoint=/usr/bin/python3", self.image)

    def end(self):
        if self.container:
            subprocess.run([self.engine, "rm", "-f", self.container],
                           stdout=subprocess.DEVNULL, check=False,
                           env=self.env)


def measure(ways, given):
    found = {}
    for _ in range(given.rounds):
        for name, way in ways.items():
            rows = found.setdefault(name, ([], [], []))
            rows[0].append(way.upload(given.megabytes << 20))
            rows[1].append(way.download(given.megabytes << 20))
            rows[2].append(way.trip(given.trips))
    return {name: [statistics.median(row) for row in rows]
            for name, rows in found.items()}


def show(found):
    print(f"{'way':16} {'in GB/s':>8} {'out GB/s':>9} {'trip us':>8}")
    for name, (up, down, trip) in found.items():
        print(f"{name:16} {up / 1e9:8.2f} {down / 1e9:9.2f}"
              f" {trip * 1e6:8.0f}")
    for engine in ("podman", "docker"):
        ours = found["mux " + engine]
        for what in ("exec -i", "run -i", "attached"):
            row = found.get(f"{engine} {what}")
            if row is None:
                continue
            print(f"mux {engine} to its {what}: in {ours[0] / row[0]:.2f}x, "
                  f"out {ours[1] / row[1]:.2f}x, trip "
                  f"{(ours[2] - row[2]) * 1e6:+.0f} us")
    ours, row = found["mux podman"], found["docker exec -i"]
    print(f"mux podman to docker exec -i: in {ours[0] / row[0]:.2f}x, out "
          f"{ours[1] / row[1]:.2f}x, trip {(ours[2] - row[2]) * 1e6:+.0f} us")


def streams(given, daemon):
    homes = {"podman": (home_of("mux"), None),
             "docker": (daemon.home(wiring="mux"), daemon.image)}
    for engine, (home, image) in homes.items():
        for way in ("in", "out"):
            seen, rate = many_streams.run(
                way, given.streams, given.megabytes << 20, home, image)
            print(f"mux {engine}, {given.streams} connections {way}: "
                  f"{rate / 1e9:.2f} GB/s, the furthest from their mean by "
                  f"{many_streams.unfair(seen) * 100:.0f} %")


def begin(ways, peers, daemon):
    ways["mux podman"] = sandbox(home_of("mux"))
    ways["descriptors"] = sandbox(home_of("fd"))
    ways["mux docker"] = sandbox(daemon.home(wiring="mux"), daemon.image)
    ways["docker attached"] = Attached(daemon)
    for peer in peers:
        ways[peer.engine + " exec -i"] = peer.exec()
        ways[peer.engine + " run -i"] = peer.run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--trips", type=int, default=2000)
    parser.add_argument("--streams", type=int, default=32)
    given = parser.parse_args()
    daemon, ways = Dockerd(), {}
    peers = [Peer("podman", engine_case.image()),
             Peer("docker", daemon.image, {
                 "PATH": os.environ["PATH"], "DOCKER_CONFIG": daemon.run,
                 "DOCKER_HOST": "unix://" + daemon.socket})]
    try:
        begin(ways, peers, daemon)
        show(measure(ways, given))
        for way in ways.values():
            way.end()
        streams(given, daemon)
    finally:
        for peer in peers:
            peer.end()
        daemon.end()


if __name__ == "__main__":
    main()
