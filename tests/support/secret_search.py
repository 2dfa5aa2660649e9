# SPDX-License-Identifier: Apache-2.0
"""Where a value is: in what processes show of themselves, in our home, in what
the engine keeps and says, and in the memory of a process."""
import glob
import os
import subprocess

import engine_case


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(64 << 20)
    except OSError:
        return b""


def running():
    """Everything that processes show of themselves."""
    for folder in glob.glob("/proc/[0-9]*"):
        for name in ("environ", "cmdline"):
            yield os.path.join(folder, name), read(os.path.join(folder, name))


def stored(home):
    """Our home, and what the engine keeps of containers that live."""
    tops = [os.path.join(home, ".agentnode")]
    for pattern in ("/var/lib/containers/storage/*-containers/*/userdata",
                    "/run/containers/storage/*-containers/*/userdata",
                    "/run/crun/*", "/run/libpod"):
        tops += glob.glob(pattern)
    for top in tops:
        for folder, folders, names in os.walk(top):
            folders[:] = [one for one in folders if one not in
                          ("merged", "rootfs", "shm")]
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    yield path, read(path)


def said():
    ids = engine_case.podman("ps", "-aq").stdout.split()
    for one in ids:
        yield "inspect " + one, engine_case.podman(
            "inspect", one).stdout.encode()
    yield "ps", subprocess.run(["ps", "-eww", "-o", "args"], check=False,
                               capture_output=True).stdout


def found(home, value):
    """Where the value is: every place that holds it."""
    places = []
    for source in (running(), stored(home), said()):
        places += [name for name, data in source if value.encode() in data]
    return places


def inside(pid):
    """Is it a process of a container, not of ours?"""
    try:
        return os.readlink(f"/proc/{pid}/ns/net") != \
            os.readlink("/proc/self/ns/net")
    except OSError:
        return False


def memfds(*texts):
    """Who holds a memfd with one of the texts; other runs hold their own."""
    held = []
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if "agentnode-secret" in os.readlink(link) and any(
                    text.encode() in read(link) for text in texts):
                held.append(link)
        except OSError:
            continue
    return held


def in_memory(pid, *texts):
    """Which of the texts the memory of a process holds."""
    held = set()
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        maps = [line.split() for line in file]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for row in maps:
            begin, end = (int(x, 16) for x in row[0].split("-"))
            if "r" not in row[1] or end - begin > 256 << 20:
                continue
            try:
                memory.seek(begin)
                data = memory.read(end - begin)
            except (OSError, ValueError):
                continue
            held |= {t for t in texts if t.encode() in data}
    return held


def family(pid):
    """The process and what descends from it, outside of containers."""
    pids = [pid]
    for one in pids:
        try:
            with open(f"/proc/{one}/task/{one}/children",
                      encoding="ascii") as file:
                pids += [int(x) for x in file.read().split()]
        except OSError:
            continue
    return [one for one in pids if not inside(one)]
