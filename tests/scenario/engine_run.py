#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One sandbox from start to verified removal: how ends are told, what the
workload gets, limits that are hit, files in and out, sealed volumes, and the
launch and removal records around it."""
import json
import os
import struct
import subprocess

import engine_case
import harness
from harness import check

HOME = harness.folder()


def run(*command, options=()):
    return engine_case.run(*command, options=options, home=HOME)


def shell(script, *options):
    return run("/bin/sh", "-c", script, options=options)


def ended(name, outcome, **wanted):
    wrong = {key: outcome.get(key) for key, value in wanted.items()
             if outcome.get(key) != value}
    return check(name, not wrong and outcome.get("removed") is True,
                 (wrong, outcome))


# How it ends.
_, outcome = run("/bin/true")
ended("exit 0", outcome, started=True, exit_code=0, signal=0, code="")
name = f"agentnode-exec-test-{outcome['id']}"
check("the engine does not know it",
      engine_case.podman("container", "exists", name).returncode == 1)
_, outcome = shell("exit 37")
ended("exit 37", outcome, exit_code=37, code="")
_, outcome = shell("kill -SEGV $$")
ended("a signal", outcome, signal=11, exit_code=-1, code="")
_, outcome = run("/no/such/program")
ended("no such program", outcome, started=False, code="exec_failed")
_, outcome = run("/bin/sleep", "600", options=["--wall", "1"])
ended("time limit", outcome, started=True, code="timeout")
_, outcome = run("/bin/sleep", "600", options=["--stop", "700"])
ended("stopped in order", outcome, started=True, signal=9, code="")
_, outcome = run("/bin/true", options=["--kind", "-x"])
ended("a kind that looks like a flag", outcome, started=False,
      code="bad_spec")

# What it gets.
out, outcome = shell("env | sort; pwd; id -u; cat /proc/self/status | grep "
                     "-e ^Cap -e ^NoNewPrivs -e ^Seccomp:; ls /run/agentnode")
lines = out.split("\n")
names = [line.split("=")[0] for line in lines if "=" in line]
check("the environment is ours alone",
      names == ["HOME", "LANG", "PATH", "PWD", "TMPDIR"], names)
uid = [int(line) for line in lines if line.isdigit()]
check("a uid of its own", uid and 1879048192 <= uid[0] < 1879048192 + 65536,
      uid)
check("no capability", out.count("0000000000000000") == 5, out)
check("no new privileges, filtered", "NoNewPrivs:\t1" in out
      and "Seccomp:\t2" in out, out)
_, second = shell("exit 0")
check("another run has another id", second["id"] != outcome["id"])
out, _ = shell("echo $A; echo $PATH", "--env", "A=b c", "--env", "PATH=/bin")
check("variables of the spec", out == "b c\n/bin\n", out)
_, outcome = shell("true", "--allow", "", "--env", "HTTPS_PROXY=http://x")
ended("a proxy variable of the spec is refused", outcome, code="bad_spec",
      started=False)
case = engine_case.Case("/bin/cat", home=HOME)
out, _ = case.process.communicate(b"through\n" * 100000, timeout=30)
check("standard input and output", out == b"through\n" * 100000, len(out))

# Limits, hit.
_, outcome = run("/usr/bin/python3", "-c", "b = bytearray(400 << 20)",
                 options=["--memory", str(64 << 20)])
ended("out of memory", outcome, signal=9, code="", oom_kills=1)
check("peak memory is told", 32 << 20 <= outcome["peak_memory"] <= 64 << 20,
      outcome)
out, _ = shell("dd if=/dev/zero of=/tmp/x bs=1M count=200 2>&1; wc -c </tmp/x")
check("/tmp is 64 MiB", "No space left" in out
      and out.split()[-1] == str(64 << 20), out)
out, _ = run("/usr/bin/python3", "-c", """
import os
n = 0
try:
    while n < 1000:
        if os.fork() == 0:
            os.pause() if hasattr(os, 'pause') else __import__('time').sleep(9)
        n += 1
except OSError as e:
    print(n, e.errno)
