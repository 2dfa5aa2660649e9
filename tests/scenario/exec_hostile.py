#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that do not want to end, write without end, or leave what should
not be read: behind every boundary each ends in time, the result says what
was left out, and nothing stays."""
import os
import signal
import subprocess
import time

import exec_case
import harness
from harness import check

case = exec_case.ExecCase()
BOUNDARIES = ("container", "native", "policy")
MARK = "31337.25"  # in the words of what must not survive


def alive():
    """Processes of these commands, wherever they went."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", MARK.encode()]:
            found.append(pid)
    return found


def on(boundary, script, *options, timeout="5s"):
    return case.shell(script, options=(
        "--boundary", boundary, "--timeout", timeout, *options), timeout=60)


def it_ends(boundary):
    begin = time.monotonic()
    result = on(boundary, f"""
        trap '' TERM INT HUP QUIT
        (trap '' TERM; setsid sleep {MARK}) &
        setsid sh -c 'trap "" TERM; (sleep {MARK} &); sleep {MARK}' &
        (while :; do :; done) &
        echo kept >part
        while :; do sleep 1; done""", timeout="800ms")
    check(f"{boundary}: what ignores every signal ends with the rest",
          result["rc"] == 124 and result["timed_out"]
          and result["duration_ms"] < 5000
          and case.files(result)["part"]["text"] == "kept\n", result)
    check(f"{boundary}: none of it lives", harness.wait_until(
        lambda: not alive(), 2), alive())
    result = on(boundary, f"setsid sleep {MARK} & (sleep {MARK} &) & exit 0")
    check(f"{boundary}: background children die with it",
          result["rc"] == 0 and not alive()
          and time.monotonic() - begin < 30, (result, alive()))
    result = on(boundary, "f() { f | f & }; f; sleep 20", timeout="1s")
    check(f"{boundary}: a fork bomb is over at its time limit",
          result["rc"] in (0, 1, 2, 124, 137, 254)
          and result["duration_ms"] < 15000, result)


def it_floods(boundary):
    result = on(boundary, "yes flood & yes flood >&2 & wait", timeout="1s")
    check(f"{boundary}: a flood is read to its end, counted and cut",
          result["rc"] == 124 and result["stdout_truncated"]
          and result["stderr_truncated"]
          and result["stdout_bytes"] > 1000000
          and len(result["stdout"]) <= 8192, str(result)[:900])


def it_leaves(boundary):
    result = on(boundary, r"""
        truncate -s 1T a_sparse
        head -c 300000 /dev/zero | tr '\0' 'x' >large
        ln -s /etc/passwd link; ln -s . loop; ln -s nowhere dangling
        mkfifo pipe
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'
        mkdir shut; echo x >shut/in; chmod 0 shut
        echo x >closed; chmod 0 closed
        d=.; i=0; while [ $i -lt 300 ]; do d=$d/deep; mkdir $d || break
        i=$((i + 1)); done
        i=0; while [ $i -lt 150 ]; do echo $i >m$i; i=$((i + 1)); done
        ln large hard
        """, timeout="20s")
    files = case.files(result)
    check(f"{boundary}: huge and sparse files are cut",
          files["a_sparse"]["truncated"]
          and files["a_sparse"]["bytes"] == 1 << 40
          and files["large"]["bytes"] == 300000
          and len(files["large"]["text"]) == 8192, str(result)[:900])
    skipped = result["skipped"]
    check(f"{boundary}: links, pipes, sockets and directories are skipped "
          "and said", skipped["links"] == 3 and skipped["special"] == 2
          and skipped["directories"] == 2 and "link" in skipped["names"],
          skipped)
    check(f"{boundary}: a file closed to its owner is unreadable, or root's",
          skipped["unreadable"] == (0 if boundary == "policy"
                                    and os.geteuid() == 0 else 1), skipped)
    check(f"{boundary}: at most exec.files_max are shown, the rest counted",
          len(files) == 100 and skipped["more"] > 50, skipped)
    check(f"{boundary}: it is all", result["files_complete"]
          and "root:" not in str(result["files"]), str(result)[:900])
    check(f"{boundary}: what is in a directory too deep or shut is said to "
          "be a least number", not skipped["below_complete"]
          and skipped["below"] <= 1, skipped)
    result = on(boundary, "mkdir -p d/e; echo x >d/1; echo x >d/e/2; "
                "ln -s / d/e/3; echo x >f; chmod 0 .")
    check(f"{boundary}: a scratch directory closed to itself is read",
          "f" in case.files(result) and result["files_complete"], result)
    check(f"{boundary}: files below a directory are counted",
          result["skipped"]["below"] == 3
          and result["skipped"]["below_complete"]
          and result["skipped"]["directories"] == 1, result)
    result = on(boundary, "rm -rf in.txt; mkdir in.txt; ln -s /etc/passwd a",
                "--input", "in.txt")
    check(f"{boundary}: an input that became something else is not read",
          result["files"] == [] and result["skipped"]["directories"] == 1
          and result["skipped"]["links"] == 1, result)


