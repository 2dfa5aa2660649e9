# SPDX-License-Identifier: Apache-2.0
"""What is otherwise before the start where a user of Docker's group starts
it, not root: the user's own client configuration, a daemon elsewhere, other
users of the group who forge labels and names, volumes that change between
hash and start. Each attack is first seen to work on a plain `docker`."""
import glob
import json
import os
import re
import socket
import subprocess
import threading

import attack_engines
import dockerd
import engine_case
import harness
import mcp_client
import mcp_setup

MARK = "attack-proxy-of-the-user-4Kp9"
RUN = "00112233445566ff"
SERVER = """
require('readline').createInterface({ input: process.stdin })
  .on('line', (l) => { const m = JSON.parse(l);
    if (m.method === 'initialize') console.log(JSON.stringify({
      jsonrpc: '2.0', id: m.id, result: { protocolVersion:
        m.params.protocolVersion, capabilities: { tools: {} },
        serverInfo: { name: '%s', version: '1' } } })); })
  .on('close', () => process.exit(0));
"""
SLEEP = ("/bin/sleep", "60")


class User:
    """The user of the group: commands of agentnode's and of docker's."""

    def __init__(self, engine, net):
        self.engine, self.daemon = engine, attack_engines.daemon()
        engine.configure(net)
        self.evil = harness.folder("attack-group-")
        os.chmod(self.evil, 0o777)
        self.mark = os.path.join(self.evil, "mark")

    def words(self, *command):
        return [*self.engine.prefix, harness.AGENTNODE, *command]

    def run(self, *command, **env):
        return harness.run(*self.words(*command),
                           env={**self.engine.env, **env}, cwd="/",
                           timeout=90)

    def exec(self, *command, **env):
        return self.run("exec", "--", *command, **env)

    def docker(self, *command, **env):
        """The client as the user calls it, environment and all."""
        return harness.run(*self.engine.prefix, self.daemon.client, *command,
                           env={**self.engine.env, **env}, cwd="/")

    def taken(self):
        """What the programs of the attacker have noted, and forget it."""
        said = engine_case.text(self.mark)
        if said:
            os.unlink(self.mark)
        return said

    def volumes(self, begin):
        return [(name, os.path.join(self.daemon.root, "volumes", name,
                                    "_data"))
                for name in self.daemon.volumes() if name.startswith(begin)]


def planted(user):
    """A client configuration: proxies and headers, programs for credentials
    and after commands, another daemon."""
    place = os.path.join(user.evil, "config")
    os.makedirs(os.path.join(place, "cli-plugins"))
    meta = json.dumps({"SchemaVersion": "0.1.0", "Vendor": "x",
                       "Version": "1"})
    script = ("#!/bin/sh\necho $0 >>%s\nenv >>%s\n" % (user.mark, user.mark)
              + "[ \"$1\" = docker-cli-plugin-metadata ] && echo '%s'\n"
              % meta + "exit 1\n")
    for path in ("docker", "docker-credential-evil", "dockerd",
                 "config/cli-plugins/docker-evil",
                 "config/cli-plugins/docker-run"):
        path = os.path.join(user.evil, path)
        with open(path, "w", encoding="ascii") as out:
            out.write(script)
        os.chmod(path, 0o755)
    proxies = {name: f"http://{MARK}:1" for name in (
        "httpProxy", "httpsProxy", "allProxy", "ftpProxy", "noProxy")}
    with open(os.path.join(place, "config.json"), "w",
              encoding="ascii") as out:
        json.dump({"proxies": {"default": proxies}, "credsStore": "evil",
                   "HttpHeaders": {"X-Mark": MARK},
                   "plugins": {"evil": {"hooks": "run,create,cp,inspect"}},
                   "currentContext": "default"}, out)
    os.chmod(place, 0o755)
    link = os.path.join(user.engine.home, ".docker")
    if not os.path.lexists(link):
        os.symlink(place, link)
    return place


class Elsewhere:
    """A daemon that is none, and counts who comes."""

    def __init__(self, folder):
        self.path, self.met = os.path.join(folder, "docker.sock"), 0
        self.end = socket.socket(socket.AF_UNIX)
        self.end.bind(self.path)
        self.end.listen(8)
        os.chmod(self.path, 0o777)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                conn = self.end.accept()[0]
            except OSError:
                return
            self.met += 1
            conn.close()


