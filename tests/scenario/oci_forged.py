#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A root is what its digest says or it is not used: layers that leave the
image, layers with another digest, roots that are half there, roots that
somebody changed, an unpacking that is killed, an image store that somebody
changed."""
import base64
import glob
import hashlib
import io
import os
import shutil
import signal
import subprocess
import tarfile

import harness
import oci_case
import private_engine
from harness import check
from hostile_image import Entry, Image
from unpack_client import Unpack, contents, memfd

DIR, FILE, LINK, HARD, REMOVE, EMPTY = (b"D", b"F", b"L", b"H", b"R", b"E")


def tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as to:
        for name, kind, body, mode in members:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime, info.type = mode, 12345, kind
            if kind == tarfile.REGTYPE:
                info.size = len(body)
                to.addfile(info, io.BytesIO(body))
                continue
            info.linkname = body or ""
            to.addfile(info)
    return out.getvalue()


def layer(data):
    """(answer, fault, stream) of the job."""
    unpack = Unpack()
    source, out = memfd(data), memfd()
    answer, fault = unpack.work("layer", {}, [source, out])
    stream = contents(out)
    os.close(source)
    os.close(out)
    unpack.close()
    return answer, fault, stream


def regular(name, body=b"x", mode=0o644):
    return (name, tarfile.REGTYPE, body, mode)


good = tar(("usr", tarfile.DIRTYPE, None, 0o2777), regular("usr/su", b"s",
                                                           0o4777),
           ("usr/abs", tarfile.SYMTYPE, "/etc/shadow", 0o777),
           ("usr/up", tarfile.SYMTYPE, "../../../../etc", 0o777),
           ("usr/hard", tarfile.LNKTYPE, "usr/su", 0o4777),
           ("dev/sda", tarfile.BLKTYPE, None, 0o666),
           ("fifo", tarfile.FIFOTYPE, None, 0o666), regular("a/.wh.gone", b""),
           regular("b/.wh..wh..opq", b"")) + b"\0" * 4096
answer, fault, stream = layer(good)
check("a layer's digest is of every byte, also behind the archive",
      answer and answer["diff_id"] == "sha256:"
      + hashlib.sha256(good).hexdigest(), (answer, fault))
check("devices and FIFOs are passed over", answer and answer["skipped"] == 2
      and b"sda" not in stream and b"fifo" not in stream, answer)
for label, member in (
        ("leaves it", regular("../x")), ("is absolute", regular("/../x")),
        ("climbs", regular("a/../../x")), ("is a dot", regular("a/./x")),
        ("has a hard link out of it", ("h", tarfile.LNKTYPE, "../x", 0o644)),
        ("has a hard link to a dot", ("h", tarfile.LNKTYPE, "a/..", 0o644)),
        ("has a control byte", regular("a\nb")),
        ("removes a dot", regular("a/.wh..")),
        ("removes dots", regular("a/.wh...")),
        ("removes nothing", regular("a/.wh."))):
    answer, fault, _ = layer(tar(member))
    check(f"a layer that {label} is refused", answer is None and
          fault[0] == "tree_unsafe", (answer, fault))
for label, data in (("cut", tar(regular("x", b"y" * 9000))[:4000]),
                    ("no tar", os.urandom(4096)),
                    ("compressed", b"\x1f\x8b" + os.urandom(2000))):
    answer, fault, stream = layer(data)
    check(f"a layer that is {label} is refused", answer is None, fault)

# --- the whole way ---------------------------------------------------------------
case = oci_case.OciHome()


def runs():
    said = case.agentnode("exec", "--", "/bin/echo", "it", "runs")
    return said.code == 0 and "it runs" in said.out, said


def refused(label, *words):
    said = case.agentnode("exec", "--", "/bin/echo", "it", "runs")
    check(label, said.code == 125 and "image_refused" in said.err
          and "it runs" not in said.out
          and all(word in said.err for word in words), said)


# Killed while it unpacks: no root, and what is there is not taken.
child = subprocess.Popen([harness.AGENTNODE, "exec", "--", "/bin/true"],
                         env=case.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, cwd="/")
parts = harness.wait_until(lambda: os.path.isdir(case.roots()) and [
    name for name in os.listdir(case.roots()) if os.path.isdir(os.path.join(
        case.roots(), name, "root", "usr"))], 60)
child.send_signal(signal.SIGKILL)
child.wait()
check("killed halfway there is no root under its name",
      parts and not os.path.exists(case.root()), parts)
good, said = runs()
check("the next start unpacks all of it", good, said)
done = case.agentnode("sandbox", "gc", "--json")
report = done.json() if done.code == 0 else {"removed": []}
check("gc removes what was left halfway", {
    "kind": "half unpacked root", "name": (parts or [""])[0]}
      in report["removed"], report)
check("and nothing else", os.listdir(case.roots())
      == [os.path.basename(case.root())], os.listdir(case.roots()))
root = os.path.join(case.root(), "root")
seal = os.path.join(case.root(), "seal.json")
os.mkdir(os.path.join(root, "added"))
refused("a root to whose top something was added is refused", "changed")
os.chmod(root, 0o777)
refused("a root that others may write is refused", "changed")
os.chmod(root, 0o755)
os.rename(seal, seal + ".away")
refused("a root without its seal is refused", "changed")
shutil.rmtree(case.root())
os.symlink("/", case.root())
said = case.agentnode("exec", "--", "/bin/true")
check("a link in place of a root is refused", said.code == 125, said)
os.unlink(case.root())
os.makedirs(os.path.join(case.root(), "root"), mode=0o755)
refused("a directory without a seal is no root", "changed")

# --- a store that somebody changed ---------------------------------------------
private_engine.enter()
STORE = "/var/lib/containers/storage"
image = Image([Entry("usr/share/mark", b"a" * 64, mode=0o644)], again=True)
case = oci_case.OciHome(image=image.load(private_engine.podman))


def meta(key):
    """The store's copy of what an image says."""
    name = base64.b64encode(key.encode()).decode()
    return f"{STORE}/overlay-images/{image.id}/={name}"


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def forged(label, paths, change, *words):
    before = {}
    for path in paths:
        with open(path, "rb") as file:
            before[path] = file.read()
        write(path, change(before[path]))
    check(f"{label}: it is another", before and all(
        change(data) != data for data in before.values()), paths)
    said = case.agentnode("exec", "--", "/bin/sh", "-c", "echo it runs")
    check(f"{label}: refused", said.code == 125 and "image_refused" in said.err
          and "it runs" not in said.out
          and all(word in said.err for word in words), said)
    check(f"{label}: there is no root of it", not os.path.exists(case.root())
          and not os.listdir(case.roots()), case.roots())
    for path, data in before.items():
        write(path, data)


def swap(data):
    """Another one of the same length that is still JSON."""
    return data.replace(b"amd64", b"arm64").replace(
        b'"schemaVersion": 2', b'"schemaVersion": 1')


forged("a manifest of another digest", [meta(f"manifest-{image.digest}")],
       swap, "another digest")
forged("a configuration of another digest", [meta(f"sha256:{image.id}")], swap)
marks = glob.glob(f"{STORE}/overlay/*/diff/usr/share/mark")
check("the store has the layer twice", len(marks) == 2, marks)
forged("a layer with another file", marks, lambda data: b"b" * len(data))
tells = [f"{STORE}/overlay-layers/{one.split('/')[-5]}.tar-split.gz"
         for one in marks]
for one in tells:
    os.rename(one, one + ".away")
forged("a layer with another file and nothing that tells of it", marks,
       lambda data: b"b" * len(data))
for one in tells:
    os.rename(one + ".away", one)
said = case.agentnode("exec", "--", "/bin/sh", "-c", "cat /usr/share/mark")
check("the unchanged store is used, with a layer that it has twice",
      said.code == 0 and "a" * 64 in said.out, said)
harness.finish()
