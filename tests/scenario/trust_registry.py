#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A registry from its owner to a host: the document's example installs a
package of tier trusted; a replayed index, an attestation for something else,
expired, by an unknown key, changed bytes: each is refused by its code before
anything is installed; and a forged lockfile entry before anything runs."""
import json
import os
import re
import shlex
import shutil

import engine_case
import harness
import mcp_setup
import pack_case
import schema_check
from consent_seal import sealed
from harness import agentnode, check
from registry_world import (DAY, Key, Registry, configure, file_hash,
                            home_with, need, pack, text_pack)

harness.need("podman")
need()
home = mcp_setup.home()
work = harness.folder()
lock = os.path.join(home, ".agentnode", "agentnode.lock")
os.mkdir(os.path.join(work, "registry"))
os.chmod(work, 0o755)


def packages():
    return mcp_setup.lock(home)["packages"] if os.path.exists(lock) else {}


def volumes():
    out = engine_case.podman("volume", "ls", "--format={{.Name}}").stdout
    return {v for v in out.split() if "-word-count-2.0.0-" in v
            or "-other-words-" in v}


def example():
    """The commands of docs/trust-registry.md, in their order."""
    with open(os.path.join(harness.SOURCE, "docs", "trust-registry.md"),
              encoding="utf-8") as file:
        lines = re.findall(r"^    (agentnode .*)$", file.read(), re.M)
    pack(text_pack(work, "word-count", "1.0.0"),
         os.path.join(work, "registry", "word-count-1.0.0.tar.gz"))
    check("the document has an example", len(lines) >= 9, lines)
    for line in lines:
        line = line.replace("/srv/registry", os.path.join(work, "registry"))
        done = agentnode(home, *shlex.split(line)[1:], cwd=work, timeout=120)
        check(line[:72], done.code == 0, done)


def entry_of(slug):
    return packages().get(slug, {})


def installed():
    entry = entry_of("word-count")
    check("the entry carries what was proven",
          entry.get("trust_level") == "trusted"
          and entry["attestation"]["tier"] == "trusted"
          and entry["artifact_hash"] == entry["attestation"]["artifact_hash"]
          == file_hash(os.path.join(work, "registry",
                                    "word-count-1.0.0.tar.gz"))
          and set(entry["_signatures"]) == {"publisher"}
          and entry["source"] == "registry", entry)
    info = agentnode(home, "info", "word-count", "--json").json()
    check("info: trusted, and it may run", info["tier"] == "trusted"
          and info["code"] == "" and info["runnable"] is True, info)
    shown = agentnode(home, "info", "word-count", "--registry", "--json")
    fault = schema_check.check_text(shown.out, harness.SOURCE,
                                    "info-registry")
    check("info --registry fits its schema", fault == "" and
          shown.json()["versions"][0]["tier"] == "trusted", fault or shown)
    done = agentnode(home, "verify", "word-count", timeout=120)
    check("verify agrees", done.code == 0, done)
    found = agentnode(home, "audit", "show", "--json", "--last",
                      "50").json()["records"]
    made = [r["fields"] for r in found if r["event"] == "install"]
    check("the record names tier and key", len(made) == 1
          and made[0]["attested"]["tier"] == "trusted"
          and made[0]["attested"]["registry_key"]
          == entry["attestation"]["registry_key"], made)


class Shop:
    """A second registry, signed by openssl."""

    def __init__(self):
        self.folder = harness.folder()
        os.chmod(self.folder, 0o755)
        self.keys = {name: Key(os.path.join(work, name + ".key"))
                     for name in ("registry", "publisher", "stranger")}
        self.registry = Registry(self.folder, self.keys["registry"],
                                 self.keys["publisher"])
        source = os.path.join(work, "py-agent")
        shutil.copytree(os.path.join(harness.SOURCE, "tests", "agents", "py"),
                        source)
        for place, _, names in os.walk(source):
            os.chmod(place, 0o755)
            for name in names:
                os.chmod(os.path.join(place, name), 0o644)
        pack(source, os.path.join(self.folder, "agent.tar.gz"))
        pack(text_pack(work, "word-count", "2.0.0"),
             os.path.join(self.folder, "words.tar.gz"))
        self.registry.add("py-agent", "1.0.0", "agent.tar.gz",
                          publisher="agentnode-tests")
        self.row = self.registry.add("word-count", "2.0.0", "words.tar.gz")
        self.registry.write()
        configure(home, **home_with(self.registry))

    def again(self, **attest):
        """Another attestation of the same package, in the next index."""
        def change(all_):
            row = all_["word-count"]["versions"]["2.0.0"]
            row["attestation"] = self.registry.attest(
                **{"slug": "word-count", "version": "2.0.0",
                   "hash_": self.row["artifact_hash"], **attest})
        self.registry.write(change)

    def edit(self, **fields):
        def change(all_):
            row = all_["word-count"]["versions"]["2.0.0"]
            for name, value in fields.items():
                if value is None:
                    row.pop(name)
                else:
                    row[name] = value
        self.registry.write(change)


def no_install(name, code, exit_codes, target="word-count"):
    before, had = packages(), volumes()
    done = agentnode(home, "install", target, "--yes", timeout=120)
    check(f"{name}: {code}", done.code in exit_codes
          and f"({code})" in done.err and packages() == before
          and volumes() == had, done)


def refused_indexes(shop):
    registry = shop.registry
    old = registry.get("index.json"), registry.get("index.json.sig")
    registry.write()
    done = agentnode(home, "info", "word-count", "--registry")
    check("the newer index is seen", done.code == 0, done)
    registry.put("index.json", old[0])
    registry.put("index.json.sig", old[1])
    no_install("a replayed old index", "registry_rollback", (6,))
    registry.write(lambda all_: all_.pop("py-agent"), serial=2)
    no_install("another index of the same serial", "registry_fork", (6,))
    registry.write(key=shop.keys["stranger"])
    no_install("an index by a stranger", "registry_key_unknown", (3,))
    registry.write()
    registry.put("index.json", registry.get("index.json") + b" ")
    no_install("an index with a byte more", "registry_signature", (6,))
    registry.write(issued=-2 * DAY, expires=-DAY)
    no_install("an expired index", "registry_expired", (3,))
    registry.write(issued=DAY, expires=2 * DAY)
    no_install("an index of tomorrow", "registry_future", (3,))
    registry.write(lambda all_: all_["word-count"]["versions"].update(
        {"2.0.0": {**shop.row, "file": "../../etc/passwd"}}))
    no_install("a file outside", "registry_field", (6,))
    registry.write()
    no_install("a version that is not there", "registry_version_unknown",
               (1, 5), "word-count@1.0.0")
    no_install("no such package", "registry_package_unknown", (1, 5),
               "word-counts")


def refused_packages(shop):
    other = file_hash(os.path.join(shop.folder, "agent.tar.gz"))
    for name, attest, code, exits in (
            ("an attestation for another hash", {"hash_": other},
             "trust_other_hash", (6,)),
            ("for another version", {"version": "2.0.1"},
             "trust_other_version", (6,)),
            ("for another slug", {"slug": "word-counts"},
             "trust_other_slug", (6,)),
            ("expired", {"issued": -2 * DAY, "expires": -60},
             "trust_expired", (3,)),
            ("of tomorrow", {"issued": DAY, "expires": 2 * DAY},
             "trust_future", (3,)),
            ("by an unknown key", {"key": shop.keys["stranger"]},
             "trust_key_unknown", (3,)),
            ("of no tier", {"tier": "gold"}, "trust_tier", (6,)),
            ("of another publisher", {"publisher": "other-tools"},
             "trust_other_publisher", (6,))):
        shop.again(**attest)
        no_install(name, code, exits)
    signed = shop.registry.signatures(
        "word-count", "2.0.0", shop.row["artifact_hash"],
        shop.keys["stranger"])
    for name, fields, code, exits in (
            ("no publisher's signature", {"signatures": None},
             "trust_publisher_missing", (3,)),
            ("a stranger's signature", {"signatures": signed},
             "trust_publisher_key", (6,)),
            ("another file of that hash", {"file": "agent.tar.gz"},
             "registry_file", (6,)),
            ("a file that is gone", {"file": "gone.tar.gz"},
             "registry_file", (6,))):
        shop.edit(**fields)
        no_install(name, code, exits)
    shop.registry.write()
    data = shop.registry.get("words.tar.gz")
    shop.registry.put("words.tar.gz",
                      data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    no_install("one byte of the artifact", "registry_file_hash", (6,))
    shop.registry.put("words.tar.gz", data)
    os.rename(os.path.join(shop.folder, "words.tar.gz"),
              os.path.join(shop.folder, "real.tar.gz"))
    os.symlink("real.tar.gz", os.path.join(shop.folder, "words.tar.gz"))
    no_install("a link", "registry_file", (6,))
    os.unlink(os.path.join(shop.folder, "words.tar.gz"))
    os.rename(os.path.join(shop.folder, "real.tar.gz"),
              os.path.join(shop.folder, "words.tar.gz"))
    wrong = shop.registry.add("other-words", "2.0.0", "words.tar.gz")
    shop.registry.write()
    check("the wrong name is attested", wrong["attestation"]["slug"]
          == "other-words")
    no_install("a package that calls itself something else",
               "integrity_artifact", (6,), "other-words")


def run_refused(name, code):
    done = agentnode(home, "agent", "run", "py-agent", timeout=120)
    return check(f"{name}: {code}, exit 125", done.code == 125
                 and code in done.err + done.out, done)


def words():
    return agentnode(home, "run", "word-count", "--arg",
                     "text=three small words", timeout=120)


def with_dependencies(shop):
    """Its wheels are in the artifact, so the attestation covers them."""
    pack(pack_case.ready("table-tools"),
         os.path.join(shop.folder, "tables.tar.gz"))
    shop.registry.add("table-tools", "1.0.0", "tables.tar.gz",
                      tier="verified", publisher="agentnode-tests")
    shop.registry.write()
    done = agentnode(home, "install", "table-tools", "--yes", timeout=300)
    entry = entry_of("table-tools")
    info = agentnode(home, "info", "table-tools", "--json").json()
    check("a pack with dependencies is verified", done.code == 0
          and [d["name"] for d in entry["dependencies"]] == ["tabulate"]
          and entry["volume_content_hash"] != entry["artifact_hash"]
          and info["tier"] == "verified" and info["runnable"] is True,
          (done, info))


def forged(value, at=-1):
    last = value[at]
    new = "b" if last == "a" else "a" if last.isalpha() else \
        str((int(last) + 1) % 10)
    return value[:at] + new + (value[at + 1:] if at != -1 else "")


def write_lock(change):
    with open(lock, encoding="utf-8") as file:
        content = json.load(file)
    change(content["packages"]["py-agent"])
    with open(lock, "w", encoding="utf-8") as file:
        json.dump(sealed(content), file)


def forged_entries():
    """Sealed by hand, then agreed to by somebody careless: still refused."""
    with open(lock, encoding="utf-8") as file:
        good = file.read()
    wanted = {"slug": "trust_other_slug", "version": "trust_other_version",
              "artifact_hash": "trust_other_hash", "tier": "trust_tier",
              "publisher": "trust_other_publisher",
              "publisher_key": "trust_signature",
              "issued": "trust_time", "expires": "trust_time",
              "registry_key": "trust_key_unknown",
              "signature": "trust_signature"}
    first = json.loads(good)["packages"]["py-agent"]["attestation"]
    check("every field is forged", set(wanted) == set(first), first)
    cases = [(f"attestation.{field}", code, lambda e, f=field: e[
        "attestation"].update({f: forged(e["attestation"][f])}))
             for field, code in wanted.items()]
    cases += [
        ("another second", "trust_signature", lambda e: e["attestation"]
         .update(expires=forged(e["attestation"]["expires"], -2))),
        ("a higher tier", "trust_signature",
         lambda e: e["attestation"].update(tier="curated")),
        ("another artifact_hash", "trust_other_hash",
         lambda e: e.update(artifact_hash="sha256:" + "0" * 64)),
        ("another volume", "trust_unbound",
         lambda e: e.update(volume_content_hash="sha256:" + "0" * 64)),
        ("another entrypoint", "trust_unbound",
         lambda e: e["agent"].update(goal="something else")),
        ("no signatures", "trust_publisher_missing",
         lambda e: e.pop("_signatures"))]
    for name, code, change in cases:
        write_lock(change)
        run_refused(name + ", sealed by hand", code)
        agentnode(home, "lock", "seal", "--force")
        run_refused(name, code)
        with open(lock, "w", encoding="utf-8") as file:
            file.write(good)


def keys_taken(shop):
    config = home_with(shop.registry)
    configure(home, trust={"registry_keys": {}})
    run_refused("the key was removed", "trust_key_unknown")
    done = words()
    check("nor does the tool pack run: 125", done.code == 125
          and "trust_key_unknown" in done.err and done.out == "", done)
    for name in ("registry", "publisher"):
        configure(home, trust={**config["trust"],
                               "revoked_keys": [shop.keys[name].base64]})
        run_refused(f"the {name}'s key is revoked",
                    "trust_key_revoked" if name == "registry"
                    else "trust_publisher_revoked")
    configure(home, **config)
    info = agentnode(home, "info", "py-agent", "--json").json()
    check("with its key back it may run", info["tier"] == "trusted"
          and info["runnable"] is True, info)
    found = agentnode(home, "audit", "show", "--json", "--last",
                      "500").json()["records"]
    codes = {r["fields"]["code"] for r in found if r["event"] == "refusal"}
    check("the refusals are in the chain", {
        "trust_other_hash", "trust_signature", "trust_key_unknown",
        "trust_unbound", "trust_key_revoked"} <= codes, codes)
    launched = [r["fields"]["package"] for r in found
                if r["event"] == "launch"]
    check("nothing of the forged package was launched",
          "py-agent" not in launched, launched)


def main():
    example()
    done = agentnode(home, "install", "word-count", "--yes", timeout=200)
    if not check("install SLUG", done.code == 0, done):
        harness.finish()
    installed()
    shop = Shop()
    done = agentnode(home, "install", "py-agent@1.0.0", timeout=200)
    check("install SLUG@VERSION", done.code == 0
          and entry_of("py-agent")["trust_level"] == "trusted", done)
    refused_indexes(shop)
    refused_packages(shop)
    shop.registry.write()
    done = agentnode(home, "install", "word-count", "--yes", timeout=200)
    check("and the right one installs", done.code == 0
          and entry_of("word-count")["version"] == "2.0.0", done)
    done = words()
    check("it runs", done.code == 0 and json.loads(done.out)
          == {"words": 3}, done)
    with_dependencies(shop)
    forged_entries()
    keys_taken(shop)
    for slug in ("word-count", "py-agent", "table-tools"):
        done = agentnode(home, "remove", slug, timeout=120)
        check(f"remove {slug}", done.code == 0, done)
    with open(os.path.join(home, ".agentnode", "attested.json"),
              encoding="utf-8") as file:
        kept = json.load(file)["attested"]
    check("what is removed keeps no tier", not any(
        row["slug"] == "py-agent" for row in kept.values()), kept)
    harness.finish()


main()
