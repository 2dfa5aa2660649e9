"""A client of the proxy for scenarios about live connections: tunnels made
of a CONNECT and a hello, and an upstream that records what arrives."""
import json
import select
import socket
import struct
import threading
import time

import drive
import harness
import hello_bytes
import internet

NAME = "api.example.test"
ADDRESS = "127.0.0.31"


class Upstream:
    """A TCP server that keeps every connection: .received by index; answers
    with what behaviour(conn) does after the first bytes."""

    def __init__(self, behaviour=None, address=ADDRESS):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, 0))
        self.listener.listen(512)
        self.port = self.listener.getsockname()[1]
        self.address = address
        self.connections = []
        self.behaviour = behaviour
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(conn)
            if self.behaviour:
                threading.Thread(target=self._run, args=(conn,),
                                 daemon=True).start()

    def _run(self, conn):
        try:
            self.behaviour(conn)
        except OSError:
            pass

    def wait(self, count, seconds=5):
        harness.wait_until(lambda: len(self.connections) >= count, seconds)
        return len(self.connections)


class World:
    """One resolver, one upstream, one proxy allowed to reach it."""

    def __init__(self, *options, behaviour=None, allow=(), zone=None,
                 direct=False, port=None, dns=None, **more):
        self.upstream = Upstream(behaviour)
        self.dns = dns or internet.DNSServer(zone or {NAME: [ADDRESS]})
        self.port = port or self.upstream.port
        self.target = f"{NAME}:{self.port}"
        if direct:
            self.direct = ("127.0.0.1", harness.free_port())
            options += ("--direct", f"{NAME}:{self.port}="
                        f"127.0.0.1:{self.direct[1]}")
        self.drive = drive.Drive(
            *options, "--commands", allow=[self.target, *allow],
            ranges={NAME: ADDRESS + "/32"}, resolver=self.dns.address,
            stdin=True, **more)

    def command(self, text):
        """Send one of drive_proxy's commands: the lines it said, of which
        the last are the counters after it."""
        process = self.drive.process
        process.stdin.write(text.encode() + b"\n")
        process.stdin.flush()
        said = []
        while True:
            said.append(process.stdout.readline().decode().strip())
            if said[-1].startswith("stats ") or not said[-1]:
                return said

    def stats(self):
        return json.loads(self.command("stats")[-1][6:])

    def ask(self, target=None, timeout=10):
        """A CONNECT: the socket and the head of the answer."""
        target = target or self.target
        conn = socket.create_connection(self.drive.address, timeout=timeout)
        conn.sendall(f"CONNECT {target} HTTP/1.1\r\n"
                     f"Host: {target}\r\n\r\n".encode())
        return conn, read_head(conn)

    def tunnel(self, name=NAME):
        """An open tunnel whose hello went through."""
        conn, head = self.ask()
        if b" 200 " not in head:
            raise RuntimeError(head)
        conn.sendall(hello_bytes.hello(names=(name.encode(),)))
        return conn

    def lines(self):
        return [line for line in self.drive.lines()
                if line.get("event") == "connection"]

    def last(self, count, seconds=5):
        """The line of the count-th connection that ended."""
        harness.wait_until(lambda: len(self.lines()) >= count, seconds)
        lines = self.lines()
        return lines[count - 1] if len(lines) >= count else {}


def read_head(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        if not more:
            return data
        data += more
    return data


def reason(head):
    """The X-AgentNode-Reason of an answer."""
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"x-agentnode-reason:"):
            return line.split(b":")[1].strip().decode()
    return None


def ending(conn, seconds=5):
    """How a connection ends: 'fin', 'reset', or 'open'; data is dropped."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([conn], [], [], left)[0]:
            return "open"
        try:
            if not conn.recv(65536):
                return "fin"
        except ConnectionResetError:
            return "reset"


def reset(conn):
    """Close so that the other side sees a reset."""
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    conn.close()
