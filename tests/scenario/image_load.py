#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox load and pull: what is pinned is the archive's own digest, tags
are refused, hostile images are refused before they are pinned, and pull
fetches by digest from a registry with the configured CA."""
import json
import os
import subprocess

import harness
import oci_archive
import schema_check
from harness import check
from test_ca import TestCA

harness.need("podman", "skopeo", "docker-registry", "openssl")
home = harness.folder()
folder = harness.folder()
made = []


def agentnode(*argv, **more):
    return harness.agentnode(home, *argv, timeout=120, **more)


def pinned():
    return agentnode("config", "get", "sandbox.image").out.strip()


def listed():
    out = subprocess.run(
        ["podman", "images", "--format={{.Repository}}:{{.Tag}}"],
        capture_output=True, text=True, check=True).stdout
    return set(out.split())


def load():
    path = os.path.join(folder, "good.tar")
    digest = oci_archive.write(path)
    result = agentnode("sandbox", "load", path, "--json")
    reference = "localhost/agentnode-sandbox@" + digest
    check("load", result.code == 0 and result.json() == {
        "image": reference, "pinned": True, "reused": False}, result)
    fault = schema_check.check_text(result.out, harness.SOURCE,
                                    "sandbox-load")
    check("schema of load", not fault, fault)
    check("load pins", pinned() == reference, pinned())
    result = agentnode("sandbox", "load", path, "--digest", digest)
    check("load with its digest", result.code == 0, result)
    result = agentnode("sandbox", "load", "good.tar", cwd=folder)
    check("load by a path from here", result.code == 0, result)
    other = os.path.join(folder, "other.tar")
    oci_archive.write(other, content=b"other\n")
    result = agentnode("sandbox", "load", other, "--digest", digest)
    check("load with another digest", result.code == 6, result)
    check("nothing pinned", pinned() == reference, pinned())
    result = agentnode("sandbox", "load", other, "--no-pin")
    check("load without pin", result.code == 0 and pinned() == reference,
          result)
    return reference


HOSTILE = {
    "runtime annotation": {"annotations": {
        "run.oci.seccomp_bpf_data": "AAAA"}},
    "unknown annotation": {"annotations": {"com.example.x": "y"}},
    "volume": {"config": {"Volumes": {"/data": {}}}},
    "health check": {"config": {"Healthcheck": {
        "Test": ["CMD-SHELL", "true"]}}},
    "build trigger": {"config": {"OnBuild": ["RUN true"]}},
}


def hostile(reference):
    for number, (name, parts) in enumerate(HOSTILE.items()):
        path = os.path.join(folder, "hostile%d.tar" % number)
        digest = oci_archive.write(
            path, content=b"hostile %d\n" % number,
            name="localhost/agentnode-test:hostile%d" % number, **parts)
        result = agentnode("sandbox", "load", path)
        # podman 4.3 drops a health check, which OCI configurations do not
        # know; a build trigger stays in the stored bytes and is seen.
        kept = name != "health check"
        check(name, result.code == (3 if kept else 0), result)
        if kept:
            check(name + ": not pinned", pinned() == reference, pinned())
            check(name + ": no name of ours",
                  "localhost/agentnode-sandbox:" + digest[7:19]
                  not in listed())
        else:
            check(name + ": gone", "Health" not in json.dumps(
                json.loads(subprocess.run(
                    ["podman", "inspect", pinned()], check=True,
                    capture_output=True).stdout)[0]["Config"]))
            agentnode("config", "set", "sandbox.image", reference)


def bad_input(reference):
    noise = os.path.join(folder, "noise.tar")
    with open(noise, "wb") as file:
        file.write(os.urandom(10000))
    good = os.path.join(folder, "good.tar")
    cut = os.path.join(folder, "cut.tar")
    with open(good, "rb") as file, open(cut, "wb") as out:
        out.write(file.read()[:3000])
    for name, path, code, word in (
            ("noise", noise, 4, ""), ("cut", cut, 4, ""),
            ("missing", "none.tar", 5, "none.tar cannot be read: No such"),
            ("folder", folder, 5, folder + " is not a file")):
        result = agentnode("sandbox", "load", path)
        check("load " + name, result.code == code and word in result.err and
              len(result.err.strip().splitlines()) == 1, result)
    for text in ("debian", "debian:bookworm", "localhost/x:latest",
                 "localhost/x@sha256:1234", "localhost/x@sha512:" + "a" * 64,
                 "-flag@sha256:" + "a" * 64, "@sha256:" + "a" * 64,
                 "localhost/x@sha256:" + "A" * 64):
        # Were it fetched, it could not be refused this fast.
        result = agentnode("sandbox", "pull", text) if text[0] != "-" \
            else agentnode("sandbox", "pull", "--", text)
        check("pull " + text[:40], result.code == 2 and result.seconds < 5 and
              "digest" in result.err, result)
    check("still pinned", pinned() == reference, pinned())
    result = agentnode("sandbox", "pull",
                       "127.0.0.1:1/x@sha256:" + "a" * 64)
    check("pull from nowhere", result.code == 4, result)


def start_registry(ca):
    port = harness.free_port()
    config = os.path.join(folder, "registry.json")
    with open(config, "w", encoding="ascii") as file:
        json.dump({"version": "0.1", "storage": {"filesystem": {
            "rootdirectory": os.path.join(folder, "registry")}},
            "http": {"addr": "127.0.0.1:%d" % port, "tls": {
                "certificate": ca.leaf("127.0.0.1"),
                "key": os.path.join(ca.folder, "127.0.0.1.key")}}}, file)
    process = subprocess.Popen(
        ["docker-registry", "serve", config], stdout=subprocess.DEVNULL,
        stderr=open(os.path.join(folder, "registry.log"), "wb"))

    def answers():
        import socket
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0
    harness.wait_until(answers, 10)
    return process, port


def push(port, path, name):
    """The registry's digest; skopeo compresses the layer, so it differs
    from the archive's."""
    file = os.path.join(folder, "digest")
    subprocess.run(
        ["skopeo", "copy", "--quiet", "--dest-tls-verify=false",
         "--digestfile", file, "oci-archive:" + path,
         "docker://127.0.0.1:%d/%s:one" % (port, name)], check=True)
    with open(file, encoding="ascii") as text:
        return text.read().strip()


