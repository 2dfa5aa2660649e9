# SPDX-License-Identifier: Apache-2.0
"""Attacks on the real, confined proxy that a table of bytes cannot hold:
names that change their address, tunnels over time, replies and logs."""
import socket
import time

import drive
import harness
import hello_bytes
import tunnel_client
from tunnel_client import ADDRESS, NAME, Upstream, World, ending, reason

EVIL = "evil.example.net"
PUBLIC = "93.184.215.14"


def connect(target):
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


def raw(address, data, seconds=6):
    """(all that came, how it ended) after data was sent."""
    with socket.create_connection(address, timeout=seconds) as conn:
        got = b""
        try:
            conn.sendall(data)
            while more := conn.recv(65536):
                got += more
            return got, "fin"
        except ConnectionResetError:
            return got, "reset"
        except OSError:
            return got, "open"


def opened(world):
    """Whether a good tunnel still carries bytes to the upstream."""
    before = len(world.upstream.connections)
    conn = world.tunnel()
    ok = harness.wait_until(
        lambda: len(world.upstream.connections) > before, 5)
    tunnel_client.reset(conn)
    return bool(ok)


def empty(tally):
    """1, 3: a proxy without any entry."""
    world = World()
    said = world.command('policy {"allow": []}')
    _, head = world.ask()
    tally.attack(1, "an allowed host after the list was emptied",
                 b" 200 " in head, reason(head), "host_not_allowed",
                 (said, head))
    tally.attack(3, "a list that is not empty, then is", b" 200 " in head,
                 reason(head), "host_not_allowed", head)
    world.drive.stop()
    world = World()
    tally.control((1, 3), "the same host while it is listed",
                  b" 200 " in world.ask()[1])
    world.drive.stop()


def rebinding(tally):
    """21, 23, 24, 29: the address that was judged is the one dialled."""
    answers = []

    def answer(_name, kind):
        answers.append(kind)
        return [ADDRESS] if len(answers) <= 2 else ["10.0.0.7"]

    world = World(zone={NAME: answer, EVIL: ["10.0.0.7"]})
    world.dns.ttl = 0
    good = opened(world)
    line = world.last(1)
    tally.control((21, 23, 24), "the name while its address is good", good,
                  line)
    tally.attack(23, "dialled elsewhere than judged",
                 line.get("address") != f"{ADDRESS}:{world.upstream.port}",
                 "address_not_allowed", seen=line)
    tally.attack(21, "looked up again before it was dialled",
                 len(answers) > 2, seen=answers)
    time.sleep(1.2)  # the shortest time that an answer is kept
    for item, name in ((21, "private when asked again"),
                       (23, "private when asked again"),
                       (24, "an address that is remembered from the start")):
        _, head = world.ask()
        tally.attack(item, name, b" 200 " in head, reason(head),
                     "address_not_allowed", head)
    world.drive.stop()


def alias(tally):
    """29: an alias is not judged by its name, but by its address."""
    zone = {NAME: [ADDRESS]}
    world = World(zone=zone)
    plain = world.dns.answer

    def with_alias(data):
        """CNAME to an internal name, with that name's address."""
        if b"\x03api" not in data:
            return plain(data)
        kind = data[data.index(b"\x04test\x00") + 7]
        question = data[12:data.index(b"\x04test\x00") + 10]
        target = b"\x08internal\x03lan\x00"
        at = 12 + len(question) + 12
        rows = (b"\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00"
                + bytes([len(target)]) + target)
        count = 1
        if kind == 1:
            count = 2
            rows += (bytes([0xc0, at]) + b"\x00\x01\x00\x01\x00\x00\x00\x3c"
                     b"\x00\x04" + socket.inet_aton(zone[NAME][0]))
        return (data[:2] + b"\x81\x80\x00\x01\x00" + bytes([count])
                + b"\x00\x00\x00\x00" + question + rows)

    world.dns.answer = with_alias
    tally.control(29, "an alias of a good address is followed",
                  opened(world), world.lines())
    zone[NAME] = ["10.0.0.7"]
    other = World(zone=zone)
    other.dns.answer = with_alias
    _, head = other.ask()
    tally.attack(29, "an alias of an internal address", b" 200 " in head,
                 reason(head), "address_not_allowed", head)
    for one in (world, other):
        one.drive.stop()


