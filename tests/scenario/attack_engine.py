#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's configuration is hostile input (i01): files of the machine,
files of the user, and variables of the caller, each first shown to reach a
container or the host with a plain engine, then to have no effect with us,
through the test launcher and through agentnode itself. The machine's own
files are covered in a mount namespace of the test's own."""
import json
import os
import shutil

import engine_case
import harness
import private_engine
from harness import check
from hostile_image import Image
from private_engine import plain, podman

private_engine.enter()
HOME = harness.folder()
EVIL = harness.folder("agentnode-evil-")
os.chmod(EVIL, 0o755)
TOOLS = os.path.join(harness.BUILD, "tests")
done = harness.agentnode(HOME, "sandbox", "load", Image().archive())
IMAGE = done.out.strip()
check("the image is loaded", done.code == 0, done)
CONMON = shutil.which("conmon")
LOOK = ("ls -d /hostile /mounted /dev/hostile; env; id -u; "
        "cat /etc/hosts /etc/resolv.conf /proc/self/status "
        "/proc/self/mountinfo /proc/sys/kernel/hostname")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def marker(name, then="exit 0"):
    """A program that leaves a mark, then does something."""
    return write(f"{EVIL}/{name}", f"#!/bin/sh\necho {name} >>{EVIL}/marks\n"
                 f"{then}\n", 0o755)


def marks():
    """What ran since the last look."""
    path = f"{EVIL}/marks"
    text = engine_case.text(path)
    if os.path.exists(path):
        os.unlink(path)
    return text.split()


# crun writes the state of the container to a hook, and fails when it cannot.
READS = "exec /bin/cat >/dev/null"


def hook(name):
    return json.dumps({"version": "1.0.0", "stages": ["prestart"],
                       "when": {"always": True},
                       "hook": {"path": marker(name, READS)}})


# One configuration that wants everything.
write(f"{EVIL}/secret/key", "host secret\n")
write(f"{EVIL}/hosts", "10.1.2.3 intranet.corp.example\n")
write(f"{EVIL}/hooks/h.json", hook("configured-hook"))
marker("conmon", f'exec {CONMON} "$@"')
CONF = write(f"{EVIL}/containers.conf", f"""
[containers]
volumes = ["{EVIL}/secret:/hostile:rw"]
devices = ["/dev/null:/dev/hostile:rwm"]
env = ["HOSTILE_ENV=1"]
annotations = ["run.oci.keep_original_groups=1"]
base_hosts_file = "{EVIL}/hosts"
host_containers_internal_ip = "10.9.8.7"
default_capabilities = ["CAP_SYS_ADMIN", "CAP_NET_RAW"]
default_ulimits = ["core=-1:-1"]
seccomp_profile = "unconfined"
utsns = "host"
cgroupns = "host"
http_proxy = true
[engine]
hooks_dir = ["{EVIL}/hooks"]
conmon_path = ["{EVIL}/conmon"]
events_logger = "file"
events_logfile_path = "{EVIL}/events"
""")
NODE = os.uname().nodename + "\n"
# What arrives in the container of a plain engine, and must not with us.
WORDS = ["/hostile", "/dev/hostile", "HOSTILE_ENV=1",
         "intranet.corp.example", "10.9.8.7",
         "CapEff:\t0000000000202000", "Seccomp:\t0", NODE]


def attacked(name, out, wanted=WORDS, programs=("configured-hook",
                                                "conmon")):
    """Without us: all of it works."""
    for word in wanted:
        check(f"{name}: without us {word.strip()} is there", word in out, out)
    ran = marks()
    for one in programs:
        check(f"{name}: without us {one} runs", one in ran, ran)


def clean(name, out, outcome):
    """With us: it runs, and none of it is there."""
    check(f"{name}: it runs", outcome.get("started") is True
          and outcome.get("removed") is True and "CapEff" in out,
          (outcome, out))
    for word in WORDS + ["/mounted", "host secret", "password", "10.1.2.3",
                         "HOSTILE", "FROM_THE_CALLER", "NOTIFY", "PROXY", "LD_PRELOAD"]:
        check(f"{name}: no {word.strip()}", word not in out, out)
    check(f"{name}: no capability, filtered",
          "CapEff:\t0000000000000000" in out and "Seccomp:\t2" in out, out)
    untouched(name)


def untouched(name):
    ran = marks()
    check(f"{name}: nothing of theirs runs on the host", not ran, ran)
    check(f"{name}: the engine writes no events for them",
          not os.path.exists(f"{EVIL}/events"))


def sandbox(tool="run_sandbox", **more):
    """LOOK in a sandbox, with these variables in the caller's environment."""
    real, launcher = harness.environment, engine_case.RUN_SANDBOX
    harness.environment = lambda home, **given: {
        **real(home, **given), "FROM_THE_CALLER": "1", **more}
    engine_case.RUN_SANDBOX = os.path.join(TOOLS, tool)
    try:
        return engine_case.run("/bin/sh", "-c", LOOK, home=HOME,
                               image_name=IMAGE)
    finally:
        harness.environment, engine_case.RUN_SANDBOX = real, launcher


