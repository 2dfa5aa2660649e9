"""The vectors of the allowlist, DNS and address, TLS and HTTP proxy groups:
what is sent to the proxy and the code it must answer with. Each row's name
carries the number of the known bypass it stands for. Used on the wire
against the proxy alone and from inside a sandbox; standard library only.

A row is (name, kind, payload, code): kind "authority" is the target of a
CONNECT, "head" a whole request head, "hello" the bytes sent after a good
CONNECT, as one string or a list of pieces sent apart. An authority or head
is answered in HTTP with the code; after a CONNECT's 200 the connection
ends and the code stands in the log."""
import socket
import time

import hello_bytes as hb

GOOD = b"api.example.test"


def _head(line, *fields):
    return line + b"\r\n" + b"".join(f + b"\r\n" for f in fields) + b"\r\n"


def _connect(authority, *fields):
    return _head(b"CONNECT " + authority + b" HTTP/1.1",
                 b"Host: " + authority, *fields)


NAMES = [
    ("b006_suffix", b"evilapi.example.test:443", "host_not_allowed"),
    ("b006_prefix", b"api.example.test.evil.com:443", "host_not_allowed"),
    ("b007_apex_of_wildcard", b"wild.example:443", "host_not_allowed"),
    ("b007_parent", b"example.test:443", "host_not_allowed"),
    ("b007_child_of_exact", b"a.api.example.test:443", "host_not_allowed"),
    ("b001_other", b"other.example.net:443", "host_not_allowed"),
    ("b009_deny_case", b"DENIED.wild.example:443", "host_denied"),
    ("b009_deny_dot", b"denied.wild.example.:443", "host_denied"),
    ("b020_deny_wins", b"denied.wild.example:443", "host_denied"),
    ("b009_two_dots", b"api.example.test..:443", "bad_request"),
    ("b010_brackets", b"[api.example.test]:443", "bad_request"),
    ("b013_cyrillic", "\u0430pi.example.test:443".encode(), "bad_request"),
    ("b013_ideographic_dot", "api\u3002example.test:443".encode(),
     "bad_request"),
    ("b013_empty_alabel", b"xn--.example.test:443", "bad_request"),
    ("b011_nul", b"api.example.test\0.evil.com:443", "bad_request"),
    ("b012_percent", b"api.example.test%00:443", "bad_request"),
    ("b009_empty_label", b"api..example.test:443", "bad_request"),
    ("b043_long_label", b"a" * 64 + b".example.test:443", "bad_request"),
    ("b043_long_name", b".".join([b"a" * 49] * 6) + b":443", "bad_request"),
    ("b049_userinfo", b"user@api.example.test:443", "bad_request"),
    ("b050_smuggled_port", b"api.example.test:443.evil.com", "bad_request"),
    ("b050_leading_zero", b"api.example.test:0443", "bad_request"),
    ("b050_no_host", b":443", "bad_request"),
    ("b050_port_zero", b"api.example.test:0", "bad_request"),
    ("b050_port_65536", b"api.example.test:65536", "bad_request"),
    ("b050_no_port", b"api.example.test", "bad_request"),
    ("b049_slash", b"api.example.test/x:443", "bad_request"),
    ("b049_hash", b"api.example.test#x:443", "bad_request"),
    ("b063_port", b"api.example.test:8443", "port_not_allowed"),
    ("b063_port_22", b"api.example.test:22", "port_not_allowed"),
    ("b014_short", b"127.1:443", "bad_request"),
    ("b014_hex", b"0x7f.1:443", "bad_request"),
    ("b014_octal", b"0177.0.0.1:443", "bad_request"),
    ("b014_integer", b"2130706433:443", "bad_request"),
    ("b014_bare_0x", b"0x:443", "bad_request"),
    ("b014_exponent", b"1e1.0.0.1:443", "bad_request"),
    ("b014_literal", b"127.0.0.1:443", "ip_literal"),
    ("b017_zero", b"0.0.0.0:443", "ip_literal"),
    ("b017_unspecified", b"[::]:443", "ip_literal"),
    ("b015_loopback6", b"[::1]:443", "ip_literal"),
    ("b015_mapped", b"[::ffff:7f00:1]:443", "ip_literal"),
    ("b016_compatible", b"[::127.0.0.1]:443", "ip_literal"),
    ("b016_nat64", b"[64:ff9b::7f00:1]:443", "ip_literal"),
    ("b016_6to4", b"[2002:7f00:1::]:443", "ip_literal"),
    ("b012_zone", b"[fe80::1%25eth0]:443", "bad_request"),
    ("b015_metadata", b"169.254.169.254:443", "ip_literal"),
    ("b018_metadata_alibaba", b"100.100.100.200:443", "ip_literal"),
    ("b018_metadata_aws6", b"[fd00:ec2::254]:443", "ip_literal"),
    ("b018_metadata_name", b"metadata.google.internal:443",
     "host_not_allowed"),
    ("b025_listed_name_address", b"127.0.0.11:443", "ip_literal"),
    # Allowed by name, but the answer is not: looked up, then refused.
    ("b018_private_answer", b"private.example.test:443",
     "address_not_allowed"),
    ("b019_second_address", b"mixed.example.test:443",
     "address_not_allowed"),
    ("b015_mapped_answer", b"mapped.example.test:443",
     "address_not_allowed"),
    ("b016_nat64_answer", b"nat64.example.test:443", "address_not_allowed"),
    ("b015_metadata_answer", b"metadata.example.test:443",
     "address_not_allowed"),
    ("b017_zero_answer", b"zero.example.test:443", "address_not_allowed"),
    ("x_lookup_failed", b"missing.example.test:443", "lookup_failed"),
]

