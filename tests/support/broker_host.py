"""Plays the supervisor, llm-key and the ledger for the real
agentnode-llm-broker: control socket, grant, listener, and the far ends of
its lanes, whose calls a test answers byte by byte."""
import base64
import hashlib
import json
import os
import resource
import select
import socket
import struct
import subprocess
import threading

import harness
import lane_trunk
import ledger_client

PROGRAM = os.path.join(harness.LIBEXEC, "agentnode-llm-broker")
KEY = "sk-agentnode-test-4Zq8w1Xy7Rb3Kd5Nf9Pj2Tm6Vh0Lc"
MAGIC = 0x414e4c31
OPEN, RELEASE, DATA, EOF, FAILED = 1, 2, 3, 4, 5
KEEP, CLOSE, KEY_REFUSED = 1, 2, 3
FRAME = struct.Struct("=IIII")
HEAD = struct.Struct("=IIII32sQIIQ")
SANDBOX = "test"


def provider(name="openai"):
    path = os.path.join(harness.SOURCE, "config", "providers", name + ".json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def patterns(key=KEY):
    """What llm-key sends for a key (llm-broker/redact.h)."""
    raw = key.encode()
    texts = [("raw", raw), ("hex", raw.hex().encode())]
    for skip in range(3):
        coded = base64.b64encode(b"x" * skip + raw)
        first = (8 * skip + 5) // 6
        last = 8 * (skip + len(raw)) // 6
        texts.append(("base64", coded[first:last]))
    rows = []
    for form, text in texts:
        salt = os.urandom(16)
        rows.append({"form": form, "prefix": text[:4].hex(),
                     "length": len(text), "salt": salt.hex(),
                     "digest": hashlib.sha256(salt + text).hexdigest()})
    return rows


def grant(**limits):
    base = {"requests": 1000000, "concurrent": 1024,
            "input_chars": 10 ** 12, "output_chars": 10 ** 12}
    base.update(limits)
    return {"providers": [{"name": "openai"}, {"name": "anthropic"},
                          {"name": "gemini"}], "limits": base,
            "ledger": False}


class Lane(socket.socket):
    """llm-key's end of a lane."""

    def __init__(self, trunk, place, fd):
        super().__init__(fileno=fd)
        self.trunk, self.place = trunk, place
        self.setblocking(True)
        self.settimeout(20)

    def take(self, count, seconds=20):
        return self.trunk.take(self.place, count, self, seconds)


class LaneCall:
    """One call as it came through a lane; answer it with these."""

    def __init__(self, lane, number, provider_name, head, body):
        self.lane, self.number, self.provider = lane, number, provider_name
        self.head, self.body = head.decode("latin1"), body
        self.is_first = True

    def _frame(self, kind, value, piece=b""):
        """The first by the trunk, every other one by the lane."""
        frame = FRAME.pack(MAGIC, kind, value, self.number) + piece
        if self.is_first:
            self.lane.trunk.record(self.lane.place, frame)
        else:
            self.lane.sendall(frame)
        self.is_first = False

    def data(self, data):
        while data:
            size = lane_trunk.DATA_MAX if self.is_first else 65536
            piece, data = data[:size], data[size:]
            self._frame(DATA, len(piece), piece)

    def eof(self):
        self._frame(EOF, 0)

    def failed(self, failure):
        self._frame(FAILED, failure)

    def released(self, seconds=10):
        """RELEASE's value; 0: the lane was closed."""
        data = self.lane.take(FRAME.size, seconds)
        if data is None:
            return 0
        magic, kind, value, number = FRAME.unpack(data)
        assert (magic, kind, number) == (MAGIC, RELEASE, self.number)
        return value


def _exactly(sock, count):
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            return None
        data += piece
    return data


def response(body, status=200, kind="application/json", fields=()):
    """A whole response with Content-Length."""
    head = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}",
            f"Content-Length: {len(body)}", *fields, "", ""]
    return "\r\n".join(head).encode() + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


STREAM_HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n")


