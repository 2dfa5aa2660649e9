#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A workload's standard streams over the mux wiring against the same program
behind `podman exec -i` (and `docker exec -i`, where a daemon runs), and, as
the yardstick, against inherited descriptors: bytes per second in and out,
and the time of one byte there and back. All in one run, alternating; medians
of the rounds; ratios are ours to theirs.

usage: bench_mux.py [--rounds N] [--megabytes M] [--trips N]

Needs root and the sandbox image. Ours copies each byte through the gate and
init besides, under the walls; exec has no walls at all."""
import argparse
import os
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

# One program for all: "i N" takes N bytes and says so, "o N" gives N, "t N"
# gives back N single bytes; it says when it is there.
INSIDE = """
import os, sys
def take(n):
    while n:
        n -= len(os.read(0, min(n, 1 << 20)))
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


class Way:
    """One running program and its two pipes."""

    def __init__(self, process):
        self.process = process
        self.to, self.back = (process.stdin.fileno(),
                              process.stdout.fileno())
        self.read(1)

    def read(self, count):
        while count:
            got = len(os.read(self.back, min(count, 1 << 20)))
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


def sandbox(wiring):
    home = harness.folder()
    folder = os.path.join(home, ".agentnode")
    os.makedirs(folder, mode=0o700)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"sandbox": {"wiring": "%s"}}' % wiring)
    os.chmod(path, 0o600)
    return Way(engine_case.Case("/usr/bin/python3", "-c", INSIDE,
                                home=home).process)


def engine_exec(engine, container):
    return Way(subprocess.Popen(
        [engine, "exec", "-i", container, "/usr/bin/python3", "-c", INSIDE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE))


def begin(engine, image):
    """A container to exec in; with both versions of control groups mounted
    podman is not shown the newer one, as in a sandbox of ours."""
    run = [engine, "run", "-d", "--rm", "--network=none",
           "--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096",
           "--entrypoint=sleep", image, "3600"]
    if engine == "podman" and os.path.isdir("/sys/fs/cgroup/unified"):
        run = ["unshare", "--mount", "--propagation=slave", "sh", "-c",
               "umount -l /sys/fs/cgroup/unified && exec \"$@\"", "sh",
               *run]
    started = subprocess.run(run, stdout=subprocess.PIPE, text=True,
                             check=True)
    return started.stdout.strip()


def docker_image():
    """An image of the daemon's that has Python; None: no daemon, none."""
    try:
        listed = subprocess.run(
            ["docker", "images", "-q", "--filter",
             "reference=agentnode-sandbox"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (listed.stdout.split() or [None])[0]


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
    print(f"{'way':14} {'in GB/s':>8} {'out GB/s':>9} {'trip us':>8}")
    for name, (up, down, trip) in found.items():
        print(f"{name:14} {up / 1e9:8.2f} {down / 1e9:9.2f}"
              f" {trip * 1e6:8.0f}")
    ours = found["mux"]
    for name, row in found.items():
        if name.endswith("exec -i"):
            print(f"mux to {name}: in {ours[0] / row[0]:.2f}x, out "
                  f"{ours[1] / row[1]:.2f}x, trip {row[2] / ours[2]:.2f}x")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--trips", type=int, default=2000)
    given = parser.parse_args()
    containers, ways = [], {}
    try:
        ways["mux"] = sandbox("mux")
        ways["descriptors"] = sandbox("fd")
        containers.append(("podman", begin("podman", engine_case.image())))
        ways["podman exec -i"] = engine_exec(*containers[-1])
        image = docker_image()
        if image:
            containers.append(("docker", begin("docker", image)))
            ways["docker exec -i"] = engine_exec(*containers[-1])
        show(measure(ways, given))
        for way in ways.values():
            way.end()
    finally:
        for engine, container in containers:
            subprocess.run([engine, "rm", "-f", container],
                           stdout=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main()
