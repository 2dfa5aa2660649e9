# SPDX-License-Identifier: Apache-2.0
"""The surroundings of one run under a fault: a home, a resolver, a server
that the policy allows and that hears the workload's own verdict, servers
that nobody may reach, and the stories: the commands of which some system
call is failed."""
import glob
import json
import os
import socket
import threading

import engine_case
import harness
import internet

HERE = os.path.dirname(os.path.abspath(__file__))
DENIED = "denied.example.test"
KEY = "sk-proj-Zq7vTr4mQk9wLx2cNb8dKf5hJ3gH1aS6"


class Heard:
    """A TCP server that keeps what each connection sends as its first line,
    and thanks for it."""

    def __init__(self, address):
        self.listener = socket.create_server((address, 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.address, self.lines, self.count = address, [], 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self._one, args=(conn,),
                             daemon=True).start()

    def _one(self, conn):
        data = b""
        try:
            conn.settimeout(10)
            while not data.endswith(b"\n"):
                more = conn.recv(4096)
                if not more:
                    break
                data += more
            self.lines.append(data)
            conn.sendall(b"thanks\n")
            conn.close()
        except OSError:
            pass

    def take(self):
        """What it heard since the last call."""
        lines, self.lines = self.lines, []
        count, self.count = self.count, 0
        return lines, count


class Story:
    """One command in a home of its own; ask() makes its words, verdict()
    judges what came of it."""
    name, timeout, linger = "", 30, 6

    def __init__(self, image=None):
        self.image, self.home = image, harness.folder()
        self.state = os.path.join(self.home, ".agentnode")
        self.allowed, self.never = Heard("127.0.0.11"), Heard("127.0.0.1")
        self.denied = Heard("127.0.0.12")
        self.dns = internet.DNSServer({DENIED: ["127.0.0.12"]})
        self.secret = os.path.join(self.home, "secret")
        with open(self.secret, "w", encoding="utf-8") as file:
            file.write("of the host\n")
        self.configure({"sandbox": {"image": image} if image else {},
                        "egress": {"resolver": self.dns.address}})
        self.env = harness.environment(self.home)

    def twin(self):
        """Another of the kind, for a worker beside this one."""
        return type(self)(self.image)

    def configure(self, tree):
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        path = os.path.join(self.state, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(tree, file)
        os.chmod(path, 0o600)

    def inside(self, allow=True):
        """The workload's words."""
        return ["python3", "-c", engine_case.text(
            os.path.join(HERE, "inside_walls.py")),
            f"127.0.0.1:{self.never.port}", self.secret,
            f"127.0.0.11:{self.allowed.port}" if allow else "-", DENIED]

    def words(self):
        raise NotImplementedError

    def launches(self):
        """Launch records of this home."""
        return sum(engine_case.text(path).count('"event":"launch"') for path in
                   glob.glob(os.path.join(self.state, "ledger", "audit*.jsonl")))

    def prepare(self):
        for server in (self.allowed, self.never, self.denied):
            server.take()
        self.before = self.launches()

    def reports(self, out):
        """Verdicts of the workload, by whichever way they came."""
        rows = []
        lines, _ = self.allowed.take()
        for line in [*out.splitlines(), *(one.decode("utf-8", "replace")
                                          for one in lines)]:
            try:
                row = json.loads(line)
                rows += [row] if "open" in row else []
            except (ValueError, TypeError):
                pass
        return rows

    def faults(self, out, err):
        """(what is open, whether the workload ran)."""
        rows = self.reports(out)
        found = [wall for row in rows for wall in row["open"]]
        for name, server in (("host's listener", self.never),
                             ("denied server", self.denied)):
            if server.take()[1]:
                found.append(f"{name} was reached")
        if "of the host" in out:
            found.append("host file")
        if rows and self.launches() == self.before:
            found.append("no launch record")
        return found, bool(rows)

    def complete(self, out):
        """Whether exit code 0 came with the result that it promises."""
        return '"tunnel": true' in out or '"tunnel": false' in out

    def left(self):
        """Files of living runs and scratch directories that nobody holds;
        asked at the end of everything, after gc."""
        return [path for path in glob.glob(os.path.join(
            self.state, "exec", "*")) if os.path.isdir(path)]

    def close(self):
        for server in (self.allowed, self.never, self.denied):
            server.listener.close()
        self.dns.close()


class Exec(Story):
    boundary = ""

    def words(self):
        return [harness.AGENTNODE, "exec", "--boundary", self.boundary,
                "--timeout", "20s", "--allow",
                f"tcp://127.0.0.11:{self.allowed.port}", "--",
                *self.inside()]


class Native(Exec):
    name, boundary = "native", "native"


class Container(Exec):
    name, boundary, timeout = "container", "container", 45


class Mux(Container):
    """By frames: the gate and init move the streams, of which one has more
    than is copied."""
    name = "mux"

    def __init__(self, image=None):
        super().__init__(image)
        self.configure({"sandbox": {"image": image, "wiring": "mux"},
                        "egress": {"resolver": self.dns.address}})

    def inside(self, allow=True):
        return ["/bin/sh", "-c", "dd if=/dev/zero bs=300000 count=2 status=none >&2 && "
                "exec \"$@\"",
                "sh", *super().inside(allow)]


class Oci(Container):
    """The runtime called directly, without an engine. The first run unpacks
    the image."""
    name, timeout = "oci", 180

    def __init__(self, image=None):
        super().__init__(image)
        self.configure({"sandbox": {"image": image, "engine": "oci"},
                        "egress": {"resolver": self.dns.address}})


class Policy(Exec):
    """No boundary: what must not stay open is the caller's environment."""
    name, boundary = "policy", "policy"

    def words(self):
        return [harness.AGENTNODE, "exec", "--boundary", "policy",
                "--timeout", "20s", "--", "sh", "-c",
                'echo "{\\"open\\": [\\"environment\\"]}" | '
                'if [ -n "$AGENTNODE_HOME$FAULT_SECRET" ]; then cat; else '
                'echo "{\\"open\\": [], \\"tunnel\\": false}"; fi; '
                "(setsid sleep 300 >/dev/null 2>&1 &)"]

    def __init__(self, image=None):
        super().__init__(image)
        self.env["FAULT_SECRET"] = "1"
