"""Live connections through the real, confined proxy: half-close both ways,
policy narrowed and sandbox closed under open tunnels, limits of time, number,
rate and bytes, a corporate proxy, clients of HTTP/1.0, a changed resolver,
what is told to the supervisor, and that a direct listener dials nothing for
a foreign name."""
import json
import os
import select
import socket
import time

import harness
import hello_bytes
import internet
import process_figures
import tunnel_client
from harness import check
from machine_pace import Deadline
from tunnel_client import NAME, World, ending, reason


def half_close():
    def behaviour(conn):
        data = b""
        while True:
            more = conn.recv(65536)
            if not more:
                break
            data += more
        conn.sendall(b"got %d" % len(data))
        conn.close()

    world = World(behaviour=behaviour)
    conn = world.tunnel()
    sent = len(hello_bytes.hello(names=(NAME.encode(),))) + 5
    conn.sendall(b"12345")
    conn.shutdown(socket.SHUT_WR)
    answer = conn.recv(100)
    check("the client's FIN reaches the upstream, the way back stays open",
          answer == b"got %d" % sent, answer)
    check("the upstream's FIN ends the tunnel in order",
          ending(conn) == "fin")
    line = world.last(1)
    check("its line: done, bytes each way, sni, address",
          line.get("reason") == "done" and line.get("up") == sent
          and line.get("down") == len(answer) and line.get("sni") == NAME
          and line.get("address", "").startswith("127.0.0.31:"), line)
    world.drive.stop()


def backpressure():
    block = b"x" * 65536
    state = {"sent": 0}

    def behaviour(conn):
        conn.recv(65536)
        while True:
            conn.sendall(block)
            state["sent"] += len(block)

    world = World(behaviour=behaviour)
    conn = world.tunnel()
    harness.wait_until(lambda: False, 1.5)
    stuck = state["sent"]
    harness.wait_until(lambda: False, 0.5)
    check("a client that does not read stops the upstream",
          state["sent"] == stuck and stuck < 64 << 20, state["sent"])
    got = 0
    while got < stuck:
        got += len(conn.recv(1 << 20))
    check("and nothing was lost", got >= stuck)
    tunnel_client.reset(conn)
    line = world.last(1)
    check("a reset of the client is a reset upstream",
          line.get("reason") == "reset", line)
    world.drive.stop()


def unheard(pid):
    """How many descriptors its loop is not told of bytes to read of."""
    words = []
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as info:
                words += [int(line.split("events:")[1].split()[0], 16)
                          for line in info if line.startswith("tfd:")]
        except OSError:
            pass  # a pipe that was closed meanwhile
    return sum(1 for word in words if word & select.EPOLLET
               and not word & select.EPOLLIN)


