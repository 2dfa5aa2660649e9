"""What the benches share: a namespace of their own, peers that are started
and watched, and tables of medians."""
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time


def own_namespace():
    """Run again where lo is ours alone and reno is the default (bbr paces
    loopback)."""
    if os.environ.get("BENCH_INSIDE"):
        return
    os.environ["BENCH_INSIDE"] = "1"
    script = ("ip link set lo up && "
              "sysctl -qw net.ipv4.tcp_congestion_control=reno "
              "net.ipv4.ip_local_port_range='10000 65000' && exec \"$@\"")
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", script, "sh",
                          sys.executable, *sys.argv])


def children(pid):
    """The process and all below it."""
    found = [pid]
    for one in found:
        try:
            with open(f"/proc/{one}/task/{one}/children",
                      encoding="ascii") as file:
                found += [int(p) for p in file.read().split()]
        except OSError:
            pass  # it ended meanwhile
    return found


def running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def cpu_seconds(pids):
    """Time on a core, by the scheduler's own clock."""
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat",
                      encoding="ascii") as file:
                total += int(file.read().split()[0])
    return total / 1e9


def memory_kb(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS"):
                    total += int(line.split()[1])
    return total


class Peer:
    """A proxy under test: how it starts and how it is asked."""
    name = "?"
    core = "0"
    port = 13128

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def spawn(self, *argv, **more):
        """A group, not a session: the scheduler shares cores out among
        sessions before it looks at anything else."""
        pin = ["taskset", "-c", self.core] if self.core else []
        more.setdefault("stdout", subprocess.PIPE)
        self.process = subprocess.Popen(
            [*pin, *argv], stderr=subprocess.DEVNULL, process_group=0,
            **more)

    def pids(self):
        return children(self.process.pid)

    def address(self):
        return f"127.0.0.1:{self.port}"

    def listening(self):
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{self.name} does not listen")

    def stop(self):
        if self.process is None:
            return
        pids = children(self.process.pid)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # One with thousands of sockets keeps its port for a while.
        while any(running(pid) for pid in pids):
            time.sleep(0.02)
        time.sleep(0.1)


class Table:
    """Values of rounds: {(measure, key): {peer: [value, ...]}}."""

    def __init__(self):
        self.rows = {}

    def add(self, measure, peer, figures):
        for key, value in figures.items():
            self.rows.setdefault((measure, key), {}).setdefault(
                peer, []).append(value)

    def medians(self, measure, key):
        return {peer: statistics.median(values) for peer, values in
                self.rows.get((measure, key), {}).items()}

    def report(self, own):
        out = {}
        for measure, key in self.rows:
            medians = self.medians(measure, key)
            print(f"\n{measure}: {key}")
            for peer, value in medians.items():
                ratio = f"  ours/theirs {medians[own] / value:.2f}" \
                    if medians.get(own) is not None and value \
                    and peer != own else ""
                print(f"  {peer:20} {value:12.3f}{ratio}")
            out[f"{measure}.{key}"] = medians
        print("\n" + json.dumps(out))
