# SPDX-License-Identifier: Apache-2.0
"""Wheels of the pure Python libraries that Debian installs: a package index
of the tests' own, without a network. The same files make the same bytes."""
import base64
import hashlib
import os
import zipfile

import harness

PLACE = "/usr/lib/python3/dist-packages"
# name: (files and folders, requirements)
LIBRARIES = {
    "tabulate": (["tabulate.py"], []),
    "python-dateutil": (["dateutil"], ["six>=1.5"]),
    "six": (["six.py"], []),
}
DATE = (2020, 1, 1, 0, 0, 0)


def version(name):
    """What Debian calls it, from its metadata."""
    wanted = name.replace("-", "_").lower()
    for entry in sorted(os.listdir(PLACE)):
        stem, end = os.path.splitext(entry)
        parts = stem.split("-")
        if end in (".egg-info", ".dist-info") and len(parts) > 1 \
                and parts[0].replace("-", "_").lower() == wanted:
            return parts[1]
    harness.need(os.path.join(PLACE, wanted))
    raise SystemExit(f"missing part: Debian's python3 library {name}")


def files(name):
    """{path in the wheel: bytes}"""
    found = {}
    for start in LIBRARIES[name][0]:
        path = os.path.join(PLACE, start)
        harness.need(path)
        if os.path.isfile(path):
            found[start] = path
        for folder, _, names in os.walk(path):
            if os.path.basename(folder) == "__pycache__":
                continue
            for one in names:
                if not one.endswith(".pyc"):
                    whole = os.path.join(folder, one)
                    found[os.path.relpath(whole, PLACE)] = whole
    return {inner: open(path, "rb").read() for inner, path in found.items()}


def make(name, folder):
    """Write the wheel of a library into folder: (path, version, sha256)."""
    number = version(name)
    stem = f"{name.replace('-', '_')}-{number}"
    content = files(name)
    info = stem + ".dist-info/"
    content[info + "METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n" + "".join(
            f"Requires-Dist: {one}\n" for one in LIBRARIES[name][1])).encode()
    content[info + "WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: tests\n"
                               b"Root-Is-Purelib: true\nTag: py3-none-any\n")
    record = "".join(
        "%s,sha256=%s,%d\n" % (
            path, base64.urlsafe_b64encode(
                hashlib.sha256(body).digest()).rstrip(b"=").decode(),
            len(body)) for path, body in sorted(content.items()))
    content[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    path = os.path.join(folder, stem + "-py3-none-any.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, body in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(inner, DATE), body)
    os.chmod(path, 0o644)
    with open(path, "rb") as file:
        return path, number, hashlib.sha256(file.read()).hexdigest()
