#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known bypasses of sandbox launchers, one function each, named after its
number in the list of bypasses. Where the attack can work at all on this
machine, it is first shown to work without us. tests/attack runs them too;
control() is what has to work beside an attack."""
import array
import fcntl
import functools
import glob
import json
import os
import pty
import re
import shutil
import socket
import stat
import subprocess
import sys
import termios
import threading
import time

import engine_case
import harness
import mcp_setup
import private_engine
from harness import check
from private_engine import PLAIN, podman
from unpack_client import Unpack, contents, memfd

HOME = mcp_setup.home()
IMAGE = engine_case.image()
ZERO = "sha256:" + "0" * 64
MARK = f"agentnode-bypass-{os.getpid()}"
PYTHON = "/usr/bin/python3"
TOOLS = os.path.join(harness.BUILD, "tests")


@functools.lru_cache(maxsize=None)
def runtime():
    """The one that the plain engine can use here."""
    for name in ("crun", "runc"):
        done = podman("run", "--rm", *PLAIN, IMAGE, "/bin/true", runtime=name)
        if done.returncode == 0:
            return name
    print("missing part: an OCI runtime that a plain engine can start")
    raise SystemExit(1)


def control(name, ok, detail=""):
    """An attack that works without us, an action that is allowed."""
    return check(name, ok, detail)


def plain(*words):
    done = podman("run", "--rm", *PLAIN, *words, runtime=runtime())
    return done.stdout + done.stderr


def run(*command, options=(), **more):
    return engine_case.run(*command, options=options, home=HOME, **more)


def shell(script, *options, **more):
    return run("/bin/sh", "-c", script, options=options, **more)


def refused(name, outcome, code, *words):
    check(f"{name}: refused as {code}", outcome.get("started") is False
          and outcome.get("code") == code
          and all(word in outcome["detail"] for word in words), outcome)


class Volume:
    """A named volume of the engine, and where it is stored."""

    def __init__(self, name):
        self.name = f"{MARK}-{name}"
        podman("volume", "create", self.name)
        self.path = podman("volume", "inspect", "--format={{.Mountpoint}}",
                           self.name).stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        podman("volume", "rm", "--force", self.name)


def b096_sockets_in_volumes():
    connect = ("import socket; s = socket.socket(socket.AF_UNIX); "
               "s.connect('/pack/engine.sock'); print(s.recv(99).decode())")
    with Volume("socket") as volume:
        os.chmod(volume.path, 0o755)
        path = f"{volume.path}/engine.sock"
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen()

        def serve():
            try:
                while True:
                    server.accept()[0].send(b"hello from the host")
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        out = plain(f"--volume={volume.name}:/pack:ro", IMAGE, PYTHON, "-c",
                    connect)
        control("b096: without us a socket in a volume reaches the host",
              "hello from the host" in out, out)
        out, outcome = run(PYTHON, "-c", connect, options=[
            "--mount", f"{volume.name}:/pack:{ZERO}"])
        refused("b096: a socket in a volume", outcome, "volume_check_failed",
                "engine.sock")
        server.close()
    for name, make in (("fifo", os.mkfifo), ("device", lambda path: os.mknod(
            path, 0o666 | stat.S_IFCHR, os.makedev(1, 3)))):
        with Volume(name) as volume:
            os.chmod(volume.path, 0o755)
            make(f"{volume.path}/odd")
            _, outcome = shell("true", "--mount",
                               f"{volume.name}:/pack:{ZERO}")
            refused(f"b096: a {name} in a volume", outcome,
                    "volume_check_failed", "odd")
    for path in ("/var/run/docker.sock", "/run/podman/podman.sock"):
        _, outcome = shell("true", "--mount", f"{path}:/x:{ZERO}")
        refused(f"b096: {path} as a volume", outcome, "bad_spec", "volume")
    folder = package("socket-server")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/engine.sock")
        done = install(folder, "socket-server")
    check("b096: a folder with a socket is not installed", done.code not in
          (0, "timeout") and "engine.sock" in done.err
          and "socket-server" not in packages(), done)


def b097_abstract_sockets():
    name = f"\0{MARK}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        ask = ("import socket; s = socket.socket(socket.AF_UNIX); "
               f"s.connect('\\0{MARK}'); print('connected')")
        done = podman("run", "--rm", "--network=host", *PLAIN[1:], IMAGE,
                      PYTHON, "-c", ask, runtime=runtime())
        control("b097: without a namespace an abstract socket is reached",
              "connected" in done.stdout, done)
        out, outcome = run(PYTHON, "-c", ask)
        check("b097: an abstract socket of the host is not there",
              outcome.get("started") and "connected" not in out, outcome)


CALLS = r"""
import ctypes, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
machine = __import__("os").uname().machine
NUMBERS = {"x86_64": dict(name_to_handle_at=303, open_by_handle_at=304,
    unshare=272, setns=308, keyctl=250, add_key=248, bpf=321,
    perf_event_open=298, ptrace=101, userfaultfd=323, process_vm_readv=310,
    pidfd_getfd=438, kcmp=312, personality=135, io_uring_setup=425, mount=165,
    open_tree=428, quotactl=179, clone3=435, syslog=103), "aarch64": dict(
    name_to_handle_at=264, open_by_handle_at=265, unshare=97, setns=268,
    keyctl=219, add_key=217, bpf=280, perf_event_open=241, ptrace=117,
    userfaultfd=282, process_vm_readv=270, pidfd_getfd=438, kcmp=272,
    personality=92, io_uring_setup=425, mount=40, open_tree=428, quotactl=60,
    clone3=435, syslog=116)}[machine]