def pull():
    ca = TestCA(harness.folder())
    process, port = start_registry(ca)
    try:
        digest = push(port, os.path.join(folder, "good.tar"), "good")
        reference = "127.0.0.1:%d/good@%s" % (port, digest)
        made.append(reference)
        result = agentnode("sandbox", "pull", reference)
        check("pull without the CA", result.code == 4, result)
        agentnode("config", "set", "build.ca_bundle", ca.root)
        result = agentnode("sandbox", "pull", reference)
        check("pull", result.code == 0 and result.out.strip() == reference,
              result)
        check("pull pins", pinned() == reference, pinned())
        check("pull shows progress", "Copying" in result.err, result.err)
        result = agentnode("sandbox", "pull", "--json")
        fault = schema_check.check_text(result.out, harness.SOURCE,
                                        "sandbox-pull")
        check("schema of pull", not fault, fault)
        check("pull what is pinned", result.code == 0, result)
        other = "127.0.0.1:%d/good@sha256:%s" % (port, "b" * 64)
        result = agentnode("sandbox", "pull", other)
        check("pull a digest it does not have", result.code == 4, result)
        bad = push(port, os.path.join(folder, "hostile0.tar"), "bad")
        bad = "127.0.0.1:%d/bad@%s" % (port, bad)
        made.append(bad)
        result = agentnode("sandbox", "pull", bad)
        check("pull hostile", result.code == 3 and pinned() == reference,
              result)
    finally:
        process.terminate()
        process.wait()


before = listed()
try:
    reference = load()
    hostile(reference)
    bad_input(reference)
    pull()
    audit = agentnode("audit", "show", "--json")
    check("pins are in the audit chain", audit.out.count('"image_pin"') >= 4
          and agentnode("audit", "verify").code == 0, audit)
finally:
    for name in made + sorted(listed() - before):
        if "agentnode-test" in name or name.startswith("127.0.0.1:") or \
                name in listed() - before:
            subprocess.run(["podman", "rmi", "-f", name], check=False,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
harness.finish()
