"""Who agentnode-llm-key gives a key to: the right name with a good chain over
TLS 1.2 or later, at an address that was judged, and nobody else. Real TLS
servers on loopback; nothing of a request, least of all the key, may reach one
that does not qualify."""
import socket
import time

import harness
import internet
import llm_key_client
import llm_key_world as world
from harness import check


def call(key, name, port, host=world.HOST, **options):
    return key.call(name, world.authority(port, host), **options)


def refused(place, name, server, expected):
    data, end = call(place.key, name, server.port)
    line = place.calls()[-1]
    heads = getattr(server, "heads", [])
    check(f"{name}: refused as {expected}, not a byte of the call sent",
          data == b"" and end == expected and heads == [],
          (data, end, line, heads))
    return line


def good_and_bad_chains():
    place = world.World()
    ca = place.ca
    other = world.Authority(harness.folder())
    servers = {
        "good": world.Provider(place.pem),
        "wrong-name": world.Provider(ca.leaf("other.example.test")),
        "wildcard-above": world.Provider(ca.leaf("*.test")),
        "expired": world.Provider(ca.dated(world.HOST, -30, -1)),
        "not-yet": world.Provider(ca.dated(world.HOST, 2, 30)),
        "self-signed": world.Provider(ca.self_signed(world.HOST)),
        "other-ca": world.Provider(other.leaf(world.HOST)),
    }
    key = place.start([world.provider(name, server.port)
                       for name, server in servers.items()])
    good = servers["good"]
    data, end = call(key, "good", good.port)
    check("a good chain for the right name is answered",
          data.endswith(b"fine\n") and end is None, (data, end))
    check("the key stands in its field, once, last before the empty line",
          good.field("Authorization") == ["Bearer " + world.KEY]
          and good.heads[0].split(b"\r\n")[-1].startswith(b"Authorization"),
          good.heads)
    check("SNI is the name, TLS is 1.3",
          good.seen == [(world.HOST, "TLSv1.3")], good.seen)
    for name in list(servers)[1:]:
        line = refused(place, name, servers[name], "tls")
        check(f"{name}: the log says why", line["detail"] != "", line)
    said = {line["provider"]: line["detail"] for line in place.calls()}
    check("each for its own reason", "hostname" in said["wrong-name"]
          and "expired" in said["expired"]
          and "not yet" in said["not-yet"]
          and "self" in said["self-signed"]
          and "issuer" in said["other-ca"], said)
    key.stop()


def protocols():
    place = world.World()
    wild = world.Provider(place.ca.leaf("*.example.test"))
    twelve = world.tls12(world.Provider(place.pem))
    old, old_port = world.old_tls(place.pem)
    plain = internet.PlainServer()
    key = place.start([world.provider("twelve", twelve.port),
                       world.provider("wild", wild.port),
                       world.provider("old", old_port),
                       world.provider("plain", plain.port)])
    data, end = call(key, "twelve", twelve.port)
    check("TLS 1.2 is enough", data.endswith(b"fine\n"), (data, end))
    check("and is TLS 1.2", twelve.seen[0][1] == "TLSv1.2", twelve.seen)
    data, end = call(key, "wild", wild.port)
    check("a certificate for *.example.test is good for one label",
          data.endswith(b"fine\n"), (data, end))
    data, end = call(key, "old", old_port)
    check("TLS 1.1 is not", (data, end) == (b"", "tls"), (data, end))
    data, end = call(key, "plain", plain.port)
    check("what is no TLS gets no call", data == b""
          and end in ("tls", "closed", "timeout"), (data, end))
    old.terminate()
    old.wait()
    key.stop()


def resumption():
    for name in ("1.3", "1.2"):
        place = world.World()
        server = world.Provider(place.pem, lambda *_: world.answer(
            extra=b"Connection: close\r\n"))
        if name == "1.2":
            world.tls12(server)
        key = place.start([world.provider("one", server.port)])
        for _ in range(4):
            lane = key.lane()
            key.call("one", world.authority(server.port), lane=lane,
                     release=llm_key_client.CLOSE)
            lane.close()
        stats = key.stats()
        check(f"TLS {name}: the second connection resumes the session",
              server.reused[0] is False and all(server.reused[1:])
              and stats["resumed"] == 3, (server.reused, stats))
        key.stop()


def addresses():
    place = world.World(**{
        "private.example.test": ["10.0.0.7"],
        "mixed.example.test": ["127.0.0.1", "10.0.0.7"],
        "metadata.example.test": ["169.254.169.254"],
        "mapped.example.test": ["::ffff:127.0.0.1"],
        "own.example.test": ["127.0.0.1"],
        "none.example.test": 3})
    server = world.Provider(place.pem)
    own = world.Provider(place.ca.leaf("own.example.test"))
    names = ["private", "mixed", "metadata", "none"]
    providers = [world.provider(name, server.port, f"{name}.example.test")
                 for name in names]
    providers.append(world.provider("loopback", server.port, cidrs=()))
    providers.append(world.provider("mapped", server.port,
                                    "mapped.example.test", cidrs=()))
    providers.append(world.provider(
        "wide", server.port, cidrs=["127.0.0.0/8"]))
    providers.append(world.provider(
        "literal", server.port, "127.0.0.1", cidrs=()))
    providers.append(world.provider(
        "own", own.port, "own.example.test", cidrs=["127.0.0.0/8"]))
    key = place.start(providers, own=["127.0.0.1/32"])
    for entry in providers:
        name = entry["name"]
        data, end = call(key, name, entry["port"], entry["host"])
        expected = "lookup" if name == "none" else "address"
        check(f"{name}: {expected}", (data, end) == (b"", expected),
              (data, end))
    check("nobody was dialled", server.connections == own.connections == 0)
    check("the log names the address and its range",
          any(line["event"] == "address_refused"
              and line["address"] == "10.0.0.7"
              and "private" in line["rule"] for line in key.lines()))
    key.stop()