def corporate(tally):
    """22: what a corporate proxy is asked for."""
    heads = []

    def behaviour(conn):
        heads.append(tunnel_client.read_head(conn))
        conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        conn.recv(65536)
        conn.sendall(b"through")

    parent = Upstream(behaviour, address="127.0.0.32")
    world = World("--upstream-proxy", f"127.0.0.32:{parent.port}", port=8443)
    conn = world.tunnel()
    tally.control(22, "a tunnel through the corporate proxy",
                  conn.recv(100) == b"through")
    tally.attack(22, "the corporate proxy is asked for the name", not heads
                 or NAME.encode() in heads[0] or not heads[0].startswith(
                     f"CONNECT {ADDRESS}:8443 ".encode()), seen=heads)
    world.drive.stop()


def retry_hello(conn, name, second, before=b"", at_once=False):
    """A hello without a key, for which the server asks again, and one with
    second as its name; before: what goes in front of that one. How it
    ended, and all that came."""
    first = hello_bytes.hello(names=(name.encode(),), share=False)
    again = before + hello_bytes.records(
        hello_bytes.client_hello(names=(second.encode(),) if second else ()),
        version=b"\x03\x03")
    got = b""
    try:
        if at_once:
            conn.sendall(first + again)
        else:
            conn.sendall(first)
            got = conn.recv(65536)
            conn.sendall(again)
        conn.settimeout(5)
        while more := conn.recv(65536):
            got += more
            if b"\x17\x03\x03" in got:
                return "answered", got
    except ConnectionResetError:
        return "reset", got
    except OSError:
        return "open", got
    return "fin", got


# (what, the second name, what goes before it, without waiting, code)
RETRIES = (
    ("another name", EVIL, b"", False, "sni_mismatch"),
    ("another name, behind what is skipped", EVIL,
     b"\x14\x03\x03\x00\x01\x01" + b"\x17\x03\x03\x00\x03\x16\x03\x01",
     False, "sni_mismatch"),
    ("another name, sent at once", EVIL, b"", True, "sni_mismatch"),
    ("no name", "", b"", False, "sni_missing"),
)


def asked_again(tally, net, proxy, direct):
    """The server does ask for a second hello: what its callback is told of
    is what chooses the site and the certificate."""
    net.api.context.set_ecdh_curve("X25519")
    net.api.named.clear()
    with socket.create_connection(("127.0.0.11", 443), timeout=5) as conn:
        ended = retry_hello(conn, NAME, EVIL)
    tally.control(40, "without the proxy the server takes the second name",
                  EVIL in net.api.named, (net.api.named, ended))
    for what, second, before, at_once, code in RETRIES:
        for kind in ("connect", "direct"):
            net.api.named.clear()
            lines = len(proxy.lines())
            conn = socket.create_connection(
                direct if kind == "direct" else proxy.address, timeout=5)
            if kind == "connect":
                conn.sendall(connect(NAME + ":443"))
                tunnel_client.read_head(conn)
            ended = retry_hello(conn, NAME, second, before, at_once)
            conn.close()
            named = list(net.api.named)
            line = harness.wait_until(lambda: [
                one for one in proxy.lines()[lines:]
                if one.get("event") == "connection"], 5) or [{}]
            tally.attack(40, f"a second hello ({kind}): {what}",
                         named != [NAME] or ended[0] == "answered",
                         line[0].get("code"), code, (named, ended, line))
    net.api.named.clear()
    with socket.create_connection(proxy.address, timeout=5) as conn:
        conn.sendall(connect(NAME + ":443"))
        tunnel_client.read_head(conn)
        ended = retry_hello(
            conn, NAME, NAME, b"\x14\x03\x03\x00\x01\x01")
    tally.control(40, "the same name again is answered",
                  ended[0] == "answered" and net.api.named == [NAME, NAME],
                  (net.api.named, ended))