def stuck_both_ways():
    """Neither side reads, then both do; bytes, pings and a reset behind it:
    no sender that was not listened to meanwhile is forgotten."""
    size, far = 48 << 20, []
    pattern = b"0123456789abcdef" * (size // 16)

    def behaviour(conn):
        far.append(conn)
        conn.recv(65536)
        harness.wait_until(lambda: False, 60)

    def fill(conn, total):
        sent, until = 0, time.monotonic() + 0.5
        conn.setblocking(False)
        while sent < total and time.monotonic() < until:
            try:  # small pieces: each comes while nothing can be passed on
                sent += conn.send(pattern[sent % 16:4096])
            except BlockingIOError:
                time.sleep(0.002)
        conn.settimeout(10)
        return sent

    def drain(conn, total):
        got = bytearray()
        while len(got) < total:
            more = conn.recv(min(1 << 16, total - len(got)))
            if not more:
                break
            got += more
        return bytes(got)

    world = World(behaviour=behaviour)
    near = world.tunnel()
    harness.wait_until(lambda: far, 5)
    time.sleep(0.2)  # its hello is read
    for conn in (near, far[0]):
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    pid = process_figures.only_child(world.drive.process.pid)
    right, stuck, deaf = [], True, []
    for _ in range(2):
        up, down = fill(near, size), fill(far[0], size)
        stuck = stuck and up < size and down < size
        deaf.append(harness.wait_until(lambda: unheard(pid) == 2, 3))
        right += [drain(far[0], up) == pattern[:up],
                  drain(near, down) == pattern[:down]]
        for one, other in ((near, far[0]), (far[0], near)) * 20:
            one.sendall(b"?")
            right.append(other.recv(10) == b"?")
        deaf.append(harness.wait_until(lambda: unheard(pid) == 0, 3))
    check("both ways stuck, then read: every byte in order, and what follows",
          all(right) and stuck, (right.count(False), up, down))
    check("a sender is not listened to while its receiver is full, and then "
          "again", all(deaf), deaf)
    fill(near, size)
    tunnel_client.reset(near)
    try:
        drain(far[0], size)
    except ConnectionResetError:
        pass
    check("a reset of a sender whose bytes were stuck ends the tunnel",
          world.last(1).get("reason") == "reset", world.lines())
    world.drive.stop()


def narrowing():
    world = World(allow=["other.example.test:443"])
    opened = world.tunnel()
    hello, _ = world.ask()
    wider = json.dumps({"allow": [world.target, "*.more.example:443"]})
    said = world.command("policy " + wider)
    check("a wider policy is refused", said[0].startswith("failed "), said)
    check("and the tunnel stays", ending(opened, 0.3) == "open")
    narrow = json.dumps({"allow": ["other.example.test:443"]})
    world.command("policy " + narrow)
    check("an open tunnel that no longer matches is reset",
          ending(opened) == "reset")
    check("its upstream, too", world.upstream.wait(1) >= 1
          and ending(world.upstream.connections[0]) == "reset")
    check("one that waits for its hello ends", ending(hello) != "open")
    lines = world.lines()
    check("logged as narrowed, host_not_allowed",
          len(lines) == 2 and all(
              line["reason"] == "narrowed" and
              line["code"] == "host_not_allowed" for line in lines), lines)
    _, head = world.ask()
    check("and new ones are refused", reason(head) == "host_not_allowed")
    world.drive.stop()


def closing():
    world = World()
    opened, half = world.tunnel(), world.tunnel()
    half.shutdown(socket.SHUT_WR)
    head = socket.create_connection(world.drive.address)
    head.sendall(b"CONN")
    harness.wait_until(lambda: world.stats()["open"] == 2, 3)
    world.command("close")
    check("sandbox_close resets tunnels, half-closed ones, and heads",
          [ending(c) for c in (opened, half, head)] == ["reset"] * 3)
    refused = False
    try:
        socket.create_connection(world.drive.address, timeout=1)
    except OSError:
        refused = True
    check("its listener is gone", refused)
    stats = world.stats()
    check("nothing is left of it", stats["open"] == stats["waiting"] ==
          stats["opening"] == stats["leaving"] == 0, stats)
    world.drive.stop()


def reset_behind_bytes():
    """A reset that comes with bytes: one event, and no other follows."""
    def behaviour(conn):
        if conn.recv(65536):
            conn.sendall(b"x" * 100)
            tunnel_client.reset(conn)

    for name, way in (("client", None), ("upstream", behaviour)):
        world = World(behaviour=way)
        conns = []
        for _ in range(20):
            conns.append(world.tunnel())
            if way is None:
                tunnel_client.reset(conns[-1])
        check(f"tunnels whose {name} resets right behind its bytes are over",
              harness.wait_until(lambda: world.stats()["open"] == 0, 5),
              world.stats())
        world.drive.stop()


def times():
    world = World("--limit", "head_timeout_ms=500", "--limit",
                  "hello_timeout_ms=500", "--limit", "idle_timeout_s=1",
                  "--limit", "total_timeout_s=3")
    conn = socket.create_connection(world.drive.address)
    conn.sendall(b"CONNECT ")
    deadline = Deadline(2)
    head = tunnel_client.read_head(conn)
    check("a head that does not come: 408 timeout",
          deadline.ends() and head.startswith(b"HTTP/1.1 408")
          and reason(head) == "timeout", (head, deadline))
    deadline = Deadline(2)
    conn, head = world.ask()
    check("no hello: closed, in time", ending(conn, 10) != "open"
          and deadline.ends() and deadline.took > 0.3, deadline)
    check("logged as timeout",
          [line["code"] for line in world.lines()] == ["timeout"] * 2)
    deadline = Deadline(2.5)
    conn = world.tunnel()
    check("idle: reset", ending(conn, 10) == "reset"
          and deadline.ends() and deadline.took > 0.8, deadline)
    check("logged as idle", world.last(3).get("reason") == "idle")
    deadline = Deadline(5)
    conn = world.tunnel()
    begin, alive = time.monotonic(), True
    while alive and time.monotonic() - begin < 20:
        try:
            conn.sendall(b"x")
            alive = ending(conn, 0.2) == "open"
        except OSError:
            alive = False
    check("busy, but too old: ended at the total limit",
          deadline.ends() and deadline.took > 2.5, deadline)
    check("logged as total", world.last(4).get("reason") == "total")
    world.drive.stop()


def numbers():
    world = World("--limit", "max_tunnels=3")
    tunnels = [world.tunnel() for _ in range(3)]
    harness.wait_until(lambda: world.stats()["open"] == 3, 3)
    _, head = world.ask()
    check("the fourth tunnel is refused",
          head.startswith(b"HTTP/1.1 429")
          and reason(head) == "too_many_tunnels", head)
    tunnel_client.reset(tunnels[0])
    harness.wait_until(lambda: world.stats()["open"] < 3, 3)
    waiting, head = world.ask()
    check("a place that became free is used", b" 200 " in head, head)
    conn, head = world.ask()
    check("one that keeps its hello back gives way to the next",
          b" 200 " in head and ending(waiting) != "open", head)
    world.drive.stop()


def bytes_and_rate():
    def behaviour(conn):
        conn.recv(65536)
        while True:
            conn.sendall(bytes(65536))

    world = World("--limit", "max_bytes=1000000", behaviour=behaviour)
    conn, got = world.tunnel(), 0
    try:
        while True:
            more = conn.recv(65536)
            if not more:
                break
            got += len(more)
    except ConnectionResetError:
        pass
    check("the byte limit ends the tunnel", 0 < got <= 1000000, got)
    check("logged so", world.last(1).get("reason") == "byte_limit")
    world.drive.stop()
    world = World("--limit", "rate_bytes=1000000", behaviour=behaviour)
    conn, got, begin = world.tunnel(), 0, time.monotonic()
    conn.settimeout(5)
    while time.monotonic() - begin < 3:
        got += len(conn.recv(65536))
    check("the rate is kept: a burst of a second, then the rate",
          2500000 < got < 5000000, got)
    world.drive.stop()


def large_hellos(world, count, seconds=60):
    """The bytes that count tunnels bring to the upstream by their hellos
    alone, and how many of their connections were cut."""
    hello = hello_bytes.hello(names=(NAME.encode(),), pad=60000)
    begin, cut, conns = time.monotonic(), 0, []
    for _ in range(count):
        try:
            conn, head = world.ask()
            if b" 200 " not in head:
                cut += 1
                continue
            conn.sendall(hello)
            conns.append(conn)
        except OSError:
            cut += 1
        if time.monotonic() - begin > seconds:
            break
    time.sleep(0.5)
    return world.stats()["up_bytes"], cut, len(hello)


def hellos_count():
    """A hello is as many bytes as any others."""
    world = World("--limit", "max_bytes=100000")
    came, cut, size = large_hellos(world, 8)
    check("the byte limit counts hellos: at most one too many",
          100000 <= came <= 100000 + size, (came, size))
    check("and then nothing is dialled any more", cut >= 4
          and world.upstream.wait(1) <= 4, (cut, world.lines()))
    world.drive.stop()
    world = World("--limit", "rate_bytes=30000")
    begin = time.monotonic()
    came, _, size = large_hellos(world, 5)
    spent = time.monotonic() - begin
    check("the rate counts hellos: at most one too many",
          0 < came <= 30000 * (1 + spent) + size, (came, spent))
    world.drive.stop()


def heads_count():
    """So are the heads of plain requests."""
    def behaviour(conn):
        tunnel_client.read_head(conn)
        conn.close()

    upstream = tunnel_client.Upstream(behaviour)
    target = f"{NAME}:{upstream.port}"
    fields = b"".join(b"X-%d: %s\r\n" % (i, b"x" * 2990)
                      for i in range(4))
    world = World("--limit", "max_bytes=30000", allow=[f"http://{target}"])
    for _ in range(6):
        conn = socket.create_connection(world.drive.address, timeout=10)
        conn.sendall(f"GET http://{target}/ HTTP/1.1\r\nHost: {target}\r\n"
                     .encode() + fields + b"\r\n")
        ending(conn)
    came = world.stats()["up_bytes"]
    check("the byte limit counts request heads: at most one too many",
          30000 <= came <= 42500, (came, world.lines()))
    check("the last ones ended so", world.last(6).get("reason")
          == "byte_limit", world.lines())
    world.drive.stop()


def parent():
    heads = []

    def behaviour(conn):
        head = tunnel_client.read_head(conn)
        heads.append(head)
        if len(heads) == 2:
            conn.sendall(b"HTTP/1.1 407 No\r\n\r\n")
            conn.close()
            return
        conn.sendall(b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\n")
        conn.recv(65536)
        conn.sendall(b"through")

    proxy = tunnel_client.Upstream(behaviour, address="127.0.0.32")
    world = World("--upstream-proxy", f"127.0.0.32:{proxy.port}", port=8443)
    conn = world.tunnel()
    check("the corporate proxy is asked for the judged address",
          heads and heads[0].startswith(b"CONNECT 127.0.0.31:8443 HTTP/1.1")
          and NAME.encode() not in heads[0], heads)
    check("and the tunnel goes through it", conn.recv(100) == b"through")
    _, head = world.ask()
    check("its refusal is dial_failed, 502",
          head.startswith(b"HTTP/1.1 502")
          and reason(head) == "dial_failed", head)
    world.drive.stop()


def parent_of_two():
    heads = []

    def behaviour(conn):
        heads.append(tunnel_client.read_head(conn).split(b"\r\n")[0])
        if len(heads) == 1:
            conn.sendall(b"HTTP/1.1 503 Not that one\r\n\r\n")
            conn.close()
            return
        conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        conn.recv(65536)
        conn.sendall(b"through")
        conn.close()

    proxy = tunnel_client.Upstream(behaviour, address="127.0.0.32")
    judged = ["127.0.0.31", "93.184.215.14"]
    world = World("--upstream-proxy", f"127.0.0.32:{proxy.port}", port=8443,
                  zone={NAME: judged})
    conn = world.tunnel()
    check("an address that the corporate proxy does not reach: it is asked "
          "for the next judged one",
          sorted(heads) == [f"CONNECT {a}:8443 HTTP/1.1".encode()
                            for a in judged], heads)
    check("and the tunnel goes through", conn.recv(100) == b"through")
    conn.close()
    check("the line names the address that was reached",
          world.last(1).get("address", "?").encode() in heads[-1], heads)
    world.drive.stop()


def exchange_ends():
    """A server that keeps its connection, and a client that goes away: in
    both cases the place is free long before the idle limit."""
    def behaviour(conn):
        if b"/silent" not in tunnel_client.read_head(conn):
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        conn.recv(100)

    upstream = tunnel_client.Upstream(behaviour)
    target = f"{NAME}:{upstream.port}"
    world = World(allow=[f"http://{target}"])

    def get(path):
        conn = socket.create_connection(world.drive.address, timeout=5)
        conn.sendall(f"GET http://{target}{path} HTTP/1.1\r\n"
                     f"Host: {target}\r\n\r\n".encode())
        return conn

    check("an answer that is whole ends the exchange, the server's end or not",
          ending(get("/")) == "fin"
          and world.last(1).get("reason") == "done", world.lines())
    conn = get("/silent")
    harness.wait_until(lambda: world.stats()["open"] == 1, 5)
    tunnel_client.reset(conn)
    check("a client that is reset while it waits gives its place back",
          harness.wait_until(lambda: world.stats()["open"] == 0, 5)
          and world.last(2).get("reason") == "reset", world.lines())
    world.drive.stop()


def old_client():
    whole = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"4\r\nWiki\r\n5;x=y\r\npedia\r\n0\r\n\r\n")
    cut = []

    def behaviour(conn):
        tunnel_client.read_head(conn)
        conn.sendall(whole[:len(whole) - sum(cut)])
        if cut:
            conn.close()

    upstream = tunnel_client.Upstream(behaviour)
    target = f"{NAME}:{upstream.port}"
    world = World(allow=[f"http://{target}"])

    def get(version):
        conn = socket.create_connection(world.drive.address, timeout=5)
        conn.sendall(f"GET http://{target}/ HTTP/{version}\r\n"
                     f"Host: {target}\r\n\r\n".encode())
        return conn, tunnel_client.read_head(conn)

    conn, head = get("1.0")
    head, _, body = head.partition(b"\r\n\r\n")  # some may be there
    while more := conn.recv(100):
        body += more
    check("HTTP/1.0: the chunks' content, ended by the connection's end",
          body == b"Wikipedia" and b"chunked" not in head, (head, body))
    conn, head = get("1.1")
    check("HTTP/1.1: chunks", b"Transfer-Encoding: chunked" in head, head)
    conn.close()
    cut.append(7)
    conn, head = get("1.0")
    check("HTTP/1.0, the answer breaks off: reset, not an orderly end",
          b" 200 " in head and ending(conn) == "reset")
    world.drive.stop()


def direct():
    world = World(direct=True)
    wrong = socket.create_connection(world.direct)
    wrong.sendall(hello_bytes.hello(names=(b"evil.example.test",)))
    check("direct, a foreign name: told by an alert and closed",
          wrong.recv(100)[:1] == b"\x15" and ending(wrong) != "open")
    none = socket.create_connection(world.direct)
    none.sendall(b"GET / HTTP/1.1\r\n\r\n")
    check("direct, no TLS: closed", ending(none) != "open")
    check("nothing was looked up or dialled for them",
          world.dns.queries == [] and world.upstream.connections == [])
    right = socket.create_connection(world.direct)
    hello = hello_bytes.hello(names=(NAME.encode(),))
    for at in range(len(hello)):
        right.sendall(hello[at:at + 1])
    check("direct, the right name byte by byte: dialled",
          world.upstream.wait(1) == 1)
    got = b""
    while len(got) < len(hello):
        got += world.upstream.connections[0].recv(65536)
    check("and the hello arrives as it was sent", got == hello)
    codes = [line["code"] for line in world.lines()]
    check("codes", codes == ["sni_mismatch", "not_tls"], codes)
    world.drive.stop()


def resolver():
    other = internet.DNSServer({NAME: ["10.0.0.9"]})
    world = World()
    _, head = world.ask()
    check("first the one resolver", b" 200 " in head, head)
    world.command("resolver " + other.address)
    _, head = world.ask()
    check("then the other, nothing remembered",
          reason(head) == "address_not_allowed", head)
    world.drive.stop()


def decisions():
    world = World("--decisions")
    for _ in range(50):
        world.ask("evil.example.test:443")[0].close()
    world.ask()[0].close()
    world.tunnel().close()
    seen = []
    end = time.monotonic() + 5
    # On a slow machine the refusals come in more than one sum.
    while time.monotonic() < end and (
            sum(d["count"] for d in seen if d["verdict"] == "deny") < 50
            or not [d for d in seen if d["verdict"] == "allow"]):
        line = world.drive.process.stdout.readline().decode()
        if line.startswith("decision "):
            seen.append(json.loads(line[9:]))
    denied = [d for d in seen if d["verdict"] == "deny"]
    allowed = [d for d in seen if d["verdict"] == "allow"]
    check("refusals of one target are told with their count",
          sum(d["count"] for d in denied) == 50 and
          all(d["code"] == "host_not_allowed" and
              d["target"] == "evil.example.test:443" for d in denied), seen)
    check("and what was allowed, with its rule",
          allowed and allowed[0]["target"] == world.target
          and allowed[0]["rule"] == world.target, seen)
    world.drive.stop()


def descriptors():
    world = World(prefix=("prlimit", "--nofile=160:160"))
    pid = int(open(f"/proc/{world.drive.process.pid}/task/"
                   f"{world.drive.process.pid}/children").read().split()[0])
    held = []
    for _ in range(300):
        conn = socket.socket()
        conn.setblocking(False)
        conn.connect_ex(world.drive.address)
        held.append(conn)
    used = harness.wait_until(
        lambda: len(os.listdir(f"/proc/{pid}/fd")) > 100, 5)
    time.sleep(0.5)

    def ticks():
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(1)
    check("without descriptors left it does not spin",
          ticks() - before < 30, ticks() - before)
    good = 0
    for _ in range(5):
        try:
            conn = world.tunnel()
            good += 1
            conn.close()
        except (OSError, RuntimeError):
            pass
    check("and a good client gets through while others hold on",
          used and good >= 4, good)
    for conn in held:
        conn.close()
    stats = world.stats()
    check("the shortage is counted and logged",
          stats["descriptor_shortages"] > 0 and any(
              line.get("event") == "descriptors_exhausted"
              for line in world.drive.lines()), stats)
    world.drive.stop()


for part in (half_close, backpressure, stuck_both_ways, narrowing, closing,
             reset_behind_bytes, times, numbers,
             bytes_and_rate, hellos_count, heads_count, exchange_ends,
             parent, parent_of_two, old_client, direct,
             resolver, decisions, descriptors):
    part()
harness.finish()
