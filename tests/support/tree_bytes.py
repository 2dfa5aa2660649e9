"""Tree streams (supervisor/init/tree_stream.h) made and read in Python, for
moving test files into and out of a sandbox."""
import struct

HEADER = struct.Struct("=IIIIQ")
MAGIC = 0x414e5431
DIR, FILE, LINK, END = 1, 2, 3, 4


def pack(files):
    """bytes of a stream with {relative path: content or None = folder}."""
    entries = {}
    for path, content in files.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            entries.setdefault("/".join(parts[:depth]), None)
        entries[path] = content
    out = b""
    for path in sorted(entries, key=lambda p: p.split("/")):
        content, name = entries[path], path.encode()
        if content is None:
            out += HEADER.pack(MAGIC, DIR, 0o755, len(name), 0) + name
        else:
            out += HEADER.pack(MAGIC, FILE, 0o755 if content[:2] == b"#!"
                               else 0o644, len(name), len(content))
            out += name + content
    return out + HEADER.pack(MAGIC, END, 0, 0, 0)


def unpack(data):
    """{path: content or None} of a complete stream."""
    files, at = {}, 0
    while True:
        magic, kind, _mode, path_len, size = HEADER.unpack_from(data, at)
        if magic != MAGIC:
            raise ValueError("bad magic")
        at += HEADER.size
        if kind == END:
            return files
        path = data[at:at + path_len].decode()
        at += path_len
        files[path] = data[at:at + size] if kind != DIR else None
        at += size
