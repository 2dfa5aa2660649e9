#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands of a user with little: signals that would end agentnode end the
run in order, a limit that is too small is named, one that is not high enough
for the sandbox holds in it; names in what is printed stay on their line."""
import os
import resource
import signal
import subprocess

import engine_case
import exec_case
import harness
from harness import check

case = exec_case.ExecCase()
subprocess.run(["git", "init", "-q", case.place], check=True)
NATIVE = ("--boundary", "native", "--mode", "workspace-write")
BOUNDARIES = ((*NATIVE,), ("--boundary", "policy"), ())
ENDS = (signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
        signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGIO,
        signal.SIGPWR, signal.SIGSTKFLT, signal.SIGHUP, signal.SIGINT,
        signal.SIGTERM)


def tree():
    return sorted(os.path.join(folder, name)
                  for folder, folders, files in os.walk(case.place)
                  for name in folders + files)


def running(pid):
    """The command runs: a sleep of one of its names is somewhere below, or in
    the container that the home's last run has."""
    if any(os.path.basename(line.split(" ")[0]) == "sleep"
           for line in below(pid)):
        return True
    return any("sleep" in engine_case.podman(
        "top", name, "comm").stdout.split() for name in case.containers())


def below(pid):
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        todo += [int(word) for word in engine_case.text(
            f"/proc/{one}/task/{one}/children").split()]
        found.append(engine_case.text(f"/proc/{one}/cmdline").replace(
            "\0", " "))
    return found


# --- signals ------------------------------------------------------------------

done = case.call("true", options=NATIVE)
check("it runs", done.code == 0, done)
before = tree()
for options in BOUNDARIES:
    name = options[1] if options else "container"
    for number in ENDS if options else ENDS[:2]:
        child = subprocess.Popen(
            [harness.AGENTNODE, "exec", *options, "--", "sh", "-c",
             "echo on; exec sleep 60"], cwd=case.place,
            env=harness.environment(case.home), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        runs = harness.wait_until(lambda: running(child.pid), 20)
        child.send_signal(number)
        try:
            said = child.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()
            said = child.communicate()
        check(f"{name}: {number.name} ends it in order",
              runs and child.returncode in (125, 137)
              and b"stopped" in said[1],
              (runs, child.returncode, said))
        check(f"{name}: {number.name} leaves nothing",
              harness.wait_until(lambda: not case.left(), 10) and
              tree() == before, (case.left(), tree()))

# --- limits -------------------------------------------------------------------


def limited(what, soft, hard, *words):
    """agentnode of somebody with that limit."""
    child = subprocess.Popen(
        [harness.AGENTNODE, *words], cwd=case.place,
        env=harness.environment(case.home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(what, (soft, hard)))
    said = child.communicate(timeout=60)
    return child.returncode, said[0].decode(), said[1].decode()


SMALL = ((resource.RLIMIT_NOFILE, "RLIMIT_NOFILE", (16, 24, 64, 127)),
         (resource.RLIMIT_STACK, "RLIMIT_STACK", (200 << 10, 511 << 10)),
         (resource.RLIMIT_FSIZE, "RLIMIT_FSIZE", (0, 1, 65536, 1048575)))
for what, name, values in SMALL:
    for value in values:
        for words in (["exec", *NATIVE, "--", "true"],
                      ["exec", "--boundary", "policy", "--", "true"],
                      ["exec", "--", "true"], ["config", "list"]):
            got = limited(what, value, value, *words)
            check(f"{words}: {name} of {value} is named", got[0] == 70
                  and got[1] == "" and got[2].startswith(
                      f"agentnode: {name} is {value} ")
                  and got[2].count("\n") == 1, got)
for options in BOUNDARIES[:2]:
    for what, name, value in ((resource.RLIMIT_NOFILE, "RLIMIT_NOFILE", 16),
                              (resource.RLIMIT_STACK, "RLIMIT_STACK",
                               256 << 10)):
        got = limited(what, value, resource.getrlimit(what)[1], "exec",
                      *options, "--", "echo", "on")
        check(f"{options}: {name} that may be raised is", got[0] == 0
              and got[1] == "on\n", got)
# What is written past a limit of files is an error by its name.
got = limited(resource.RLIMIT_FSIZE, 1 << 20, 1 << 20, "exec", *NATIVE, "--",
              "sh", "-c", "head -c 4194304 /dev/zero >big; echo $?")
check("a file past the caller's limit is not written",
      got[0] == 0 and got[1].strip() not in ("", "0"), got)
if os.path.exists(os.path.join(case.place, "big")):
    os.unlink(os.path.join(case.place, "big"))
got = limited(resource.RLIMIT_NOFILE, 200, 200, "exec", *NATIVE, "--",
              "sh", "-c", "ulimit -Hn; ulimit -n")
check("a smaller limit of the caller holds in the sandbox",
      got[0] == 0 and got[1].split() == ["200", "200"], got)

# --- what a command is not ----------------------------------------------------

case.path("plain", "no program\n")
for options in BOUNDARIES:
    for word, why in (("/etc/passwd", "Permission denied"),
                      ("/etc", "Permission denied"),
                      ("/no/such", "No such file or directory"),
                      ("no-such-word", "No such file or directory")):
        done = case.call(word, options=options)
        check(f"{options}: {word}: {why}", done.code == 125
              and done.err.startswith("agentnode: exec_failed: ")
              and done.err.split("\n")[0].endswith(why), done)

# --- names are part of a line -------------------------------------------------

done = case.call("sh", "-c", "echo x >\"$(printf 'a\\nagentnode: exit 0')\";"
                 "echo y >\"$(printf 'b\\tc')\"",
                 options=("--boundary", "policy"))
check("a name with an end of line is shown as one", done.code == 0
      and "agentnode: file a\\x0aagentnode: exit 0, 2 bytes" in done.err
      and "agentnode: file b\\x09c, 2 bytes" in done.err, done)
harness.finish()
