# SPDX-License-Identifier: Apache-2.0
"""The engines and wirings that an attack can be run on, found at run time.
Each gives a home whose configuration names it, and `agentnode exec` in it.
`bare` is no engine of ours but a container without walls: the suite's own
control, where attacks have to be seen to go through."""
import json
import os
import shutil
import subprocess

import dockerd
import drive
import engine_case
import harness
import private_engine

PLAIN, MUX, ROOTLESS, GROUP = "bare", "mux", "rootless", "group"
RUNTIMES = ("crun", "runc", "runsc")


def configured():
    """The engines that sandbox.engine can name."""
    path = os.path.join(harness.SOURCE, "config", "schema", "config.json")
    with open(path, encoding="utf-8") as file:
        parts = json.load(file)["properties"]
    words = parts["sandbox"]["properties"]["engine"]["enum"]
    return [word for word in words if word != "auto"]


def image(name):
    """The image of an engine: given for it, or the one of all."""
    given = "AGENTNODE_TEST_IMAGE_" + name.upper().replace("-", "_")
    return os.environ.get(given) or (
        daemon().image if name == "docker" else engine_case.image())


USERS, DAEMONS, MEMBERS = [], [], []


def user():
    """The ordinary user of every engine without root; one for a run."""
    if not USERS:
        USERS.append(engine_case.User("agentnode-attack"))
        if USERS[0].made:
            USERS[0].limit()
    return USERS[0]


def daemon():
    """A Docker of the suite's own; one for a run."""
    if not DAEMONS:
        DAEMONS.append(dockerd.Dockerd())
    return DAEMONS[0]


def member():
    """The user of Docker's group; one for a run."""
    if not MEMBERS:
        MEMBERS.append(dockerd.Member("agentnode-attack-g"))
    return MEMBERS[0]


def forget():
    """The end of a run."""
    for found in (USERS, MEMBERS, DAEMONS):
        while found:
            found.pop().end()


class Engine:
    """name: ENGINE[-RUNTIME][-mux][-rootless][-group], of sandbox.engine,
    sandbox.runtime and sandbox.wiring, as root or not; or native."""

    def __init__(self, name):
        self.name, self.user = name, None
        self.words = name.split("-")
        # A kernel of its own, which shows other things (docs/engine.md).
        self.guest = "runsc" in self.words
        # Agents are asked where a wiring or a relay is another one.
        self.serves = name in ("podman", f"podman-{MUX}", "docker",
                               "oci-crun", "oci-runsc")
        self.options = ["--boundary", "native"] if name == "native" else []
        # By a user of Docker's group, whose way in is the frames.
        self.group = GROUP in self.words
        if ROOTLESS in self.words or self.group:
            self.user = member() if self.group else user()
        self.home = harness.folder("agentnode-attack-")
        self.env, self.prefix = harness.environment(self.home), []
        if self.user and self.user.made:
            os.chmod(self.home, 0o755)
            self.env = {**self.env, **self.user.env}
            self.prefix = [
                *self.user.inside, "setpriv", f"--reuid={self.user.uid}",
                f"--regid={self.user.gid}", *self.user.groups]

    def sandbox(self):
        """Its part of the configuration."""
        if self.name == "native":
            return {}
        found = {"engine": self.words[0], "image": (
            self.user.image if ROOTLESS in self.words
            else image(self.words[0]))}
        found.update({"runtime": word for word in self.words
                      if word in RUNTIMES})
        if self.words[0] == "docker":
            found["docker_socket"] = daemon().socket
        if MUX in self.words:
            found["wiring"] = MUX
        if ROOTLESS in self.words and self.user.made:
            found["overrides"] = ["no_cgroup_limits"]
        return found

    def configure(self, net, **more):
        """The test internet, as a host's configuration."""
        folder = os.path.join(self.home, ".agentnode")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        config = {"sandbox": self.sandbox(), "exec": {"output_max": 1 << 20},
                  "egress": {"resolver": net.dns.address, "deny": drive.DENY,
                             "hello_timeout_ms": 1000, "extra_ranges": {
                                 name: [cidr] for name, cidr in {
                                     **drive.RANGES, **more}.items()}}}
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        os.chmod(path, 0o600)
        if self.user and self.user.made:
            subprocess.run(["chown", "-R",
                            f"{self.user.uid}:{self.user.gid}", self.home],
                           check=True)

    def start(self, inputs, allow, *command, **env):
        """`agentnode exec`, running; inputs: {name: path}."""
        words = [*self.options, "--json", "--timeout", "300s",
                 "--max-output", "1m"]
        for name, path in inputs.items():
            words += ["--input", f"{name}={path}"]
        for entry in allow:
            words += ["--allow", entry]
        cwd = os.path.dirname(next(iter(inputs.values())))
        return subprocess.Popen(
            [*self.prefix, harness.AGENTNODE, "exec", *words, "--",
             *command], env={**self.env, **env}, cwd=cwd,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def log(self):
        path = os.path.join(self.home, ".agentnode", "log",
                            "agentnode-egress-proxy.jsonl")
        return harness.json_lines(path) if os.path.exists(path) else []

class Bare(Engine):
    """A container with files and variables of the host, capabilities and
    every system call: what a careless command line gives. Never the host's
    network, processes or /proc/sys: attacks do go through here. name: bare
    (Podman), bare-docker, bare-runsc (by that Docker)."""

    def configure(self, net, **more):
        pass

    def start(self, inputs, allow, *command, **env):
        folder = os.path.dirname(next(iter(inputs.values())))
        place = os.path.join(folder, "work")
        os.makedirs(place, exist_ok=True)
        for name, path in inputs.items():
            shutil.copy(path, os.path.join(place, name))
        words = [f"--env={name}={value}" for name, value in env.items()]
        with open(inputs["facts.json"], encoding="utf-8") as file:
            facts = json.load(file)
        hosts = {os.path.dirname(facts["secret"]), facts["cwd"]}
        engine, pinned, by = "podman", image("podman"), runtime()
        if self.words[1:]:
            engine, pinned = daemon().client, image("docker")
            by = "runsc" if self.guest else "runc"
            env = {**env, "DOCKER_HOST": "unix://" + daemon().socket}
        return subprocess.Popen(
            [engine, "run", "--rm", *private_engine.PLAIN,
             *["--cap-add=" + one for one in
               ("NET_ADMIN", "NET_RAW", "SYS_ADMIN")],
             "--security-opt=seccomp=unconfined", "--runtime=" + by,
             f"--volume={place}:/work",
             *[f"--volume={host}:{host}" for host in hosts],
             "--workdir=/work", *words, pinned, *command],
            env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)


def runtime():
    import launch_bypasses
    return launch_bypasses.runtime()


def make(name):
    return (Bare if name.split("-")[0] == PLAIN else Engine)(name)


def available():
    """Names of what this machine has, in the order they are run."""
    found = []
    for name in configured():
        if name == "oci":
            found += ["oci-" + one for one in RUNTIMES if shutil.which(one)]
        elif shutil.which(name):
            found += [name, f"{name}-{MUX}"]
    if os.geteuid() == 0 and shutil.which("newuidmap"):
        found += [f"{name}-{ROOTLESS}"
                  for name in ("podman", "oci-crun", "oci-runc")
                  if name in found]
    if os.geteuid() == 0 and "docker" in found:
        found.append(f"docker-{GROUP}")
    return [*found, "native"]
