#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i09_what_runs_is_sealed, at a second start: a volume that is remembered is
not read again, and every change of it, with its times and sizes restored or
through an old descriptor or mapping, is refused before anything runs."""
import json
import os
import re

import engine_case
import harness
import sealed_tree
from harness import check

HOME = harness.folder()
SEALS = os.path.join(HOME, ".agentnode", "seals")
ZERO = "sha256:" + "0" * 64
volumes = {}


def volume(name):
    """A volume of its own with the tree; (its name, where it is)."""
    full = f"agentnode-test-sealed-{os.getpid()}-{len(volumes)}"
    volumes[name] = full
    engine_case.podman("volume", "create", full)
    place = json.loads(engine_case.podman(
        "volume", "inspect", full).stdout)[0]["Mountpoint"]
    sealed_tree.make(place)
    return full, place


def run(name, digest, home=HOME):
    """(how it was looked at, output, outcome) of one start."""
    case = engine_case.Case("/bin/cat", "/pack/word", home=home,
                            options=["--mount", f"{name}:/pack:{digest}"])
    out, outcome = case.finish()
    how = re.findall(r'"how":"([a-z_]+)"', case.log())
    return how, out, outcome


def good(what, name, digest, how, home=HOME):
    got, out, outcome = run(name, digest, home)
    check(f"{what}: runs", out == "good\n" and outcome["code"] == "",
          (out, outcome))
    check(f"{what}: {' '.join(how)}", got == how, got)


def refused(what, name, digest):
    how, out, outcome = run(name, digest)
    check(f"{what}: refused", outcome.get("code") == "integrity_volume"
          and not outcome["started"] and "has hash" in outcome["detail"],
          (out, outcome))
    check(f"{what}: its content was read, nothing ran",
          how == ["other_fingerprint"] and out == "", (how, out))
    check(f"{what}: it is remembered no more",
          not os.path.exists(os.path.join(SEALS, name)))
    check(f"{what}: refused again", run(name, digest)[2].get("code")
          == "integrity_volume")


def every_change(digest, places):
    for what, change in sealed_tree.CHANGES.items():
        name, place = places[what]
        good(what + ", before", name, digest, ["content"])
        change(place)
        refused(what, name, digest)


def held(digest, places):
    for mapped in (False, True):
        what = "a mapping" if mapped else "a descriptor"
        name, place = places[what]
        holder = sealed_tree.Holder(place, mapped)
        sealed_tree.settle()
        good(what + ", kept", name, digest, ["content"])
        good(what + ", unused", name, digest, ["fingerprint"])
        holder.write()
        refused(what, name, digest)
        holder.close()


def seal_file(name):
    with open(os.path.join(SEALS, name), encoding="ascii") as file:
        return file.read()


def put_seal(name, text):
    with open(os.path.join(SEALS, name), "w", encoding="latin-1") as file:
        file.write(text)


def spoiled(digest, places):
    """A record that is damaged, foreign, old or from the future is none."""
    name = places["one"][0]
    line = seal_file(name)
    magic, version, boot, hash_, stat, wall, start = line.split()
    check("a record is one line of its form", line.endswith("\n")
          and magic == "agentnode-seal" and version == "1"
          and hash_ == digest, line)
    mode = os.stat(os.path.join(SEALS, name)).st_mode & 0o777
    check("only we can read it", mode == 0o600
          and os.stat(SEALS).st_mode & 0o777 == 0o700, oct(mode))
    hour = 3600 * 10 ** 9

    def made(**change):
        row = {"boot": boot, "hash": hash_, "stat": stat, "wall": wall,
               "start": start, **change}
        return ("agentnode-seal 1 {boot} {hash} {stat} {wall} {start}\n"
                .format(**row))

    rows = {"no record": None, "an empty record": "", "half of it": line[:99],
            "a byte more": line + "x", "another boot":
            made(boot=boot[::-1]), "another hash": made(hash=ZERO),
            "from the future": made(wall=int(wall) + hour),
            "the clock was set": made(wall=int(wall) - hour),
            "another start": made(start=int(start) + hour),
            "not a number": made(wall="x"), "binary": "\x00\xff" * 100,
            "very long": line * 1000}
    for what, text in rows.items():
        if text is None:
            os.unlink(os.path.join(SEALS, name))
        else:
            put_seal(name, text)
        good(what, name, digest, ["content"])
        check(what + ": remembered anew",
              seal_file(name).split()[:5] == line.split()[:5])
    put_seal(name, made(stat=ZERO))
    good("another fingerprint", name, digest,
         ["other_fingerprint", "content"])
    put_seal(name, line)
    os.chmod(os.path.join(SEALS, name), 0o666)
    good("a record that others may write", name, digest, ["content"])
    os.unlink(os.path.join(SEALS, name))
    put_seal("elsewhere", line)
    os.symlink("elsewhere", os.path.join(SEALS, name))
    good("a link", name, digest, ["content"])
    check("what the link names is as it was", seal_file("elsewhere") == line)
    os.unlink(os.path.join(SEALS, name))
    os.chmod(SEALS, 0o777)
    good("a folder that others may write", name, digest, ["content"])
    os.chmod(SEALS, 0o700)
    good("and back", name, digest, ["content"])
    good("and remembered", name, digest, ["fingerprint"])


def transplanted(digest, places):
    """The record of one volume under the name of another one of the same
    content."""
    one, two = places["one"][0], places["two"][0]
    put_seal(two, seal_file(one))
    good("a record of another volume", two, digest,
         ["other_fingerprint", "content"])


def full(digest, places):
    """sandbox.volume_check = full, by the configuration."""
    name = places["one"][0]
    home = harness.folder()
    os.makedirs(os.path.join(home, ".agentnode"), mode=0o700)
    done = harness.agentnode(home, "config", "set", "sandbox.volume_check",
                             "full")
    check("config set sandbox.volume_check full", done.code == 0, done)
    for _ in range(2):
        good("full", name, digest, ["content"], home)
    check("full remembers nothing",
          os.listdir(os.path.join(home, ".agentnode", "seals")) == [])
    done = harness.agentnode(home, "config", "set", "sandbox.volume_check",
                             "never")
    check("another word is refused", done.code != 0, done)


def main():
    harness.need("podman")
    names = [*sealed_tree.CHANGES, "a descriptor", "a mapping", "one", "two"]
    try:
        places = {name: volume(name) for name in names}
        one = places["one"][0]
        how, _, outcome = run(one, ZERO)
        digest = outcome["detail"].split("has hash ")[1].split(",")[0]
        check("a wrong hash is refused", outcome["code"] ==
              "integrity_volume" and how == [], (how, outcome))
        for name, _ in places.values():
            run(name, ZERO)  # the engine gives the folder to its user once
        fresh, _ = volume("fresh")
        good("made just now", fresh, digest, ["content"])
        check("made just now: not remembered",
              not os.path.exists(os.path.join(SEALS, fresh)))
        sealed_tree.settle()
        good("the first start", one, digest, ["content"])
        good("the second start", one, digest, ["fingerprint"])
        good("the third start", one, digest, ["fingerprint"])
        every_change(digest, places)
        held(digest, places)
        spoiled(digest, places)
        transplanted(digest, places)
        full(digest, places)
    finally:
        for name in volumes.values():
            engine_case.podman("volume", "rm", "--force", name)
    harness.finish()


if __name__ == "__main__":
    main()
