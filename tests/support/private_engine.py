# SPDX-License-Identifier: Apache-2.0
"""An engine store of the test's own: enter() moves this process into a mount
namespace where the engine's directories are empty file systems in memory, so
that hostile images and configuration never meet the machine's own. Whatever
the test starts afterwards lives there too."""
import ctypes
import os
import shutil
import subprocess
import sys

import harness

_NEWNS, _RDONLY, _BIND, _REC, _PRIVATE = 0x20000, 1, 4096, 16384, 1 << 18
_DETACH = 2
_STORE = ("/var/lib/containers", "/run/containers", "/run/libpod",
          "/run/agentnode", "/dev/shm")
UNIFIED = "/sys/fs/cgroup/unified"
_libc = ctypes.CDLL(None, use_errno=True)


def _must(result, what):
    if result != 0:
        print(f"missing part: {what}: {os.strerror(ctypes.get_errno())}")
        sys.exit(1)


def mount(source, target, kind=None, flags=0, options=None):
    _must(_libc.mount(source.encode(), target.encode(),
                      kind.encode() if kind else None, flags,
                      options.encode() if options else None),
          f"mount on {target}")


def bind(source, target):
    """Cover target, in this namespace alone."""
    mount(source, target, flags=_BIND | _REC)


def uncover(target):
    _must(_libc.umount2(target.encode(), _DETACH), f"umount {target}")


def enter():
    """Needs root; without it the scenario fails by name. crun does not
    start beside a v2 hierarchy on a v1 machine: that one is left out, so
    that attacks on crun are really tried."""
    harness.need("podman", "crun")
    if os.geteuid() != 0:
        print("missing part: root (for a private mount namespace)")
        sys.exit(1)
    _must(_libc.unshare(_NEWNS), "unshare")
    mount("none", "/", flags=_REC | _PRIVATE)
    for path in _STORE:
        os.makedirs(path, exist_ok=True)
        mount("none", path, "tmpfs",
              options="mode=1777" if path == "/dev/shm" else "mode=0700")
    if os.path.ismount(UNIFIED):
        uncover(UNIFIED)


# What this machine's runtimes need to start anything; no hardening.
PLAIN = ("--network=none", "--ulimit=nofile=1024:1024",
         "--ulimit=nproc=1024:1024")


def podman(*words, env=None, runtime="crun", timeout=60, **more):
    """The engine as a shell would call it; output with errors."""
    return subprocess.run(
        ["podman", f"--runtime={shutil.which(runtime)}", *words],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=timeout, errors="replace",
        **more)


def plain(*words, env=None, runtime="crun"):
    """podman run with nothing of ours: what an attack meets without us."""
    done = podman("run", "--rm", *PLAIN, *words, env=env, runtime=runtime)
    return done.stdout + done.stderr