def it_is_long(boundary):
    """What needs most bytes to be told, as much of it as is shown."""
    result = on(boundary, """python3 -c '
import sys
for n in range(110):
    open(chr(1) * 250 + "%03d" % n, "w").write(chr(1) * 9000)
for out in sys.stdout, sys.stderr:
    out.write(chr(1) * 9000)'""", timeout="20s")
    check(f"{boundary}: the longest answer is read", result["rc"] == 0
          and result["files_complete"] and len(result["files"]) == 100
          and all(one["text"] == "\x01" * 8192 for one in result["files"])
          and result["stderr"] == "\x01" * 8192, str(result)[:900])


def it_fills(boundary):
    result = on(boundary, "head -c 100m /dev/zero >full; echo $?; wc -c full",
                timeout="20s")
    size = case.files(result).get("full", {"bytes": 0})["bytes"]
    if boundary == "policy":
        check("policy: no file of the caller's is cut",
              result["stdout"].startswith("0\n") and size == 100 << 20,
              str(result)[:900])
    else:
        check(f"{boundary}: the scratch directory has an end",
              not result["stdout"].startswith("0\n") and size <= 64 << 20,
              str(result)[:900])
    result = on(boundary, "python3 -c 'x = bytearray(2 << 30); print(1)'",
                timeout="20s")
    check(f"{boundary}: so has memory", result["stdout"] == ""
          and result["rc"] != 0, str(result)[:900])


case.path("in.txt", "hello\n")
for one in BOUNDARIES:
    it_ends(one)
    it_floods(one)
    it_leaves(one)
    it_fills(one)
    it_is_long(one)

# --- names that must not go in -----------------------------------------------

os.mkfifo(os.path.join(case.place, "fifo"))
os.symlink("in.txt", os.path.join(case.place, "link"))
os.mkdir(os.path.join(case.place, "dir"))
for word in ("../in.txt", "./in.txt", "dir/x", ".", "..", "/etc/passwd",
             "a\nb", "a\x1b[2Jb", "x\\y", "", "n/x=in.txt", "..=in.txt"):
    done = case.call("true", options=("--input", word))
    check(f"--input {word!r} is refused by its name", done.code == 2
          and "--input" in done.err and "\x1b" not in done.err, done)
done = case.call("true", options=("--input", "in.txt", "--input", "in.txt"))
check("a name that is given twice is refused", done.code == 2
      and "in.txt" in done.err, done)
for word in ("fifo", "link", "dir", "missing", "n=/dev/zero"):
    done = case.call("true", options=("--input", word), timeout=10)
    check(f"--input {word} is refused without waiting", done.code == 125
          and "bad_input" in done.err, done)
for words in (("--timeout", "0"), ("--timeout", "1d"), ("--max-output", "2m"),
              ("--boundary", "chroot"), ("--mode", "all"),
              ("--env", "A B=1"), ("--allow", "localhost")):
    done = case.call("true", options=words)
    check(f"{' '.join(words)} is refused", done.code in (2, 5)
          and done.err.startswith("agentnode: "), done)
check("a command needs its dashes", harness.agentnode(
    case.home, "exec", "true").code == 2)
for words in (("--mode", "read-only"), ("--workspace", "."),
              ("--boundary", "policy", "--allow", "api.example.com"),
              ("--boundary", "native", "--mode", "danger-full-access"),
              ("--timeout", "2h")):
    done = case.call("true", options=words)
    check(f"{' '.join(words)} is refused with its code", done.code == 125
          and done.err.startswith(("agentnode: bad_args: ",
                                   "agentnode: danger_refused: ")), done)

# --- when we are killed ------------------------------------------------------

for one in BOUNDARIES:
    process = subprocess.Popen(
        [harness.AGENTNODE, "exec", "--boundary", one, "--timeout", "60s",
         "--", "sh", "-c", f"echo x >f; mkdir -p a/b; setsid sleep {MARK} & "
         f"sleep {MARK}"],
        env=harness.environment(case.home), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(f"{one}: it runs", harness.wait_until(
        lambda: len(alive()) == 2, 20), alive())
    process.send_signal(signal.SIGKILL)
    process.wait()
    check(f"{one}: killed, nothing of the command outlives it",
          harness.wait_until(lambda: not alive(), 3), alive())
    result = case.run("true", options=("--boundary", one))
    check(f"{one}: the next one starts", result["rc"] == 0, result)
check("nothing is left, and no scratch directory", harness.wait_until(
    lambda: not case.left() and not case.containers(), 15),
    (case.left(), case.containers()))
harness.finish()