def configuration(tally, user):
    """91, 93: what the user's client would do."""
    place, real = planted(user), "unix://" + user.daemon.socket
    bad = Elsewhere(user.evil)
    path = f"{user.evil}:{os.environ['PATH']}"
    seen = user.docker("run", "--rm", user.daemon.image, "env",
                       DOCKER_HOST=real, DOCKER_CONFIG=place).out
    tally.control(91, "docker's own client puts the proxies into a container",
                  MARK in seen, seen)
    user.docker("run", "--rm", "--pull=always", "nowhere.invalid/x", "env",
                DOCKER_HOST=real, DOCKER_CONFIG=place, PATH=path)
    tally.control(93, "and runs a program of the user's for a password",
                  "docker-credential-evil" in user.taken())
    user.docker("version", DOCKER_HOST="unix://" + bad.path)
    tally.control(93, "and goes where DOCKER_HOST says", bad.met, bad.met)
    harness.run("docker", "version", env={"PATH": path})
    tally.control(93, "who looks in PATH runs another docker", user.taken())
    bad.met = 0
    shown = "import os, glob; print(dict(os.environ)); print(*(open(p, 'rb')" \
            ".read() for p in glob.glob('/proc/[0-9]*/environ')" \
            " if os.access(p, os.R_OK)))"
    for name, env in (
            ("the user's config.json", {}),
            ("DOCKER_CONFIG", {"DOCKER_CONFIG": place}),
            ("DOCKER_HOST", {"DOCKER_HOST": "unix://" + bad.path}),
            ("DOCKER_CONTEXT", {"DOCKER_CONTEXT": "evil",
                                "DOCKER_CONFIG": place}),
            ("PATH", {"PATH": path, "DOCKER_CONFIG": place}),
            ("words of the client", {
                "DOCKER_CLI_PLUGIN_EXTRA_DIRS": place, "http_proxy": MARK,
                "HTTP_PROXY": MARK, "DOCKER_TLS_VERIFY": "1",
                "DOCKER_API_VERSION": "1.12",
                "DOCKER_CERT_PATH": user.evil})):
        done = user.exec("/usr/bin/python3", "-c", shown, **env)
        tally.attack(91, f"{name}: it is inside", done.code != 0
                     or MARK in done.out, seen=done)
        tally.attack(93, f"{name}: another program or daemon",
                     done.code != 0 or bad.met or user.taken(), seen=done)
    bad.end.close()


def labelled(user, name, **labels):
    words = [f"--label=agentnode.{key}={value}" for key, value
             in labels.items()]
    return user.daemon("create", "--name=" + name, *words, user.daemon.image,
                       "/none")


def ours(name):
    """As a container of a run is called, which gc asks for as well."""
    return f"agentnode-exec-{name}-{RUN}"