""")
count = int(out.split()[0]) if out else 0
check("processes are limited", 200 < count < 256 and out.split()[1] == "11",
      out)

# Files in and out: a tree stream each way.
MAGIC = 0x414e5431


def record(kind, path=b"", content=b"", mode=0o644):
    return struct.pack("=IIIIQ", MAGIC, kind, mode, len(path),
                       len(content)) + path + content


folder = harness.folder()
tree_in, tree_out = os.path.join(folder, "in"), os.path.join(folder, "out")
with open(tree_in, "wb") as file:
    file.write(record(1, b"d", mode=0o755) + record(2, b"d/a", b"content")
               + record(4))
out, outcome = shell(
    "cat /scratch/d/a; echo more > /scratch/b; touch /scratch/d/a && echo writable",
    "--tmpfs", "/scratch:1048576", "--import", f"/scratch:{tree_in}",
    "--export", f"/scratch:{tree_out}")
check("files come in", out.startswith("content"), (out, outcome))
with open(tree_out, "rb") as file:
    data = file.read()
check("files come out", b"more\n" in data and b"d/a" in data
      and data.endswith(record(4)) or data[-24:-16] == record(4)[:8], data)
with open(tree_in, "wb") as file:
    file.write(record(2, b"../escape", b"x") + record(4))
_, outcome = shell("true", "--tmpfs", "/scratch:1048576", "--import",
                   f"/scratch:{tree_in}")
ended("a path that leaves is refused", outcome, started=False,
      code="import_failed")

# Sealed volumes.
volume = f"agentnode-test-{os.getpid()}"
engine_case.podman("volume", "create", volume)
try:
    archive = subprocess.run(["tar", "-C", folder, "--mode=a+rX", "-c", "."],
                             stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["podman", "volume", "import", volume, "-"],
                   input=archive, check=True, stderr=subprocess.DEVNULL)
    _, outcome = shell("true", "--mount", f"{volume}:/pack:sha256:" + "0" * 64)
    ended("another hash is an integrity failure", outcome, started=False,
          code="integrity_volume")
    found = "sha256:" + outcome["detail"].split("sha256:")[1][:64]
    out, outcome = shell("ls /pack; touch /pack/x 2>&1; echo $PYTHONPATH",
                         "--mount", f"{volume}:/pack:{found}")
    ended("the sealed hash runs", outcome, exit_code=0, code="")
    check("/pack is there and read-only", "in\n" in out
          and "Read-only" in out or "denied" in out, out)
    check("PYTHONPATH is /pack", out.endswith("/pack\n"), out)
    _, outcome = shell("true", "--mount", f"{volume}:/pack")
    ended("a volume without a hash is refused", outcome, started=False,
          code="integrity_volume")
    _, outcome = shell("true", "--mount", f"no-such-{volume}:/pack:{found}")
    ended("a missing volume is refused", outcome, started=False,
          code="integrity_volume")
finally:
    engine_case.podman("volume", "rm", "--force", volume)

# The image.
case = engine_case.Case(
    "/bin/true", home=HOME,
    image_name="localhost/agentnode-sandbox@sha256:" + "0" * 64)
_, outcome = case.finish()
ended("an unknown digest is refused", outcome, started=False,
      code="image_missing")
case = engine_case.Case("/bin/true", home=HOME, image_name="localhost/x:tag")
_, outcome = case.finish()
ended("a tag is refused", outcome, started=False, code="image_refused")

# The records around it.
shown = harness.agentnode(HOME, "audit", "show", "--json", "--last", "500")
records = json.loads(shown.out) if shown.code == 0 else []
records = records.get("records", []) if isinstance(records, dict) else records
events = [one.get("event") for one in records]
check("launch, removal and refusal records", {"launch", "removal", "refusal"}
      <= set(events), (shown, events[:5]))
verify = harness.agentnode(HOME, "audit", "verify")
check("the chain verifies", verify.code == 0, verify)
runs = {one.get("fields", one).get("run") for one in records}
left = [name for name in engine_case.podman(
    "ps", "-a", "--format={{.Names}}").stdout.split()
    if name.rpartition("-")[2] in runs]
check("nothing is left", len(runs) > 10 and not left, (runs, left))
harness.finish()
