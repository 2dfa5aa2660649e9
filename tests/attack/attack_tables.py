# SPDX-License-Identifier: Apache-2.0
"""The table of tests/support/vectors.py against the real, confined proxy on
the wire, each row with its code; and what the same proxy lets through."""
import concurrent.futures
import json
import socket
import ssl

import drive
import harness
import vectors
from attack_tally import number

LIMITS = ("--limit", "hello_timeout_ms=1000", "--limit",
          "head_timeout_ms=3000")
# May be looked up: allowed by name, refused by their answer.
LOOKED_UP = {"private", "mixed", "mapped", "nat64", "metadata", "zero",
             "missing", "api", "plain", "a"}
PLAIN = (b"GET http://plain.example.test/ HTTP/1.1\r\n"
         b"Host: plain.example.test\r\n\r\n")


def host(entry):
    """The name in an entry."""
    return entry.removeprefix("http://").split(":")[0]


def handshake(address, name="api.example.test", target=None):
    """A whole TLS handshake through the proxy; what the server said."""
    target = target or name + ":443"
    with socket.create_connection(address, timeout=10) as conn:
        conn.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}"
                     "\r\n\r\n".encode())
        status, fields = vectors.read_head(conn)
        if status != 200:
            return fields.get("x-agentnode-reason", str(status))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(conn, server_hostname=name) as tls:
            tls.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return tls.recv(100).decode("latin1").split("\r\n")[0]


def controls(tally, address, rows):
    """What stands beside every row: the same, for a host that is listed."""
    items = {"authority": set(), "head": set(), "hello": set()}
    for name, kind, _payload, _code in rows:
        if number(name):
            items[kind].add(number(name))
    for target in ("api.example.test:443", "API.Example.TEST.:443"):
        got = handshake(address, "api.example.test", target)
        tally.control(items["authority"] | items["hello"],
                      f"CONNECT {target}", " 200 " in got + " ", got)
    got = handshake(address, "a.wild.example")
    tally.control(items["authority"], "a name below the wildcard",
                  " 200 " in got + " ", got)
    got = vectors.attempt(address, "head", PLAIN)
    tally.control(items["head"], "plain HTTP to a listed host",
                  got["status"] == 200, got)


def play(tally, proxy, net, row):
    """One hello, whose code is in the log only."""
    name, kind, payload, code = row
    before, seen = len(proxy.codes()), len(net.api.seen)
    got = vectors.attempt(proxy.address, kind, payload)
    harness.wait_until(lambda: len(proxy.codes()) > before, 5)
    codes = proxy.codes()[before:]
    tally.attack(number(name), name, got["bytes"] or not got["closed"]
                 or len(net.api.seen) > seen or got["status"] != 200,
                 codes[0] if codes else "", code, (got, codes))


def run(tally, net, weaken=()):
    """weaken: entries an attacker would like on the list."""
    net.dns.queries.clear()
    proxy = drive.Drive(*LIMITS, allow=drive.ALLOW + list(weaken),
                        deny=drive.DENY, ranges={
                            **drive.RANGES,
                            **{host(name): "127.0.0.11/32"
                               for name in weaken}},
                        resolver=net.dns.address)
    net.dns.zone.update({host(name): ["127.0.0.11"]
                         for name in weaken})
    rows = [row for row in vectors.rows() if number(row[0])
            and tally.wants(number(row[0]), 26, 30)]
    plain = [row for row in rows if row[1] != "hello"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda row: vectors.attempt(
            proxy.address, row[1], row[2]), plain)
        for (name, _kind, _payload, code), got in zip(plain, answers):
            tally.attack(number(name), name, got["status"] == 200,
                         got["reason"], code, got)
    for row in rows:
        if row[1] == "hello":
            play(tally, proxy, net, row)
    controls(tally, proxy.address, rows)
    lookups(tally, net)
    proxy.stop()


def lookups(tally, net):
    """Of all that: who was asked what."""
    names = {name for name, _kind in net.dns.queries}
    kinds = {kind for _name, kind in net.dns.queries}
    extra = sorted(name for name in names
                   if name.split(".")[0] not in LOOKED_UP)
    tally.attack(26, "a lookup for a name that is not allowed", extra,
                 "host_not_allowed", seen=json.dumps(extra))
    tally.attack(30, "a question of another type than A and AAAA",
                 kinds - {"A", "AAAA"}, seen=sorted(map(str, kinds)))
    tally.control((26, 30), "allowed names are asked for",
                  "api.example.test" in names and "A" in kinds, names)