def literals():
    place = world.World()
    server = world.Provider(place.ca.leaf("127.0.0.1"))
    named = world.Provider(place.pem)
    plain = internet.PlainServer()
    key = place.start([
        world.provider("literal", server.port, "127.0.0.1"),
        world.provider("named", named.port, "127.0.0.1"),
        world.provider("clear", plain.port, "127.0.0.1", key=None,
                       tls=False)])
    data, end = call(key, "literal", server.port, "127.0.0.1")
    check("a literal with a certificate for it", data.endswith(b"fine\n"),
          (data, end))
    check("has no SNI", server.seen[0][0] is None, server.seen)
    data, end = call(key, "named", named.port, "127.0.0.1")
    check("a certificate for a name is none for an address", end == "tls",
          (data, end))
    data, end = call(key, "clear", plain.port, "127.0.0.1", body=b"12345")
    check("a keyless local provider in the clear",
          data.endswith(b"got 5 bytes\n"), (data, end))
    check("nothing was looked up", place.dns.queries == [])
    key.stop()


def corporate_proxy():
    place = world.World(**{"proxy.example.test": ["127.0.0.1"],
                           "private.example.test": ["10.0.0.7"]})
    server = world.Provider(place.pem)
    providers = [world.provider("one", server.port), world.provider(
        "private", server.port, "private.example.test")]
    proxy = world.CorporateProxy()
    key = place.start(providers,
                      upstream_proxy=f"proxy.example.test:{proxy.port}")
    data, end = call(key, "one", server.port)
    check("through a proxy", data.endswith(b"fine\n"), (data, end))
    asked = f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n" \
            f"Host: 127.0.0.1:{server.port}\r\n\r\n"
    check("it was asked for the judged address, with no credential",
          proxy.asked == [asked], proxy.asked)
    data, end = call(key, "private", server.port, "private.example.test")
    check("a bad address is not asked for", end == "address"
          and len(proxy.asked) == 1, (end, proxy.asked))
    key.stop()
    for name, bad in (
            ("that refuses", world.CorporateProxy(b"403 Forbidden")),
            ("that asks for a login", world.CorporateProxy(
                b"407 Proxy Authentication Required")),
            ("that speaks first", world.CorporateProxy(behind=b"hello"))):
        key = place.start(providers, upstream_proxy=f"127.0.0.1:{bad.port}")
        data, end = call(key, "one", server.port)
        check(f"a proxy {name}: dial_failed", (data, end) == (b"", "dial"),
              (data, end))
        key.stop()


def dead_ends():
    place = world.World(**{"silent.example.test": None})
    port = harness.free_port()
    key = place.start([world.provider("closed", port), world.provider(
        "silent", port, "silent.example.test")], lookup_timeout_ms=400)
    data, end = call(key, "closed", port)
    check("nobody listens: dial_failed", end == "dial", end)
    data, end = call(key, "silent", port, "silent.example.test")
    check("no resolver answers: lookup_failed", end == "lookup", end)
    second = internet.DNSServer({"silent.example.test": ["127.0.0.1"]})
    server = world.Provider(place.ca.leaf("silent.example.test"), port=port)
    key.tell("resolver_replace", servers=second.address)
    data, end = call(key, "silent", port, "silent.example.test")
    check("a new resolver is in force at once", data.endswith(b"fine\n"),
          (data, end, server.heads))
    key.stop()


def stalled_handshakes():
    """One address of a provider accepts and says nothing."""
    place = world.World(**{world.HOST: ["127.0.0.2"]})
    server = world.Provider(place.pem)
    mute = socket.create_server(("127.0.0.2", server.port), backlog=512)
    key = place.start([world.provider("one", server.port,
                                      cidrs=["127.0.0.0/8"])],
                      connect_timeout_ms=4000)
    began, lanes = time.monotonic(), []
    for _ in range(140):
        lanes.append(key.lane())
        lanes[-1].open("one", llm_key_client.head(
            world.authority(server.port)), first_ms=20000)
    check("140 calls are on their way to it", harness.wait_until(
        lambda: key.stats()["connections"] == 140, 5), key.stats())
    other = internet.DNSServer({world.HOST: ["127.0.0.1"]})
    key.tell("resolver_replace", servers=other.address)
    data, end = call(key, "one", server.port)
    took = time.monotonic() - began
    check("another address of the provider is served meanwhile",
          data.endswith(b"fine\n") and key.stats()["failed"] == 0
          and took < 2, (data, end, took))
    check("those that others wait for end at half of the time",
          harness.wait_until(lambda: key.stats()["connect_failed"] == 64, 5)
          and 1.9 < time.monotonic() - began < 3.8, key.stats())
    check("and no other one", key.stats()["connections"] == 140 - 64 + 1,
          key.stats())
    mute.close()
    key.stop()


harness.need("openssl")
good_and_bad_chains()
protocols()
resumption()
addresses()
literals()
stalled_handshakes()
corporate_proxy()
dead_ends()
harness.finish()