def second_hello(tally, net):
    """40: a second hello is judged like the first, when the server asked
    for it, and refused when it did not."""
    direct = ("127.0.0.1", harness.free_port())
    proxy = drive.standard(net, direct=[
        f"{NAME}:443=127.0.0.1:{direct[1]}"])
    asked_again(tally, net, proxy, direct)
    # Old servers take one in the place of the key exchange.
    old = Upstream(lambda conn: (conn.recv(65536), conn.sendall(
        hello_bytes.records(b"\x02\x00\x00\x26\x03\x03" + bytes(36))),
        conn.recv(65536), conn.sendall(b"taken"), conn.recv(65536)))
    world = World(port=old.port)
    world.upstream = old
    conn = world.tunnel()
    conn.recv(65536)
    conn.sendall(hello_bytes.hello(names=(EVIL.encode(),)))
    got, ended = b"", "fin"
    try:
        got = conn.recv(100)
    except ConnectionResetError:
        ended = "reset"
    tally.attack(40, "a second hello behind the ServerHello", got != b"",
                 world.last(1).get("code"), "tls_parse", (got, ended))
    world.drive.stop()
    net.api.context.set_ecdh_curve("secp384r1")
    seen = len(net.api.seen)
    done = harness.run(
        "openssl", "s_client", "-proxy", "%s:%d" % proxy.address, "-connect",
        NAME + ":443", "-servername", NAME, "-groups", "X25519:P-384",
        "-tls1_3", stdin="GET / HTTP/1.1\r\nHost: x\r\n"
        "Connection: close\r\n\r\n", timeout=20)
    net.api.context.set_ecdh_curve("prime256v1")
    tally.control(40, "a client whose server asks for a second hello",
                  "TLSv1.3" in done.out and len(net.api.seen) > seen
                  and net.api.named[-2:] == [NAME, NAME], done)
    proxy.stop()


def narrowing(tally):
    """44: a tunnel that is open when its host goes from the list."""
    world = World(allow=["other.example.test:443"])
    kept = world.tunnel()
    tally.control(44, "it stays while it is listed",
                  ending(kept, 0.3) == "open")
    world.command('policy {"allow": ["other.example.test:443"]}')
    ended = ending(kept)
    code = world.last(1).get("code")
    tally.attack(44, "an open tunnel outlives its entry", ended == "open",
                 code, "host_not_allowed", ended)
    said = world.command(f'policy {{"allow": ["{world.target}"]}}')
    tally.attack(44, "the sandbox gets it back", not said[0].startswith(
        "failed"), seen=said)
    world.drive.stop()


class Plain:
    """A plain HTTP server behind the proxy, and what it was sent."""

    def __init__(self, *options, **more):
        self.heads = []
        self.upstream = Upstream(self.serve)
        self.target = f"{NAME}:{self.upstream.port}"
        self.world = World(*options, allow=[f"http://{self.target}"], **more)

    def serve(self, conn):
        data = b""
        conn.settimeout(3)
        try:
            while b"\r\n\r\n" not in data:
                data += conn.recv(65536) or b"\r\n\r\n"
            self.heads.append(data)
            while b"chunked" in data.lower() and not data.endswith(
                    b"0\r\n\r\n"):
                more = conn.recv(65536)
                if not more:
                    break
                data += more
                self.heads[-1] = data
        except OSError:
            pass
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        conn.close()

    def send(self, *fields, method="GET", path="/", body=b"", host=None):
        """(answer, what the server saw of it)."""
        before = len(self.heads)
        head = f"{method} http://{self.target}{path} HTTP/1.1\r\n" \
               f"Host: {host or self.target}\r\n"
        data = head.encode() + b"".join(
            field.encode() + b"\r\n" for field in fields) + b"\r\n" + body
        got, _ = raw(self.world.drive.address, data)
        return got, self.heads[before] if len(self.heads) > before else b""


def forwarded(tally):
    """46, 48, 53, 54, 55, 57, 71, 72 by plain HTTP."""
    plain = Plain()
    got, seen = plain.send("X-Plain: yes")
    tally.control((46, 48, 49, 53, 54, 55, 57, 60, 71, 72),
                  "a plain request", b"hi" in got and b"X-Plain: yes" in seen,
                  (got, seen))
    for name, host in (("userinfo", "user@" + plain.target),
                       ("a path", plain.target + "/x"),
                       ("a comma", f"{plain.target}, evil.example.net")):
        got, seen = plain.send(host=host)
        tally.attack(48, f"Host with {name}", seen, reason(got),
                     "bad_request", got)
    for name, target in (("a space", f"{NAME} :443"),
                         ("a line feed", f"{NAME}:443\nX-A: b"),
                         ("userinfo", f"user:pass@{NAME}:443")):
        got, _ = raw(plain.world.drive.address,
                     f"CONNECT {target} HTTP/1.1\r\nHost: {NAME}:443\r\n\r\n"
                     .encode())
        tally.attack(49, f"authority with {name}", b" 200 " in got[:20],
                     reason(got), "bad_request", got)
    got, seen = plain.send(path="/a%0d%0aX-Injected:%20yes")
    tally.attack(53, "coded line ends in the path",
                 b"\r\nX-Injected" in seen, seen=seen)
    got, seen = plain.send("X-A: b%0d%0aX-Injected: yes")
    tally.attack(53, "coded line ends in a value",
                 b"\r\nX-Injected" in seen, seen=seen)
    got, seen = plain.send("Connection: X-Hop", "X-Hop: secret",
                           "Proxy-Authorization: Basic eHg=", "Proxy: evil")
    tally.attack(54, "what Connection names, and proxy headers",
                 b"secret" in seen or b"eHg=" in seen, seen=seen)
    for name, field in (("an underscore", "X_Api_Key: a"),
                        ("no name", ": a"), ("a dot", "x.api key: a")):
        got, seen = plain.send(field)
        tally.attack(54, f"a field with {name}", seen, reason(got),
                     "bad_request", got)
    chunks(tally, plain)
    keep_alive(tally, plain)
    replies(tally, plain)
    plain.world.drive.stop()


