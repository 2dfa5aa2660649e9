"""Plays supervisor, keyring helper and broker for the real, confined
agentnode-llm-key: starts it with its control socket as descriptor 3, hands
out the pairs, opens lanes and speaks the frames of llm-broker/lane.h."""
import array
import json
import os
import socket
import struct
import subprocess
import time

import harness
import lane_trunk

PROGRAM = os.path.join(harness.LIBEXEC, "agentnode-llm-key")
MAGIC = 0x414e4c31
OPEN, RELEASE, DATA, EOF, FAILED = 1, 2, 3, 4, 5
KEEP, CLOSE, KEY_REFUSED = 1, 2, 3
FAILURES = {1: "no_key", 2: "breaker", 3: "lookup", 4: "address", 5: "dial",
            6: "tls", 7: "timeout", 8: "closed", 9: "head", 10: "busy"}
FRAME = struct.Struct("=IIII")
OPEN_REST = struct.Struct("=32sQIIQ")


def send(sock, message, fds=()):
    """One datagram with descriptors."""
    data = message if isinstance(message, bytes) else json.dumps(
        {"v": 1, "id": 0, **message}).encode()
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                  array.array("i", fds))] if fds else []
    sock.sendmsg([data], ancillary)


def pair(kind=socket.SOCK_SEQPACKET):
    return socket.socketpair(socket.AF_UNIX, kind)


def request(call, provider, head, body_len=0, first_ms=5000, idle_ms=5000):
    """OPEN and the head."""
    head = head if isinstance(head, bytes) else head.encode()
    return FRAME.pack(MAGIC, OPEN, len(head), call) + OPEN_REST.pack(
        provider.encode(), body_len, first_ms, idle_ms, call) + head


class Lane:
    """One lane, the broker's end."""

    def __init__(self, client):
        self.sock, other = pair(socket.SOCK_STREAM)
        ends = [other]
        if client.trunk is None:
            mine, theirs = pair(socket.SOCK_STREAM)
            client.trunk = lane_trunk.Trunk(mine)
            ends.insert(0, theirs)
        send(client.broker, {"type": "upstream_open"},
             [end.fileno() for end in ends])
        for end in ends:
            end.close()
        client.trunk.told += 1
        client.lanes += 1
        self.trunk, self.number = client.trunk, client.lanes
        self.sock.settimeout(20)
        self.call = self.heard = 0
        self.with_it = 0  # bytes of the body that go by the trunk

    def open(self, provider, head, body=b"", body_len=None, first_ms=5000,
             idle_ms=5000, send_body=True):
        self.call += 1
        length = len(body) if body_len is None else body_len
        self.put(request(self.call, provider, head, length, first_ms,
                         idle_ms))
        self.with_it = min(length, lane_trunk.BODY_MAX)
        if send_body:
            self.body(body)

    def put(self, data):
        self.trunk.put(self.number, data)

    def body(self, data):
        """Its beginning by the trunk, the rest in the lane."""
        self.put(data[:self.with_it])
        if len(data) > self.with_it:
            self.sock.sendall(data[self.with_it:])
        self.with_it -= min(len(data), self.with_it)

    def _exactly(self, count, by_trunk):
        if by_trunk:
            got = self.trunk.take(self.number, count, self.sock)
            if got is None:
                raise EOFError("the lane was closed")
            return got
        got = b""
        while len(got) < count:
            more = self.sock.recv(count - len(got))
            if not more:
                raise EOFError("the lane was closed")
            got += more
        return got

    def frame(self):
        """(type, value or bytes) of the next frame of this call."""
        while True:
            first = self.heard != self.call
            magic, kind, value, call = FRAME.unpack(
                self._exactly(FRAME.size, first))
            assert magic == MAGIC, magic
            payload = (self._exactly(value, first) if kind == DATA
                       else value)
            if call == self.call:
                self.heard = call
                return kind, payload

    def response(self, until=None):
        """All bytes until EOF, FAILED, or until(bytes) is true; then the
        name of the failure, "eof", or None."""
        data = b""
        while True:
            kind, payload = self.frame()
            if kind == DATA:
                data += payload
                if until and until(data):
                    return data, None
            elif kind == EOF:
                return data, "eof"
            else:
                return data, FAILURES[payload]

    def release(self, value=KEEP):
        self.put(FRAME.pack(MAGIC, RELEASE, value, self.call))

    def close(self):
        self.sock.close()