def commands(name, **more):
    """agentnode's own commands under the same variables."""
    for words in (("sandbox", "status"), ("sandbox", "gc"),
                  ("sandbox", "doctor", "--quick"), ("sandbox", "selftest")):
        done = harness.agentnode(HOME, *words, timeout=100,
                                 FROM_THE_CALLER="1", **more)
        check(f"{name}: agentnode {' '.join(words)} works",
              done.code == 0 or "doctor" in words, done)
        untouched(f"{name}: agentnode {' '.join(words)}")


def machine_files():
    """/etc/containers and /usr/share/containers of a hostile machine."""
    etc = shutil.copytree("/etc/containers", f"{EVIL}/etc")
    share = shutil.copytree("/usr/share/containers", f"{EVIL}/share")
    for folder in (etc, share):
        shutil.copy(CONF, f"{folder}/containers.conf")
        write(f"{folder}/mounts.conf", f"{EVIL}/secret:/mounted\n")
        write(f"{folder}/oci/hooks.d/h.json", hook("machine-hook"))
    private_engine.bind(etc, "/etc/containers")
    private_engine.bind(share, "/usr/share/containers")
    env = {"PATH": os.environ["PATH"], "HOME": HOME, "FROM_THE_CALLER": "1"}
    attacked("machine", plain(IMAGE, "/bin/sh", "-c", LOOK, env=env),
             WORDS + ["/mounted"])
    os.unlink(f"{EVIL}/events")
    clean("machine", *sandbox())
    commands("machine")
    # Without our containers.conf: what the flags and init's report still
    # stop.
    out, outcome = sandbox("run_trusting")
    check("machine: without our file, init's report stops the start",
          outcome.get("code") == "walls_mismatch"
          and outcome.get("started") is False and "secret" not in out,
          (outcome, out))
    ran = marks()
    check("machine: without our file, the hooks flag still holds",
          "conmon" in ran and "configured-hook" not in ran
          and "machine-hook" not in ran, ran)
    if os.path.exists(f"{EVIL}/events"):
        os.unlink(f"{EVIL}/events")
    private_engine.uncover("/etc/containers")
    private_engine.uncover("/usr/share/containers")


def variables():
    """The caller's environment."""
    env = {"PATH": os.environ["PATH"], "HOME": HOME, "FROM_THE_CALLER": "1",
           "CONTAINERS_CONF": CONF}
    attacked("CONTAINERS_CONF", plain(IMAGE, "/bin/sh", "-c", LOOK, env=env))
    os.unlink(f"{EVIL}/events")
    clean("CONTAINERS_CONF", *sandbox(CONTAINERS_CONF=CONF))

    storage = write(f"{EVIL}/storage.conf", f"""[storage]
driver = "vfs"
graphroot = "{EVIL}/store"
runroot = "{EVIL}/runstore"
""")
    plain_env = {"PATH": os.environ["PATH"], "HOME": HOME}
    done = podman("info", "--format={{.Store.GraphRoot}}",
                  env={**plain_env, "CONTAINERS_STORAGE_CONF": storage})
    check("CONTAINERS_STORAGE_CONF: without us another store is used",
          done.stdout.strip() == f"{EVIL}/store", done)
    shutil.rmtree(f"{EVIL}/store")
    clean("CONTAINERS_STORAGE_CONF", *sandbox(CONTAINERS_STORAGE_CONF=storage,
                                              STORAGE_DRIVER="vfs"))
    check("CONTAINERS_STORAGE_CONF: no store is made there",
          not os.path.exists(f"{EVIL}/store"))

    proxy = "http://user:password@proxy.corp.example:3128"
    out = plain(IMAGE, "/bin/sh", "-c", LOOK,
                env={**plain_env, "HTTPS_PROXY": proxy, "no_proxy": "x"})
    check("*_PROXY: without us it arrives, password and all",
          "password" in out, out)
    clean("*_PROXY", *sandbox(HTTPS_PROXY=proxy, https_proxy=proxy,
                              ALL_PROXY=proxy, HTTP_PROXY=proxy,
                              FTP_PROXY=proxy, no_proxy="x"))

    library = os.path.join(TOOLS, "preload_mark.so")
    mark = f"{EVIL}/marks"
    plain(IMAGE, "/bin/true", env={**plain_env, "LD_PRELOAD": library,
                                   "PRELOAD_MARK": mark})
    ran = marks()
    check("LD_PRELOAD: without us the engine loads it",
          any(one.endswith(("/podman", "/conmon")) for one in ran), ran)
    out, outcome = sandbox(LD_PRELOAD=library, PRELOAD_MARK=mark)
    ran = {one for one in marks() if one != "preloaded"}
    check("LD_PRELOAD: the caller's own program loads it, no other does",
          ran == {os.path.join(TOOLS, "run_sandbox")}, ran)
    clean("LD_PRELOAD", out, outcome)

    marker("bin/podman")
    for name in ("crun", "runc", "conmon", "newuidmap", "fusermount3"):
        marker(f"bin/{name}")
    harness.run("podman", "version", env={"PATH": f"{EVIL}/bin"})
    ran = marks()
    check("PATH: without us another podman runs", "bin/podman" in ran, ran)
    path = f"{EVIL}/bin:{os.environ['PATH']}"
    clean("PATH", *sandbox(PATH=path))
    commands("PATH", PATH=path, CONTAINERS_CONF=CONF, LD_LIBRARY_PATH=EVIL,
             CONTAINERS_STORAGE_CONF=storage, HTTPS_PROXY=proxy)
    engines()


