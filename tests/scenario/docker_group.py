#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Docker for a user of its group, who is not root: what root would see of a
container is asked of the daemon, before anything foreign runs. A sealed
volume, init's own volume, or a mount that is another one is refused; whoever
dies, nothing lives on; and gc takes what is this user's, nobody else's."""
import glob
import json
import os
import shutil
import socket
import subprocess
import sys

import engine_case
import fighter
import harness
import machine_pace
import mcp_client
import mcp_setup
from dockerd import Dockerd, Member, dead, inside
from harness import check

SERVER = """
require('readline').createInterface({ input: process.stdin })
  .on('line', (l) => { const m = JSON.parse(l);
    if (m.method === 'initialize') console.log(JSON.stringify({
      jsonrpc: '2.0', id: m.id, result: { protocolVersion:
        m.params.protocolVersion, capabilities: { tools: {} },
        serverInfo: { name: 'quiet', version: '1' } } })); })
  .on('close', () => process.exit(0));
"""
daemon = Dockerd()
member = Member()


def home(**sandbox):
    place = daemon.home(**sandbox)
    subprocess.run(["chown", "-R", f"{member.uid}:{member.gid}", place],
                   check=True)
    return place


HOME = home()


def words(*command, groups=None):
    return ["setpriv", f"--reuid={member.uid}", f"--regid={member.gid}",
            *(groups or member.groups), harness.AGENTNODE, *command]


def env(place=HOME):
    return {**harness.environment(place), **member.env, "HOME": place,
            "AGENTNODE_HOME": os.path.join(place, ".agentnode")}


def run(*command, place=HOME, groups=None):
    return harness.run(*words(*command, groups=groups), env=env(place),
                       cwd="/", timeout=120)


def volume(begin):
    """The one whose name begins so: its name and its folder."""
    names = [one for one in daemon.volumes() if one.startswith(begin)]
    if len(names) != 1:
        return "", ""
    return names[0], os.path.join(daemon.root, "volumes", names[0], "_data")


def works():
    done = run("exec", "--boundary", "container", "--", "/bin/sh", "-c",
               "id -u; cat /proc/self/status")
    uid = done.out.split("\n")[0]
    check("a command runs, as a number that is neither the user nor root",
          done.code == 0 and uid.isdigit() and int(uid) >= 1 << 30, done)
    status = run("sandbox", "status", "--json").json()
    check("status says that docker was asked for what a user cannot see",
          status["ok"] and status["engine"] == "docker"
          and status["checked_by"] == "docker", status)
    record = run("audit", "show", "--json").out
    check("and so does the launch record, with the way in",
          '"checked_by":"docker"' in record.replace(" ", "")
          and '"wiring":"mux"' in record.replace(" ", ""), record[-600:])
    done = run("exec", "--boundary", "container", "--", "/bin/true",
               place=home(wiring="fd"))
    check("another way in than mux is refused by name", done.code == 125
          and "wiring_unavailable" in done.err, done)


def chosen():
    place = home(engine="auto")
    done = run("exec", "--boundary", "container", "--", "/bin/true",
               place=place)
    found = run("sandbox", "status", "--json", place=place).json()
    check("auto takes it where podman cannot", done.code == 0
          and found["engine"] == "docker", (done, found))
    done = run("exec", "--boundary", "container", "--", "/bin/true",
               place=home(), groups=["--clear-groups"])
    check("outside of the group it is refused, and says why",
          done.code == 125 and "engine_failed" in done.err
          and "permission denied" in done.err, done)


def install():
    package = mcp_setup.package({
        "package.json": json.dumps({"name": "quiet", "version": "1.0.0",
                                    "bin": "server.js"}),
        "server.js": SERVER})
    done = run("mcp", "install", package, "--name", "quiet")
    name, folder = volume("agentnode-pack-quiet")
    check("an MCP server is installed; its volume says whose it is",
          done.code == 0 and f"-{member.uid}-" in name, (done, name))
    check("the tree that its facts were read from is gone",
          not glob.glob(f"{HOME}/.agentnode/volumes/*/tree"), done)
    return name, folder


def start():
    """(code, what it said): a whole conversation, or why there is none."""
    client = mcp_client.Client(words("mcp", "run", "quiet"), env=env(),
                               cwd="/")
    try:
        client.initialize()
        return client.close(), client.text()
    except mcp_client.Ended as error:
        return None, f"{error} {client.text()}"


def refused(what, code, say=""):
    result, said = start()
    check(what + ": the start is refused", result != 0 and code in said
          and say in said, said)


class Socket:
    """One that listens in a folder; its path is too long for an address."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "socket")
        self.end = socket.socket(socket.AF_UNIX)
        place = os.open(folder, os.O_PATH)
        self.end.bind(f"/proc/self/fd/{place}/socket")
        os.close(place)
        os.chmod(self.path, 0o777)
        self.end.listen(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end.close()
        os.unlink(self.path)


def sealed():
    name, folder = install()
    if not name:
        return
    result, said = start()
    check("it starts", result == 0, said)
    check("verify hashes it by way of the daemon",
          run("verify").code == 0, run("verify"))
    path = os.path.join(folder, "server.js")
    os.chmod(path, 0o4755)
    refused("another mode of a file", "integrity_volume")
    os.chmod(path, 0o644)
    with open(path, "a", encoding="ascii") as out:
        out.write("//")
    refused("another byte", "integrity_volume")
    done = run("verify")
    check("verify says that it was changed", done.code == 6
          and "changed" in done.out, done)
    with open(path, "w", encoding="ascii") as out:
        out.write(SERVER)
    os.mkfifo(os.path.join(folder, "fifo"))
    refused("a FIFO among its files", "/fifo")  # by either look
    os.unlink(os.path.join(folder, "fifo"))
    with Socket(folder):
        refused("a socket among its files", "walls_mismatch", "/pack/socket")
    result, said = start()
    check("as it was it starts again", result == 0, said)
    copy = harness.folder()
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    daemon("volume", "rm", name, check=True)
    daemon("volume", "create", "--opt=type=none", "--opt=o=bind",
           "--opt=device=" + copy, name, check=True)
    refused("a volume that is another folder", "walls_mismatch")
    done = run("remove", "quiet")
    check("removed, nothing of it is left", done.code == 0
          and not volume("agentnode-pack-quiet")[0]
          and not os.listdir(f"{HOME}/.agentnode/volumes"), done)


def program():
    """init in its volume, of which nothing is seen from outside."""
    run("exec", "--boundary", "container", "--", "/bin/true")
    name, folder = volume("agentnode-init-")
    if not check("init is in a volume of its own", name, daemon.volumes()):
        return
    path = os.path.join(folder, "init")
    with open(path, "ab") as out:
        out.write(b"x")
    done = run("exec", "--boundary", "container", "--", "/bin/true")
    check("another init is refused before go", done.code == 125
          and "integrity_volume" in done.err, done)
    done = run("sandbox", "gc")
    check("gc takes init's volume when nobody runs", done.code == 0
          and "agentnode-init-" in done.out, done)
    done = run("exec", "--boundary", "container", "--", "/bin/true")
    check("and the next start makes it anew", done.code == 0, done)


def make(name, run_id, owner=None):
    labels = ["--label=agentnode.run=" + run_id]
    if owner is not None:
        labels.append("--label=agentnode.owner=" + owner)
    daemon("create", "--name=" + name, *labels, daemon.image, "/none",
           check=True)


def fight():
    """A workload that does not want to die: (case, its parts, container, its
    processes)."""
    one = engine_case.Case("/usr/bin/python3", "-c", fighter.FIGHTER,
                           options=["--allow", ""], home=HOME, user=member,
                           image_name=daemon.image)
    line = one.process.stdout.readline()
    ids = daemon.containers("--filter=status=running")
    if line != b"up\n" or len(ids) != 1:
        one.process.kill()
        print("missing part: a sandbox that starts:", line, ids,
              one.log()[-800:])
        raise SystemExit(1)
    return one, engine_case.children(one.pid), ids[0], inside(ids[0])


def over(what, container, pids, pace):
    check(f"{what}: the workload is dead within a second",
          pace.wait(lambda: all(dead(pid) for pid in pids)
                    and not inside(container)), pace)
    check(f"{what}: the daemon's record is gone", engine_case.wait(
        10, lambda: container not in daemon.containers()),
        daemon.containers())


def ends():
    for victim in ("agentnode-gate", "supervisor"):
        one, parts, container, pids = fight()
        pid = one.pid if victim == "supervisor" else parts.get(victim)
        pace = machine_pace.Deadline(1.0)
        engine_case.kill([pid])
        over(victim + " killed", container, pids, pace)
        if victim == "supervisor":
            one.process.communicate()
            continue
        outcome = one.finish(60)[1]
        check(victim + " killed: the outcome says why",
              outcome.get("removed") is True and outcome.get("code") in
              ("engine_died", "init_died", "init_protocol"), outcome)


def groups(container):
    """Its control groups that are left."""
    return [root for root, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(root) == container]


def parent(pid):
    """Of a process; 0 of one that is gone."""
    stat = engine_case.text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(stat[1]) if len(stat) > 1 else 0


def crash(shim, limit):
    """The daemon is gone, as after a crash, under a sandbox; and what stands
    between it and init (shim), or not."""
    what = "daemon and shim" if shim else "the daemon"
    one, _, container, pids = fight()
    above = [parent(pid) for pid in pids]
    shims = {pid for pid in above if pid > 1 and pid not in pids}
    pace = machine_pace.Deadline(limit)
    daemon.kill()
    if shim:
        engine_case.kill(shims)
    check(f"{what} killed: the workload is dead within {limit} s",
          pace.wait(lambda: all(dead(pid) for pid in
                                {*pids, *inside(container)})), pace)
    daemon.start()
    outcome = one.finish(60)[1]
    check(f"{what} killed: the outcome says why, and what is left",
          outcome.get("code") in ("engine_died", "init_died"), outcome)
    run("sandbox", "gc")
    check(f"{what} killed: when it is back, gc leaves nothing",
          container not in daemon.containers() and not groups(container),
          (outcome, groups(container)))


def crashes():
    """Without the shim init's link ends; with it, it is silent."""
    crash(True, 1.0)
    crash(False, 16.0)


def whose():
    one, _, container, pids = fight()
    owner = json.loads(daemon("inspect", container).stdout)[0]["Config"][
        "Labels"]["agentnode.owner"]
    make("agentnode-exec-mine-00112233445566ff", "00112233445566ff", owner)
    make("agentnode-exec-root-00112233445566fe", "00112233445566fe")
    make("agentnode-exec-else-00112233445566fd", "00112233445566fd",
         f"{member.uid}-0000000000000000")
    done = run("sandbox", "gc")
    left = daemon("ps", "--all", "--format={{.Names}}").stdout.split()
    check("gc takes this user's dead runs", done.code == 0
          and "agentnode-exec-mine-00112233445566ff" not in left, done)
    check("not root's, nor those of another home, nor what lives",
          "agentnode-exec-root-00112233445566fe" in left
          and "agentnode-exec-else-00112233445566fd" in left
          and container in daemon.containers(), left)
    done = harness.run(harness.AGENTNODE, "sandbox", "gc",
                       env=harness.environment(daemon.home()), timeout=120)
    left = daemon("ps", "--all", "--format={{.Names}}").stdout.split()
    check("root's gc takes root's, and leaves a user's",
          done.code == 0 and container in daemon.containers()
          and "agentnode-exec-root-00112233445566fe" not in left
          and "agentnode-exec-else-00112233445566fd" in left
          and not all(dead(pid) for pid in pids), (done, left))
    pace = machine_pace.Deadline(3.0)
    one.process.terminate()
    over("told to end", container, pids, pace)
    one.finish(60)


try:
    PARTS = {"works": works, "chosen": chosen, "sealed": sealed,
             "program": program, "ends": ends, "crashes": crashes, "whose": whose}
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
finally:
    member.end()
    daemon.end()
harness.finish()
