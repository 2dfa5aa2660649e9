#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start to exit of `true` in one run: the native boundary against `bwrap
--unshare-all` with the same binds (and neither filter nor Landlock nor limits
nor a record) and against `srt true` of npm's @anthropic-ai/sandbox-runtime
when it is found in PATH or named by SRT; the container boundary against a
bare `podman run` when AGENTNODE_TEST_IMAGE names an image. The ways take
turns, so that the machine's other load falls on all; beside the time to the
end the time on a core, which other load stretches least. Run by hand:

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

import bare_podman
import harness

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
HOME = harness.folder()
ENV = harness.environment(HOME)
AGENTNODE = os.path.join(harness.BUILD, "bin", "agentnode")
SRT = os.environ.get("SRT") or shutil.which("srt")
IMAGE = os.environ.get("AGENTNODE_TEST_IMAGE")
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
BWRAP, BARE = "bwrap --unshare-all", "bare podman run"
# name: words, and what it is compared with
WAYS = {
    BWRAP: (["bwrap", "--unshare-all", "--die-with-parent", *BINDS, "true"],
            BWRAP),
    "exec native": ([AGENTNODE, "exec", "--boundary", "native", "--", "true"],
                    BWRAP),
    "agentnode --version": ([AGENTNODE, "--version"], BWRAP),
}
if SRT:
    WAYS["srt"] = [SRT, "true"], BWRAP


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


if IMAGE:
    OURS = [AGENTNODE, "exec", "--image", IMAGE, "--", "/bin/true"]
    measure(OURS)  # looks for the engine, once
    WAYS[BARE] = bare_podman.words(ENV, IMAGE, "/bin/true"), BARE
    WAYS["exec container"] = OURS, BARE
times = {name: [] for name in WAYS}
for _ in range(ROUNDS):
    for name, (words, _) in WAYS.items():
        times[name].append(measure(words))
middle = {name: statistics.median(one[0] for one in found)
          for name, found in times.items()}
print(f"{'':22}{'median':>10}{'least':>10}{'core':>10}  ratio")
for name, found in times.items():
    core = statistics.median(one[1] for one in found)
    against = WAYS[name][1]
    print(f"{name:22}{middle[name]:8.1f}ms{min(one[0] for one in found):8.1f}"
          f"ms{core:8.1f}ms  {middle[name] / middle[against]:.2f} to {against}")
if SRT:
    print(f"srt to exec native: {middle['srt'] / middle['exec native']:.1f}")
