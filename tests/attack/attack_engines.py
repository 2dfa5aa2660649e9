# SPDX-License-Identifier: Apache-2.0
"""The engines and wirings that an attack can be run on, found at run time.
Each gives a home whose configuration names it, and `agentnode exec` in it.
`bare` is no engine of ours but a container without walls: the suite's own
control, where attacks have to be seen to go through."""
import json
import os
import shutil
import subprocess

import drive
import engine_case
import harness
import private_engine

PLAIN = "bare"


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
    return os.environ.get(given) or engine_case.image()


class Engine:
    """name is podman, podman-rootless, native, or a word of the key."""

    def __init__(self, name):
        self.name, self.user = name, None
        self.options = ["--boundary", "native"] if name == "native" else []
        if name == "podman-rootless":
            self.user = engine_case.User("agentnode-attack")
            if self.user.made:
                self.user.limit()
        self.home = (self.user.home if self.user and self.user.made
                     else harness.folder("agentnode-attack-"))
        self.env = {**harness.environment(self.home),
                    **(self.user.env if self.user else {})}
        self.prefix = [] if not (self.user and self.user.made) else [
            *self.user.inside, "setpriv", f"--reuid={self.user.uid}", f"--regid={self.user.gid}",
            "--clear-groups"]

    def configure(self, net, **more):
        """The test internet, as a host's configuration."""
        folder = os.path.join(self.home, ".agentnode")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        sandbox = {}
        if self.name != "native":
            sandbox["image"] = (self.user.image if self.user
                                else image(self.name))
            sandbox["engine"] = self.name.replace("-rootless", "")
        if self.user and self.user.made:
            sandbox["overrides"] = ["no_cgroup_limits"]
        config = {"sandbox": sandbox, "exec": {"output_max": 1 << 20},
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
        words = [*self.options, "--json", "--timeout", "120s",
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

    def end(self):
        if self.user:
            self.user.end()


class Bare(Engine):
    """A container with files and variables of the host, capabilities and
    every system call: what a careless command line gives. Never the host's
    network, processes or /proc/sys: attacks do go through here."""

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
        return subprocess.Popen(
            ["podman", "run", "--rm", *private_engine.PLAIN,
             "--cap-add=NET_ADMIN,NET_RAW,SYS_ADMIN",
             "--security-opt=seccomp=unconfined", "--runtime=" + runtime(),
             f"--volume={place}:/work",
             *[f"--volume={host}:{host}" for host in hosts],
             "--workdir=/work", *words, image("podman"), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)


def runtime():
    import launch_bypasses
    return launch_bypasses.runtime()


def make(name):
    return Bare(name) if name == PLAIN else Engine(name)


def available():
    """Names of what this machine has, in the order they are run."""
    found = []
    for name in configured():
        if shutil.which(name) or name not in ("podman", "docker"):
            found.append(name)
        if name == "podman" and found[-1:] == ["podman"] \
                and os.geteuid() == 0 and shutil.which("newuidmap"):
            found.append("podman-rootless")
    return [*found, "native"]