class LedgerDouble:
    """The ledger's end of its pair (supervisor/ledger/budget_wire.h)."""

    def __init__(self, end):
        self.socket, self.asks = end, []
        end.settimeout(10)

    def read(self):
        """The next record as a dictionary."""
        if not self.asks:
            data = self.socket.recv(65536)
            self.asks = list(ledger_client.ASK.iter_unpack(data))
        row = self.asks.pop(0)
        return {"type": {1: "reserve", 2: "settle"}[row[1]], "id": row[2],
                "amounts": dict(zip(ledger_client.ONE_CALL, row[3:8])),
                "calls": row[8], "unused": row[9],
                "served": bool(row[10]), "estimated": bool(row[11]),
                "provider": row[12].rstrip(b"\0").decode(),
                "model": row[13].rstrip(b"\0").decode()}

    def answer(self, call, refused=None, calls=1):
        """refused: (scope, amount, limit, used, retry_after_s)."""
        scope, amount, *numbers = refused or ("", "", 0, 0, 0)
        self.socket.send(ledger_client.ANSWER.pack(
            ledger_client.MAGIC, ledger_client.REFUSED if refused
            else ledger_client.RESERVED, call, scope.encode(),
            amount.encode(), *numbers, calls))

    def close(self):
        self.socket.close()


