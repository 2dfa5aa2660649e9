#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""runsc gives a sandbox a kernel of its own: the record and the status say so,
files go in and out, init's descriptors cannot be had from within, and
whichever of its processes is killed, all are dead and nothing is left."""
import glob
import json
import os
import signal
import subprocess

import engine_case
import harness
import machine_pace
import oci_case
from harness import check

case = oci_case.OciHome("runsc")
TRY = ("for n in $(ls /proc/1/fd); do for way in '<' '>'; do "
       "if [ $n -gt 2 ] && eval \"exec 9$way/proc/1/fd/$n\" 2>/dev/null; "
       "then echo opened $n; fi; done; done; "
       "kill -0 1 2>/dev/null && echo signalled; id -u; dmesg 2>/dev/null; "
       "grep -c . /proc/self/mountinfo; echo end")
done = case.agentnode("exec", "--", "/bin/sh", "-c", "exit 7")
check("its exit code comes out", done.code == 7, done)
inside = case.agentnode("exec", "--", "/bin/bash", "-c", TRY)
check("nothing of init's can be opened, nor can it be signalled",
      "opened" not in inside.out and "signalled" not in inside.out
      and inside.out.endswith("end\n"), inside)
release = case.agentnode("exec", "--", "uname", "-r").out.strip()
check("another kernel answers", release not in ("", os.uname().release),
      release)
text = "".join(open(path, encoding="utf-8", errors="replace").read()
               for path in glob.glob(case.env["AGENTNODE_HOME"] + "/ledger/*")
               if os.path.isfile(path))
check("the launch record names the boundary", '"boundary":"gvisor"' in text)
status = case.agentnode("sandbox", "status", "--json")
check("so does the status", json.loads(status.out).get("boundary") == "gvisor",
      status)
doctor = case.agentnode("sandbox", "doctor", "--quick", "--json")
check("and doctor", "gVisor" in doctor.out, doctor)
case.agentnode("config", "set", "sandbox.wiring", "fd")
refused = case.agentnode("exec", "--", "/bin/true")
check("descriptors are not a way into it", refused.code != 0
      and "wiring_unavailable" in refused.err, refused)
case.agentnode("config", "unset", "sandbox.wiring")
# Whoever asked for a kernel of its own never gets the machine's instead.
for engine in ("podman", "auto", "docker"):
    case.agentnode("config", "set", "sandbox.engine", engine)
    refused = case.agentnode("exec", "--", "/bin/true")
    status = case.agentnode("sandbox", "status", "--json")
    check(f"runsc with engine {engine}: refused with its reason",
          refused.code != 0 and "runtime_unusable" in refused.err
          and "sandbox.engine oci" in refused.err, refused)
    check(f"runsc with engine {engine}: not ready", status.code == 1
          and "sandbox.engine oci" in status.out, status)
case.agentnode("config", "set", "sandbox.engine", "oci")


def below(pid):
    """What runsc is made of; what is traced has the kernel's name, too."""
    found = {}
    runtime = engine_case.children(pid).get("runsc")
    for one in glob.glob("/proc/[0-9]*/stat"):
        fields = (engine_case.text(one) or "").rpartition(")")[2].split()
        if len(fields) > 1 and fields[1] == str(runtime):
            path = os.path.dirname(one)
            word = (engine_case.text(f"{path}/cmdline") or "").split("\0")[0]
            found[word] = int(path.rpartition("/")[2])
    return {"runtime": runtime, "kernel": found.get("runsc-sandbox"),
            "gofer": found.get("runsc-gofer")}


for victim in ("runtime", "kernel", "gofer", "supervisor"):
    run = engine_case.Case("/bin/sh", "-c", "trap '' TERM; sleep 100 & "
                           "echo up; while :; do sleep 1; done",
                           home=case.home, stdin=subprocess.DEVNULL)
    label = f"{victim} killed"
    if run.process.stdout.readline() != b"up\n":
        check(f"{label}: it runs", False, run.log()[-2000:])
        continue
    pids = {**below(run.pid), "supervisor": run.pid}
    ident = run.id()
    members = {pid for group in oci_case.groups(ident) for pid in
               (engine_case.text(f"{group}/cgroup.procs") or "").split()}
    check(f"{label}: all of runsc is in the sandbox's groups", {
        str(pids[one]) for one in ("runtime", "kernel", "gofer")} <= members,
          (pids, members))
    deadline = machine_pace.Deadline(2)
    os.kill(pids[victim], signal.SIGKILL)
    check(f"{label}: all are dead", engine_case.wait(
        10, lambda gone=members: not [
            pid for pid in gone if os.path.exists(f"/proc/{pid}/exe")])
        and deadline.ends(), (members, deadline))
    run.finish(15)
    if victim == "supervisor":
        engine_case.run("/bin/true", home=case.home)
    check(f"{label}: its groups are gone", engine_case.wait(
        5, lambda run=ident: not oci_case.groups(run)),
          oci_case.groups(ident))
harness.finish()
