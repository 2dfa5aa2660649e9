#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sandbox selftest` passes whole, and fails when one layer is taken away:
each word of the engine's command line that is a wall, each once."""
import json
import os

import engine_case
import harness
import schema_check
from harness import check

WEAK = os.path.join(harness.BUILD, "tests", "selftest_weak")
HOME = harness.folder()
harness.agentnode(HOME, "config", "set", "sandbox.image",
                  engine_case.image())
ENV = harness.environment(HOME)

# What is taken away, and what stands there instead.
LAYERS = [
    ("the namespace of the network", "--network=none", "--network=host"),
    ("the read-only root", "--read-only", ""),
    ("no implicit tmpfs", "--read-only-tmpfs=false", ""),
    ("no capabilities", "--cap-drop=ALL", "--cap-add=ALL"),
    ("no new privileges", "--security-opt=no-new-privileges", ""),
    ("the engine's filter", "--security-opt=seccomp=",
     "--security-opt=seccomp=unconfined"),
    ("the pid namespace", "--pid=private", "--pid=host"),
    ("the host name", "--hostname=sandbox", "--hostname=other"),
    ("an unprivileged user", "--user=", "--user=0:0"),
    ("the memory limit", "--memory=", "--memory=8g"),
    ("no swap", "--memory-swap=", "--memory-swap=16g"),
    ("the process limit", "--pids-limit=", "--pids-limit=10000"),
    ("the CPU limit", "--cpus=", "--cpus=2"),
    ("the descriptor limit", "--ulimit=nofile=", "--ulimit=nofile=9999:9999"),
    ("the process rlimit", "--ulimit=nproc=", "--ulimit=nproc=9999:9999"),
    ("noexec on /tmp", "--tmpfs=/tmp:",
     "--tmpfs=/tmp:rw,nosuid,nodev,size=67108864,mode=1777"),
    ("the size of /tmp", "--tmpfs=/tmp:",
     "--tmpfs=/tmp:rw,noexec,nosuid,nodev,mode=1777"),
    ("the size of the home", "--tmpfs=/sandbox-home:",
     "--tmpfs=/sandbox-home:rw,noexec,nosuid,nodev,size=99m,U"),
    ("the size of shared memory", "--shm-size=", "--shm-size=0"),
    ("no mount but ours", "--workdir=/",
     "--tmpfs=/opt:rw,noexec,nosuid,nodev,size=1m"),
    ("no device but the harmless", "--workdir=/", "--device=/dev/kmsg"),
    ("no variable but ours", "--unsetenv-all", "--env=SECRET=leaked"),
    ("no name but ours", "--workdir=/", "--add-host=corp.example:10.1.2.3"),
]


def selftest(*changes):
    return harness.run(WEAK, *changes, env=ENV, timeout=120)


whole = selftest()
report = whole.json() if whole.code == 0 else {}
probes = report.get("probes", [])
check("whole: it passes", whole.code == 0 and report.get("ok") is True,
      [one for one in probes if not one["ok"]] or whole)
check("at least 40 probes", len(probes) >= 40, len(probes))
done = harness.agentnode(HOME, "sandbox", "selftest", "--json", timeout=120)
shipped = done.json() if done.code == 0 else {}
check("the command says the same", done.code == 0 and
      [one["name"] for one in shipped["probes"]]
      == [one["name"] for one in probes], done)
faults = list(schema_check.faults(shipped, schema_check.load(
    harness.SOURCE, "sandbox-selftest")))
check("its JSON holds to the schema", not faults, faults)
for what, variant in (("init's protection and Landlock domain", "open"),
                      ("init's own protection", "dumpable"),
                      ("init's Landlock domain", "bare"),
                      ("init's filter", "unguarded")):
    done = harness.run(WEAK, env=dict(ENV, SELFTEST_WEAK_INIT=os.path.join(
        harness.BUILD, "tests", "inside", f"init_{variant}")), timeout=120)
    failed = []
    if done.code == 1:
        failed = [one["name"] + ": " + one["detail"]
                  for one in json.loads(done.out)["probes"] if not one["ok"]]
    check(f"without {what}: it fails and names it", len(failed) > 0, done)
    print(f"      {failed[:1]}")
for what, word, instead in LAYERS:
    done = selftest(word, instead)
    failed = []
    if done.code == 1:
        failed = [one["name"] + ": " + one["detail"]
                  for one in json.loads(done.out)["probes"] if not one["ok"]]
    check(f"without {what}: it fails and names it", done.code == 1
          and len(failed) > 0, done)
    print(f"      {failed[:1]}")
harness.finish()
