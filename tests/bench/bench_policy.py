#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is judged before a start without an engine, as whole processes in
turns: agentnode doing nothing (--version), every boundary decision there is
(explain --matrix), and a lockfile of ENTRIES entries read and each of its
hashes verified (lock verify). What one of them adds is its median less that
of doing nothing. ROUNDS turns."""
import json
import os
import statistics
import time

import harness

ROUNDS = int(os.environ.get("ROUNDS", "31"))
ENTRIES = int(os.environ.get("ENTRIES", "100"))


def lockfile(path):
    packages = {}
    for number in range(ENTRIES):
        packages[f"pack-{number:03}"] = {
            "version": "1.0.0", "package_type": "toolpack",
            "runtime": "python", "trust_level": "unverified",
            "artifact_hash": "sha256:" + f"{number:064x}",
            "permissions": {"network_level": "none"},
            "tools": [{"name": "tool", "entrypoint": "tools.one:run"}],
            "sandboxed": True, "build_mode": "sandbox_volume",
            "sandbox_volume": f"agentnode-pack-pack-{number:03}-1.0.0-0",
            "volume_content_hash": "sha256:" + f"{number:064x}"}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"lockfile_version": "0.1", "packages": packages}, file)


def main():
    home = harness.folder()
    path = os.path.join(home, "agentnode.lock")
    lockfile(path)
    sealed = harness.agentnode(home, "lock", "seal", "--force", "--lockfile",
                               path)
    if sealed.code != 0:
        raise RuntimeError(str(sealed))
    sides = {"nothing": ("--version",), "boundary": ("explain", "--matrix"),
             "lock": ("lock", "verify", "--lockfile", path)}
    times = {name: [] for name in sides}
    for turn in range(ROUNDS + 1):
        for name, words in sides.items():
            begin = time.monotonic()
            done = harness.agentnode(home, *words)
            took = (time.monotonic() - begin) * 1000
            if done.code != 0:
                raise RuntimeError(str(done))
            if turn > 0:  # the first warms up
                times[name].append(took)
    median = {name: statistics.median(row) for name, row in times.items()}
    print(json.dumps({
        "rounds": ROUNDS, "entries": ENTRIES,
        "nothing_ms": round(median["nothing"], 2),
        "boundary_added_ms": round(median["boundary"] - median["nothing"], 2),
        "lock_added_ms": round(median["lock"] - median["nothing"], 2)}))


if __name__ == "__main__":
    main()