import errno
for name, number in sorted(NUMBERS.items()):
    ctypes.set_errno(0)
    first = {"unshare": 0x10000000, "personality": 0x0040000,
             "name_to_handle_at": -100}.get(name, 0)
    got = libc.syscall(number, first, b"/", 0, 0, 0, 0)
    print(name, "allowed" if got >= 0 else
          errno.errorcode.get(ctypes.get_errno()))
try:
    socket.socket(40, socket.SOCK_STREAM)
    print("vsock allowed")
except OSError as error:
    print("vsock", errno.errorcode.get(error.errno))
"""


def b100_seccomp_not_weaker():
    """Never more than the engine's default; tried inside the shipped image,
    whatever the file says."""
    path = os.path.join(harness.BUILD, "share", "agentnode", "seccomp",
                        "agentnode.json")

    def allowed(file):
        with open(file, encoding="utf-8") as text:
            profile = json.load(text)
        check(f"b100: {os.path.basename(file)} denies by default",
              profile["defaultAction"] == "SCMP_ACT_ERRNO")
        return {name for row in profile["syscalls"]
                if row["action"] == "SCMP_ACT_ALLOW" for name in row["names"]}

    ours, default = allowed(path), allowed(
        "/usr/share/containers/seccomp.json")
    # Newer than the list of this engine, and reviewed in our own table.
    newer = {"futex_waitv", "process_mrelease", "landlock_create_ruleset",
             "landlock_add_rule", "landlock_restrict_self", "cachestat",
             "fchmodat2", "map_shadow_stack", "futex_wake", "futex_wait",
             "futex_requeue", "mseal", "set_mempolicy_home_node",
             "memfd_secret", "riscv_hwprobe", "uretprobe"}
    check("b100: nothing the engine's default denies is allowed",
          not ours - default - newer, sorted(ours - default - newer))
    out = plain(IMAGE, PYTHON, "-c", CALLS)
    before = dict(line.split() for line in out.splitlines()
                  if len(line.split()) == 2)
    control("b100: the engine's default leaves calls open",
          before.get("vsock") == "allowed"
          or before.get("unshare") == "allowed", before)
    out, outcome = run(PYTHON, "-c", CALLS)
    after = dict(line.split() for line in out.splitlines())
    check("b100: every call was tried", len(after) == 21, (out, outcome))
    for name, answer in sorted(after.items()):
        check(f"b100: {name} is refused in the shipped image",
              answer in ("EPERM", "ENOSYS", "EACCES", "EAFNOSUPPORT"), answer)


def b101_absent_files():
    """A protected file that is absent cannot be made, and what is made in
    the writable places is not there the next time."""
    absent = ("/etc/ld.so.preload", "/etc/profile.d/x.sh", "/.dockerenv",
              "/usr/local/bin/git", "/root/.bashrc", "/pack/.mcp.json",
              "/run/agentnode/llm.sock", "/run/x", "/var/tmp/x", "/opt/x",
              "/usr/lib/python3/dist-packages/sitecustomize.py")
    script = "for f in " + " ".join(absent) + (
        "; do (echo x >$f) 2>/dev/null && echo made $f; done; "
        "ls -A /tmp /sandbox-home; echo x >/tmp/left; "
        "echo x >/sandbox-home/.npmrc; mkdir -p /sandbox-home/.config/x; "
        "echo end")
    out = plain(IMAGE, "/bin/sh", "-c", script)
    control("b101: without us an absent file is made",
          "made /etc/ld.so.preload" in out, out)
    for turn in ("first", "second"):
        out, outcome = shell(script)
        check(f"b101: {turn} run: no absent file is made, nothing is left",
              outcome.get("started") and "made" not in out
              and ".npmrc" not in out and "left" not in out
              and out.endswith("end\n"), (out, outcome))


def b102_symlink_races():
    host = harness.folder("agentnode-host-")
    os.chmod(host, 0o755)
    with open(f"{host}/secret", "w", encoding="ascii") as file:
        file.write("host secret\n")
    # A volume's directory that became a link.
    for level, name in ((0, "directory"), (1, "parent")):
        with Volume(f"link{level}") as volume:
            place = volume.path if level == 0 else os.path.dirname(volume.path)
            target = host
            if level == 1:
                target = harness.folder("agentnode-host-")
                os.chmod(target, 0o755)
                os.symlink(host, f"{target}/_data")
            os.rename(place, place + ".away")
            os.symlink(target, place)
            try:
                out = plain(f"--volume={volume.name}:/pack:ro", IMAGE,
                            "/bin/cat", "/pack/secret")
                control(f"b102: {name}: without us the link is followed",
                      "host secret" in out, out)
                out, outcome = shell("cat /pack/secret", "--mount",
                                     f"{volume.name}:/pack:{ZERO}")
                refused(f"b102: {name} of a volume that is a link", outcome,
                        "integrity_volume")
                check(f"b102: {name}: nothing of the host is seen",
                      "host secret" not in out, out)
            finally:
                os.unlink(place)
                os.rename(place + ".away", place)
    b102_files_race(host)


def b102_files_race(host):
    """--files: a folder that is swapped for a link while it is copied."""
    root = harness.folder("agentnode-files-")
    os.makedirs(f"{root}/folder")
    with open(f"{root}/folder/secret", "w", encoding="ascii") as file:
        file.write("harmless\n")
    os.symlink(host, f"{root}/link")
    for path in (root, f"{root}/folder"):
        os.chmod(path, 0o755)
    stop = threading.Event()
    swapper = subprocess.Popen([sys.executable, "-c", f"""