def chunks(tally, plain):
    coded = "Transfer-Encoding: chunked"
    got, seen = plain.send(coded, method="POST", body=b"2\r\nhi\r\n0\r\n"
                           b"X-Api-Key: stolen\r\nHost: evil\r\n\r\n")
    tally.attack(55, "a trailer", b"stolen" in seen or b"evil" in seen,
                 seen=seen)
    got, seen = plain.send(coded, method="POST", body=b"2;" + b"a" * 20000
                           + b"\r\nhi\r\n0\r\n\r\n")
    tally.attack(55, "an extension of 20,000 bytes", b" 200 " in got[:20]
                 or b"aaaa" in seen, reason(got), "bad_request", got)


def keep_alive(tally, plain):
    """57, 46: a second request on the connection is a new decision."""
    first = (f"GET http://{plain.target}/ HTTP/1.1\r\nHost: {plain.target}"
             "\r\n\r\n").encode()
    second = (f"GET http://{EVIL}/ HTTP/1.1\r\nHost: {EVIL}\r\n\r\n").encode()
    before = len(plain.heads)
    got, _ = raw(plain.world.drive.address, first + second)
    seen = b"".join(plain.heads[before:])
    tally.attack(57, "another host behind an allowed request",
                 EVIL.encode() in seen or got.count(b"HTTP/1.1 200") > 1,
                 seen=(got, seen))
    got, _ = raw(plain.world.drive.address, second + first)
    tally.attack(57, "an allowed request behind a refused one",
                 b"\r\n\r\nhi" in got, reason(got),
                 "host_not_allowed", got)
    for verb in (second, connect(EVIL + ":443")):
        got, _ = raw(plain.world.drive.address, verb)
        tally.attack(46, "the same host by " + verb.split(b" ")[0].decode(),
                     b" 200 " in got[:20], reason(got), "host_not_allowed",
                     got)
    port = f"{NAME}:{plain.upstream.port + 1}"
    for verb in (connect(port), f"GET http://{port}/ HTTP/1.1\r\nHost: "
                 f"{port}\r\n\r\n".encode()):
        got, _ = raw(plain.world.drive.address, verb)
        tally.attack(46, "another port by " + verb.split(b" ")[0].decode(),
                     b" 200 " in got[:20], reason(got), "port_not_allowed",
                     got)


