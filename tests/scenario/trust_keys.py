#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys and signatures from the command line: keygen and its files, what a
private key may look like, each kind of signing checked by another program,
keys pinned, listed and removed with their records, the team policy."""
import json
import os
import re
import subprocess
import time

import harness
import schema_check
from harness import agentnode, check

DOMAINS = {"attestation": b"agentnode attestation v1\n",
           "artifact": b"agentnode artifact v1\n",
           "index": b"agentnode index v1\n"}
home = harness.folder()
work = harness.folder()


def path(name):
    return os.path.join(work, name)


def write(name, data, mode=0o644):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path(name), mode)
    return path(name)


def read(name, mode="r"):
    with open(path(name), mode) as file:
        return file.read()


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"),
                      ensure_ascii=False).encode()


def holds(key, signature, kind, data):
    """Ask openssl, with the public key as DER."""
    head = bytes.fromhex("302a300506032b6570032100")
    write("der", head + bytes.fromhex(key))
    write("mark", bytes.fromhex(signature))
    write("message", DOMAINS[kind] + data)
    return harness.run(
        "openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER",
        "-inkey", path("der"), "-rawin", "-in", path("message"), "-sigfile",
        path("mark")).code == 0


def trust(*argv, **more):
    return agentnode(home, "trust", *argv, cwd=work, **more)


def records(event):
    found = agentnode(home, "audit", "show", "--json", "--last", "100")
    return [r["fields"] for r in found.json()["records"]
            if r["event"] == event]


def keygen():
    made = trust("keygen", "--out", "registry.pem")
    key = made.out.strip()
    check("keygen prints the public key", made.code == 0
          and re.fullmatch("[0-9a-f]{64}", key), made)
    check("the private key is 0600, the public one beside it",
          os.stat(path("registry.pem")).st_mode & 0o777 == 0o600
          and read("registry.pem.pub") == key + "\n")
    der = subprocess.run(
        ["openssl", "pkey", "-in", path("registry.pem"), "-pubout",
         "-outform", "DER"], capture_output=True, check=True).stdout
    check("openssl reads it as the same key", der[-32:].hex() == key, der)
    again = trust("keygen", "--out", "registry.pem")
    check("a file that is there is never replaced", again.code == 1
          and "registry.pem" in again.err
          and read("registry.pem.pub") == key + "\n", again)
    check("publisher too", trust("keygen", "--out", "me.pem").code == 0)
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out",
                    path("theirs.pem")], check=True)
    os.chmod(path("theirs.pem"), 0o600)
    return key, read("me.pem.pub").strip()


def artifact(*more, **options):
    return trust("sign", "artifact", "--slug", "word-count", "--version",
                 "1.0.0", *more, "reg/pack.tar.gz", **options)


def private_keys():
    """A key that others could have read, or that is none, signs nothing."""
    write("open.pem", read("me.pem"), 0o640)
    write("none.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n"
          "-----END PRIVATE KEY-----\n", 0o600)
    write("rsa.pem", subprocess.run(
        ["openssl", "genpkey", "-algorithm", "rsa", "-pkeyopt",
         "rsa_keygen_bits:2048"], capture_output=True, check=True).stdout,
          0o600)
    os.symlink("me.pem", path("link.pem"))
    os.mkfifo(path("pipe.pem"), 0o600)
    foreign = write("foreign.pem", read("me.pem"), 0o600)
    if os.geteuid() == 0:
        os.chown(foreign, 12345, -1)
    for name, word in (("open.pem", "chmod 600"), ("none.pem", "PEM"),
                       ("rsa.pem", "PEM"), ("link.pem", "link"),
                       ("pipe.pem", "regular"), ("absent.pem", "No such"),
                       ("foreign.pem", "belong")):
        if name == "foreign.pem" and os.geteuid() != 0:
            continue
        done = artifact("--key", name)
        check(f"{name} signs nothing, exit 5", done.code == 5
              and word in done.err and name in done.err and done.out == "",
              done)
    check("a key made by openssl signs",
          artifact("--key", "theirs.pem").code == 0)
    check("both or neither of --key and --key-fd: usage",
          artifact().code == 2
          and artifact("--key", "me.pem", "--key-fd", "3").code == 2)
    done = harness.run(
        "sh", "-c", 'exec "$0" trust sign artifact --key-fd 9 --slug '
        'word-count --version 1.0.0 reg/pack.tar.gz 9<me.pem',
        harness.AGENTNODE, env=harness.environment(home), cwd=work)
    check("a key from a descriptor signs", done.code == 0 and
          json.loads(done.out)["publisher"]["key"]
          == read("me.pem.pub").strip(), done)


def signing(registry, publisher):
    write("reg/pack.tar.gz", b"artifact\n" * 1000)
    private_keys()
    mark = artifact("--key", "me.pem").json()["publisher"]
    digest = harness.run("sha256sum", path("reg/pack.tar.gz")).out[:64]
    said = {"slug": "word-count", "version": "1.0.0",
            "artifact_hash": "sha256:" + digest}
    check("openssl verifies the publisher's signature",
          mark["key"] == publisher
          and holds(publisher, mark["signature"], "artifact",
                    canonical(said)), mark)
    check("and not for another version", not holds(
        publisher, mark["signature"], "artifact",
        canonical(dict(said, version="1.0.1"))))
    for more, word in (((), "--tier"), (("--tier", "gold"), "gold"),
                       (("--tier", "trusted", "--days", "5000"), "")):
        done = trust("sign", "attestation", "--key", "registry.pem",
                     "--slug", "word-count", "--version", "1.0.0",
                     "--publisher", "acme-tools", "--publisher-key",
                     "me.pem.pub", *more, "reg/pack.tar.gz")
        check(f"attestation {' '.join(more)}: usage", done.code == 2
              and word in done.err, done)
    done = trust("sign", "attestation", "--key", "registry.pem", "--slug",
                 "word-count", "--version", "1.0.0", "--tier", "trusted",
                 "--publisher", "acme-tools", "--publisher-key",
                 "me.pem.pub", "--serial", "3", "--out", "attestation.json",
                 "reg/pack.tar.gz")
    made = json.loads(read("attestation.json"))
    body = {k: v for k, v in made.items() if k != "signature"}
    check("openssl verifies the attestation", done.code == 0
          and made["registry_key"] == registry and made["serial"] == 3
          and holds(registry, made["signature"], "attestation",
                    canonical(body)), made)


def index(registry):
    artifact("--key", "me.pem", "--out", "signatures.json")
    add = ("--add", "word-count@1.0.0", "--file", "pack.tar.gz",
           "--attestation", "attestation.json", "--signatures",
           "signatures.json")
    sign = ("sign", "index", "--key", "registry.pem")
    write("reg/other.tar.gz", "other")
    for name, argv, word in (
            ("another artifact", add[:3] + ("other.tar.gz",) + add[4:],
             "signatures"),
            ("another version", ("--add", "word-count@1.0.1") + add[2:],
             "signatures"),
            ("no publisher", add[:6], "signatures"),
            ("no file", add[:2], "--file"),
            ("a drop of nothing", ("--drop", "word-count@1.0.0"), "--drop"),
            ("no version", ("--add", "word-count") + add[2:],
             "SLUG@VERSION")):
        done = trust(*sign, *argv, "reg")
        check(f"index with {name} is not signed", done.code == 1
              and word in done.err and not os.path.exists(
                  path("reg/index.json")), done)
    done = trust(*sign, *add, "reg")
    first = read("reg/index.json", "rb")
    lines = read("reg/index.json.sig").splitlines()
    check("the index is signed", done.code == 0
          and "serial 1" in done.out and len(lines) == 1, done)
    key, mark = lines[0].split(" ")
    check("openssl verifies its bytes",
          key == registry and holds(key, mark, "index", first), lines)
    done = trust(*sign, "reg")
    lines = read("reg/index.json.sig").splitlines()
    second = read("reg/index.json", "rb")
    check("refreshed: the old signature stays for the old bytes",
          done.code == 0 and json.loads(second)["serial"] == 2
          and len(lines) == 2
          and holds(registry, lines[0].split(" ")[1], "index", second)
          and holds(registry, lines[1].split(" ")[1], "index", first), done)
    done = trust("sign", "index", "--key", "me.pem", "reg")
    check("another key builds on nothing", done.code == 1
          and "not signed by this key" in done.err
          and read("reg/index.json", "rb") == second, done)
    write("reg/index.json", second.replace(b"1.0.0", b"1.0.1"))
    done = trust(*sign, "reg")
    check("a changed index is not built on", done.code == 1, done)
    write("reg/index.json", second)
    trust("keygen", "--out", "next.pem")
    done = trust("sign", "index", "--key", "next.pem", "--previous-key",
                 "registry.pem.pub", "reg")
    check("a new key takes over when it is told the old one",
          done.code == 0
          and json.loads(read("reg/index.json"))["serial"] == 3, done)
    done = trust("sign", "index", "--key", "next.pem", "--drop", "word-count@1.0.0", "reg")
    check("and may drop a version", done.code == 0 and
          json.loads(read("reg/index.json"))["packages"] == {}, done)


def keys(registry, publisher):
    for argv, word in ((("corp", "zz"), "64 hex"), (("Corp", registry), "a-z"),
                       (("corp", registry[:-1]), "64 hex"),
                       (("corp", "0" * 64), "64 hex"),
                       (("corp", "--file", "registry.pem"), "public key"),
                       (("corp",), ""), ((), "")):
        done = trust("keys", "add", *argv)
        check(f"keys add {' '.join(argv)[:24]}: usage", done.code == 2
              and word in done.err, done)
    check("nothing was recorded or changed by them",
          records("trust_key_added") == []
          and trust("keys", "list", "--json").json() == {"keys": []})
    done = trust("keys", "add", "corp", "--file", "registry.pem.pub")
    check("a key from a file", done.code == 0 and registry in done.out, done)
    done = trust("keys", "add", "second", publisher)
    check("a key as typed", done.code == 0, done)
    check("each is in the chain", records("trust_key_added") == [
        {"name": "corp", "key": registry},
        {"name": "second", "key": publisher}])
    for argv, word in ((("corp", publisher), "there already"),
                       (("third", registry), "same key")):
        done = trust("keys", "add", *argv)
        check(f"keys add {argv[0]}: {word}", done.code in (1, 5)
              and word in done.err, done)
    listed = trust("keys", "list", "--json")
    fault = schema_check.check_text(listed.out, harness.SOURCE,
                                    "trust-keys-list")
    check("the list fits its schema", fault == "" and
          len(listed.json()["keys"]) == 2, fault)
    done = trust("keys", "remove", "second")
    check("removed, with its record", done.code == 0 and
          records("trust_key_removed") == [{"name": "second"}]
          and len(trust("keys", "list", "--json").json()["keys"]) == 1, done)
    done = trust("keys", "remove", "second")
    check("what is not there cannot be removed", done.code == 1, done)
    agentnode(home, "config", "set", "trust.revoked_keys", registry)
    check("a revoked key is listed as such",
          trust("keys", "list", "--json").json()["keys"][0]["revoked"])
    agentnode(home, "config", "unset", "trust.revoked_keys")


def without_ledger(registry):
    """No record, no key: the ledger's folder is not ours."""
    where = os.path.join(home, ".agentnode", "ledger", "audit.jsonl")
    with open(where, "r+b") as file:
        file.truncate(100)
    begin = time.monotonic()
    done = trust("keys", "add", "late", "11" * 32)
    listed = trust("keys", "list", "--json").json()["keys"]
    check("a chain that is broken stops it", done.code != 0
          and [k["name"] for k in listed] == ["corp"]
          and time.monotonic() - begin < 30, done)
    check("still pinned", listed[0]["key"] == registry)


def main():
    harness.need("openssl")
    registry, publisher = keygen()
    signing(registry, publisher)
    index(registry)
    keys(registry, publisher)
    without_ledger(registry)
    harness.finish()


main()
