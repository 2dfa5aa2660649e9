#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Docker: whoever dies, the workload dies with it within a second, and the
daemon's record is gone within five, or with the next start when the daemon
died too. Nothing is left: no container, no process, no control group."""
import glob
import os
import signal
import subprocess
import time

import engine_case
import harness
from dockerd import Dockerd, dead, inside
from harness import check

daemon = Dockerd()
HOME = daemon.home()
ENV = harness.environment(HOME)


def start():
    """A sleeping workload: (supervisor, container id, pids inside, shim)."""
    process = subprocess.Popen(
        [harness.AGENTNODE, "exec", "--", "/bin/sleep", "300"], env=ENV,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    found = {}

    def runs():
        found["ids"] = daemon.containers()
        found["pids"] = inside(found["ids"][0]) if found["ids"] else []
        return any("sleep" in engine_case.text(f"/proc/{pid}/cmdline")
                   for pid in found["pids"])

    if not engine_case.wait(30, runs):
        process.kill()
        print("missing part: a sandbox that starts:",
              process.communicate()[1][-800:], found)
        daemon.end()
        raise SystemExit(1)
    init = min(found["pids"])
    stat = engine_case.text(f"/proc/{init}/stat").rpartition(")")[2].split()
    return process, found["ids"][0], found["pids"], int(stat[1])


def groups(container):
    return [path for path in glob.glob("/sys/fs/cgroup/**/" + container,
                                       recursive=True)]


def over(what, container, pids, since, record=5):
    gone = engine_case.wait(1, lambda: all(dead(pid) for pid in pids))
    check(f"{what}: the workload is dead within a second", gone,
          time.monotonic() - since)
    left = engine_case.wait(
        record, lambda: container not in daemon.containers())
    check(f"{what}: the daemon's record is gone within {record} s", left,
          daemon.containers())
    check(f"{what}: no control group is left",
          engine_case.wait(2, lambda: not groups(container)),
          groups(container))


def kill_supervisor():
    process, container, pids, _ = start()
    since = time.monotonic()
    process.kill()
    over("the supervisor killed", container, pids, since)
    process.communicate()


def kill_shim():
    process, container, pids, shim = start()
    since = time.monotonic()
    os.kill(shim, signal.SIGKILL)
    over("the monitor killed", container, pids, since)
    out = process.communicate(timeout=30)[1].decode()
    check("the monitor killed: the caller is told",
          process.returncode != 0 and "engine_died" in out, out)


def kill_init():
    process, container, pids, _ = start()
    since = time.monotonic()
    os.kill(min(pids), signal.SIGKILL)
    over("init killed", container, pids, since)
    check("init killed: the caller is told",
          "init_died" in process.communicate(timeout=30)[1].decode())


def stop_in_order():
    process, container, pids, _ = start()
    since = time.monotonic()
    process.send_signal(signal.SIGTERM)
    over("ended in order", container, pids, since)
    process.communicate(timeout=30)


def kill_daemon():
    """The daemon is in nobody's path: the workload goes on without it, and
    what it still knows afterwards is removed by the next start."""
    process, container, pids, _ = start()
    daemon.kill()
    time.sleep(0.2)
    alive = [pid for pid in pids if not dead(pid)]
    process.kill()
    check("the daemon and the supervisor killed: the workload is dead within "
          "a second",
          engine_case.wait(1, lambda: all(dead(pid) for pid in pids)), alive)
    process.communicate()
    daemon.start()
    done = harness.run(harness.AGENTNODE, "exec", "--", "/bin/true", env=ENV,
                       timeout=60)
    check("the daemon back: the next start works", done.code == 0, done)
    check("and has removed what was left", container not in
          daemon.containers(), daemon.containers())


def gc():
    daemon("create", "--name=agentnode-exec-x-00112233445566ff",
           "--label=agentnode.run=00112233445566ff", daemon.image, "/none",
           check=True)
    daemon("create", "--name=somebody-else", daemon.image, "/none", check=True)
    daemon("volume", "create", "--label=agentnode.tmp=00112233445566ff",
           "agentnode-left", check=True)
    done = harness.run(harness.AGENTNODE, "sandbox", "gc", env=ENV)
    check("gc removes what no living run holds", done.code == 0 and
          "agentnode-exec-x-00112233445566ff" in done.out and
          "agentnode-left" in done.out, done)
    check("and nothing else", len(daemon.containers()) == 1 and
          "agentnode-left" not in daemon.volumes(), daemon.containers())
    check("places of control sockets that nobody holds go too",
          not [one for one in daemon.volumes() if "slot" in one],
          daemon.volumes())
    daemon("rm", "--force", "somebody-else")


try:
    kill_supervisor()
    kill_shim()
    kill_init()
    stop_in_order()
    kill_daemon()
    gc()
finally:
    daemon.end()
harness.finish()