def engines():
    """Variables that point an engine at another machine or another user's
    runtime directory, and sockets of a service manager."""
    notify = {"NOTIFY_SOCKET": f"{EVIL}/notify"}
    out = plain(IMAGE, "/bin/sh", "-c", LOOK, env={
        "PATH": os.environ["PATH"], "HOME": HOME, **notify})
    check("NOTIFY_SOCKET: without us a socket's place arrives",
          "NOTIFY_SOCKET" in out, out)
    xdg = f"{EVIL}/xdg"
    write(f"{xdg}/containers/containers.conf", engine_case.text(CONF))
    write(f"{xdg}/containers/storage.conf", "[storage]\ndriver = \"vfs\"\n")
    clean("DOCKER_HOST and friends", *sandbox(
        DOCKER_HOST=f"unix://{EVIL}/docker.sock",
        CONTAINER_HOST=f"unix://{EVIL}/podman.sock",
        CONTAINER_CONNECTION="evil", PODMAN_USERNS="host",
        PODMAN_CONNECTIONS_CONF=f"{EVIL}/x", XDG_CONFIG_HOME=xdg,
        XDG_DATA_HOME=xdg, XDG_RUNTIME_DIR=xdg, TMPDIR=f"{EVIL}/none",
        _CONTAINERS_USERNS_CONFIGURED="done", _CONTAINERS_ROOTLESS_UID="7",
        LISTEN_FDS="5", LISTEN_PID="1", OCI_RUNTIME=f"{EVIL}/bin/crun",
        GODEBUG="x509ignoreCN=0", BASH_ENV=f"{EVIL}/bin/podman",
        ENV=f"{EVIL}/bin/podman", **notify))


def user_files():
    """Files below the caller's home."""
    for place in (".config/containers", ".docker"):
        write(f"{HOME}/{place}/containers.conf", engine_case.text(CONF))
        write(f"{HOME}/{place}/mounts.conf", f"{EVIL}/secret:/mounted\n")
        write(f"{HOME}/{place}/storage.conf", "[storage]\ndriver = \"vfs\"\n")
    write(f"{HOME}/.config/containers/oci/hooks.d/h.json", hook("user-hook"))
    clean("home", *sandbox())
    commands("home")


def own_files():
    """What somebody left in our own runtime directory."""
    own = "/run/agentnode"
    write(f"{own}/containers.conf", engine_case.text(CONF))
    write(f"{own}/mounts.conf", f"{EVIL}/secret:/mounted\n")
    clean("ours, changed", *sandbox())
    for name in ("containers.conf", "mounts.conf"):
        os.unlink(f"{own}/{name}")
        os.symlink(CONF, f"{own}/{name}")
    clean("ours, links", *sandbox())
    check("ours, links: what they point to is not written",
          "HOSTILE_ENV" in engine_case.text(CONF))
    write(f"{own}/hooks/h.json", hook("own-hook"))
    _, outcome = sandbox()
    check("a hook in our hooks directory: refused, and does not run",
          outcome.get("code") == "engine_failed"
          and f"{own}/hooks" in outcome["detail"], outcome)
    untouched("a hook in our hooks directory")
    os.unlink(f"{own}/hooks/h.json")
    for mode in (0o755, 0o770, 0o1777):
        os.chmod(own, mode)
        _, outcome = sandbox()
        check(f"our directory with mode {mode:o} is refused",
              outcome.get("code") == "engine_failed"
              and "0700" in outcome["detail"], outcome)
    os.chmod(own, 0o700)
    os.chown(own, 1000, 1000)
    _, outcome = sandbox()
    check("our directory of another owner is refused",
          outcome.get("code") == "engine_failed", outcome)
    os.chown(own, 0, 0)
    shutil.rmtree(f"{own}/hooks")
    os.symlink(f"{EVIL}/hooks", f"{own}/hooks")
    _, outcome = sandbox()
    check("a link in place of our hooks directory is refused",
          outcome.get("code") == "engine_failed", outcome)
    untouched("a link in place of our hooks directory")
    os.unlink(f"{own}/hooks")
    clean("ours, made again", *sandbox())


machine_files()
variables()
user_files()
own_files()
harness.finish()