import ctypes, os
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, b"{root}/folder", -100, b"{root}/link", 2)
"""])

    def naive():
        """Look first, open then: what a careless copier does."""
        path = f"{root}/folder"
        try:
            if os.path.islink(path):
                return ""
            with open(f"{path}/secret", encoding="ascii") as file:
                return file.read()
        except OSError:
            return ""

    try:
        leaked = harness.wait_until(lambda: naive() == "host secret\n", 20, 0)
        control("b102: a careless copier leaks within 20 s", leaked)
        unpack, copies, whole = Unpack([root]), 0, 0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            out = memfd()
            unpack.work("send_tree", {"root": 0, "max_bytes": 1 << 20,
                                      "max_files": 100}, [out])
            data = contents(out)
            os.close(out)
            copies += 1
            whole += b"harmless" in data
            if b"host secret" in data:
                break
        check("b102: our copier never does", copies > 20
              and b"host secret" not in data, (copies, whole))
        unpack.close()
    finally:
        stop.set()
        swapper.kill()
        swapper.wait()
        for name in ("folder", "link"):
            path = f"{root}/{name}"
            if os.path.islink(path):
                os.unlink(path)


def b103_masked_paths():
    look = ("for f in /proc/timer_list /proc/keys /proc/kcore "
            "/sys/firmware/x /proc/sched_debug; do "
            "head -c 9 $f 2>/dev/null | grep -q . && echo read $f; done; "
            "for f in /proc/sysrq-trigger /proc/sys/kernel/core_pattern "
            "/proc/sys/kernel/hostname /proc/self/oom_score_adj_x "
            "/sys/kernel/uevent_helper; do (echo x >$f) 2>/dev/null && "
            "echo wrote $f; done; echo end")
    out = plain("--security-opt=unmask=ALL", IMAGE, "/bin/sh", "-c",
                "head -c 9 /proc/timer_list | grep -q . && echo read")
    control("b103: without masks the host's timers are read", "read" in out,
          out)
    out, outcome = shell(look)
    check("b103: nothing masked is read, nothing of /proc written",
          out == "end\n", (out, outcome))
    report = harness.agentnode(HOME, "sandbox", "doctor", "--quick", "--json")
    found = {one["check"]: one for one in report.json()["checks"]}
    check("b103: doctor tells the runtime's version",
          re.search(r"(crun|runc) version \d", found["security_updates"]
                    ["detail"]), found.get("security_updates"))


def b104_working_directory():
    """The caller's working directory is no root of anything."""
    place = harness.folder("agentnode-cwd-")
    os.chmod(place, 0o777)
    with open(f"{place}/secret", "w", encoding="ascii") as file:
        file.write("secret of the folder\n")
    script = (f"pwd; ls {place}; cat {place}/secret secret; "
              f"echo x >{place}/made; echo x >made; echo end")
    out = plain(f"--volume={place}:{place}", f"--workdir={place}", IMAGE,
                "/bin/sh", "-c", script)
    control("b104: a launcher that mounts it opens it both ways",
          "secret of the folder" in out and os.path.exists(f"{place}/made"),
          out)
    os.unlink(f"{place}/made")
    before = os.getcwd()
    os.chdir(place)
    try:
        out, outcome = shell(script)
    finally:
        os.chdir(before)
    check("b104: the caller's folder is not there", outcome.get("started")
          and "secret of" not in out and out.endswith("end\n"),
          (out, outcome))
    check("b104: nothing is written into it",
          os.listdir(place) == ["secret"], os.listdir(place))
    check("b104: the workload starts in a place of its own",
          out.split("\n")[0] in ("/", "/sandbox-home", "/tmp"), out)


