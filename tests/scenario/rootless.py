#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary user's attacks and defences: hostile files of that user's own
engine, hostile images in that user's own store, agentnode's commands. The
user exists in a mount namespace of the test's own only. Starting, ending and
killing as an ordinary user are in engine_rootless."""
import atexit
import json
import os
import pwd
import subprocess

import engine_case
import harness
import private_engine
from harness import check
from hostile_image import Entry, Image

private_engine.enter()
harness.need("useradd", "newuidmap", "setpriv")
UPPER = harness.folder("agentnode-etc-")
private_engine.mount("none", UPPER, "tmpfs", options="mode=0755")
for part in ("upper", "work"):
    os.mkdir(f"{UPPER}/{part}")
private_engine.mount("overlay", "/etc", "overlay", options=(
    f"lowerdir=/etc,upperdir={UPPER}/upper,workdir={UPPER}/work"))
# The folder is removed in the machine's namespace only when nothing of this
# one is mounted on it.
atexit.register(lambda: [private_engine.uncover(at) for at in ("/etc", UPPER)])
HOME = harness.folder("agentnode-home-")
RUNTIME = harness.folder("agentnode-run-")
EVIL = harness.folder("agentnode-evil-")
subprocess.run(["useradd", "--home-dir", HOME, "--no-create-home", "--shell",
                "/bin/sh", "agentnode-plain"], check=True)
UID, GID = pwd.getpwnam("agentnode-plain")[2:4]
MARKS = f"{EVIL}/marks"


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def own(*paths):
    for path in paths:
        subprocess.run(["chown", "-R", f"{UID}:{GID}", path], check=True)
        os.chmod(path, 0o755)


def user(*argv, home=HOME, timeout=100, **more):
    env = harness.environment(home)
    env.update({"XDG_RUNTIME_DIR": RUNTIME, **more})
    return harness.run("setpriv", f"--reuid={UID}", f"--regid={GID}",
                       "--clear-groups", *argv, env=env, cwd="/",
                       timeout=timeout)


def agentnode(*words, **more):
    return user(harness.AGENTNODE, *words, **more)


def archive(image):
    path = image.archive()
    os.chmod(os.path.dirname(path), 0o755)
    return path


def sandbox(*command, home=HOME, image=None):
    """(result, outcome) of one sandbox."""
    folder = harness.folder()
    own(folder)
    done = user(engine_case.RUN_SANDBOX, "--image", image or IMAGE,
                "--outcome", f"{folder}/outcome", "--", *command, home=home)
    return done, json.loads(engine_case.text(f"{folder}/outcome") or "{}")


def marks():
    text = engine_case.text(MARKS)
    if os.path.exists(MARKS):
        os.unlink(MARKS)
    return text.split()


write(f"{HOME}/.config/containers/storage.conf",
      '[storage]\ndriver = "overlay"\n')
os.makedirs(f"{HOME}/.agentnode", mode=0o700)
own(HOME, RUNTIME, EVIL)
os.chmod(RUNTIME, 0o700)
done = agentnode("sandbox", "load", archive(Image()))
check("a user loads an image into a store of their own", done.code == 0, done)
IMAGE = done.out.strip()
check("root's store does not have it", private_engine.podman(
    "image", "exists", IMAGE).returncode == 1)


def limits():
    """Refused by name with the fix, or accepted by name. Names of the walls
    that then are not there."""
    missing = set()
    done, outcome = sandbox("/bin/true")
    if outcome.get("code") == "limits_unavailable":
        check("no limits: refused with the fix", outcome["started"] is False
              and "sandbox.overrides no_cgroup_limits" in outcome["detail"],
              outcome)
        missing = {"limit_memory"}
        done = agentnode("sandbox", "selftest")
        check("no limits: the self-test does not pass", done.code != 0
              and "no_cgroup_limits" in done.out + done.err, done)
        done = agentnode("config", "set", "sandbox.overrides",
                         "no_cgroup_limits")
        check("the override is set", done.code == 0, done)
        done, outcome = sandbox("/bin/true")
        shown = agentnode("audit", "show", "--json", "--last", "5").json()
        launch = [one for one in shown["records"]
                  if one["event"] == "launch"][-1:]
        check("no limits: the record of every run says so",
              "no_cgroup_limits" in json.dumps(launch), shown)
    check("it runs", outcome.get("started") and outcome.get("code") == "",
          (done, outcome))
    return missing


def sealed(missing):
    """The same walls as root's, by agentnode's own self-test, which does not
    pass over what the override accepts."""
    done = agentnode("sandbox", "selftest", "--json")
    probes = {one["name"]: one for one in done.json()["probes"]}
    wrong = {name for name, one in probes.items() if not one["ok"]}
    check("self-test: at least 40 probes", len(probes) >= 40, len(probes))
    check("self-test: every other wall holds", wrong == missing
          and done.code == (1 if missing else 0),
          (done.code, [probes[name] for name in wrong]))
    done, outcome = sandbox(
        "/bin/sh", "-c", "id -u; cat /proc/self/status; touch /x /etc/x; "
        "ls /proc/1/root; unshare --user true && echo escaped; "
        "cat /etc/hosts /etc/resolv.conf")
    out = done.out
    check("own uid, no capability, filtered", outcome.get("started")
          and 10000 <= int(out.split()[0]) < 60000
          and "CapEff:\t0000000000000000" in out
          and "CapBnd:\t0000000000000000" in out
          and "NoNewPrivs:\t1" in out and "Seccomp:\t2" in out
          and "escaped" not in out, (done, outcome))
    check("no host name, address or resolver", os.uname().nodename + "\n"
          not in out and "nameserver" not in out
          and "host.containers.internal" not in out, out)


def hostile_files():
    """containers.conf, mounts and hooks below the user's home."""
    write(f"{EVIL}/secret/key", "host secret\n")
    write(f"{EVIL}/hosts", "10.1.2.3 intranet.corp.example\n")
    for name, then in (("hook", "exec /bin/cat >/dev/null"),  # crun writes to it
                       ("conmon", 'exec /usr/bin/conmon "$@"')):
        write(f"{EVIL}/{name}", f"#!/bin/sh\necho {name} >>{MARKS}\n"
              f"{then}\n", 0o755)
    conf = f"""
[containers]
volumes = ["{EVIL}/secret:/hostile:rw"]
env = ["HOSTILE_ENV=1"]
base_hosts_file = "{EVIL}/hosts"
seccomp_profile = "unconfined"
default_capabilities = ["CAP_SYS_ADMIN"]
utsns = "host"
[engine]
hooks_dir = ["{EVIL}/hooks"]
conmon_path = ["{EVIL}/conmon"]
"""
    hook = json.dumps({"version": "1.0.0", "stages": ["prestart"],
                       "when": {"always": True},
                       "hook": {"path": f"{EVIL}/hook"}})
    write(f"{EVIL}/hooks/h.json", hook)
    folder = f"{HOME}/.config/containers"
    write(f"{folder}/containers.conf", conf)
    write(f"{folder}/mounts.conf", f"{EVIL}/secret:/mounted\n")
    write(f"{HOME}/.config/containers/oci/hooks.d/h.json", hook)
    own(HOME, EVIL)
    os.chmod(f"{HOME}/.agentnode", 0o700)
    look = "ls -d /hostile /mounted; env; cat /etc/hosts /proc/self/status"
    done = user("podman", "--cgroup-manager=cgroupfs", "run", "--rm",
                *private_engine.PLAIN, IMAGE, "/bin/sh", "-c", look)
    words = ("/hostile", "HOSTILE_ENV", "intranet.corp.example",
             "Seccomp:\t0")
    for word in words:
        check(f"user's files: without us {word} is there", word in done.out,
              done)
    ran = marks()
    check("user's files: without us their programs run",
          {"hook", "conmon"} <= set(ran), ran)
    done, outcome = sandbox("/bin/sh", "-c", look)
    check("user's files: it runs", outcome.get("started") is True, outcome)
    for word in words + ("/mounted", "host secret", "10.1.2.3"):
        check(f"user's files: no {word}", word not in done.out, done)
    for verb in (("status",), ("gc",), ("doctor", "--quick"), ("selftest",)):
        agentnode("sandbox", *verb)
    ran = marks()
    check("user's files: none of their programs runs", not ran, ran)
    for name in ("containers.conf", "mounts.conf", "oci/hooks.d/h.json"):
        os.unlink(f"{folder}/{name}")
    own_directory(hook)


