#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agentnode-probe as the workload of a real container: every wall holds,
every limit is really hit; outside a sandbox the same program finds what the
sandbox takes away, so no probe is ok for want of trying."""
import json
import os
import struct
import subprocess

from harness import check, finish, folder
from init_sandbox import PROBE, Run, make_image

RECORD = struct.Struct("=IIIIII32s208s")

make_image()

run = Run("agentnode-probe", options=("--relay-llm", "4100", "--listen",
                                      "127.0.0.1:4100")).finish()
told = json.loads(run.output())
names = [probe["name"] for probe in told["probes"]]
check("at_least_40_probes", len(names) >= 40 and len(set(names))
      == len(names), names)
for probe in told["probes"]:
    check(f"probe_{probe['name']}", probe["ok"], probe["detail"])
check("all_ok", told["ok"] and run.one("status").get("exit") == 0,
      run.events[-4:])

# The same by fixed records.
run = Run("agentnode-probe", "--records", "--only", "routes", "--only",
          "limit_memory").finish()
data = run.output().encode("latin-1")
records = [RECORD.unpack_from(data, at)
           for at in range(0, len(data), RECORD.size)]
check("records", [(r[0], r[1], r[2], r[3], r[4], r[6].rstrip(b"\0"))
                  for r in records]
      == [(0x414e5031, 1, 0, 2, 1, b"routes"),
          (0x414e5031, 1, 1, 2, 1, b"limit_memory")], records)

# The limits are those of the container: with others, others are hit.
for pids, memory in ((40, "128m"), (80, "200m")):
    run = Run("agentnode-probe", "--only", "limit_processes", "--only",
              "limit_memory", pids=pids, memory=memory).finish()
    probes = {p["name"]: p["detail"] for p in
              json.loads(run.output())["probes"]}
    count = int(probes["limit_processes"].split()[2])
    size = int(probes["limit_memory"].split()[-2])
    check(f"limits_follow_{pids}_{memory}", pids - 6 < count < pids
          and int(memory[:-1]) - 40 < size <= int(memory[:-1]), probes)

# Outside: a home with credentials, a secret, a network.
home = folder()
os.mkdir(os.path.join(home, ".aws"))
with open(os.path.join(home, ".aws", "credentials"), "w",
          encoding="ascii") as file:
    file.write("[default]\naws_access_key_id = x\n")
outside = subprocess.run(
    [PROBE, "--report", "--scratch", home, "--processes-max", "20",
     "--raw", "127.0.0.1", "--metadata", "127.0.0.1", "--resolver",
     "127.0.0.1"],
    env={"HOME": home, "AWS_SECRET_ACCESS_KEY": "x"}, capture_output=True,
    text=True, check=True, cwd=home)
report = json.loads(outside.stdout)
check("outside_finds_the_credentials",
      report["credentials"] == "readable, 32 bytes"
      and report["secret_in_env"] is True, report)
ONLY = ("credentials_file", "environment", "host_name", "interfaces",
        "unprivileged_user", "filter_in_force", "no_new_privileges",
        "execute_written", "write_outside")
outside = subprocess.run(
    [PROBE, "--scratch", home, *(w for n in ONLY for w in ("--only", n))],
    env={"HOME": home, "AWS_SECRET_ACCESS_KEY": "x"}, capture_output=True,
    text=True, check=False, cwd=home)
told = {p["name"]: p["ok"] for p in json.loads(outside.stdout)["probes"]}
check("outside_nothing_is_ok", len(told) == len(ONLY)
      and not any(told.values()) and outside.returncode == 1, told)

run = Run("agentnode-probe", "--report", "--url", "https://example.com/",
          options=("--cwd", "/sandbox-home")).finish()
report = json.loads(run.output())
check("inside_finds_nothing", report["credentials"] == "no such file"
      and report["secret_in_env"] is False
      and report["network"] == "failed: the name does not resolve"
      and report["raw_address"] == "failed: ENETUNREACH"
      and report["metadata"] == "failed: ENETUNREACH"
      and report["cwd_entries"] == "", report)
finish()