class Broker:
    def __init__(self, key=KEY, ledger=False, grant_object=None, program=PROGRAM,
                 providers=("openai", "anthropic", "gemini"), files=None,
                 **options):
        self.folder = harness.folder("broker-")
        self.log_path = os.path.join(self.folder, "log")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port = self.listener.getsockname()[1]
        self.usage, self.decisions, self.lanes = [], [], []
        self.made = []  # lanes that no call was seen in
        self.trunk, self.handed = None, 0
        self.control, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(self.log_path + ".err", "w"), close_fds=False,
            env={k: v for k, v in os.environ.items()
                 if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS")},
            preexec_fn=lambda: _only(theirs.fileno(), files))
        theirs.close()
        log = os.open(self.log_path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        objects = [p if isinstance(p, dict) else provider(p)
                   for p in providers]
        self.send("config", {"sandbox": SANDBOX, "options": {
            "providers": objects, "port": self.port, "log_rate": 0,
            **options}}, [log])
        os.close(log)
        self.ready = self.receive("ready")
        self.key, self.told = self.stream("key"), 0
        self.ledger = (LedgerDouble(self.stream("ledger")) if ledger
                       else None)
        given = grant_object or grant()
        given["ledger"] = ledger
        self.send("grant", {"sandbox": SANDBOX, "grant": given})
        self.send("listen", {"sandbox": SANDBOX, "kind": "llm"},
                  [self.listener.fileno()])
        for item in objects if key else ():
            self.pattern(item["name"], key)
        self.stats()

    def send(self, kind, body, fds=(), number=0, to=None):
        message = {"v": 1, "type": kind, "id": number, **body}
        socket.send_fds(to or self.control, [json.dumps(message).encode()],
                        list(fds))

    def stream(self, name):
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        self.send("stream", {"name": name}, [theirs.fileno()])
        theirs.close()
        return ours

    def pattern(self, name, key=KEY, status="found"):
        self.send("key_pattern", {
            "provider": name, "status": status,
            "patterns": patterns(key) if status == "found" else []},
            to=self.key)
        self.told += 1
        if self.trunk:
            self.trunk.told = self.told

    def receive(self, kind, seconds=20):
        """The next message of that type; usage and decisions are kept."""
        while True:
            ready, _, _ = select.select([self.control], [], [], seconds)
            data = self.control.recv(65536) if ready else b""
            if not data:
                return None
            message = json.loads(data)
            if message["type"] == "usage":
                self.usage.append(message)
            elif message["type"] == "decision":
                self.decisions.append(message)
            if message["type"] == kind:
                return message

    def stats(self):
        self.send("stats", {}, number=1)
        return self.receive("stats")["values"]

    def agent(self):
        agent = socket.create_connection(("127.0.0.1", self.port), 10)
        agent.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return agent

    def new_lane(self, seconds=10):
        """Take an end of a lane that the broker made."""
        if not self.made:
            ready, _, _ = select.select([self.key], [], [], seconds)
            if not ready:
                return None
            data, fds, _, _ = socket.recv_fds(self.key, 65536, 16)
            assert json.loads(data)["type"] == "upstream_open", data
            if self.trunk is None:
                end = socket.socket(fileno=fds.pop(0))
                end.setblocking(True)
                self.trunk = lane_trunk.Trunk(end)
                self.trunk.told = self.told
            for fd in fds:
                self.handed += 1
                self.made.append(Lane(self.trunk, self.handed, fd))
        lane = self.made.pop(0)
        self.lanes.append(lane)
        return lane

    def read_call(self, lane):
        """The call in this lane, or None at its end."""
        data = lane.take(HEAD.size, 3600)
        if data is None:
            return None
        magic, kind, head_len, number, name, body_len, *_ = \
            HEAD.unpack(data)
        assert (magic, kind) == (MAGIC, OPEN), data
        head = lane.take(head_len)
        short = min(body_len, lane_trunk.BODY_MAX)
        body = lane.take(short) if short else b""
        if body_len > short:
            body += _exactly(lane, body_len - short)
        return LaneCall(lane, number, name.rstrip(b"\0").decode(), head, body)

    def call(self, lane=None, seconds=10):
        """The next call: in that lane, or in a new one."""
        lane = lane or self.new_lane(seconds)
        return self.read_call(lane) if lane else None

    def serve(self, answer):
        """Answer every call with answer(call), each lane in a thread."""
        def one(lane):
            try:
                while True:
                    call = self.read_call(lane)
                    if call is None:
                        return
                    answer(call)
                    if call.released(60) == 0:
                        return
            except (OSError, AssertionError):
                return

        def every():
            while True:
                try:
                    lane = self.new_lane(3600)
                except (OSError, ValueError):
                    return
                if lane is None:
                    return
                threading.Thread(target=one, args=(lane,),
                                 daemon=True).start()
        threading.Thread(target=every, daemon=True).start()

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def rss(self, field="VmRSS"):
        with open(f"/proc/{self.process.pid}/status",
                  encoding="ascii") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
        return 0

    def end(self):
        self.control.close()
        code = self.process.wait(20)
        for lane in self.lanes:
            lane.close()
        self.key.close()
        if self.trunk:
            self.trunk.close()
        self.listener.close()
        return code


def _only(fd, files):
    os.dup2(fd, 3)
    os.closerange(4, 4096)
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def chat(stream=False, **more):
    body = {"model": "gpt-4o-mini", "stream": stream,
            "messages": [{"role": "user", "content": "hello"}], **more}
    return json.dumps(body).encode()


def request(broker, body=None, path="/openai/v1/chat/completions",
            method="POST", fields=()):
    body = chat() if body is None else body
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{broker.port}",
             "Content-Type: application/json", *fields]
    if method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (
        body if method == "POST" else b"")


def read_head(agent):
    """(status, {lower name: value}, bytes behind the head)."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = agent.recv(65536)
        if not piece:
            return 0, {}, data
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("latin1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields, rest


def read_chunks(agent, data, until=None):
    """(content, whether the last chunk came)."""
    content = b""
    while True:
        line, sep, rest = data.partition(b"\r\n")
        size = int(line, 16) if sep else None
        if size is not None and len(rest) >= size + 2:
            if size == 0:
                return content, True
            content += rest[:size]
            data = rest[size + 2:]
            if until is not None and until in content:
                return content, False
            continue
        try:
            piece = agent.recv(1 << 20)
        except ConnectionResetError:
            return content, False
        if not piece:
            return content, False
        data += piece


def read_response(agent):
    """(status, fields, body) of a response with either framing."""
    status, fields, rest = read_head(agent)
    if "content-length" in fields:
        length = int(fields["content-length"])
        while len(rest) < length:
            piece = agent.recv(1 << 20)
            if not piece:
                break
            rest += piece
        return status, fields, rest
    if fields.get("transfer-encoding") == "chunked":
        return status, fields, read_chunks(agent, rest)[0]
    while True:
        piece = agent.recv(1 << 20)
        if not piece:
            return status, fields, rest
        rest += piece
