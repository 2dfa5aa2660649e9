#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An installation that is killed, or meets a full disk, leaves the lockfile
as it was, no volume that would be taken for a whole one, and a next
installation that works."""
import json
import os
import signal
import subprocess
import time

import engine_case
import harness
import package_registry
from engine_case import image
from harness import check
from internet import DNSServer
from test_ca import TestCA

harness.need("podman", "openssl", "unshare", "mount")
home = harness.folder()
ca = TestCA(harness.folder())
dns = DNSServer({package_registry.NAME: ["127.0.0.21"]})
registry = package_registry.Registry(ca.leaf(package_registry.NAME))
LOCK = os.path.join(home, "agentnode.lock")
IMAGE = image()
VOLUMES = subprocess.run(
    ["podman", "info", "--format={{.Store.VolumePath}}"], check=True,
    capture_output=True, text=True).stdout.strip()


def configure(where=home, **more):
    package_registry.configure(where, registry, dns.address, ca.root, IMAGE,
                               **more)


def words(package, lock=LOCK):
    return [harness.AGENTNODE, "mcp", "install", "--lockfile", lock, "--json",
            package]


def volumes(name):
    out = subprocess.run(
        ["podman", "volume", "ls", "--format={{.Name}}"], check=True,
        capture_output=True, text=True).stdout
    return [v for v in out.split() if "-%s-" % name in v]


def remove(name):
    for volume in volumes(name):
        subprocess.run(["podman", "volume", "rm", "-f", volume], check=False,
                       stdout=subprocess.DEVNULL)


def lock_bytes():
    with open(LOCK, "rb") as file:
        return file.read()


def kill_at(line, delay):
    """Kill the supervisor when it says line (and a little later)."""
    before = lock_bytes()
    process = subprocess.Popen(
        words("npm:huge@1.0.0"), env=harness.environment(home),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seen = False
    for said in process.stderr:
        if said.startswith(line):
            seen = True
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            break
    process.communicate()
    name = "killed at '%s' + %.2f s" % (line, delay)
    check(name + ": reached", seen)
    # It may have come in time: then the entry is there and whole.
    done = '"huge"' in lock_bytes().decode()
    check(name + ": lockfile as before, or installed",
          done or lock_bytes() == before, process.returncode)
    check(name + ": lockfile whole", harness.agentnode(
        home, "lock", "verify", "--lockfile", LOCK).code == 0)
    if done:
        harness.agentnode(home, "remove", "huge", "--lockfile", LOCK)


def killed():
    configure(size="128m")
    result = harness.run(*words("npm:good-server@1.0.0"),
                         env=harness.environment(home), timeout=120)
    check("first installation", result.code == 0, result)
    for line, delay in (("building", 0.0), ("building", 1.0), ("npm:", 0.5),
                        ("sealing", 0.0), ("sealing", 0.15),
                        ("sealing", 0.3)):
        kill_at(line, delay)
    result = harness.run(*words("npm:huge@1.0.0"),
                         env=harness.environment(home), timeout=120)
    check("works afterwards", result.code == 0, result)
    check("one volume", len(volumes("huge")) == 1, volumes("huge"))
    left = [name for name in os.listdir(os.path.join(home, ".agentnode"))
            if name.startswith("tmp") or name.endswith(".tar")]
    check("no temporary file left", not left, left)


def pipes(pid, access):
    """The pipes a process can read (0) or write (1)."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                flags = int(file.read().split("flags:")[1].split()[0], 8)
        except (OSError, IndexError):
            continue
        if link.startswith("pipe:") and flags & os.O_ACCMODE == access:
            found.add(link)
    return found


def gate_killed():
    """What a build says is read by the gate alone; without it the build
    ends, and nothing stays."""
    before = lock_bytes()
    process = subprocess.Popen(
        words("npm:huge@1.0.0"), env=harness.environment(home),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for said in process.stderr:
        if said.startswith("npm:"):
            break
    gate = engine_case.children(process.pid).get("agentnode-gate")
    check("a build has a gate", gate)
    if gate:
        says = pipes(gate, os.O_RDONLY) - pipes(gate, os.O_WRONLY)
        check("the gate reads what the build says", len(says) == 1, says)
        check("the supervisor does not", not says & pipes(
            process.pid, os.O_RDONLY), says)
        os.kill(gate, signal.SIGKILL)
    start = time.monotonic()
    out, error = process.communicate(timeout=60)
    check("without its gate a build ends", process.returncode == 4 and
          json.loads(out)["code"] == "gate_died" and
          time.monotonic() - start < 20, (process.returncode, out, error))
    check("and nothing is installed", lock_bytes() == before
          and not volumes("huge"), volumes("huge"))


def full_home():
    """AGENTNODE_HOME is too small for the tree."""
    small = harness.folder()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700",
                    "tmpfs", small], check=True)
    try:
        configure(small, size="128m")
        lock = os.path.join(home, "other.lock")
        result = harness.run(*words("npm:huge@1.0.0", lock),
                             env=harness.environment(small), timeout=120)
        check("full home", result.code == 4 and
              json.loads(result.out)["code"] == "disk_full", result)
        check("full home: no lockfile", not os.path.exists(lock))
    finally:
        subprocess.run(["umount", small], check=True)


def full_engine():
    """The disk on which the engine keeps volumes is too small."""
    remove("huge")
    before = lock_bytes()
    result = harness.run(
        "unshare", "--mount", "sh", "-c",
        "mount -t tmpfs -o size=16m tmpfs \"$0\" && exec \"$@\"", VOLUMES,
        *words("npm:huge@1.0.0"), env=harness.environment(home), timeout=120)
    check("full engine", result.code == 4 and
          json.loads(result.out)["code"] == "disk_full", result)
    check("full engine: lockfile as before", lock_bytes() == before)
    check("full engine: no volume", not volumes("huge"), volumes("huge"))


try:
    killed()
    harness.agentnode(home, "remove", "huge", "--lockfile", LOCK)
    remove("huge")
    gate_killed()
    if os.geteuid() == 0:
        full_home()
        full_engine()
finally:
    remove("huge")
    remove("good-server")
harness.finish()
