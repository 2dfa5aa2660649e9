#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i01_no_host: the user's engine configuration brings nothing of the host into
a sandbox. Each hostile thing is first shown to work without us, so that the
test does not pass for want of an attack. (Images: attack_image.py.)"""
import json
import os
import shutil
import subprocess

import engine_case
import harness
from harness import check

HOME = harness.folder()
IMAGE = engine_case.image()
MARK = "agentnode-hostile"
CONF = f"""
[containers]
volumes = ["{HOME}/secret:/{MARK}:rw"]
env = ["{MARK.replace('-', '_')}=1"]
annotations = ["run.oci.keep_original_groups=1"]
base_hosts_file = "{HOME}/hosts"
[engine]
hooks_dir = ["{HOME}/hooks"]
"""
LOOK = (f"ls -d /{MARK}; env; cat /etc/hosts /etc/resolv.conf; "
        "cat /proc/self/mountinfo; hostname")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def bare(*words):
    """The engine with the user's configuration, as a shell would call it.
    The flags are what this machine's runtimes need, and no hardening."""
    env = dict(os.environ, HOME=HOME, CONTAINERS_CONF=f"{HOME}/hostile.conf",
               HTTPS_PROXY="http://user:password@proxy.corp.example:3128")
    for runtime in ("crun", "runc"):
        done = subprocess.run(
            ["podman", f"--runtime={shutil.which(runtime) or runtime}", "run",
             "--rm", "--network=none", "--ulimit=nofile=1024:1024",
             "--ulimit=nproc=1024:1024", *words],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60)
        if done.returncode < 125:
            break
    return done.stdout


# The user's containers.conf, hooks, hosts, proxy variables.
os.makedirs(f"{HOME}/secret")
write(f"{HOME}/hosts", "10.1.2.3 intranet.corp.example\n")
write(f"{HOME}/hostile.conf", CONF)
write(f"{HOME}/.config/containers/containers.conf", CONF)
write(f"{HOME}/hook.sh", f"#!/bin/sh\ntouch {HOME}/hook-ran\n"
      "exec /bin/cat >/dev/null\n", 0o755)
write(f"{HOME}/hooks/h.json", json.dumps({
    "version": "1.0.0", "hook": {"path": f"{HOME}/hook.sh"},
    "when": {"always": True}, "stages": ["prestart"]}))
os.environ.update(CONTAINERS_CONF=f"{HOME}/hostile.conf",
                  HTTPS_PROXY="http://user:password@proxy.corp.example:3128")
out = bare(IMAGE, "/bin/sh", "-c", LOOK)
WORDS = [f"/{MARK}", "agentnode_hostile=1", "intranet.corp.example",
         "password"]
for word in WORDS:
    check(f"without us: {word} arrives", word in out, out[:600])
check("without us: the hook runs", os.path.exists(f"{HOME}/hook-ran"))
if os.path.exists(f"{HOME}/hook-ran"):
    os.unlink(f"{HOME}/hook-ran")

# run_sandbox gets the same environment.
real = harness.environment


def hostile(home, **more):
    env = real(home, **more)
    env.update(CONTAINERS_CONF=os.environ["CONTAINERS_CONF"], HOME=HOME,
               HTTPS_PROXY=os.environ["HTTPS_PROXY"],
               CONTAINER_HOST="unix:///nonexistent",
               CONTAINERS_STORAGE_CONF=os.path.join(HOME, "none"))
    return env


harness.environment = hostile
out, outcome = engine_case.run("/bin/sh", "-c", LOOK, home=HOME)
check("with us: it runs", outcome.get("exit_code") == 0
      or outcome.get("started"), outcome)
for word in WORDS + ["10.1.2.3", os.uname().nodename + "\n",
                     "host.containers.internal"]:
    check(f"with us: {word.strip()} does not arrive", word not in out,
          out[:2000])
check("with us: the hook does not run",
      not os.path.exists(f"{HOME}/hook-ran"))
check("with us: hosts has loopback only", all(
    line.split()[0] in ("127.0.0.1", "::1") for line in out.split("\n")
    if line.endswith(("localhost", "sandbox")) and len(line.split()) > 1
    and "/" not in line), out[:600])
harness.environment = real
for name in ("CONTAINERS_CONF", "HTTPS_PROXY"):
    del os.environ[name]

# The engine's own directory must be ours.
runtime_dir = "/run/agentnode" if os.geteuid() == 0 else os.path.join(
    os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}"),
    "agentnode")
os.chmod(runtime_dir, 0o755)
_, outcome = engine_case.run("/bin/true", home=HOME)
os.chmod(runtime_dir, 0o700)
check("a runtime directory that others can read is refused",
      outcome.get("code") == "engine_failed"
      and "0700" in outcome.get("detail", ""), outcome)
with open(f"{runtime_dir}/containers.conf", "a", encoding="utf-8") as file:
    file.write(CONF)
out, outcome = engine_case.run("/bin/sh", "-c", LOOK, home=HOME)
check("a changed containers.conf of ours is written again",
      f"/{MARK}" not in out and outcome.get("started"), out[:600])

harness.finish()