def replies(tally, plain):
    """62, 71, 72, 74, 121: what comes back, and what is written down."""
    log = plain.world.drive
    secret = "sk-secret-of-the-client"
    got, _ = raw(log.address, f"GET http://{EVIL}/ HTTP/1.1\r\nHost: {EVIL}"
                 f"\r\nAuthorization: Bearer {secret}\r\nCookie: {secret}\r\n"
                 "\r\n".encode())
    with open(log.log, encoding="utf-8") as file:
        text = file.read()
    tally.attack(72, "credentials of a refused request", secret.encode()
                 in got or secret in text or EVIL.encode() in got,
                 reason(got), "host_not_allowed", got)
    escape = "\x1b[31m\x07evil\u0085\u202e.example"
    for name, target in (("escapes", escape), ("a line end", "a\r\n{}.b"),
                         ("10,000 bytes", "a" * 10000 + ".example")):
        got, _ = raw(log.address, connect(target + ":443"))
        with open(log.log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        odd = [line for line in lines if len(line) > 4096 or any(
            ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"
            for c in line) or not line.startswith("{")]
        tally.attack(71, f"a host name with {name}", odd or b"\x1b" in got,
                     reason(got), "bad_request", odd[:1] or got)
    for item, what, code in ((EVIL + ":443", "host", "host_not_allowed"),
                             (NAME + ":1", "port", "port_not_allowed"),
                             ("10.1.2.3:443", "address", "ip_literal")):
        got, _ = raw(log.address, connect(item))
        word = {"host": b"host", "port": b"port", "address": b"IP address"}
        tally.attack(121, f"the reason of a wrong {what}",
                     word[what] not in got.split(b"\r\n\r\n")[-1],
                     reason(got), code, got)
    tally.control(121, "a good request has no reason", plain.send()[0]
                  .startswith(b"HTTP/1.1 200"))


BREAKERS = [
    (43, "an IPv6 literal of 2,000 digits", connect(
        "[" + "f" * 2000 + "]:443")),
    (43, "a name of 5,000 labels", connect("a." * 5000 + "b:443")),
    (62, "Connection that names itself", b"GET http://h/ HTTP/1.1\r\nHost: h"
     b"\r\nConnection: Connection, Connection\r\n\r\n"),
    (62, "a thousand names in Connection", b"GET http://h/ HTTP/1.1\r\n"
     b"Host: h\r\nConnection: " + b",".join([b"a"] * 1000) + b"\r\n\r\n"),
    (62, "NUL in a value", b"GET http://h/ HTTP/1.1\r\nHost: h\r\n"
     b"X: a\0b\r\n\r\n"),
    (62, "a line without an end", b"GET http://" + b"a" * 70000),
    (62, "only zero bytes", bytes(5000)),
    (74, "the preface of HTTP/2 and 1,000 resets",
     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\4\3\0\0\0\0\1\0\0\0\10"
     * 1000),
    (74, "the preface and endless CONTINUATION",
     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + (b"\0\x40\0\x09\0\0\0\0\1"
                                          + bytes(16384)) * 20),
]


def breakers(tally):
    """43, 62, 74: the proxy says no more than its own words, and lives."""
    world = World()
    for item, name, data in BREAKERS:
        got, _ = raw(world.drive.address, data)
        clean = (got == b"" or got.startswith(b"HTTP/1.1 4") or
                 got.startswith(b"HTTP/1.1 505"))
        body = got.split(b"\r\n\r\n")[-1]
        tally.attack(item, name, not clean or b"aaaa" in body or b"\0" in got,
                     reason(got), seen=got[:300])
    tally.control((43, 62, 74), "a tunnel afterwards, of the same process",
                  opened(world) and world.drive.process.poll() is None)
    world.drive.stop()


def payload(tally):
    """60: a Host inside is nothing that the proxy acts on."""
    seen = []

    def behaviour(conn):
        seen.append(conn.recv(65536))
        conn.recv(65536)

    other = Upstream(address="127.0.0.33")
    world = World(behaviour=behaviour, zone={
        NAME: [ADDRESS], EVIL: ["127.0.0.33"]})
    conn = world.tunnel()
    conn.sendall(f"GET http://{EVIL}:{other.port}/ HTTP/1.1\r\nHost: {EVIL}"
                 "\r\n\r\n".encode())
    conn.sendall(hello_bytes.hello(names=(EVIL.encode(),)))
    harness.wait_until(lambda: seen, 3)
    tally.control(60, "the tunnel reaches the checked host", seen)
    tally.attack(60, "a host that the payload names is dialled",
                 other.connections or world.dns.asked(EVIL),
                 seen=world.dns.queries)
    conn.close()
    world.drive.stop()


def pauses(tally):
    """35, 58, 69, 70: time and number."""
    world = World("--limit", "head_timeout_ms=700", "--limit",
                  "hello_timeout_ms=700", "--limit", "idle_timeout_s=1",
                  "--limit", "max_tunnels=8")
    address = world.drive.address
    begun = time.monotonic()
    with socket.create_connection(address, timeout=5) as conn:
        conn.sendall(b"CONNECT ")
        for byte in b"api.example.test":
            time.sleep(0.1)
            try:
                conn.sendall(bytes([byte]))
            except OSError:
                break
        head = b""
        try:
            head = tunnel_client.read_head(conn)
        except OSError:
            pass
    tally.attack(69, "a head byte by byte", time.monotonic() - begun > 4
                 or b" 200 " in head, reason(head)
                 or world.last(1).get("code"), "timeout", head)
    idle = world.tunnel()
    tally.attack(69, "an idle tunnel", ending(idle, 4) == "open",
                 seen=world.lines()[-1:])
    held = [world.tunnel() for _ in range(8)]
    _, head = world.ask()
    tally.attack(69, "one tunnel more than allowed", b" 200 " in head,
                 reason(head), "too_many_tunnels", head)
    for conn in held:
        conn.close()
    with socket.create_connection(address, timeout=6) as conn:
        target = f"{NAME}:{world.upstream.port}"
        conn.sendall(f"POST http://{target}/ HTTP/1.1\r\nHost: {target}\r\n"
                     "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
                     .encode())
        before = len(world.lines())
        ended = ending(conn, 5)
    tally.attack(58, "Expect that is never followed by a body",
                 ended == "open", seen=(ended, world.last(before + 1)))
    harness.wait_until(lambda: world.stats()["open"] == 0, 4)
    tally.control((58, 69), "a tunnel afterwards", opened(world))
    world.drive.stop()
    slow_hello(tally)
    expectation(tally)


def slow_hello(tally):
    """35, 36: judged whole, however it comes."""
    seen = []

    def behaviour(conn):
        data = conn.recv(65536)
        if data:
            seen.append(data)

    world = World(behaviour=behaviour)
    evil = hello_bytes.records(hello_bytes.client_hello(
        names=(EVIL.encode(),)), size=60)
    for item, pieces in ((35, [evil[n:n + 1] for n in range(len(evil))]),
                         (36, [evil])):
        conn, _ = world.ask()
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = len(world.lines())
        try:
            for piece in pieces:
                conn.sendall(piece)
        except OSError:
            pass
        ending(conn)
        tally.attack(item, "another name, in many pieces", seen,
                     world.last(before + 1).get("code"), "sni_mismatch")
    for size, pad in ((60, 0), (3000, 17000)):
        conn, _ = world.ask()
        conn.sendall(hello_bytes.records(hello_bytes.client_hello(
            pad=pad), size=size))
        tally.control((35, 36), f"a good hello in records of {size}",
                      harness.wait_until(lambda: seen, 5))
        conn.close()
        seen.clear()
    world.drive.stop()


def expectation(tally):
    """58, 70: what waits for a decision is not read on."""
    asked = []

    def never(_name, _kind):
        asked.append(time.monotonic())
        return None

    plain = Plain(zone={NAME: [ADDRESS], "slow.example.test": never})
    got, seen = plain.send("Expect: 100-continue")
    tally.attack(58, "Expect without a body", seen.count(b"Expect") > 1,
                 seen=got)
    tally.control(58, "a request without Expect", b"hi" in plain.send()[0])
    plain.world.drive.stop()
    world = World("--limit", "lookup_timeout_ms=1500",
                  allow=["slow.example.test:443"],
                  zone={NAME: [ADDRESS], "slow.example.test": never})
    conn = socket.create_connection(world.drive.address, timeout=5)
    conn.setblocking(False)
    data, sent = connect("slow.example.test:443"), 0
    end = time.monotonic() + 1.2
    while time.monotonic() < end and sent < 64 << 20:
        try:
            sent += conn.send(data or bytes(65536))
            data = b""
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:
            break
    tally.attack(70, "megabytes while the decision is open", sent > 16 << 20
                 or not asked, seen=sent)
    conn.close()
    tally.control(70, "a tunnel of an answered name", opened(world))
    world.drive.stop()


def cap(tally):
    """115: the log has its limit, the decision has none."""
    world = World("--limit", "log_rate=20")
    codes = set()
    for _ in range(300):
        conn, head = world.ask(EVIL + ":443")
        codes.add(reason(head))
        conn.close()
    lines = len(world.lines())
    tally.attack(115, "300 refusals, few of them in the log",
                 codes != {"host_not_allowed"} or lines > 250,
                 seen=(codes, lines))
    tally.control(115, "a good tunnel meanwhile", opened(world))
    world.drive.stop()


def run(tally, net):
    parts = (((1, 3), empty), ((21, 23, 24), rebinding), ((29,), alias),
             ((22,), corporate), ((44,), narrowing),
             ((46, 48, 49, 53, 54, 55, 57, 71, 72, 121), forwarded),
             ((43, 62, 74), breakers), ((60,), payload),
             ((35, 36, 58, 69, 70), pauses), ((115,), cap))
    for items, part in parts:
        if tally.wants(*items):
            part(tally)
    if tally.wants(40):
        second_hello(tally, net)
