#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A native sandbox is put up while the ledger starts; its command waits for
the launch record. And the small agentnode hands over what needs more than it
is linked with, before anything is started."""
import fcntl
import os
import shutil
import signal
import subprocess
import time

import exec_case
import harness
from harness import check

case = exec_case.ExecCase()
NATIVE = ("exec", "--boundary", "native", "--mode", "workspace-write")
LEDGER = os.path.join(case.home, ".agentnode", "ledger")
RAN = os.path.join(case.place, "ran")


def started():
    return subprocess.Popen(
        [harness.AGENTNODE, *NATIVE, "--", "touch", "ran"], cwd=case.place,
        env=harness.environment(case.home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def inits(pid):
    """Processes below pid that are init."""
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        try:
            with open(f"/proc/{one}/task/{one}/children",
                      encoding="ascii") as file:
                todo += [int(word) for word in file.read().split()]
            with open(f"/proc/{one}/comm", encoding="ascii") as file:
                if file.read().startswith("memfd:agentnode"):
                    found.append(one)
        except OSError:
            pass
    return found


def events():
    return [(one["event"], one["fields"].get("run"))
            for one in harness.json_lines(
                os.path.join(LEDGER, "audit.jsonl"))]


# --- the record comes late ----------------------------------------------------

done = harness.agentnode(case.home, *NATIVE, "--", "true", cwd=case.place)
check("it runs", done.code == 0, done)
lock = os.open(os.path.join(LEDGER, "audit.head"), os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
before = len(events())
child = started()
check("while somebody else writes the chain the sandbox is put up",
      harness.wait_until(lambda: inits(child.pid), 20))
time.sleep(1)
check("but its command waits for the record", child.poll() is None
      and not os.path.exists(RAN) and len(events()) == before)
os.close(lock)
said = child.communicate(timeout=60)
check("and runs when that is on disk", child.returncode == 0
      and os.path.exists(RAN), said)
own = [name for name, _ in events()[before:]]
check("launch, then removal", own == ["launch", "removal"], own)
os.unlink(RAN)

# --- the record does not come -------------------------------------------------

lock = os.open(os.path.join(LEDGER, "audit.head"), os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
child = started()
ledgers = []
harness.wait_until(lambda: ledgers.extend(map(int, subprocess.run(
    ["pgrep", "-P", str(child.pid), "-f", "agentnode-ledger"],
    stdout=subprocess.PIPE, check=False).stdout.split())) or ledgers, 20)
harness.wait_until(lambda: inits(child.pid), 2)
for pid in ledgers:
    os.kill(pid, 9)
said = child.communicate(timeout=60)
os.close(lock)
check("a ledger that dies before it: nothing runs", ledgers
      and child.returncode == 125 and b"audit_failed" in said[1]
      and not os.path.exists(RAN), (child.returncode, said))
check("nothing of it lives", not inits(child.pid))
with open(os.path.join(LEDGER, "audit.jsonl"), "r+b") as file:
    whole = file.read()
    file.truncate(len(whole) - 20)
done = harness.agentnode(case.home, *NATIVE, "--", "touch", "ran",
                         cwd=case.place)
check("a chain that was cut: nothing runs", done.code == 125
      and "audit_failed" in done.err and not os.path.exists(RAN), done)
with open(os.path.join(LEDGER, "audit.jsonl"), "wb") as file:
    file.write(whole)

os.chmod(LEDGER, 0o777)
child = started()
said = child.communicate(timeout=60)
os.chmod(LEDGER, 0o700)
check("a ledger that cannot be started, when the sandbox was: nothing runs",
      child.returncode == 125 and b"audit_failed" in said[1]
      and not os.path.exists(RAN), (child.returncode, said))
done = harness.agentnode(case.home, *NATIVE, "--", "true", cwd=case.place)
check("and the next does", done.code == 0, done)

# --- a signal while all turns of starting are taken ----------------------------

TURNS = os.path.join(case.home, ".agentnode", "exec")
os.makedirs(TURNS, mode=0o700, exist_ok=True)
locks = [os.open(os.path.join(TURNS, f"turn.{i}"),
                 os.O_RDWR | os.O_CREAT, 0o600) for i in range(8)]
for lock in locks:
    fcntl.flock(lock, fcntl.LOCK_EX)
for boundary in ("native", "policy"):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = subprocess.Popen(
            [harness.AGENTNODE, "exec", "--boundary", boundary, "--", "true"],
            env=harness.environment(case.home), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        waits = child.poll() is None
        child.send_signal(number)
        try:
            said = child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            said = child.communicate()
        check(f"{boundary}: {number.name} ends the wait for a turn",
              waits and child.returncode == 125 and b"stopped" in said[1],
              (waits, child.returncode, said))
for lock in locks:
    os.close(lock)

# --- who needs more than the small one has ------------------------------------


def programs(*words, before=(), cwd=case.place):
    """What the first process became; before: words in front of it all."""
    out = os.path.join(case.home, "trace")
    done = harness.run(*before, "strace", "-o", out, "-e", "trace=execve",
                       harness.AGENTNODE, *words, cwd=cwd,
                       env=harness.environment(case.home))
    with open(out, encoding="utf-8") as file:
        return done, [line.split('"')[1].replace(harness.BUILD, "")
                      for line in file if line.startswith("execve(")]


harness.need("strace")
WHOLE = "/libexec/agentnode/command/agentnode"
done, became = programs("exec", "--boundary", "native", "--", "true")
check("a command in the native boundary needs nothing more",
      done.code == 0 and became == ["/bin/agentnode"], (done, became))
done, became = programs("exec", "--boundary", "native", "--allow",
                        "*.example.com:443", "--", "true")
check("hosts do", done.code == 0 and became[1:] == [WHOLE], (done, became))
done = harness.agentnode(case.home, "config", "set", "egress.allow",
                         "*.example.com:443,bücher.example:443")
check("a wildcard and a name that is no ASCII are kept", done.code == 0, done)
done, became = programs("exec", "--boundary", "native", "--", "true")
check("a configuration that names such hosts does", done.code == 0
      and became[1:] == [WHOLE], (done, became))
done = harness.agentnode(case.home, "config", "set", "egress.allow",
                         "api.example.com:443")
done, became = programs("exec", "--boundary", "native", "--", "true")
check("plain names do not", done.code == 0
      and became == ["/bin/agentnode"], (done, became))
done, became = programs("--version")
check("all other words do", done.code == 0 and became[1:] == [WHOLE],
      (done, became))

# --- users that are not in a file ---------------------------------------------


def elsewhere(path, text, *words):
    """The same where path has this text, in a mount namespace of its own."""
    name = os.path.join(harness.folder(), "instead")
    with open(name, "w", encoding="ascii") as to:
        to.write(text)
    os.chmod(name, 0o644)
    bind = f'mount --bind "$0" {path} && exec "$@"'
    return programs(*words,
                    before=("unshare", "-m", "sh", "-c", bind, name))


PLAIN = ("exec", "--boundary", "native", "--", "true")
done, became = elsewhere("/etc/nsswitch.conf", "passwd: files sss\n", *PLAIN)
check("a file of users that is asked first needs nothing more",
      done.code == 0 and became == ["/bin/agentnode"], (done, became))
done, became = elsewhere("/etc/nsswitch.conf", "passwd: sss files\n", *PLAIN)
check("another source of users does", done.code == 0
      and became[1:] == [WHOLE], (done, became))
done, became = elsewhere("/etc/passwd", "you:x:7:7::/:/bin/sh\n", *PLAIN)
check("a user who is not in the file does", done.code == 0
      and became[1:] == [WHOLE], (done, became))
ours = os.path.join(harness.folder(), "ours")
os.mkdir(ours)
done, became = programs(*NATIVE, "--", "true", cwd=ours)
check("a workspace of a known user does not", done.code == 0
      and became == ["/bin/agentnode"], (done, became))
os.chown(ours, 3999999999, 3999999999)
done, became = programs(*NATIVE, "--", "true", cwd=ours)
check("one of a user who is not in the file does", done.code == 0
      and became[1:] == [WHOLE], (done, became))
done, became = programs("exec", "--boundary", "native",
                        "--workspace=" + ours, "--", "true")
check("nor by its name alone", done.code == 0 and became[1:] == [WHOLE],
      (done, became))

# --- the reader of what comes of it: only where something does ---------------

# A tree of its own without the reader, so that who starts it is found out.
BARE = os.path.join(harness.folder(), "bare")
for part in ("bin", "libexec", "share"):
    if os.path.isdir(os.path.join(harness.BUILD, part)):
        shutil.copytree(os.path.join(harness.BUILD, part),
                        os.path.join(BARE, part), symlinks=True)
os.unlink(os.path.join(BARE, "libexec", "agentnode", "agentnode-collect"))


def unread(*words):
    return harness.run(os.path.join(BARE, "bin", "agentnode"), "exec",
                       "--boundary", "native", "--", *words, cwd=case.place,
                       env=harness.environment(case.home))


done = unread("true")
check("what says and leaves nothing needs no reader", done.code == 0, done)
for name, words in (("output", "echo said"), ("errors", "echo said >&2"),
                    ("a file", "echo > $HOME/file"),
                    ("a directory", "mkdir $HOME/directory"),
                    ("an output that others hold open",
                     "sleep 0.2 & echo said; exit 0")):
    done = unread("sh", "-c", words)
    check(f"{name}: needs one, and without it is a fault", done.code != 0
          and "collect_failed: agentnode-collect does not start" in done.err
          and "said" not in done.out, done)

# --- what has to be loaded before a command starts ----------------------------


def libraries(*path):
    done = harness.run("readelf", "-d", os.path.join(harness.BUILD, *path))
    return [line.split("[")[1].rstrip("]") for line in done.out.splitlines()
            if "(NEEDED)" in line]


harness.need("readelf")
small = libraries("bin", "agentnode")
if not any("san." in name for name in small):
    check("the release's programs that start with a command load nothing",
          not small and
          not any(libraries("libexec", "agentnode", f"agentnode-{name}")
                  for name in ("ledger", "collect", "native", "init")), small)
else:
    check("a sanitizer's build loads no libcrypto for it",
          not any("crypto" in name for name in small), small)
harness.finish()
