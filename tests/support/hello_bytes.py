"""TLS ClientHellos made byte by byte (RFC 8446 section 4.1.2), good and
hostile. Runs on the host and inside a sandbox: standard library only."""
import struct


def extension(kind, body):
    return struct.pack("!HH", kind, len(body)) + body


def server_name(*names, kind=0):
    entries = b"".join(struct.pack("!BH", kind, len(n)) + n for n in names)
    return extension(0, struct.pack("!H", len(entries)) + entries)


def client_hello(names=(b"api.example.test",), ech=False, pad=0, more=b"",
                 no_extensions=False, share=True):
    """Handshake message bytes (without record header). share: with a key
    for x25519, the only group it names; without, a server asks again."""
    body = b"\x03\x03" + bytes(range(32)) + b"\x20" + bytes(32)
    suites = b"\x13\x01\x13\x02\x13\x03\xc0\x2f"
    body += struct.pack("!H", len(suites)) + suites + b"\x01\x00"
    extensions = b""
    if names:
        extensions += server_name(*names)
    extensions += extension(43, b"\x02\x03\x04")
    extensions += extension(10, b"\x00\x02\x00\x1d")
    extensions += extension(13, b"\x00\x06\x04\x03\x08\x04\x08\x07")
    extensions += extension(51, b"\x00\x24\x00\x1d\x00\x20" + b"\x09"
                            + bytes(31) if share else b"\x00\x00")
    if ech:
        extensions += extension(0xfe0d, b"\x00\x00\x01\x00\x01\x07\x00\x20"
                                + bytes(32) + b"\x00\x20" + bytes(32))
    extensions += more
    if pad:
        extensions += extension(21, bytes(pad))
    if not no_extensions:
        body += struct.pack("!H", len(extensions)) + extensions
    return b"\x01" + struct.pack("!I", len(body))[1:] + body


def records(message, size=16384, kind=22, version=b"\x03\x01"):
    """Cut a handshake message into TLS records of at most size bytes."""
    out = b""
    for at in range(0, len(message), size):
        part = message[at:at + size]
        out += bytes([kind]) + version + struct.pack("!H", len(part)) + part
    return out


def hello(**options):
    return records(client_hello(**options))


SSLV2 = (b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + bytes(21)
         + bytes(16))
