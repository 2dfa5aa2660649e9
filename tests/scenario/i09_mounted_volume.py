#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i09_what_runs_is_sealed: the directory whose hash was checked is the one
that the container sees. The engine covers the directory of a volume that has
mount options only when a container starts."""
import json
import os

import engine_case
import harness
from harness import check

VOLUME = f"agentnode-test-mounted-{os.getpid()}"
HOME, OTHER = harness.folder(), harness.folder()
ZERO = "sha256:" + "0" * 64


def run(digest):
    return engine_case.run("/bin/cat", "/pack/word", home=HOME,
                           options=["--mount", f"{VOLUME}:/pack:{digest}"])


def fill(path, word):
    with open(os.path.join(path, "word"), "w", encoding="utf-8") as file:
        file.write(word + "\n")
    os.chmod(os.path.join(path, "word"), 0o644)


def sealed():
    """The hash of what is in the store, out of the refusal that names it."""
    _, outcome = run(ZERO)
    return outcome["detail"].split("has hash ")[1].split(",")[0]


fill(OTHER, "other")
os.chmod(OTHER, 0o755)
engine_case.podman("volume", "create", VOLUME)
try:
    place = json.loads(engine_case.podman(
        "volume", "inspect", VOLUME).stdout)[0]["Mountpoint"]
    fill(place, "good")
    digest = sealed()
    out, outcome = run(digest)
    check("the sealed volume runs", out == "good\n" and outcome["started"],
          (out, outcome))
    engine_case.podman("volume", "rm", "--force", VOLUME)

    made = engine_case.podman("volume", "create", "--opt=type=none",
                              "--opt=o=bind", f"--opt=device={OTHER}", VOLUME)
    check("without us: a volume with options is made", made.returncode == 0,
          made.stderr)
    fill(place, "good")
    out, outcome = run(digest)
    check("a volume that covers its directory is refused",
          not outcome["started"] and outcome["code"] == "integrity_volume",
          (out, outcome))
    check("and nothing of it is seen", "other" not in out, out)
finally:
    engine_case.podman("volume", "rm", "--force", VOLUME)
harness.finish()
