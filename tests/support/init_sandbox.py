"""Real containers around agentnode-init: a small image of static programs
only, and runs of init_harness, which plays the supervisor."""
import atexit
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import time

import harness

INSIDE = os.path.join(harness.BUILD, "tests", "inside")
PROFILE = os.path.join(harness.BUILD, "share", "agentnode", "seccomp",
                       "agentnode.json")
INIT = os.path.join(harness.LIBEXEC, "agentnode-init")
PROBE = os.path.join(harness.LIBEXEC, "agentnode-probe")
ATTACK = os.path.join(INSIDE, "attack_init")
HARNESS = os.path.join(INSIDE, "init_harness")
REPORT = os.path.join(INSIDE, "report_print")
UID = 70001
IMAGE = f"localhost/agentnode-init-test:{os.getpid()}"

_number = 0
_environment = None


def variant(name):
    """init with another table of layers (tests/support/layers_NAME.c)."""
    return os.path.join(INSIDE, "init_" + name)


def environment():
    """Podman with a configuration of ours and nothing of the caller's."""
    global _environment
    if _environment is None:
        home = harness.folder()
        config = os.path.join(home, "containers.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write('[containers]\nbase_hosts_file = "none"\n'
                       'host_containers_internal_ip = "none"\n')
        _environment = {"PATH": os.environ["PATH"], "HOME": "/root",
                        "CONTAINERS_CONF": config}
    return _environment


def podman(*words, **options):
    return subprocess.run(["podman", "--cgroup-manager=cgroupfs", *words],
                          env=environment(), capture_output=True,
                          timeout=120, check=False, **options)


def make_image():
    """Import the image; removed at exit."""
    harness.need("podman", INIT, PROBE, ATTACK, HARNESS, REPORT, PROFILE)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for path, mode in (("tmp", 0o1777), ("bin", 0o755), ("proc", 0o755),
                           ("sys", 0o755), ("dev", 0o755), ("etc", 0o755),
                           ("run", 0o755), ("run/agentnode", 0o1777),
                           ("sandbox-home", 0o1777)):
            folder = tarfile.TarInfo(path)
            folder.type, folder.mode = tarfile.DIRTYPE, mode
            tar.addfile(folder)
        for source in (PROBE, ATTACK):
            with open(source, "rb") as file:
                data = file.read()
            entry = tarfile.TarInfo("bin/" + os.path.basename(source))
            entry.mode, entry.size = 0o755, len(data)
            tar.addfile(entry, io.BytesIO(data))
    done = podman("import", "-", IMAGE, input=stream.getvalue())
    if done.returncode != 0:
        print("missing part: no image could be imported:",
              done.stderr.decode(errors="replace"))
        sys.exit(1)
    atexit.register(podman, "rmi", "-f", IMAGE)


class Run:
    """One container. Events arrive in events as dictionaries."""

    def __init__(self, *words, init=INIT, name=None, options=(), pids=64,
                 memory="256m", writable=("/tmp", "/sandbox-home"),
                 home=True):
        global _number
        _number += 1
        self.name = name or f"agentnode-init-{os.getpid()}-{_number}"
        self.report_path = os.path.join(harness.folder(), "report")
        command = [HARNESS, "--init", init, "--image", IMAGE, "--seccomp",
                   PROFILE, "--name", self.name, "--uid", str(UID),
                   "--pids", str(pids), "--memory", memory, "--report",
                   self.report_path, "--env", "HOME=/sandbox-home",
                   "--env", "PATH=/bin"]
        for path in writable:
            command += ["--writable", path]
        if home:
            command += ["--podman", "--tmpfs", "--podman", "/sandbox-home:rw,"
                        "nosuid,nodev,noexec,size=4m,mode=1777"]
        self.events = []
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, *options, "--", *words], env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def _read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            event["at"] = time.monotonic()
            with self._changed:
                self.events.append(event)
                self._changed.notify_all()
        with self._changed:
            self.events.append({"event": "eof", "at": time.monotonic()})
            self._changed.notify_all()

    def wait_for(self, kind, limit=30, text=None):
        """The first event of a kind (whose text contains text), or None."""
        end = time.monotonic() + limit
        with self._changed:
            while True:
                for event in self.events:
                    if event["event"] == kind and (
                            text is None or text in event.get("text", "")):
                        return event
                    if kind != "eof" and event["event"] == "eof":
                        return None
                if not self._changed.wait(end - time.monotonic()):
                    return None

    def finish(self, limit=60):
        """Wait for the end; returns self."""
        if self.wait_for("eof", limit) is None:
            self.stop()
        self.process.wait()
        return self

    def one(self, kind):
        return next((e for e in self.events if e["event"] == kind), {})

    def all(self, kind):
        return [e for e in self.events if e["event"] == kind]

    def output(self, kind="stdout"):
        return "".join(e["text"] for e in self.all(kind))

    def facts(self):
        """Lines "name value..." of the attack program."""
        return dict(line.split(" ", 1) for line in self.output().splitlines()
                    if " " in line)

    def report(self):
        done = subprocess.run(
            [REPORT, self.report_path, str(UID), self.name], capture_output=True, check=True)
        return json.loads(done.stdout)

    def namespace(self):
        """Pids, on the host, of everything in the container."""
        return namespace_of(self.wait_for("hello")["pid"])

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        podman("rm", "-f", "-t", "0", self.name)


def namespace_of(pid):
    """Identity of a process's pid namespace, or None when it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


def alive_in(namespace):
    """Processes of a pid namespace that still run (no zombies)."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{entry}/ns/pid") != namespace:
                continue
            with open(f"/proc/{entry}/stat", encoding="latin-1") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state not in "ZX":
            found.append(int(entry))
    return found


def seconds_until_dead(namespace, limit=60):
    """How long until nothing of the namespace runs; None above limit."""
    start = time.monotonic()
    while time.monotonic() - start < limit:
        if not alive_in(namespace):
            return time.monotonic() - start
        time.sleep(0.005)
    return None


def tree(entries):
    """A tree stream (tree_stream.h) of (type, path, content, mode)."""
    import struct
    kinds = {"dir": 1, "file": 2, "link": 3, "end": 4}
    out = b""
    for kind, path, content, mode in entries:
        path = path.encode()
        out += struct.pack("=IIIIQ", 0x414e5431, kinds[kind], mode,
                           len(path), len(content)) + path + content
    return out


def untree(data):
    """Entries of a tree stream as a list; raises on anything else."""
    import struct
    names = {1: "dir", 2: "file", 3: "link", 4: "end"}
    out, at = [], 0
    while True:
        magic, kind, mode, path_len, size = struct.unpack_from(
            "=IIIIQ", data, at)
        if magic != 0x414e5431:
            raise ValueError(f"no header at byte {at}")
        at += 24
        path = data[at:at + path_len].decode()
        at += path_len
        content = data[at:at + size]
        at += size
        out.append((names[kind], path, content, mode))
        if kind == 4:
            if at != len(data):
                raise ValueError("bytes behind the end")
            return out


