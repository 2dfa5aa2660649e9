#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agentnode-unpack takes good trees unchanged and refuses every bad one with
its code; the hash is the same for one tree in every form."""
import gzip
import io
import os
import sys
import tarfile
import tempfile
import zipfile

from unpack_client import (DIR, FILE, LINK, Unpack, contents, memfd, record,
                           stream)

failures = []


def check(name, ok, detail=""):
    if not ok:
        failures.append("%s: %s" % (name, detail))
        print("FAILED", name, detail)


def tar_of(members, compress=False):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, body in members:
            info = tarfile.TarInfo(name)
            info.mode = 0o755 if kind == "x" else 0o640
            info.mtime, info.uid = 12345, 1000
            if kind == "d":
                info.type = tarfile.DIRTYPE
            elif kind == "l":
                info.type, info.linkname = tarfile.SYMTYPE, body
            elif kind == "h":
                info.type, info.linkname = tarfile.LNKTYPE, body
            elif kind == "c":
                info.type = tarfile.CHRTYPE
            elif kind == "p":
                info.type = tarfile.FIFOTYPE
            else:
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))
                continue
            tar.addfile(info)
    return gzip.compress(out.getvalue()) if compress else out.getvalue()


GOOD = [("package/a", "d", None), ("package/a/run.js", "x", b"run"),
        ("package/a/data", "f", b"x" * 300000), ("package/a/empty", "f", b""),
        ("package/b/implied/deep.txt", "f", b"deep"),
        ("package/link", "l", "a/run.js"),
        ("package/b/up", "l", "../a/data"),
        ("package/" + "n" * 120 + "/" + "m" * 120, "f", b"long"),
        ("package/gr\u00fc\u00dfe \"quoted\" back\\slash", "f", b"u")]


def run(job, options, data, roots=()):
    unpack = Unpack(roots)
    source, out = memfd(data), memfd()
    answer = unpack.work(job, options, [source, out])
    text = contents(out)
    os.close(source)
    os.close(out)
    unpack.close()
    return answer, text


def good_forms():
    (result, fault), tree = run("archive_to_tree", {"strip": 1},
                                tar_of(GOOD, True))
    check("archive_to_tree", fault is None, fault)
    (again, fault), tar = run("archive_to_tar", {"strip": 1}, tar_of(GOOD))
    check("archive_to_tar", fault is None and again == result, fault)
    (again, fault), tar2 = run("tree_to_tar", {}, tree)
    check("tree_to_tar", fault is None and again == result, (again, fault))
    (again, fault), tree2 = run("check_tree", {}, tree)
    check("check_tree", fault is None and tree2 == tree, fault)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with tarfile.open(fileobj=io.BytesIO(tar2)) as archive:
            for member in archive.getmembers():
                check("owner", member.uid == 0 and member.gid == 0)
            archive.extractall(folder)
        unpack = Unpack([folder])
        again, fault = unpack.work("hash_tree", {"root": 0})
        check("hash_tree", fault is None and again == result, (again, fault))
        twice, fault = unpack.work("hash_tree", {"root": 0})
        check("hash_tree twice", twice == result, (twice, fault))
        out = memfd()
        again, fault = unpack.work("send_tree", {"root": 0}, [out])
        check("send_tree", fault is None and again == result, (again, fault))
        (again, fault), _ = run("check_tree", {}, contents(out))
        check("sent tree", fault is None and again == result, fault)
        os.chmod(os.path.join(folder, "a/run.js"), 0o4755)
        again, fault = unpack.work("hash_tree", {"root": 0})
        check("mode in hash", again and again["hash"] != result["hash"], fault)
        os.chmod(os.path.join(folder, "a/run.js"), 0o755)
        with open(os.path.join(folder, "a/data"), "r+b") as file:
            file.seek(299999)
            file.write(b"y")
        again, fault = unpack.work("hash_tree", {"root": 0})
        check("byte in hash", again and again["hash"] != result["hash"], fault)
        check("end", unpack.close() == 83)
    # Order of the archive does not matter for the hash.
    (again, fault), _ = run("archive_to_tar", {"strip": 1},
                            tar_of(list(reversed(GOOD))))
    check("order", fault is None and again == result, fault)


def good_zip():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/__init__.py", "x = 1\n" * 100)
        archive.writestr("pkg-1.0.dist-info/RECORD", "")
    (result, fault), _ = run("archive_to_tar", {}, out.getvalue())
    check("zip", fault is None and result["files"] == 4, (result, fault))


def selection():
    (result, fault), tar = run("archive_to_tar", {
        "strip": 1, "prefix": "usr/local", "only": ["a", "link"],
        "links": [{"path": "usr/local/bin/x", "target": "../a/run.js"}]},
        tar_of(GOOD))
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        names = archive.getnames()
    check("selection", fault is None and "usr/local/a/data" in names and
          "usr/local/bin/x" in names and
          not any("implied" in n for n in names), (fault, names))


BAD_ARCHIVES = {
    "dotdot": ([("package/../../etc/passwd", "f", b"x")], "tree_unsafe"),
    "dotdot_after_strip": ([("a/../b", "f", b"x")], "tree_unsafe"),
    "absolute": ([("/etc/passwd", "f", b"x")], "tree_unsafe"),
    "link_absolute": ([("package/l", "l", "/etc/passwd")], "tree_unsafe"),
    "link_leaves": ([("package/l", "l", "../../x")], "tree_unsafe"),
    "link_middle": ([("package/d", "d", None),
                     ("package/l", "l", "d/../../x")], "tree_unsafe"),
    "through_link": ([("package/d", "d", None), ("package/l", "l", "d"),
                      ("package/l/x", "f", b"x")], "tree_unsafe"),
    "below_file": ([("package/f", "f", b"x"), ("package/f/x", "f", b"x")],
                   "tree_unsafe"),
    "twice": ([("package/f", "f", b"x"), ("package/f", "f", b"y")],
              "tree_unsafe"),
    "link_then_file": ([("package/f", "l", "g"), ("package/f", "f", b"y")],
                       "tree_unsafe"),
    "dir_then_link": ([("package/f", "d", None), ("package/f", "l", "x")],
                      "tree_unsafe"),
    "implied_then_link": ([("package/d/f", "f", b""),
                           ("package/d", "l", "x")], "tree_unsafe"),
    "hard_link": ([("package/f", "f", b"x"), ("package/h", "h", "package/f")],
                  "tree_unsafe"),
    "device": ([("package/c", "c", None)], "tree_unsafe"),
    "fifo": ([("package/p", "p", None)], "tree_unsafe"),
    "control_byte": ([("package/a\x1b[31m", "f", b"x")], "tree_unsafe"),
    "newline": ([("package/a\nb", "f", b"x")], "tree_unsafe"),
    "long_part": ([("package/" + "a" * 256, "f", b"x")], "tree_unsafe"),
    "deep": ([("package/" + "/".join("d" * 65), "f", b"x")], "tree_unsafe"),
}


def bad_archives():
    for name, (members, code) in BAD_ARCHIVES.items():
        (result, fault), text = run("archive_to_tar", {"strip": 1},
                                    tar_of(members, True))
        check(name, fault is not None and fault[0] == code, (result, fault))
        check(name + " cut", not text.endswith(b"\0" * 1024), len(text))
        check(name + " clean detail",
              fault and all(c >= " " for c in fault[1]), fault)
    data = tar_of(GOOD)
    cut = gzip.compress(data)[:-400]
    (result, fault), _ = run("archive_to_tar", {"strip": 1}, cut)
    check("cut gzip", fault and fault[0] == "tree_malformed", fault)
    (result, fault), _ = run("archive_to_tar", {}, data[:200000])
    check("cut tar", fault and fault[0] == "tree_malformed", fault)
    (result, fault), _ = run("archive_to_tar", {}, b"hello" * 1000)
    check("noise", fault and fault[0] == "tree_malformed", fault)
    bomb = gzip.compress(tar_of([("a", "f", b"\0" * (50 << 20))]))
    (result, fault), _ = run("archive_to_tar", {"max_bytes": 1 << 20}, bomb)
    check("bomb", fault and fault[0] == "tree_too_big", fault)
    many = tar_of([("f%d" % i, "f", b"") for i in range(50)])
    (result, fault), _ = run("archive_to_tar", {"max_files": 49}, many)
    check("many", fault and fault[0] == "tree_too_big", fault)


BAD_STREAMS = {
    "no_end": (record(DIR, "a"), "tree_cut"),
    "cut_header": (record(DIR, "a")[:10], "tree_cut"),
    "cut_content": (record(FILE, "a", b"x" * 10)[:-3], "tree_cut"),
    "empty": (b"", "tree_cut"),
    "magic": (b"\0" * 24, "tree_malformed"),
    "type": (record(9, "a"), "tree_malformed"),
    "after_end": (stream(record(DIR, "a")) + b"x", "tree_malformed"),
    "no_path": (record(FILE, "", b"x"), "tree_malformed"),
    "dir_size": (record(DIR, "a", b"x"), "tree_malformed"),
    "link_empty": (stream(record(LINK, "a", b"")), "tree_malformed"),
    "huge": (record(FILE, "a", b"", size=1 << 60), "tree_too_big"),
    "dots": (stream(record(FILE, "..", b"x")), "tree_unsafe"),
    "absolute": (stream(record(FILE, "/a", b"x")), "tree_unsafe"),
    "no_parent": (stream(record(FILE, "a/b", b"x")), "tree_unsafe"),
    "link_out": (stream(record(LINK, "a", b"..")), "tree_unsafe"),
    "nul": (stream(record(FILE, b"a\0b", b"x")), "tree_unsafe"),
    "not_utf8": (stream(record(FILE, b"\xff", b"x")), "tree_unsafe"),
    "twice": (stream(record(FILE, "a", b"x"), record(FILE, "a", b"x")),
              "tree_unsafe"),
}


def bad_streams():
    for name, (data, code) in BAD_STREAMS.items():
        for job in ("check_tree", "tree_to_tar"):
            (result, fault), _ = run(job, {"max_bytes": 1 << 30}, data)
            check("%s %s" % (job, name), fault and fault[0] == code,
                  (result, fault))


def bad_folders():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.symlink("/etc", os.path.join(folder, "out"))
        unpack = Unpack([folder])
        for job, fds in (("hash_tree", []), ("send_tree", [memfd()])):
            _, fault = unpack.work(job, {"root": 0}, fds)
            check(job + " link", fault and fault[0] == "tree_unsafe", fault)
        os.unlink(os.path.join(folder, "out"))
        os.mkfifo(os.path.join(folder, "fifo"))
        _, fault = unpack.work("hash_tree", {"root": 0})
        check("folder fifo", fault and fault[0] == "tree_unsafe", fault)
        os.unlink(os.path.join(folder, "fifo"))
        with open(os.path.join(folder, "mine"), "w"):
            pass
        os.chmod(os.path.join(folder, "mine"), 0o600)
        result, fault = unpack.work("hash_tree", {"root": 0})
        if os.geteuid() == 0:
            check("unreadable", fault and fault[0] == "tree_unreadable" and
                  "mine" in fault[1], fault)
        unpack.close()


def full_disk():
    """ENOSPC from the output is a code of its own."""
    unpack = Unpack()
    out = os.open("/dev/full", os.O_WRONLY)
    _, fault = unpack.work("archive_to_tar", {"strip": 1},
                           [memfd(tar_of(GOOD)), out])
    check("disk full", fault and fault[0] == "disk_full", fault)
    # A reader that left.
    reader, writer = os.pipe()
    os.close(reader)
    _, fault = unpack.work("archive_to_tar", {"strip": 1},
                           [memfd(tar_of(GOOD)), writer])
    check("reader gone", fault and fault[0] == "output_closed", fault)
    unpack.close()


def stalled_input():
    unpack = Unpack(timeout_s=1)
    reader, writer = os.pipe()
    os.write(writer, record(DIR, "a"))
    _, fault = unpack.work("check_tree", {}, [reader, memfd()])
    check("stalled", fault and fault[0] == "timeout", fault)
    unpack.close()
    # The supervisor leaves while a job waits.
    unpack = Unpack()
    unpack.start("check_tree", {}, [reader, memfd()])
    check("supervisor gone", unpack.close() == 83)
    os.close(writer)
    os.close(reader)


def hash_file():
    import hashlib
    unpack = Unpack()
    data = os.urandom(700001)
    result, fault = unpack.work("hash_file", {}, [memfd(data)])
    check("hash_file", result and result == {
        "sha256": hashlib.sha256(data).hexdigest(),
        "sha512": hashlib.sha512(data).hexdigest(),
        "bytes": len(data)}, (result, fault))
    _, fault = unpack.work("hash_file", {"max_bytes": 1000}, [memfd(data)])
    check("hash_file bound", fault and fault[0] == "tree_too_big", fault)
    unpack.close()


def wrong_requests():
    for message in ({"job": "nonsense", "options": {}},
                    {"job": "hash_tree", "options": {"root": 0}},
                    {"job": "hash_tree", "options": {"root": 0, "x": 1}},
                    {"job": "check_tree", "options": {}}):
        unpack = Unpack()
        unpack.start(message["job"], message["options"])
        try:
            unpack.receive()
            check("wrong request", False, message)
        except EOFError as error:
            check("wrong request", "84" in str(error), error)


good_forms()
good_zip()
selection()
bad_archives()
bad_streams()
bad_folders()
full_disk()
stalled_input()
hash_file()
wrong_requests()
sys.exit(1 if failures else 0)
