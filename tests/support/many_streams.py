# SPDX-License-Identifier: Apache-2.0
"""Many connections of a real sandbox at once, each with as much to send as is
taken: how much of each went through while a given sum did. Used by the bench
and a scenario of the mux wiring."""
import json
import os
import select
import socket
import time

import engine_case

# Opens N connections to its port; "in" counts what comes on each until the
# sum is there and says it, "out" sends on each for ever.
INSIDE = """
import json, select, socket, sys
way, count, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
conns = [socket.create_connection(("127.0.0.1", 4100)) for _ in range(count)]
seen, block = [0] * count, bytes(1 << 16)
poll, at = select.poll(), {}
for i, conn in enumerate(conns):
    conn.setblocking(False)
    at[conn.fileno()] = i
    poll.register(conn, select.POLLIN if way == "in" else select.POLLOUT)
try:
    while way == "out" or sum(seen) < most:
        for fd, _ in poll.poll():
            if way == "in":
                seen[at[fd]] += len(conns[at[fd]].recv(1 << 16))
            else:
                conns[at[fd]].send(block)
except OSError:
    pass
print(json.dumps(seen), flush=True)
sys.stdin.read()
"""


def _listener(ours):
    """What the supervisor passes on for the port."""
    fds = []
    while not fds:
        _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=fds[0])


def _connections(listener, count):
    """With frames each comes as a descriptor, else it is accepted."""
    found = []
    while len(found) < count:
        if listener.type == socket.SOCK_SEQPACKET:
            select.select([listener], [], [], 30)
            _, fds, _, _ = socket.recv_fds(listener, 1, 1)
            found.extend(socket.socket(fileno=fd) for fd in fds)
        else:
            found.append(listener.accept()[0])
    for one in found:
        one.setblocking(False)
    return found


def _serve(conns, way, most, done):
    """Until most bytes came, or the other end has said that it is done."""
    seen, block = [0] * len(conns), bytes(1 << 16)
    at = {conn.fileno(): i for i, conn in enumerate(conns)}
    poll = select.poll()
    poll.register(done, select.POLLIN)
    for conn in conns:
        poll.register(conn,
                      select.POLLIN if way == "out" else select.POLLOUT)
    while way == "in" or sum(seen) < most:
        for fd, _ in poll.poll():
            if fd == done.fileno():
                return seen
            if way == "out":
                seen[at[fd]] += len(conns[at[fd]].recv(1 << 16))
            else:
                conns[at[fd]].send(block)
    return seen


def run(way, count, most, home, image_name=None):
    """Bytes of each stream, and bytes per second of all."""
    ours, theirs = socket.socketpair()
    case = engine_case.Case(
        "/usr/bin/python3", "-c", INSIDE, way, str(count), str(most),
        options=["--port-to", str(theirs.fileno())], home=home,
        image_name=image_name, pass_fds=(theirs.fileno(),))
    theirs.close()
    try:
        conns = _connections(_listener(ours), count)
        start = time.monotonic()
        seen = _serve(conns, way, most, case.process.stdout)
        spent = time.monotonic() - start
        for conn in conns:
            conn.close()
        said = json.loads(case.process.stdout.readline())
        return said if way == "in" else seen, most / spent
    finally:
        case.process.stdin.close()
        case.process.wait(30)
        os.close(ours.detach())


def unfair(seen):
    """How far the furthest one is from their mean, as a part of it."""
    mean = sum(seen) / len(seen)
    return max(abs(one - mean) for one in seen) / mean
