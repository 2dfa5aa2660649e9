#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults around our processes, each bounded: a disk that is full (the whole
home, the place of the audit chain, the place of the logs), each process
stopped with SIGSTOP, a session bus that accepts and never answers, clocks
that are far off. No workload without its record, none that outlives its
limits, nothing left behind."""
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import agent_case
import engine_case
import fault_agent
import fault_world
import harness
import machine_pace
import process_figures as figures
from harness import check

_libc = ctypes.CDLL(None, use_errno=True)
_NEWNS, _REC, _PRIVATE, _DETACH = 0x20000, 16384, 1 << 18, 2
# --timeout of a run, and what the documented deadlines add to it: the ledger
# has ten seconds to answer, the engine's client and init five each.
LIMIT_S, GRACE_S = 2, 15
MARK = "283.75"


def private_mounts():
    """A mount namespace of this test's own."""
    if os.geteuid() != 0 or _libc.unshare(_NEWNS) != 0 or _libc.mount(
            b"none", b"/", None, _REC | _PRIVATE, None) != 0:
        print("missing part: root (for a private mount namespace)")
        sys.exit(1)


def tmpfs(path, size):
    os.makedirs(path, mode=0o700, exist_ok=True)
    if _libc.mount(b"none", path.encode(), b"tmpfs", 0,
                   f"size={size},mode=0700".encode()) != 0:
        raise OSError(ctypes.get_errno(), path)


