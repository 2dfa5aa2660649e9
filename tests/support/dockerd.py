"""A Docker daemon of the tests' own, which touches no packet filter and no
other daemon. Its store is kept in the build folder, so that the image is
loaded once; one test at a time has it."""
import fcntl
import grp
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import engine_case
import harness

PLACE = os.path.join(harness.BUILD, "tests", "docker")
# What agentnode itself looks through.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Dockerd:
    """Started at once; .socket is for sandbox.docker_socket, .image for
    sandbox.image (the daemon's own id of the tests' image)."""

    def __init__(self):
        self.client = shutil.which("docker", path=PATH)
        self.daemon = shutil.which("dockerd", path=PATH)
        if not self.client or not self.daemon:
            print("missing part: docker.io (deploy/packages.txt lists it)")
            raise SystemExit(1)
        os.makedirs(PLACE, exist_ok=True)
        self.lock = open(os.path.join(PLACE, "lock"), "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.run = harness.swept(tempfile.mkdtemp(prefix="agentnode-docker-"))
        os.chmod(self.run, 0o711)  # the socket is for Docker's group
        self.socket = os.path.join(self.run, "docker.sock")
        self.process = None
        self.start()
        self.root = self.info()["DockerRootDir"]
        self.image = self._load()
        self.forget()

    def start(self):
        log = open(os.path.join(self.run, "log"), "ab")
        self.process = subprocess.Popen(
            [self.daemon, "--iptables=false", "--ip6tables=false",
             "--bridge=none", "--add-runtime", "runsc=" + self._guest(),
             "--data-root", os.path.join(PLACE, "data"),
             "--exec-root", os.path.join(self.run, "exec"), "--pidfile",
             os.path.join(self.run, "pid"), "-H", "unix://" + self.socket],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            # Its containerd writes there when it is told to end.
            env={**os.environ, "TMPDIR": self.run}, start_new_session=True)
        log.close()
        if not engine_case.wait(30, lambda: os.path.exists(self.socket) and
                                self("version").returncode == 0):
            with open(os.path.join(self.run, "log"), encoding="utf-8") as file:
                print("missing part: a dockerd that starts: "
                      + file.read()[-2000:])
            self.end()
            raise SystemExit(1)

    def _guest(self):
        """runsc as Docker's users have it; nothing of ours uses it."""
        path = os.path.join(self.run, "runsc")
        with open(path, "w", encoding="ascii") as out:
            out.write("#!/bin/sh\nexec runsc --platform=ptrace "
                      "--network=none --ignore-cgroups \"$@\"\n")
        os.chmod(path, 0o755)
        return path

    def __call__(self, *words, **options):
        return subprocess.run(
            [self.client, *words], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=120, env={"PATH": PATH, "DOCKER_CONFIG": self.run,
                              "DOCKER_HOST": "unix://" + self.socket},
            **options)

    def info(self):
        return json.loads(self("info", "--format={{json .}}").stdout)

    def _load(self):
        reference = engine_case.image()
        image = "sha256:" + json.loads(engine_case.podman(
            "image", "inspect", reference).stdout)[0]["Id"]
        if self("image", "inspect", image).returncode == 0:
            return image
        archive = os.path.join(self.run, "image.tar")
        engine_case.podman("save", "--format=docker-archive",
                           "--output=" + archive, image[7:], check=True)
        self("load", "--input", archive, check=True)
        os.unlink(archive)
        # With a name, or it goes with the first image that is made of it.
        self("tag", image, "agentnode-test:1", check=True)
        return image

    def containers(self, *more):
        return self("ps", "--all", "--quiet", "--no-trunc",
                    *more).stdout.split()

    def volumes(self):
        return self("volume", "ls", "--quiet").stdout.split()

    def forget(self):
        """Whatever a test before left, which may have been killed."""
        for one in self.containers():
            self("rm", "--force", one)
        for one in self.volumes():
            self("volume", "rm", "--force", one)

    def kill(self):
        """As a crash would, with the containerd that is its child."""
        mine = [self.process.pid,
                *engine_case.children(self.process.pid).values()]
        engine_case.kill(mine)
        self.process.wait()
        for name in ("pid", "exec/containerd/containerd.pid"):
            try:
                os.unlink(os.path.join(self.run, name))
            except FileNotFoundError:
                pass

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        os.kill(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def end(self):
        self.stop()
        # A mount of its data on itself outlives it.
        subprocess.run(["umount", os.path.join(PLACE, "data")],
                       stderr=subprocess.DEVNULL)
        shutil.rmtree(self.run, ignore_errors=True)
        self.lock.close()

    def home(self, **sandbox):
        """The home of a fresh configuration that uses it."""
        home = harness.folder()
        path = os.path.join(home, ".agentnode")
        os.mkdir(path, 0o700)
        config = {"engine": "docker", "docker_socket": self.socket,
                  "image": self.image, **sandbox}
        with open(os.path.join(path, "config.json"), "w",
                  encoding="ascii") as out:
            json.dump({"sandbox": config}, out)
        os.chmod(out.name, 0o600)
        return home


class Member:
    """An ordinary user of Docker's group, for as long as a test: an account
    with a home and a runtime folder, and no right besides the socket."""

    def __init__(self, name="agentnode-docker"):
        harness.need("useradd", "userdel")
        if subprocess.run(["getent", "group", "docker"],
                          stdout=subprocess.DEVNULL).returncode != 0:
            print("missing part: the group docker (docker.io makes it)")
            raise SystemExit(1)
        subprocess.run(["userdel", "--force", name], stderr=subprocess.DEVNULL)
        self.name, self.home = name, harness.folder("agentnode-home-")
        subprocess.run(["useradd", "--home-dir", self.home, "--no-create-home",
                        "--groups", "docker", "--shell", "/bin/sh", name],
                       check=True)
        self.uid, self.gid = pwd.getpwnam(name)[2:4]
        self.runtime = harness.folder("agentnode-run-")
        for path in (self.home, self.runtime):
            os.chown(path, self.uid, self.gid)
        self.env = {"HOME": self.home, "XDG_RUNTIME_DIR": self.runtime,
                    "PATH": os.environ["PATH"]}
        self.groups, self.inside = ["--init-groups"], []
        # As engine_case.Case starts somebody.
        self.made = True
        self.options = {"user": self.uid, "group": self.gid, "cwd": "/",
                        "extra_groups": [grp.getgrnam("docker").gr_gid]}

    def end(self):
        subprocess.run(["userdel", "--force", self.name],
                       stderr=subprocess.DEVNULL)


def inside(container):
    """Host pids of everything in a container's control groups."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and container in engine_case.text(
                f"/proc/{entry}/cgroup"):
            found.append(int(entry))
    return found


def dead(pid):
    """True for a process that is gone or was not reaped yet."""
    return engine_case.text(f"/proc/{pid}/stat").rpartition(")")[2][:2] in (
        "", " Z", " X")