def own_directory(hook):
    """Our own directory below XDG_RUNTIME_DIR."""
    place = f"{RUNTIME}/agentnode"
    write(f"{place}/hooks/h.json", hook)
    _, outcome = sandbox("/bin/true")
    check("a hook in our own directory is refused",
          outcome.get("code") == "engine_failed" and not marks(), outcome)
    os.unlink(f"{place}/hooks/h.json")
    os.chmod(place, 0o755)
    _, outcome = sandbox("/bin/true")
    check("our directory, readable by others, is refused",
          outcome.get("code") == "engine_failed", outcome)
    os.chmod(place, 0o700)
    os.chmod(RUNTIME, 0o500)
    done = user(harness.AGENTNODE, "sandbox", "status",
                XDG_RUNTIME_DIR=f"{EVIL}/none")
    check("without a runtime directory: said with the fix", done.code != 0
          and "XDG_RUNTIME_DIR" in done.out + done.err, done)
    os.chmod(RUNTIME, 0o700)


def hostile_images(home, driver):
    for name, change, word in (
            ("/dev link", {"entries": [Entry("dev", link=EVIL)],
                           "without": ("dev",)}, "/dev as a link"),
            ("/etc/passwd FIFO", {"entries": [Entry("etc/passwd",
                                                    kind="fifo")],
                                  "without": ("etc/passwd",)},
             "special file"),
            ("annotation", {"annotations": {
                "run.oci.seccomp_bpf_data": "AA=="}}, "annotation"),
            ("volume", {"config": {"Volumes": {"/data": {}}}}, "volumes")):
        before = sorted(os.listdir(EVIL))
        done = agentnode("sandbox", "load", archive(Image(**change)),
                         home=home)
        check(f"{driver}: image with {name}: refused by name",
              done.code == 3 and word in done.err, done)
        check(f"{driver}: image with {name}: the host is untouched",
              sorted(os.listdir(EVIL)) == before, os.listdir(EVIL))


def other_store():
    """A storage driver that keeps no layers: looked at all the same."""
    home = harness.folder("agentnode-home-")
    write(f"{home}/.config/containers/storage.conf",
          '[storage]\ndriver = "vfs"\n')
    os.makedirs(f"{home}/.agentnode", mode=0o700)
    own(home)
    os.chmod(f"{home}/.agentnode", 0o700)
    done = agentnode("sandbox", "load", archive(Image()), home=home)
    check("vfs: a clean image is loaded", done.code == 0, done)
    hostile_images(home, "vfs")
    user("podman", "system", "reset", "--force", home=home)


try:
    sealed(limits())
    hostile_files()
    hostile_images(HOME, "overlay")
    other_store()
finally:
    user("podman", "system", "reset", "--force")
harness.finish()