def fill(path):
    """Not a byte is left there; the file that takes it all."""
    name = os.path.join(path, "full")
    with open(name, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    return name


def native(story, script, *options):
    return [harness.AGENTNODE, "exec", "--boundary", "native", "--timeout",
            f"{LIMIT_S}s", *options, "--", "sh", "-c", script]


def run(story, script, *options):
    return harness.run(*native(story, script, *options), env=story.env,
                       timeout=60)


# ---- full disks ---------------------------------------------------------------

def keep_owner(path, act):
    """act() on what is there, which keeps its owner and mode."""
    if os.path.isdir(path):
        told = os.stat(path)
        act()
        os.chown(path, told.st_uid, told.st_gid)
        os.chmod(path, told.st_mode & 0o7777)
    else:
        act()


def full_place(label, *parts, warm):
    """A file system of 256 kB at that place below the home, full."""
    story = fault_world.Native()
    place = os.path.join(story.state, *parts)
    if warm:  # the place and the files in it are there
        check(f"{label}: before, it runs", run(story, "true").code == 0)
    text = engine_case.text(os.path.join(story.state, "config.json"))
    keep_owner(place, lambda: tmpfs(place, "256k"))
    if not parts:
        with open(os.path.join(place, "config.json"), "w",
                  encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o600)
    full = fill(place)
    before = story.launches()
    result = run(story, "echo it ran")
    ran = "it ran" in result.out
    check(f"{label}: no workload without its record", not ran
          or story.launches() > before, result)
    check(f"{label}: it says why" if not ran else f"{label}: it runs",
          result.code in (125, 4, 5) and "agentnode: " in result.err
          if not ran else result.code == 0, result)
    print(f"# {label}: exit {result.code}, {result.err.strip()[:150]}")
    os.unlink(full)
    result = run(story, "echo it ran")
    check(f"{label}: with room again it runs", result.code == 0
          and "it ran" in result.out, result)
    check(f"{label}: the chain is whole", harness.agentnode(
        story.home, "audit", "verify").code == 0)
    _libc.umount2(place.encode(), _DETACH)
    story.close()
    return ran


def full_disks():
    private_mounts()
    check("a full home is a refusal", not full_place("home", warm=False))
    check("so is a full place of the audit chain", not full_place(
        "audit", "ledger", warm=True))
    full_place("log", "log", warm=True)


# ---- stopped processes ----------------------------------------------------------

def program(pid):
    try:
        name = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""
    return os.path.basename(name).split(" ")[0].removeprefix("memfd:")


def alive(pids):
    return [pid for pid in pids
            if (figures.stat(pid) or ("", "X"))[1] not in "ZX"]


def started(story):
    process = subprocess.Popen(
        native(story, f"echo up; sleep {MARK}", "--allow",
               f"tcp://127.0.0.11:{story.allowed.port}"),
        env=story.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    harness.wait_until(lambda: any(
        MARK in engine_case.text(f"/proc/{pid}/cmdline")
        and program(pid) == "sleep" for pid in figures.below(process.pid)),
        10)
    return process, figures.below(process.pid)


def stopped(story, victim):
    process, pids = started(story)
    found = [pid for pid in pids if program(pid) == victim]
    if not check(f"{victim}: it runs", found, pids):
        process.kill()
        process.communicate()
        return
    deadline = machine_pace.Deadline(LIMIT_S + GRACE_S)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    if victim == "agentnode":
        time.sleep(LIMIT_S + 1)
        os.kill(process.pid, signal.SIGKILL)
    ended = deadline.wait(lambda: process.poll() is not None)
    check(f"{victim} stopped: the run ends within {LIMIT_S} + {GRACE_S} s",
          ended, deadline)
    check(f"{victim} stopped: nothing of it lives", harness.wait_until(
        lambda: not alive(pids), 5), [(pid, program(pid), figures.stat(pid))
                                      for pid in alive(pids)])
    if process.poll() is None:
        process.kill()
    print(f"# {victim} stopped: {deadline}, exit {process.returncode}")
    process.communicate()
    check(f"{victim} stopped: the next one runs",
          run(story, "true").code == 0)


def stops():
    story = fault_world.Native()
    for victim in ("agentnode", "agentnode-ledger", "agentnode-egress-proxy",
                   "agentnode-native", "agentnode-init"):
        stopped(story, victim)
    check("stops: the chain is whole", harness.agentnode(
        story.home, "audit", "verify").code == 0)
    story.close()


# ---- a bus that never answers -----------------------------------------------------

def silent_bus():
    path = os.path.join(harness.folder(), "bus")
    server, held = socket.socket(socket.AF_UNIX), []
    server.bind(path)
    server.listen(16)

    def take():
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return
    threading.Thread(target=take, daemon=True).start()
    home = harness.folder()
    for words, stdin in ((("auth", "list"), None),
                         (("auth", "set", "openai", "--from-fd", "0"),
                          fault_world.KEY + "\n")):
        result = harness.agentnode(
            home, *words, timeout=40, stdin=stdin,
            DBUS_SESSION_BUS_ADDRESS=f"unix:path={path}")
        print(f"# {' '.join(words)}: exit {result.code} after "
              f"{result.seconds:.1f} s")
        check(f"a bus that hangs: {' '.join(words[:2])} ends by itself",
              result.code != "timeout", result)
        check("and the key is nowhere", fault_world.KEY not in
              result.out + result.err and not any(
                  fault_world.KEY in engine_case.text(os.path.join(
                      folder, name)) for folder, _, names in os.walk(home)
                  for name in names), result)
    check("it was asked", held)
    check("a bus that hangs: no keyring helper is left",
          harness.wait_until(lambda: not helpers(home), 5), helpers(home))
    server.close()


def helpers(home):
    """Keyring helpers whose descriptors lead into this home."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if program(pid) == "agentnode-keyring":
            for fd in os.listdir(f"/proc/{pid}/fd"):
                try:
                    if os.readlink(f"/proc/{pid}/fd/{fd}").startswith(home):
                        found.append(int(pid))
                except OSError:
                    pass
    return found


# ---- the same with an agent ---------------------------------------------------------

class ShortAgent(fault_agent.Agent):
    runtime = 3


def agent_words(story):
    return [harness.AGENTNODE, "agent", "run", "walls-agent", "--input",
            json.dumps({"sleep": 100})]


def agent_stopped(story, victim):
    del story.case.provider.calls[:]
    process = subprocess.Popen(
        agent_words(story), env=story.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    harness.wait_until(lambda: story.case.provider.calls, 20)
    pids = figures.below(process.pid)
    found = [pid for pid in pids if program(pid) == victim]
    check(f"agent, {victim}: it runs", found, pids)
    deadline = machine_pace.Deadline(story.runtime + GRACE_S)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    ended = deadline.wait(lambda: process.poll() is not None)
    print(f"# agent, {victim} stopped: {deadline}, exit {process.poll()}")
    check(f"agent, {victim} stopped: the run ends within {story.runtime} + "
          f"{GRACE_S} s", ended, deadline)
    check(f"agent, {victim} stopped: nothing of it lives",
          harness.wait_until(lambda: not alive(pids), 5), alive(pids))
    if not ended:
        process.kill()
    out, err = process.communicate()
    check(f"agent, {victim} stopped: no key outside",
          agent_case.KEYS["openai"] not in out + err)


def agents():
    """Those of its parts that a command has none of."""
    story = ShortAgent(engine_case.image())
    for victim in ("agentnode-gate", "agentnode-llm-broker",
                   "agentnode-llm-key"):
        agent_stopped(story, victim)
    del story.case.provider.calls[:]
    story.case.session.freeze(True)  # a keychain that is there, and silent
    result = harness.run(*agent_words(story), env=story.env, timeout=60)
    story.case.session.freeze(False)
    print(f"# agent, a silent keychain: exit {result.code} after "
          f"{result.seconds:.1f} s: {result.err.strip()[-200:]}")
    check("agent, a keychain that is silent: it ends by itself, without a key",
          result.code not in (0, "timeout")
          and not any(call.key() for call in story.case.provider.calls),
          result)
    story.close()


# ---- clocks -----------------------------------------------------------------------

def clocks():
    """Monotonic and boot time far from the host's, in a time namespace.
    Real time has none: what depends on it takes its time as an argument,
    and the machine tests jump with that."""
    story = fault_world.Native()
    for seconds in (86400 * 365 * 10, 1 << 32):
        result = harness.run(
            "unshare", "--time", "--monotonic", str(seconds), "--boottime",
            str(seconds), "--", *native(story, "echo it ran"), env=story.env)
        check(f"clocks {seconds} s ahead: it runs", result.code == 0
              and "it ran" in result.out, result)
        begin = time.monotonic()
        result = harness.run(
            "unshare", "--time", "--monotonic", str(seconds), "--boottime",
            str(seconds), "--", *native(story, f"sleep {MARK}"),
            env=story.env)
        check("and its time limit holds", result.code == 124
              and time.monotonic() - begin < LIMIT_S + GRACE_S, result)
    story.close()


PARTS = {"disks": full_disks, "stops": stops, "bus": silent_bus,
         "agents": agents,
         "clocks": clocks}
for name in sys.argv[1:] or PARTS:
    begin = time.monotonic()
    PARTS[name]()
    print(f"# {name}: {time.monotonic() - begin:.1f} s")
harness.finish()