def b105_flags_and_labels():
    out = plain("--volume=/:/host:ro", IMAGE, "/bin/ls", "/host")
    check("b105: a path in a volume's place is the host's root",
          "usr" in out, out)
    for text in ("-v", "--privileged", "/", "..", "../x", "a,b", "a b", "a\n",
                 "a;b", "a=b", "", ".hidden", "x" * 300):
        _, outcome = shell("true", "--mount", f"{text}:/pack:{ZERO}")
        check(f"b105: volume {text[:20]!r} is refused",
              outcome.get("started") is False and outcome.get("code")
              in ("bad_spec", "integrity_volume"), outcome)
    with Volume("target") as volume:
        for text in ("-v", "x", "/x,rw", "/x,exec", "/../x", "/x/../y", "/",
                     "/proc", "//x", "/x\n"):
            _, outcome = shell("true", "--mount",
                               f"{volume.name}:{text}:{ZERO}")
            check(f"b105: target {text!r} is refused",
                  outcome.get("started") is False, outcome)
    for text in ("-x", "--privileged", "a b", "a,b", "a=b", "a/b", "a\nb"):
        _, outcome = shell("true", "--kind", text)
        check(f"b105: kind {text!r} is refused",
              outcome.get("started") is False
              and outcome.get("code") == "bad_spec", outcome)
    for text in ("/x,exec:4096", "-x:4096", "/x:0", "/../x:4096"):
        _, outcome = shell("true", "--tmpfs", text)
        check(f"b105: tmpfs {text!r} is refused",
              outcome.get("started") is False
              and outcome.get("code") == "bad_spec", outcome)
    for text in ("--privileged", f"-q@{ZERO}", f"oci:/tmp/x@{ZERO}",
                 f"a b@{ZERO}", f"x@{ZERO}\n--privileged"):
        _, outcome = run("/bin/true", image_name=text)
        refused(f"b105: image {text[:20]!r}", outcome, "image_refused")
    words = ["--privileged", "-v", "/:/host", "--", "--network=host", "",
             "a\nb", "$(id)", "`id`", "\\", "*"]
    out, outcome = run(PYTHON, "-c", "import sys; print(sys.argv[1:])", *words)
    check("b105: words of the workload arrive as they are",
          out.strip() == repr(words), (out, outcome))
    case = engine_case.Case("/bin/sleep", "600", f"--{MARK}", home=HOME,
                            options=["--env", f"WORD={MARK}"])
    engine_case.wait(20, lambda: '"to":"running"' in case.log())
    seen = [path for path in glob.glob("/proc/[0-9]*/cmdline")
            if MARK in engine_case.text(path)
            and ("podman" in engine_case.text(path)
                 or "conmon" in engine_case.text(path))]
    case.process.kill()
    case.finish()
    check("b105: no word of the workload is on the engine's command line",
          not seen and '"to":"running"' in case.log(), seen)
    b105_commands()


