"""Plays the supervisor for the real agentnode-ledger: config with its
descriptors, records, answers."""
import array
import json
import os
import socket
import struct
import subprocess

import harness


class Ledger:
    def __init__(self, folder, log, **options):
        """Start it; .first is its first message (ready or failed)."""
        self.next_id = 0
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        ours.settimeout(20)
        self.socket = ours
        log_fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        fds = [log_fd, os.open(folder, os.O_RDONLY | os.O_DIRECTORY)]
        key = os.path.join(os.path.dirname(folder), "audit.key")
        if os.path.exists(key):  # a home that agentnode used already
            fds.append(os.open(key, os.O_RDONLY))

        def place():
            os.dup2(theirs.fileno(), 3)
        self.process = subprocess.Popen(
            [os.path.join(harness.LIBEXEC, "agentnode-ledger")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=log_fd, env={}, close_fds=False, preexec_fn=place)
        theirs.close()
        self.send({"v": 1, "type": "config", "id": 0, "options": options},
                  fds)
        for fd in fds:
            os.close(fd)
        self.first = self.receive()

    def send(self, message, fds=()):
        data = json.dumps(message).encode()
        ancillary = []
        if fds:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                          array.array("i", fds))]
        self.socket.sendmsg([data], ancillary)

    def receive(self):
        """The next message, or None when it ended."""
        try:
            data = self.socket.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError):
            return None
        return json.loads(data) if data else None

    def submit(self, event="launch", **fields):
        self.next_id += 1
        self.send({"v": 1, "type": "audit", "id": self.next_id,
                   "event": event, "fields": fields})
        return self.next_id

    def write(self, event="launch", **fields):
        """One record and its answer."""
        wanted = self.submit(event, **fields)
        while True:
            answer = self.receive()
            if answer is None or answer.get("id") == wanted:
                return answer

    def ask(self, kind, fds=(), **fields):
        """One message with its own id, and the answer to it."""
        self.next_id += 1
        wanted = self.next_id
        self.send({"v": 1, "type": kind, "id": wanted, **fields}, fds)
        while True:
            answer = self.receive()
            if answer is None or answer.get("id") == wanted:
                return answer

    def budget(self, name, package="agent", **limits):
        """budget_open: the broker's end of the pair, and the answer."""
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        ours.settimeout(20)
        answer = self.ask("budget_open", [theirs.fileno()], sandbox=name,
                          package=package, limits=limits)
        theirs.close()
        return Pair(ours), answer

    def end(self):
        self.socket.close()
        return self.process.wait(10)


class Pair:
    """The broker's end of its pair to the ledger: records as they stand in
    supervisor/ledger/budget_wire.h. Answers are given as dictionaries."""

    def __init__(self, end):
        self.socket = end
        self.answers = []

    def receive(self):
        """The next answer, or None when the ledger ended the pair."""
        if not self.answers:
            try:
                data = self.socket.recv(1 << 16)
            except (ConnectionResetError, BrokenPipeError):
                return None
            self.answers = [answer(*row) for row in
                            ANSWER.iter_unpack(data)]
        return self.answers.pop(0) if self.answers else None

    def submit(self, call, provider="openai", model="gpt-4o-mini", **more):
        self.socket.send(ask(RESERVE, call, provider, model, **more))

    def reserve(self, call, **more):
        self.submit(call, **more)
        return self.receive()

    def settle(self, call, code="", estimated=False, **amounts):
        self.socket.send(ask(SETTLE, call, served=int(code == ""),
                             estimated=int(estimated), **amounts))

    def settle_some(self, call, **what):
        self.socket.send(ask(SETTLE, call, **what))

    def close(self):
        self.socket.close()


MAGIC = 0x414e4231
RESERVE, SETTLE, RESERVED, REFUSED = 1, 2, 3, 4
ASK = struct.Struct("=IIQ5qIIII72s208s")
ANSWER = struct.Struct("=IIQ16s24s3qQ")
ONE_CALL = {"requests": 1, "input_chars": 10, "output_chars": 10,
            "tokens": 10, "cost_microusd": 10}


def ask(kind, call, provider="", model="", served=0, estimated=0,
        magic=MAGIC, calls=1, unused=0, **amounts):
    values = {**ONE_CALL, **amounts}
    return ASK.pack(magic, kind, call, *values.values(), calls, unused,
                    served, estimated,
                    provider.encode() if isinstance(provider, str)
                    else provider, model.encode())


def answer(magic, kind, call, scope, amount, limit, used, retry_after_s,
           calls):
    assert magic == MAGIC and kind in (RESERVED, REFUSED), (magic, kind)
    if kind == RESERVED:
        more = {} if calls == 1 else {"calls": calls}
        return {"type": "reserved", "id": call, **more}
    told = {"type": "refused", "id": call,
            "scope": scope.rstrip(b"\0").decode(),
            "amount": amount.rstrip(b"\0").decode(),
            "limit": limit, "used": used}
    if retry_after_s:
        told["retry_after_s"] = retry_after_s
    return told
