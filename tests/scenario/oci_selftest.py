#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""crun and runc without an engine: every probe of the selftest; what a
command sees of host, engine and image (nothing, nothing, and its files
without a set-id bit); limits that hold; nothing that stays."""
import os
import socket

import engine_case
import oci_case
import schema_check
import harness
from harness import check

LOOK = r"""
cat /proc/self/mountinfo; echo ----; cat /proc/self/cgroup; echo ----
cat /etc/hosts /etc/hostname /etc/resolv.conf /etc/passwd; echo ----
find / -xdev -perm /6000 2>/dev/null; find / -xdev -perm /022 ! -type l \
  2>/dev/null; find / -xdev \( -type b -o -type c -o -type p \) 2>/dev/null
echo ----; touch /x /etc/x /usr/x /proc/sys/x 2>&1; echo ----
grep -E '^(Seccomp|NoNewPrivs|Cap)' /proc/self/status
cat /proc/cmdline /proc/keys; ls /sys; ls -d /proc/1
"""
case = oci_case.OciHome()
case.agentnode("config", "set", "sandbox.memory", "100m")
case.agentnode("config", "set", "sandbox.pids", "40")
host = socket.gethostname()
for runtime in ("crun", "runc"):
    case.agentnode("config", "set", "sandbox.runtime", runtime)
    done = case.agentnode("sandbox", "selftest", "--json")
    probes = done.json()["probes"] if done.code in (0, 1) else []
    check(f"{runtime}: the selftest passes", done.code == 0 and
          len(probes) > 90 and all(one["ok"] for one in probes),
          [one for one in probes if not one["ok"]] or done)
    faults = list(schema_check.faults(done.json(), schema_check.load(
        harness.SOURCE, "sandbox-selftest"))) if probes else ["none"]
    check(f"{runtime}: its JSON holds to the schema", not faults, faults)
    said = case.shell(LOOK, "--max-output", "64k")
    parts = said.get("stdout", "").split("----\n") + [""] * 6
    roots = {line.split()[3] for line in parts[0].splitlines()}
    check(f"{runtime}: no mount tells of a place of the host",
          roots and roots <= {"/", "/null", "/bus", "/fs", "/irq", "/sys",
                              "/sysrq-trigger", "/asound"}, parts[0])
    words = [word for word in (case.home, "/var/lib", "/run/agentnode/oci",
                               "containers", "podman", "roots", host)
             if word and word in "".join(parts[:3])]
    check(f"{runtime}: nothing names host or engine", not words,
          (words, parts[:3]))
    check(f"{runtime}: its control groups have no name", parts[1] and all(
        line.endswith(":/") for line in parts[1].splitlines()), parts[1])
    check(f"{runtime}: no set-id bit, device or file that it may write",
          set(parts[3].split()) == {"/tmp", "/run/agentnode"}, parts[3])
    check(f"{runtime}: nothing can be made in the image",
          parts[4].count("Read-only file system") == 4
          or parts[4].count("cannot touch") == 4, parts[4])
    check(f"{runtime}: a filter, no capability, no kernel's command line",
          "Seccomp:\t2" in parts[5] and "NoNewPrivs:\t1" in parts[5]
          and parts[5].count("0000000000000000") == 5
          and "root=" not in parts[5] and "console" not in parts[5], parts[5])
    said = case.shell("head -c 150m /dev/zero | tail -c 140m | wc -c")
    check(f"{runtime}: memory has its limit", said.get("oom_kills", 0) > 0
          and said["peak_memory"] <= 100 << 20, said)
    said = case.shell("for i in $(seq 60); do sleep 1 & done; wait")
    check(f"{runtime}: so have processes",
          "fork" in said.get("stderr", ""), said)

check("nothing of it stays in the private directory of the engine",
      os.listdir("/run/agentnode/oci") == [], os.listdir("/run/agentnode/oci"))
check("an image is unpacked once",
      os.listdir(case.roots()) == [os.path.basename(case.root())],
      os.listdir(case.roots()))
check("nobody else reads it",
      os.stat(case.roots()).st_mode & 0o77 == 0
      and os.stat(os.path.join(case.root(), "root")).st_uid == os.geteuid())
check("no engine knows of any of it", "native-" not in engine_case.podman(
    "ps", "--all", "--format", "{{.Names}}").stdout)
harness.finish()