HEADS = [
    ("b052_bare_lf", b"CONNECT api.example.test:443 HTTP/1.1\n"
     b"Host: api.example.test:443\n\n", "bad_request"),
    ("b052_lone_cr", b"CONNECT api.example.test:443 HTTP/1.1\r"
     b"Host: api.example.test:443\r\n\r\n", "bad_request"),
    ("b048_two_hosts", _connect(b"api.example.test:443",
     b"Host: evil.com:443"), "bad_request"),
    ("b048_no_host", b"CONNECT api.example.test:443 HTTP/1.1\r\n\r\n",
     "bad_request"),
    ("b051_te_and_cl", _connect(b"api.example.test:443",
     b"Transfer-Encoding: chunked", b"Content-Length: 3"), "bad_request"),
    ("b051_two_cl", _connect(b"api.example.test:443",
     b"Content-Length: 0", b"Content-Length: 0"), "bad_request"),
    ("b051_bad_te", _connect(b"api.example.test:443",
     b"Transfer-Encoding: chunkedx"), "bad_request"),
    ("b051_cl_plus", _connect(b"api.example.test:443",
     b"Content-Length: +3"), "bad_request"),
    ("b051_cl_hex", _connect(b"api.example.test:443",
     b"Content-Length: 0x3"), "bad_request"),
    ("b051_folded", b"CONNECT api.example.test:443 HTTP/1.1\r\n"
     b"Host: api.example.test:443\r\nX-A: a\r\n b\r\n\r\n", "bad_request"),
    ("b051_space_colon", _connect(b"api.example.test:443", b"X-A : b"),
     "bad_request"),
    ("b054_underscore", _connect(b"api.example.test:443", b"x_a: b"),
     "bad_request"),
    ("b054_empty_name", _connect(b"api.example.test:443", b": b"),
     "bad_request"),
    ("b053_nul_value", _connect(b"api.example.test:443", b"X-A: a\0b"),
     "bad_request"),
    ("b056_http09", b"CONNECT api.example.test:443\r\n\r\n", "bad_request"),
    ("b056_http2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "bad_request"),
    ("b056_http12", b"CONNECT api.example.test:443 HTTP/1.2\r\n"
     b"Host: api.example.test:443\r\n\r\n", "bad_request"),
    ("b059_trace", _head(b"TRACE http://plain.example.test/ HTTP/1.1",
     b"Host: plain.example.test"), "method_refused"),
    ("b059_track", _head(b"TRACK http://plain.example.test/ HTTP/1.1",
     b"Host: plain.example.test"), "method_refused"),
    ("b045_plain_http", _head(b"GET http://api.example.test/ HTTP/1.1",
     b"Host: api.example.test"), "port_not_allowed"),
    ("b045_plain_other", _head(b"GET http://other.example.net/ HTTP/1.1",
     b"Host: other.example.net"), "host_not_allowed"),
    ("b047_host_differs", _head(b"GET http://plain.example.test/ HTTP/1.1",
     b"Host: evil.example.net"), "misdirected"),
    ("b047_connect_host", _head(b"CONNECT api.example.test:443 HTTP/1.1",
     b"Host: evil.example.net:443"), "misdirected"),
    ("b069_long_head", _connect(b"api.example.test:443",
     b"X-A: " + b"a" * 20000), "bad_request"),
    ("b069_many_fields", _connect(b"api.example.test:443",
     *[b"X-%d: a" % n for n in range(200)]), "bad_request"),
]

_split = hb.client_hello()
HELLOS = [
    ("b031_other_sni", hb.hello(names=(b"evil.example.net",)),
     "sni_mismatch"),
    ("b032_other_allowed_sni", hb.hello(names=(b"a.wild.example",)),
     "sni_mismatch"),
    ("b031_sub_sni", hb.hello(names=(b"a.api.example.test",)),
     "sni_mismatch"),
    ("b033_no_sni", hb.hello(names=()), "sni_missing"),
    ("b033_no_extensions", hb.records(hb.client_hello(
        no_extensions=True)), "sni_missing"),
    ("b034_ech", hb.hello(ech=True), "ech_refused"),
    ("b039_two_names", hb.hello(names=(GOOD, b"evil.example.net")),
     "tls_parse"),
    ("b039_two_extensions", hb.hello(more=hb.server_name(GOOD)),
     "tls_parse"),
    ("b039_other_type", hb.records(hb.client_hello(
        names=(), more=hb.server_name(GOOD, kind=1))), "tls_parse"),
    ("b039_nul", hb.hello(names=(GOOD + b"\0.evil.com",)), "tls_parse"),
    ("b039_trailing_dot", hb.hello(names=(GOOD + b".",)), "tls_parse"),
    ("b039_address_sni", hb.hello(names=(b"127.0.0.1",)), "tls_parse"),
    ("b038_sslv2", hb.SSLV2, "not_tls"),
    ("b041_http", b"GET / HTTP/1.1\r\nHost: api.example.test\r\n\r\n",
     "not_tls"),
    ("b041_ssh", b"SSH-2.0-OpenSSH_9.2\r\n", "not_tls"),
    ("b041_socks", b"\x05\x01\x00", "not_tls"),
    ("b036_empty_record", hb.records(_split[:10]) + b"\x16\x03\x01\0\0"
     + hb.records(_split[10:]), "tls_parse"),
    ("b036_interleaved", hb.records(_split[:10]) + hb.records(
        b"\x01\x00", kind=21) + hb.records(_split[10:]), "tls_parse"),
    ("b037_server_hello", hb.records(b"\x02" + _split[1:]), "tls_parse"),
    ("b037_length_lies", hb.records(_split[:4] + _split[6:] + b"\0\0\0"),
     "tls_parse"),
    ("b035_over_64k", hb.records(hb.client_hello(pad=60000)[:1]
     + b"\x02\x00\x00" + bytes(70000)), "tls_parse"),
    ("b042_silence", b"", "timeout"),
    ("b035_half_hello", hb.hello()[:40], "timeout"),
]


def rows():
    for name, payload, code in NAMES:
        yield name, "authority", payload, code
    for name, payload, code in HEADS:
        yield name, "head", payload, code
    for name, payload, code in HELLOS:
        yield name, "hello", payload, code


def read_head(conn, seconds=15):
    """(status, {header: value}) of an answer, or (0, {}) when it closed."""
    conn.settimeout(seconds)
    data = b""
    try:
        while b"\r\n\r\n" not in data and len(data) < 16384:
            more = conn.recv(4096)
            if not more:
                break
            data += more
    except (OSError, socket.timeout):
        pass
    lines = data.split(b"\r\n\r\n")[0].decode("latin1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        key, _, value = line.partition(":")
        fields[key.lower()] = value.strip()
    try:
        return int(lines[0].split(" ")[1]), fields
    except (IndexError, ValueError):
        return 0, fields


def attempt(address, kind, payload, seconds=20):
    """Play one row against a proxy: {"status", "reason", "bytes", "closed"}.
    For a hello: bytes that came back from upstream and whether it ended."""
    conn = socket.create_connection(address, timeout=10)
    try:
        if kind in ("authority", "head"):
            data = _connect(payload) if kind == "authority" else payload
            try:
                conn.sendall(data)
            except OSError:
                pass
            status, fields = read_head(conn, seconds)
            return {"status": status,
                    "reason": fields.get("x-agentnode-reason", "")}
        conn.sendall(_connect(GOOD + b":443"))
        status, fields = read_head(conn, seconds)
        if status != 200:
            return {"status": status, "bytes": 0, "closed": True,
                    "reason": fields.get("x-agentnode-reason", "")}
        got, closed = 0, False
        try:
            if payload:
                conn.sendall(payload)
            conn.settimeout(seconds)
            while True:
                more = conn.recv(65536)
                if not more:
                    closed = True
                    break
                # A TLS alert of the proxy's own is no byte of upstream.
                got += len(more) if more[:1] != b"\x15" else 0
        except socket.timeout:
            pass
        except OSError:
            closed = True
        return {"status": 200, "bytes": got, "closed": closed, "reason": ""}
    finally:
        conn.close()
        time.sleep(0)
