"""Looks for a key in bytes: as it is, and behind every encoding the product
claims to see through, in any order up to three deep."""
import base64
import binascii
import re
import urllib.parse

ESCAPE = re.compile(rb"\\+u([0-9a-fA-F]{4})")
RUN64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
RUN16 = re.compile(rb"[0-9a-fA-F]{24,}")


def dechunked(data):
    """A response's body with the chunked coding taken off."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found or b"chunked" not in head.lower():
        return data
    out = [head, b"\n"]
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        try:
            count = int(size.split(b";")[0], 16)
        except ValueError:
            break
        if count == 0:
            break
        out.append(rest[:count])
        rest = rest[count + 2:]
    return b"".join(out)


def _unescaped(data):
    return ESCAPE.sub(lambda m: chr(int(m.group(1), 16)).encode(
        "utf-8", "surrogatepass"), data)


def _decoded(data):
    """What stands behind runs of base64 and hex."""
    for run in RUN64.findall(data):
        text = run.replace(b"-", b"+").replace(b"_", b"/")
        for skip in range(4):
            part = text[skip:]
            part = part[:len(part) - 1] if len(part) % 4 == 1 else part
            part += b"=" * (-len(part) % 4)
            try:
                yield base64.b64decode(part)
            except (ValueError, binascii.Error):
                pass
    for run in RUN16.findall(data):
        for skip in range(2):
            part = run[skip:]
            part = part[:len(part) // 2 * 2]
            yield bytes.fromhex(part.decode())


def found(data, key):
    """In which form the key is in the bytes, or ""."""
    raw = key.encode()
    views = {data, dechunked(data)}
    for _ in range(3):
        views |= {urllib.parse.unquote_to_bytes(v) for v in views}
        views |= {_unescaped(v) for v in views}
    for view in views:
        if raw in view:
            return "plain, percent or JSON escapes"
        if any(raw in text for text in _decoded(view)):
            return "base64 or hex"
    return ""


def found_fast(data, forms):
    """In large data: the forms themselves, nothing decoded."""
    return [name for name, text in forms.items() if text.encode() in data]
