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
    if os.geteuid() == 0:
        full_home()
        full_engine()
finally:
    remove("huge")
    remove("good-server")
harness.finish()