def ended(sock):
    """Wait until the other side closes, in order or with bytes unread."""
    sock.settimeout(10)
    try:
        sock.recv(1)
    except ConnectionResetError:
        pass
    sock.close()


def whole(data):
    """A response with Content-Length is complete."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return False


def head(host, method="GET", target="/", body=b"", extra=""):
    text = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n"
    if body or method == "POST":
        text += f"Content-Length: {len(body)}\r\n"
    return text + extra


class KeyProcess:
    """One agentnode-llm-key. providers as in key_config.h; bundles are paths
    of PEM files, the first is ca_fd 1."""

    def __init__(self, providers, bundles, resolver, prefix=(), **options):
        self.folder = harness.folder()
        self.log = os.path.join(self.folder, "key.jsonl")
        self.control, child = pair()
        self.broker = self.trunk = None
        self.lanes = 0
        environment = {k: v for k, v in os.environ.items()
                       if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS")}

        def setup():
            os.dup2(child.fileno(), 3)

        self.process = subprocess.Popen(
            [*prefix, PROGRAM], preexec_fn=setup, pass_fds=[3],
            env=environment, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        child.close()
        self.control.settimeout(20)
        files = [os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND,
                         0o600)]
        files += [os.open(path, os.O_RDONLY) for path in bundles]
        options.setdefault("ca_fd", 1)
        config = {"providers": providers, "resolver": resolver, **options}
        send(self.control, {"type": "config", "sandbox": "test-run",
                            "options": config},
             files)
        for fd in files:
            os.close(fd)
        self.ready = self.receive()
        self.number = 0

    def receive(self):
        data = self.control.recv(65536)
        if not data:
            self.process.wait(10)
            raise RuntimeError(
                f"llm-key ended with {self.process.returncode}: "
                f"{self.text()} {self.process.stderr.read().decode()}")
        return json.loads(data)

    def tell(self, kind, fds=(), **fields):
        send(self.control, {"type": kind, **fields}, fds)

    def add_broker(self):
        self.broker, other = pair()
        self.broker.settimeout(20)
        self.tell("stream", [other.fileno()], name="broker")
        other.close()
        return self

    def patterns(self):
        return json.loads(self.broker.recv(65536))

    def keyring(self):
        mine, other = pair()
        self.tell("stream", [other.fileno()], name="keyring")
        other.close()
        return mine

    def give_key(self, provider, key, status="found"):
        """What the keyring helper does; waits until it is in force."""
        mine = self.keyring()
        message = {"type": "key", "provider": provider, "status": status}
        if status == "found":
            message["length"] = len(key)
        try:
            send(mine, message)
            if status == "found":
                send(mine, key if isinstance(key, bytes) else key.encode())
        except BrokenPipeError:
            pass  # it was refused for its length alone
        ended(mine)


    def stats(self):
        self.number += 1
        self.tell("stats", id=self.number)
        while True:
            message = self.receive()
            if message["type"] == "stats":
                return message["values"]

    def lane(self):
        return Lane(self)

    def call(self, provider, host, body=b"", lane=None, release=KEEP,
             **options):
        """One call on a lane of its own: (bytes, end)."""
        mine = lane or self.lane()
        mine.open(provider, head(host, "POST" if body else "GET", "/v1",
                                 body), body, **options)
        result = mine.response(whole)
        mine.release(release)
        if lane is None:
            time.sleep(0.02)
            mine.close()
        return result

    def rss_kb(self):
        with open(f"/proc/{self.process.pid}/status",
                  encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS"):
                    return int(line.split()[1])
        return 0

    def memory_with(self, *words):
        """Which of the words stand in memory that can be read at all: all
        but secret memory, which even root cannot."""
        found = set()
        with open(f"/proc/{self.process.pid}/maps", encoding="ascii") as maps:
            ranges = [line.split()[0].split("-") for line in maps
                      if line.split()[1].startswith("r")]
        with open(f"/proc/{self.process.pid}/mem", "rb", 0) as memory:
            for start, end in ranges:
                size = int(end, 16) - int(start, 16)
                if size > 1 << 30:
                    continue  # what a sanitizer reserves
                try:
                    memory.seek(int(start, 16))
                    data = memory.read(size)
                except (OSError, ValueError, OverflowError):
                    continue
                found.update(w for w in words if w.encode() in data)
        return found

    def text(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def lines(self):
        return harness.json_lines(self.log)

    def stop(self):
        self.control.close()
        if self.broker:
            self.broker.close()
        if self.trunk:
            self.trunk.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "killed"