def package(name):
    """A folder with a server of one file."""
    path = os.path.join(harness.folder(), name)
    os.makedirs(path)
    with open(f"{path}/server.py", "w", encoding="ascii") as file:
        file.write("import sys\nprint(sys.argv)\n")
    os.chmod(path, 0o755)
    return path


def install(folder, slug, *words):
    return harness.agentnode(HOME, "mcp", "install", folder, "--entry",
                             "server.py", "--name", slug, *words, timeout=100)


def packages():
    try:
        return mcp_setup.lock(HOME)["packages"]
    except OSError:
        return {}


def b105_commands():
    folder = package("flag-server")
    for words in (("--name", "--privileged"), ("--name", "../x"),
                  ("--name", "-x"), ("--name", "a b"), ("--name", "A/b"),
                  ("--files", f"/{MARK}/none"),
                  ("--allow", "--network=host"), ("--allow", "*"),
                  ("--state", "-1"), ("--entry", "../../etc/passwd"),
                  ("--entry", "/etc/passwd")):
        done = harness.agentnode(HOME, "mcp", "install", folder, *words)
        check(f"b105: install {' '.join(words)} is refused",
              done.code not in (0, "timeout") and not packages(), done)
    for word in ("npm:--help@1.0.0", "npm:-x@1.0.0", "npm:a@--version",
                 "npm:a@1.0.0 --registry=http://evil", "npm:../x@1.0.0",
                 "pypi:--index-url==1.0", "pypi:-r==1.0",
                 "pypi:a==1.0 --pre", "npm:file:/etc@1.0.0", "--privileged"):
        done = harness.agentnode(HOME, "mcp", "install", "--", word)
        check(f"b105: install {word!r} is refused",
              done.code not in (0, "timeout") and not packages(), done)
    for words in (("sandbox", "pull", "--", "--help"),
                  ("sandbox", "load", "--", "--help"),
                  ("mcp", "run", "--", "--privileged"),
                  ("mcp", "tools", "--", "-x"),
                  ("remove", "--", "--all")):
        done = harness.agentnode(HOME, *words)
        check(f"b105: {' '.join(words)} is refused",
              done.code not in (0, "timeout")
              and "Usage" not in done.out, done)
    b105_lockfile(folder)


