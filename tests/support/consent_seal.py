# SPDX-License-Identifier: Apache-2.0
"""Lockfiles as somebody else writes them: with every seal, which needs no key,
in a folder of their own."""
import hashlib
import json
import os

import harness

MUTABLE = {"installed_at", "last_trust_check", "trust_level", "source",
           "install_path", "install_mode", "capability_ids", "build_mode",
           "pinnable", "effective_host_trust_policy_at_install", "_integrity"}


def digest(value):
    return hashlib.sha256(json.dumps(
        value, sort_keys=True, separators=(",", ":"),
        ensure_ascii=False).encode()).hexdigest()


def sealed(lock):
    """Seals as anybody can compute them: they have no key."""
    for entry in lock["packages"].values():
        entry["_integrity"] = {
            "algorithm": "sha256", "canonical_version": 4, "hash": digest(
                {k: v for k, v in entry.items() if k not in MUTABLE})}
    lock["structure_digest"] = {
        "algorithm": "sha256", "canonicalization_version": 1, "hash": digest({
            "kind": "agentnode.lock.structure",
            "lockfile_version": lock["lockfile_version"],
            "canonicalization_version": 1,
            "entries": [[slug, lock["packages"][slug]["_integrity"]]
                        for slug in sorted(lock["packages"])]})}
    return lock


def clone(lock):
    """A repository that somebody else wrote."""
    path = harness.folder()
    with open(os.path.join(path, "agentnode.lock"), "w",
              encoding="utf-8") as file:
        json.dump(lock, file)
    return path
