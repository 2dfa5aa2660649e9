"""One sandbox started by run_sandbox, seen from outside: its processes, its
control group, what the engine knows of it."""
import glob
import json
import os
import pwd
import re
import select
import signal
import subprocess
import tempfile
import time

import harness

RUN_SANDBOX = os.path.join(harness.BUILD, "tests", "run_sandbox")
CONTAINER = re.compile(r"libpod-([0-9a-f]{64})")


def podman(*words, **options):
    return subprocess.run(["podman", *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=240, **options)


def image():
    """The pinned image the tests run on: AGENTNODE_TEST_IMAGE, or the one
    `agentnode sandbox build` or the test setup left."""
    given = os.environ.get("AGENTNODE_TEST_IMAGE")
    if given:
        return given
    harness.need("podman")
    listed = json.loads(podman("images", "--format=json").stdout or "[]")
    wanted = "localhost/agentnode-sandbox"
    for one in listed:
        if any(name.split(":")[0] == wanted for name in one.get("Names") or []):
            return wanted + "@" + one["Digest"]
    print("missing part: a sandbox image (run `agentnode sandbox build`)")
    raise SystemExit(1)


def wait(seconds, condition):
    """True as soon as condition() is; False after seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return bool(condition())


def text(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def children(pid):
    """{name: pid} of the processes whose parent is pid."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        stat = text(path)
        fields = stat.rpartition(")")[2].split()
        if len(fields) > 1 and fields[1] == str(pid):
            name = stat.partition("(")[2].rpartition(")")[0]
            found[name] = int(path.split("/")[2])
    return found


def inside(container):
    """Host pids of everything in the container's control groups."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cgroup"):
        groups = text(path)
        if "/libpod-" + container in groups:
            found.append(int(path.split("/")[2]))
    return found


def kill(pids):
    """SIGKILL for each; one that the death of another took is fine."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def monitor(name):
    """(pid, container id) of the engine's monitor of a container."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        words = text(path).split("\0")
        if name in words and "conmon" in words[0] and "-c" in words:
            return int(path.split("/")[2]), words[words.index("-c") + 1]
    return None, None


class Init:
    """The container's PID 1. Its end is the end of everything in its pid
    namespace: the kernel lets it become a zombie only after that."""

    def __init__(self, monitor_pid):
        self.pid = next(iter(children(monitor_pid).values()))
        self.fd = os.pidfd_open(self.pid)
        self.space = os.stat(f"/proc/{self.pid}/ns/pid").st_ino
        rows = [line.split() for line in
                text(f"/proc/{self.pid}/net/tcp").splitlines()[1:]]
        self.listeners = {f"socket:[{row[9]}]" for row in rows
                          if len(row) > 9 and row[3] == "0A"}

    def is_dead(self, seconds):
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def held(self):
        """Who has one of its listeners, in the container or outside."""
        found = []
        for path in glob.glob("/proc/[0-9]*/fd/*"):
            try:
                if os.readlink(path) in self.listeners:
                    found.append(path)
            except OSError:
                pass
        return found

    def count(self):
        """How many processes are in its namespace."""
        found = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                found += os.stat(f"/proc/{pid}/ns/pid").st_ino == self.space
            except OSError:
                pass
        return found


LIMITS = {"memory": {"memory.limit_in_bytes": "640m"},
          "pids": {"pids.max": "320"}}


def _gone(place):
    try:
        os.rmdir(place)
    except OSError:
        return not os.path.exists(place)
    return True


class User:
    """An ordinary user with subordinate ids, an engine storage of its own
    and the image, made for one test and removed at its end; the caller
    itself when it is not root."""

    def __init__(self, name="agentnode-test"):
        self.made = os.geteuid() == 0
        self.options, self.env, self.places = {}, {}, []
        if not self.made:
            self.home, self.image = os.environ["HOME"], image()
            return
        harness.need("useradd", "userdel", "newuidmap")
        subprocess.run(["userdel", "--force", name], stderr=subprocess.DEVNULL)
        self.name, self.home = name, harness.folder("agentnode-home-")
        subprocess.run(["useradd", "--home-dir", self.home, "--no-create-home",
                        "--shell", "/bin/sh", name], check=True)
        self.uid, self.gid = pwd.getpwnam(name)[2:4]
        self.runtime = harness.folder("agentnode-run-")
        conf = os.path.join(self.home, ".config", "containers")
        os.makedirs(conf)
        with open(f"{conf}/storage.conf", "w", encoding="utf-8") as file:
            file.write('[storage]\ndriver = "overlay"\n')
        subprocess.run(["chown", "-R", f"{self.uid}:{self.gid}", self.home,
                        self.runtime], check=True)
        self.options = {"user": self.uid, "group": self.gid,
                        "extra_groups": [], "cwd": "/"}
        self.env = {"HOME": self.home, "XDG_RUNTIME_DIR": self.runtime,
                    "PATH": os.environ["PATH"]}
        self.groups, self.inside = ["--clear-groups"], []
        self._load()

    def limit(self):
        """Where a user's containers get no limits (cgroup v1), what is
        started with .inside has those of a control group of root's."""
        places = []
        for part, limits in LIMITS.items():
            place = f"/sys/fs/cgroup/{part}/{self.name}"
            if not os.path.isdir(os.path.dirname(place)):
                continue
            os.makedirs(place, exist_ok=True)
            for file, value in limits.items():
                with open(f"{place}/{file}", "w", encoding="ascii") as out:
                    out.write(value)
            places.append(place)
        self.places = places
        self.inside = ["/bin/sh", "-c", "for p in %s; do echo $$ >"
                       "$p/cgroup.procs || exit 1; done; exec \"$@\""
                       % " ".join(places), "sh"]

    def podman(self, *words, **more):
        return podman(*words, env=self.env or None, **self.options, **more)

    def _load(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = os.path.join(folder, "image.oci")
            name = podman("image", "inspect", "--format={{.Id}}", image())
            podman("save", "--quiet", "--format=oci-archive", "-o", archive,
                   name.stdout.strip())
            os.chmod(folder, 0o755)
            os.chmod(archive, 0o644)
            loaded = self.podman("load", "--quiet", "--input", archive)
        listed = json.loads(self.podman("images", "--format=json").stdout
                            or "[]")
        if not listed:
            raise RuntimeError("the image cannot be loaded: " + loaded.stderr)
        self.image = "localhost/test@" + listed[0]["Digest"]

    def end(self):
        if not self.made:
            return
        self.podman("system", "reset", "--force")
        self.podman("system", "migrate")  # ends its pause process
        for place in self.places:
            wait(5, lambda place=place: _gone(place))
        subprocess.run(["userdel", "--force", self.name],
                       stderr=subprocess.DEVNULL)
        # What the engine's locks of that user are in.
        try:
            os.unlink(f"/dev/shm/libpod_rootless_lock_{self.uid}")
        except FileNotFoundError:
            pass


class Case:
    """One run_sandbox process. .name is the container's."""

    def __init__(self, *command, options=(), home=None, image_name=None,
                 user=None, **streams):
        self.user = user
        self.home = home or harness.folder()
        self.outcome_path = os.path.join(harness.folder(), "outcome.json")
        self.log_path = os.path.join(harness.folder(), "log.jsonl")
        env = harness.environment(self.home, RUN_SANDBOX_LOG="1")
        os.makedirs(env["AGENTNODE_HOME"], mode=0o700, exist_ok=True)
        if user is not None and user.made:
            env.update(user.env)
            for path in (self.home, env["AGENTNODE_HOME"],
                         os.path.dirname(self.outcome_path)):
                os.chown(path, user.uid, user.gid)
        argv = [RUN_SANDBOX, "--image", image_name or image(),
                "--outcome", self.outcome_path, *options, "--", *command]
        self.started = time.monotonic()
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                argv, env=env, stdin=streams.get("stdin", subprocess.PIPE),
                stdout=subprocess.PIPE, stderr=log,
                pass_fds=streams.get("pass_fds", ()),
                **(user.options if user else {}))

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return text(self.log_path)

    def id(self):
        match = re.search(r'"sandbox":"([0-9a-f]{16})"', self.log())
        return match.group(1) if match else None

    @property
    def name(self):
        return f"agentnode-exec-test-{self.id()}"

    def outcome(self):
        """The outcome as a dictionary; {} when there is none."""
        try:
            return json.loads(text(self.outcome_path))
        except ValueError:
            return {}

    def finish(self, seconds=30):
        """Wait; (output, outcome)."""
        try:
            output, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output = self._rest()
        return output.decode("utf-8", "replace"), self.outcome()

    def _rest(self):
        """What a killed one said; something else may hold its stream."""
        try:
            return self.process.communicate(timeout=5)[0]
        except subprocess.TimeoutExpired as late:
            return late.stdout or b""

    def known(self):
        call = self.user.podman if self.user else podman
        return call("container", "exists", self.name).returncode == 0


def run(*command, **options):
    """Start, wait, (output, outcome)."""
    return Case(*command, **options).finish()
