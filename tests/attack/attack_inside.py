# SPDX-License-Identifier: Apache-2.0
"""Starts one real sandbox on an engine, runs inside_attacks.py in it and
counts what it says; meanwhile looks from the host at what only the host can
see. Judges nothing by the sandbox's word that the host knows better."""
import json
import os
import socket
import sys
import threading
import time
import urllib.parse

import attack_tables
import drive
import harness
import launch_bypasses
import registry_config

HERE = os.path.join(harness.SOURCE, "tests")
MARK = "attack-secret-of-the-caller-7Hq2"


class Host:
    """What a sandbox would like to reach."""

    def __init__(self):
        self.place = harness.folder("attack-host-")
        os.chmod(self.place, 0o755)
        self.secret = os.path.join(self.place, "secret")
        with open(self.secret, "w", encoding="ascii") as file:
            file.write("the host's own")
        os.chmod(self.secret, 0o644)
        self.abstract = f"agentnode-attack-{os.getpid()}"
        self.socket = os.path.join(self.place, "socket")
        self.listeners = []
        for address in ("\0" + self.abstract, self.socket):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen(8)
            self.listeners.append(listener)
        os.chmod(self.socket, 0o777)
        self.port = socket.create_server(("0.0.0.0", 0), backlog=8)
        self.inputs = harness.folder("attack-inputs-")
        os.chmod(self.inputs, 0o755)
        self.cwd = os.path.join(self.inputs, "cwd")
        os.mkdir(self.cwd, 0o777)
        os.chmod(self.cwd, 0o777)

    def address(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            try:
                end.connect(("198.51.100.1", 9))
                return end.getsockname()[0]
            except OSError:
                return "127.0.0.1"

    def files(self, **more):
        """{name inside: path}. more: facts of the engine and the run."""
        facts = {**more, "marks": [MARK], "secret": self.secret,
                 "abstract": self.abstract, "socket": self.socket,
                 "port": self.port.getsockname()[1], "cwd": self.cwd,
                 "address": self.address(), "calls": launch_bypasses.CALLS,
                 "registries": [
                     urllib.parse.urlsplit(registry_config.registry()).hostname,
                     "pypi.org", "deb.debian.org"]}
        path = os.path.join(self.inputs, "facts.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(facts, file)
        os.chmod(path, 0o644)
        found = {"facts.json": path}
        for name, folder in (("inside_attacks.py", "attack"),
                             ("vectors.py", "support"),
                             ("hello_bytes.py", "support")):
            copy = os.path.join(self.inputs, name)
            with open(os.path.join(HERE, folder, name), "rb") as file, \
                    open(copy, "wb") as out:
                out.write(file.read())
            os.chmod(copy, 0o644)
            found[name] = copy
        return found


def family(pid):
    """The processes of ours below one: [(pid, program)]."""
    found, wait = [], [pid]
    while wait:
        pid = wait.pop()
        try:
            with open(f"/proc/{pid}/task/{pid}/children",
                      encoding="ascii") as file:
                wait += [int(word) for word in file.read().split()]
            exe = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        if exe.startswith((harness.LIBEXEC, harness.AGENTNODE)):
            found.append((pid, exe))
    return found


def ports(pid):
    """Listening TCP ports of the host that processes of ours hold."""
    waiting = {}
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="ascii") as file:
            for line in file.read().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A":
                    waiting[f"socket:[{fields[9]}]"] = fields[1]
    found = []
    members = family(pid)
    for member, exe in members:
        try:
            for name in os.listdir(f"/proc/{member}/fd"):
                link = os.readlink(f"/proc/{member}/fd/{name}")
                if link in waiting:
                    found.append((exe, waiting[link]))
        except OSError:
            continue
    return found, members


LOOK = r"""
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for pid in sys.argv[1:]:
    for file in ("environ", "mem", "maps"):
        try:
            with open(f"/proc/{pid}/{file}", "rb") as data:
                if data.read(1):
                    print(pid, file)
        except OSError:
            pass
"""


def readable(members):
    """92: environments and memory of ours, for another user; and whether
    the secret is in one at all but the command's own."""
    pids = [str(pid) for pid, _exe in members]
    held = harness.run(sys.executable, "-c", LOOK, *pids).out.split("\n")[:-1]
    for pid, exe in members:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                # The command itself has its caller's environment.
                if os.path.basename(exe) != "agentnode" \
                        and MARK.encode() in file.read():
                    held.append(exe)
        except OSError:
            continue
    return held


def watch(tally, pid, stop):
    """107, 67, 92 while the sandbox runs."""
    count, found, held, reached = 0, [], [], []
    while not stop.is_set():
        open_, members = ports(pid)
        count += len(members) > 1
        found += open_
        held += readable(members)
        try:
            with socket.create_connection(("127.0.0.1", 3128), 1) as conn:
                conn.sendall(b"CONNECT api.example.test:443 HTTP/1.1\r\n"
                             b"Host: api.example.test:443\r\n\r\n")
                conn.settimeout(2)
                reached.append(conn.recv(100))
        except OSError:
            pass
        time.sleep(0.2)
    tally.attack(107, "a port of the host that a process of ours listens on",
                 found, seen=found[:5])
    tally.attack(67, "the sandbox's port from the host", reached,
                 seen=reached[:1])
    tally.attack(92, "the caller's secret in a process of ours", held,
                 seen=held[:5])
    tally.control((107, 67, 92), "processes of ours were looked at",
                  count > 2, count)


def run(tally, engine, net, weaken=()):
    host = Host()
    net.dns.queries.clear()
    net.dns.zone.update({attack_tables.host(name): ["127.0.0.11"]
                         for name in weaken})
    engine.configure(net, **{attack_tables.host(name): "127.0.0.11/32"
                             for name in weaken})
    process = engine.start(
        host.files(guest=engine.guest, items=sorted(tally.only or ())),
        drive.ALLOW + list(weaken), "/usr/bin/python3",
        "inside_attacks.py", ATTACK_SECRET=MARK, OPENAI_API_KEY=MARK,
        SSH_AUTH_SOCK=host.socket)
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(tally, process.pid, stop))
    watcher.start()
    out, err = process.communicate(timeout=330)
    stop.set()
    watcher.join()
    text = out.decode("utf-8", "replace")
    try:
        result = json.loads(text)
        said = json.loads(result["stdout"]) if "stdout" in result else result
    except ValueError:
        print(f"{engine.name}: the program inside said nothing: {text[-1500:]}"
              f"{err[-1500:]}", file=sys.stderr)
        return
    for line in (result.get("stderr") or err.decode()).splitlines():
        print(f"{engine.name}: inside: {line}", file=sys.stderr)
    count(tally, engine, net, said)


def count(tally, engine, net, said):
    """The codes of hellos are in the log, not inside."""
    logged = [line["code"] for line in engine.log()
              if line.get("event") == "connection"]
    wanted = [row[4] for row in said["attacks"] if row[4].startswith("log:")]
    for item, name, passed, code, want, seen in said["attacks"]:
        if want.startswith("log:"):
            want = want[4:]
            if code.startswith("log:"):
                code = (want if logged.count(want) >= wanted.count(
                    "log:" + want) else "not in the log")
        tally.attack(item, name, passed, code, want, seen)
    for item, name, ok, seen in said["controls"]:
        tally.control(item, name, ok, seen)
    if not tally.wants(26, 30):
        return
    names = {name for name, _kind in net.dns.queries}
    tally.attack(26, "what the host's resolver was asked", [
        name for name in names if "example.net" in name or "npmjs" in name],
        seen=sorted(names))
