#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start to exit of `true` in the native boundary, against `bwrap
--unshare-all` with the same binds (and neither filter nor Landlock nor
limits nor a record) and against `srt true` of npm's
@anthropic-ai/sandbox-runtime when it is found in PATH or named by SRT. The
ways take turns, so that the machine's other load falls on all; beside the
time to the end the time on a core, which other load does not stretch. Run by
hand:

    PYTHONPATH=tests/support AGENTNODE_BUILD_DIR=build/release \\
        python3 tests/bench/bench_native.py [ROUNDS]
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

import harness

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
HOME = harness.folder()
ENV = harness.environment(HOME)
AGENTNODE = os.path.join(harness.BUILD, "bin", "agentnode")
SRT = os.environ.get("SRT") or shutil.which("srt")
harness.need("bwrap")

BINDS = ["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
         "--symlink", "usr/sbin", "/sbin", "--symlink", "usr/lib", "/lib",
         "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev",
         "/dev", "--tmpfs", "/tmp", "--tmpfs", "/sandbox-home"]
for name in ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs",
             "ssl/openssl.cnf", "alternatives", "localtime", "protocols",
             "services", "os-release", "terminfo", "fonts", "perl"):
    if os.path.exists("/etc/" + name) and not os.path.islink("/etc/" + name):
        BINDS += ["--ro-bind", "/etc/" + name, "/etc/" + name]
WAYS = {
    "bwrap": ["bwrap", "--unshare-all", "--die-with-parent", *BINDS, "true"],
    "agentnode exec native": [AGENTNODE, "exec", "--boundary", "native",
                              "--", "true"],
    "agentnode --version": [AGENTNODE, "--version"],
}
if SRT:
    WAYS["srt"] = [SRT, "true"]


def measure(argv):
    """Milliseconds to the end, and on a core, of it and all it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(argv, env=ENV, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=60, check=False)
    took = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"failed: {argv}: {done.stderr.decode()}")
    core = (after.ru_utime - before.ru_utime +
            after.ru_stime - before.ru_stime)
    return took * 1000, core * 1000


times = {name: [] for name in WAYS}
for _ in range(ROUNDS):
    for name, argv in WAYS.items():
        times[name].append(measure(argv))
base = statistics.median(one[0] for one in times["bwrap"])
print(f"{'':24}{'median':>10}{'least':>10}{'core':>10}{'to bwrap':>10}")
for name, found in times.items():
    took = [one[0] for one in found]
    core = statistics.mean(one[1] for one in found)
    print(f"{name:24}{statistics.median(took):8.1f}ms{min(took):8.1f}ms"
          f"{core:8.1f}ms{statistics.median(took) / base:9.1f}x")
