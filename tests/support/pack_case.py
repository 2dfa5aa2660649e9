# SPDX-License-Identifier: Apache-2.0
"""The tool packs of tests/packs as folders that can be installed: those in
Python get their wheels, made from Debian's libraries, and a list of
requirements with what these wheels really are."""
import os
import secrets
import shutil

import engine_case
import harness
import mcp_setup
import wheel_maker

PACKS = os.path.join(harness.SOURCE, "tests", "packs")
NODE = ["csv-tools", "html-tools", "markdown-tools", "version-tools",
        "yaml-tools"]
# A volume is named after its content: of every scenario its own, so that
# several may install and remove the same pack at once.
TOKEN = secrets.token_hex(8)
PYTHON = {"table-tools": ["tabulate"], "date-tools": ["python-dateutil",
                                                      "six"]}


def folder(name, change=None):
    """A copy that everybody may read; change(manifest text) -> text."""
    path = os.path.join(harness.folder(), name)
    shutil.copytree(os.path.join(PACKS, name), path)
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o755)
    write(path, "tests.txt", TOKEN + "\n")
    if change is not None:
        manifest = os.path.join(path, "agentnode.yaml")
        with open(manifest, encoding="utf-8") as file:
            text = file.read()
        changed = change(text)
        if changed == text:
            raise SystemExit(f"the change of {name} changes nothing")
        with open(manifest, "w", encoding="utf-8") as file:
            file.write(changed)
    return path


def write(path, inner, text):
    """One file of a package."""
    target = os.path.join(path, inner)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(target, 0o644)
    return path


def wheels(path, names, hashes=True, inside=True):
    """Wheels and requirements.txt of a Python pack: the wheels in the
    package, or (inside False) in a folder of their own that is returned."""
    place = os.path.join(path, "wheels") if inside else os.path.join(
        harness.folder(), "wheels")
    os.makedirs(place)
    os.chmod(os.path.dirname(place), 0o755)
    os.chmod(place, 0o755)
    lines = []
    for name in names:
        _, version, sum_ = wheel_maker.make(name, place)
        lines.append(f"{name}=={version}"
                     + (f" \\\n    --hash=sha256:{sum_}" if hashes else ""))
    write(path, "requirements.txt", "\n".join(lines) + "\n")
    return path if inside else place


def ready(name, change=None):
    """A pack of tests/packs that `agentnode install` takes as it is."""
    path = folder(name, change)
    return wheels(path, PYTHON[name]) if name in PYTHON else path


def home():
    """An AGENTNODE_HOME's parent with image and npm registry."""
    return mcp_setup.home(registry=True)


def install(place, path, *words, timeout=240):
    return harness.agentnode(place, "install", path, "--yes", *words,
                             timeout=timeout)


def forget(place):
    """Remove the volumes that were installed from this home."""
    try:
        packages = mcp_setup.lock(place)["packages"]
    except OSError:
        return
    for entry in packages.values():
        engine_case.podman("volume", "rm", "-f", entry["sandbox_volume"])