def b105_lockfile(folder):
    """A lockfile that was edited, and sealed again."""
    done = install(folder, "flag-server")
    if not control("b105: a folder is installed", done.code == 0, done):
        return
    path = os.path.join(HOME, ".agentnode", "agentnode.lock")
    with open(path, encoding="utf-8") as file:
        good = file.read()
    volume = packages()["flag-server"]["mcp_sandbox_volume"]
    done = harness.agentnode(HOME, "mcp", "run", "flag-server")
    control("b105: as installed, it is started", done.code != 125, done)
    try:
        for field, value in (
                ("mcp_sandbox_volume", "--privileged"),
                ("mcp_sandbox_volume", "/"), ("mcp_sandbox_volume", "a:b"),
                ("mcp_sandbox_volume", "../../etc"),
                ("volume_host_path", "/etc"),
                ("version", "--privileged"), ("version", "1 --privileged"),
                ("volume_content_hash", ZERO),
                ("mcp_preinstall_command", ["sh", "-c", "id"]),
                ("mcp_preinstall_command", ["python", "/etc/passwd"]),
                ("mcp_preinstall_command", ["python", "/pack/../x.py"])):
            lock = json.loads(good)
            lock["packages"]["flag-server"][field] = value
            with open(path, "w", encoding="utf-8") as file:
                json.dump(lock, file)
            harness.agentnode(HOME, "lock", "seal", "--force")
            done = harness.agentnode(HOME, "mcp", "run", "flag-server")
            check(f"b105: {field} {value!r} in the lockfile is refused",
                  done.code == 125 and not done.out
                  and any(code in done.err for code in (
                      "bad_lockfile", "integrity_", "not_runnable")), done)
        lock = json.loads(good)
        lock["packages"]["--privileged"] = lock["packages"]["flag-server"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(lock, file)
        done = harness.agentnode(HOME, "mcp", "run", "--", "--privileged")
        check("b105: a slug that is a flag is refused", done.code not in
              (0, "timeout") and "--privileged" in done.err, done)
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
        podman("volume", "rm", "--force", volume)


class Prefix:
    """A copy of the installation, from which parts can be taken away."""

    def __init__(self):
        self.path = harness.folder()
        for name in ("libexec", "share"):
            shutil.copytree(os.path.join(harness.BUILD, name),
                            f"{self.path}/{name}")
        os.mkdir(f"{self.path}/bin")
        shutil.copy(engine_case.RUN_SANDBOX, f"{self.path}/bin/run_sandbox")
        self.tool = f"{self.path}/bin/run_sandbox"

    def run(self, *command, options=()):
        """(exit code, errors, outcome)"""
        file = f"{self.path}/outcome"
        if os.path.exists(file):
            os.unlink(file)
        done = harness.run(self.tool, "--image", IMAGE, "--outcome", file,
                           *options, "--", *command,
                           env=harness.environment(HOME), timeout=40)
        return done, json.loads(engine_case.text(file) or "{}")


def b106_missing_layer():
    """Whatever is missing: no workload, neither inside nor on the host."""
    witness = f"/tmp/{MARK}-witness"
    prefix = Prefix()
    _, outcome = prefix.run("/bin/true")
    control("b106: the copy works", outcome.get("started"), outcome)

    def missing(name, code, *words, options=(), tool=None):
        prefix.tool, kept = tool or prefix.tool, prefix.tool
        done, outcome = prefix.run("/bin/sh", "-c", f"touch {witness}; "
                                   "echo ran", options=options)
        prefix.tool = kept
        check(f"b106: {name}: nothing runs", "ran" not in done.out
              and done.code != 0 and not os.path.exists(witness),
              (done, outcome))
        said = outcome.get("detail", "") + done.err
        check(f"b106: {name}: it says what is missing",
              (code is None or outcome.get("code") == code)
              and all(word in said for word in words), (done, outcome))

    parts = f"{prefix.path}/libexec/agentnode"
    for part, code, words, options in (
            ("agentnode-init", None, ["agentnode-init"], ()),
            ("agentnode-ledger", None, ["ledger"], ()),
            ("agentnode-egress-proxy", None, ["agentnode-egress-proxy"],
             ("--allow", "a.example.com:443"))):
        os.rename(f"{parts}/{part}", f"{parts}/away")
        missing(f"without {part}", code, *words, options=options)
        os.rename(f"{parts}/away", f"{parts}/{part}")
    profile = f"{prefix.path}/share/agentnode/seccomp/agentnode.json"
    os.rename(profile, profile + ".away")
    missing("without the profile", "seccomp_missing", "seccomp")
    os.rename(profile + ".away", profile)
    with Volume("unpack") as volume:
        os.rename(f"{parts}/agentnode-unpack", f"{parts}/away")
        missing("without agentnode-unpack", None, "agentnode-unpack",
                options=("--mount", f"{volume.name}:/pack:{ZERO}"))
        os.rename(f"{parts}/away", f"{parts}/agentnode-unpack")
    for layer in ("open", "dumpable", "bare", "unguarded"):
        shutil.copy(os.path.join(TOOLS, "inside", f"init_{layer}"),
                    f"{parts}/agentnode-init")
        missing(f"with init_{layer}", None)
    shutil.copy(os.path.join(harness.LIBEXEC, "agentnode-init"),
                f"{parts}/agentnode-init")
    covered = ("unshare", "--mount", "--propagation=private", "sh", "-c")
    for name, programs, code, words in (
            ("podman", ["podman"], "engine_missing", ["podman"]),
            ("crun and runc", ["crun", "runc"], "engine_failed",
             ["runtime"])):
        cover = "; ".join(f"mount --bind /dev/null {shutil.which(one)}"
                          for one in programs)
        file = f"{prefix.path}/outcome"
        done = harness.run(
            *covered, f'{cover}; exec "$@"', "-", prefix.tool, "--image",
            IMAGE, "--outcome", file, "--", "/bin/sh", "-c",
            f"touch {witness}; echo ran", timeout=60,
            env=harness.environment(harness.folder()))
        outcome = json.loads(engine_case.text(file) or "{}")
        check(f"b106: without {name}: nothing runs, and it says so",
              outcome.get("code") == code and outcome["started"] is False
              and "ran" not in done.out and not os.path.exists(witness)
              and all(word in outcome["detail"] for word in words),
              (done, outcome))
    b106_landlock(prefix, witness)


def b106_landlock(prefix, witness):
    """A kernel without Landlock: refused, or accepted by name and told in
    the record of every run."""
    blind = os.path.join(TOOLS, "without_landlock")
    file = f"{prefix.path}/outcome"

    def start():
        if os.path.exists(file):
            os.unlink(file)
        done = harness.run(blind, engine_case.RUN_SANDBOX, "--image", IMAGE,
                           "--outcome", file, "--", "/bin/sh", "-c",
                           "echo ran; touch /etc/x 2>&1; cat /proc/1/mem "
                           "2>&1; cat /proc/self/status", timeout=40,
                           env=harness.environment(HOME))
        return done, json.loads(engine_case.text(file) or "{}")

    done, outcome = start()
    check("b106: without Landlock nothing runs", "ran" not in done.out
          and done.code != 0, (done, outcome))
    check("b106: without Landlock: it is named",
          "andlock" in outcome.get("detail", "") + done.err, (done, outcome))
    report = harness.run(blind, harness.AGENTNODE, "sandbox", "doctor",
                         "--quick", "--json", timeout=60,
                         env=harness.environment(HOME))
    found = {one["check"]: one for one in report.json()["checks"]}
    check("b106: doctor names it and the override",
          found["landlock"]["ok"] is False
          and "no_landlock" in found["landlock"]["fix"], found["landlock"])
    harness.agentnode(HOME, "config", "set", "sandbox.overrides",
                      "no_landlock")
    done, outcome = start()
    control("b106: with the named override it runs", "ran" in done.out
          and outcome.get("code") == "", (done, outcome))
    check("b106: with the override the other walls stand",
          "Seccomp:\t2" in done.out and "CapEff:\t0000000000000000"
          in done.out and "Read-only" in done.out
          and ("Permission denied" in done.out), done)
    shown = harness.agentnode(HOME, "audit", "show", "--json", "--last", "9")
    launches = [one for one in shown.json()["records"]
                if one["event"] == "launch"]
    check("b106: the record says which layer is missing",
          launches and "no_landlock" in json.dumps(launches[-1]), shown)
    harness.agentnode(HOME, "config", "unset", "sandbox.overrides")
    done, outcome = start()
    check("b106: without the override it is refused again",
          "ran" not in done.out, (done, outcome))


INJECT = r"""
import fcntl, os, sys, termios
def attack(fd, name):
    try:
        for byte in b"echo injected\n":
            fcntl.ioctl(fd, termios.TIOCSTI, bytes([byte]))
        print(name, "typed")
    except OSError as error:
        print(name, "refused", error.errno)
for fd in (0, 1, 2):
    attack(fd, f"fd{fd}")
try:
    attack(os.open("/dev/tty", os.O_RDWR), "tty")
except OSError as error:
    print("tty absent", error.errno)
"""


def on_terminal(argv, env):
    """(what it wrote, bytes that wait to be read from the terminal) of a
    program whose controlling terminal is one of ours."""
    master, slave = pty.openpty()
    settings = termios.tcgetattr(slave)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.execve(argv[0], argv, env)
        finally:
            os._exit(127)
    out, end = b"", time.monotonic() + 40
    os.set_blocking(master, False)
    while time.monotonic() < end:
        done, _ = os.waitpid(pid, os.WNOHANG)
        try:
            out += os.read(master, 65536)
        except OSError:
            pass
        if done:
            break
        time.sleep(0.01)
    try:
        out += os.read(master, 65536)
    except OSError:
        pass
    waiting = array.array("i", [0])
    fcntl.ioctl(slave, termios.FIONREAD, waiting)
    os.close(slave)
    os.close(master)
    return out.decode("utf-8", "replace"), waiting[0]


def b111_terminal_injection():
    out, waiting = on_terminal([sys.executable, "-c", INJECT], dict(
        os.environ))
    control("b111: without us a program types into its caller's terminal",
          "typed" in out and waiting > 0, (out, waiting))
    out, waiting = on_terminal(
        [engine_case.RUN_SANDBOX, "--image", IMAGE, "--", PYTHON, "-c",
         INJECT], harness.environment(HOME))
    check("b111: even handed the terminal, a workload types nothing",
          "typed" not in out and waiting == 0 and "fd0 refused" in out,
          (out, waiting))
    check("b111: it has no controlling terminal", "tty absent" in out, out)


def b122_one_launcher():
    """Every way to run foreign code is the same story: one place builds the
    command line, one place starts it."""
    callers = {}
    for call in ("run_argv_build", "sandbox_start", "host_run_start"):
        callers[call] = sorted(
            os.path.basename(path)
            for path in glob.glob(f"{harness.SOURCE}/supervisor/**/*.c",
                                  recursive=True)
            if re.search(rf"\b{call}\(", engine_case.text(path)))
    check("b122: one place builds a command line for workloads",
          callers["run_argv_build"] == ["engine_container.c",
                                        "run_argv.c",
                                        "runtime_probe.c"], callers)
    check("b122: the ways in are known", set(callers["sandbox_start"]) == {
        "agent_run_parts.c", "exec_run.c", "install_build.c", "mcp_run.c",
        "sandbox.c", "selftest.c", "work_place.c"}, callers)
    check("b122: so are those to the host", set(
        callers["host_run_start"]) <= {"exec_run.c", "host_run.c",
                                       "work_place.c"}, callers)
    runs = sorted(
        os.path.basename(path)
        for path in glob.glob(f"{harness.SOURCE}/supervisor/**/*.c",
                              recursive=True)
        if re.search(r'"run"[,)]', engine_case.text(path))
        and "run_argv_word" in engine_case.text(path))
    check("b122: one file says run to the engine", runs == ["run_argv.c"],
          runs)
    # Two entry points that meet the same hosts file, namespace and record.
    before = harness.agentnode(HOME, "audit", "show", "--json").json()
    done = harness.agentnode(HOME, "sandbox", "selftest", "--json",
                             timeout=100)
    control("b122: the self-test passes through the same launcher",
          done.code == 0, done)
    run("/bin/true")
    after = harness.agentnode(HOME, "audit", "show", "--json").json()
    new = after["records"][len(before["records"]):]
    launches = [one for one in new if one["event"] == "launch"]
    kinds = {json.dumps(one) for one in launches}
    control("b122: each leaves a launch record", any("selftest" in one
          for one in kinds) and any("exec" in one for one in kinds), new)


PARTS = (b096_sockets_in_volumes, b097_abstract_sockets,
         b100_seccomp_not_weaker, b101_absent_files, b102_symlink_races,
         b103_masked_paths, b104_working_directory, b105_flags_and_labels,
         b106_missing_layer, b111_terminal_injection, b122_one_launcher)

if __name__ == "__main__":
    for part in PARTS:
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part()
    harness.finish()