def living(user):
    """A sandbox that runs: (process, id of its container, name, labels)."""
    process = subprocess.Popen(
        user.words("exec", "--", *SLEEP), env=user.engine.env, cwd="/",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    found = []

    def runs():
        found[:] = user.daemon.containers("--filter=status=running",
                                          "--filter=name=agentnode-exec")
        return found and any("sleep" in engine_case.text(
            f"/proc/{pid}/cmdline") for pid in dockerd.inside(found[0]))

    engine_case.wait(20, runs)
    one = json.loads(user.daemon("inspect", *found[:1]).stdout)[0]
    return process, one["Id"], one["Name"][1:], one["Config"]["Labels"]


def names(tally, user):
    """105: labels and names that others of the group choose."""
    process, container, name, labels = living(user)
    owner, run = labels["agentnode.owner"], labels["agentnode.run"]
    tally.control(105, "a sandbox runs", process.poll() is None and owner)
    kept = {"not-ours": {"run": RUN}, "others": {
        "run": RUN, "owner": f"{user.engine.user.uid}-0000000000000000"},
            "begins-alike": {"run": RUN, "owner": owner + "0"},
            "more-lines": {"run": RUN, "owner": owner + "\n"},
            "victim": {}, "other-lines": {
                "run": f"{RUN}\t\n{ours('victim')}\t{RUN}\t{owner}\nx\tx"},
            "quoted-lines": {
                "run": f'{RUN}"\t""\n{ours("victim")}\t"{RUN}"\t"{owner}"'
                       '\nx\t"x'},
            "in-capitals": {"run": RUN, "OWNER": owner}}
    kept = {ours(one): words for one, words in kept.items()}
    for one, words in kept.items():
        labelled(user, one, **words)
    labelled(user, ours("dead"), run=RUN, owner=owner)
    for number, odd in enumerate((run, "../uids", "--all", "", "x" * 200)):
        labelled(user, f"odd-{number}", run=odd, owner=owner)
    done = user.run("sandbox", "gc")
    left = user.daemon("ps", "--all", "--format={{.Names}}").stdout.split()
    for one in kept:
        tally.attack(105, f"gc takes another's: {one}", one not in left,
                     seen=done)
    tally.attack(105, "gc ends what lives, by a label that names it",
                 name not in left or process.poll() is not None
                 or "odd-0" not in left, seen=done)
    tally.control(105, "gc takes what is dead and this user's",
                  done.code == 0 and ours("dead") not in left, (done, left))
    # Renamed by another of the group, who gives its name to something else.
    user.daemon("rename", name, "elsewhere")
    user.daemon("create", "--name=" + name, user.daemon.image, "/none")
    pids = dockerd.inside(container)
    process.terminate()
    said = process.communicate(timeout=60)
    tally.attack(105, "a renamed one lives on, or is left", not all(
        dockerd.dead(pid) for pid in pids) or not engine_case.wait(
            5, lambda: container not in user.daemon.containers()), seen=said)
    left = user.daemon("ps", "--all", "--format={{.Names}}").stdout.split()
    tally.attack(105, "what has its name now is removed", name not in left,
                 seen=(left, said))
    user.daemon("rm", "--force", name, *kept,
                *[f"odd-{number}" for number in range(5)])


def conversation(user):
    """The name that the server gives itself, or why there is none."""
    client = mcp_client.Client(user.words("mcp", "run", "quiet"),
                               env=user.engine.env, cwd="/")
    answer = None
    try:
        answer = client.initialize()
    except mcp_client.Ended:
        pass
    client.close()
    for thread in client.threads:
        thread.join(5)
    return (answer or {}).get("result", {}).get("serverInfo", {}).get(
        "name", ""), client.text()


def code(said):
    found = re.search(r"(walls_mismatch|integrity_volume|engine_failed"
                      r"|volume_check_failed)", said)
    return found.group(0) if found else ""


def swap(user, name, copy):
    """The volume is another folder; fails while a container has it."""
    user.daemon("volume", "rm", name)
    user.daemon("volume", "create", "--opt=type=none", "--opt=o=bind",
                "--opt=device=" + copy, name)


def racing(user, name, folder, stop):
    """Again and again: gone, unless a container has it, and made anew with
    what was in it, or with something else."""
    turn = 0
    while not stop.is_set():
        turn += 1
        if user.daemon("volume", "rm", name).returncode == 0:
            user.daemon("volume", "create", name)
            what = os.path.join(user.evil, ("good", "copy")[turn % 2])
            subprocess.run(["cp", "--archive", what + "/.", folder],
                           check=False)


def exchanged(tally, user):
    """96, 102: a package's volume, and init's."""
    package = mcp_setup.package({
        "package.json": json.dumps({"name": "quiet", "version": "1.0.0",
                                    "bin": "server.js"}),
        "server.js": SERVER % "quiet"})
    done = user.run("mcp", "install", package, "--name", "quiet")
    name, folder = (user.volumes("agentnode-pack-quiet") or [("", "")])[0]
    said = conversation(user)
    tally.control((96, 102), "as it was installed, it starts",
                  done.code == 0 and said[0] == "quiet", (done, said))
    if not name:
        return
    place = os.open(folder, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(f"/proc/self/fd/{place}/docker.sock")
        os.chmod(os.path.join(folder, "docker.sock"), 0o777)
        end.listen(1)
        found = conversation(user)
    os.close(place)
    os.unlink(os.path.join(folder, "docker.sock"))
    tally.attack(96, "a socket that listens in a sealed volume", found[0],
                 code(found[1]), "walls_mismatch", found)
    copy, good = (os.path.join(user.evil, one) for one in ("copy", "good"))
    for one in (copy, good):
        subprocess.run(["cp", "--archive", folder, one], check=True)
    with open(glob.glob(f"{copy}/**/server.js", recursive=True)[0], "w",
              encoding="ascii") as out:
        out.write(SERVER % "evil")
    swap(user, name, copy)
    found = conversation(user)
    tally.attack(102, "a volume that is another folder", found[0],
                 code(found[1]), seen=found)
    stop = threading.Event()
    thread = threading.Thread(target=racing,
                              args=(user, name, folder, stop))
    thread.start()
    for turn in range(3):
        found = conversation(user)
        tally.attack(102, f"a volume that changes as it starts, {turn}",
                     found[0] not in ("", "quiet"), code(found[1]),
                     seen=found)
    stop.set()
    thread.join()
    user.run("sandbox", "gc")
    for name, folder in user.volumes("agentnode-init-"):
        subprocess.run(["cp", "--archive", folder, copy + "-init"],
                       check=True)
        swap(user, name, copy + "-init")
        found = user.exec("/bin/true")
        tally.attack(102, "init's volume is another folder",
                     found.code != 125, code(found.err), seen=found)
        user.daemon("volume", "rm", "--force", name)


def run(tally, engine, net):
    user = User(engine, net)
    for items, part in (((91, 93), configuration), ((105,), names),
                        ((96, 102), exchanged)):
        if tally.wants(*items):
            part(tally, user)
