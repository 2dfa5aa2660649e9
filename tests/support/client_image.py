"""A second image for the tests of clients inside a sandbox: Debian with
curl, openssl, python and Debian's own Node 18. Made once with mmdebstrap and
kept in the engine's store; a hash of the recipe is its tag."""
import hashlib
import json
import os
import subprocess

import harness

PACKAGES = ["python3", "curl", "openssl", "nodejs", "ca-certificates"]
RECIPE = "2:" + ",".join(PACKAGES)
NAME = "localhost/agentnode-test-clients"


def _listed(tag):
    out = subprocess.run(["podman", "images", "--format=json"], check=True,
                         capture_output=True, text=True).stdout
    for one in json.loads(out or "[]"):
        if f"{NAME}:{tag}" in (one.get("Names") or []):
            return f"{NAME}@{one['Digest']}"
    return None


def image():
    """Reference by digest; made when it is not there."""
    harness.need("podman", "mmdebstrap")
    tag = hashlib.sha256(RECIPE.encode()).hexdigest()[:12]
    found = _listed(tag)
    if found:
        return found
    tar = os.path.join(harness.folder(), "clients.tar")
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase",
         "--include=" + ",".join(PACKAGES),
         "--customize-hook=rm -f $1/etc/resolv.conf",
         "--customize-hook=: > $1/etc/resolv.conf",
         "bookworm", tar], check=True, timeout=900,
        stdin=subprocess.DEVNULL)
    subprocess.run(["podman", "import", "--quiet", tar, f"{NAME}:{tag}"],
                   check=True, timeout=600, stdout=subprocess.DEVNULL)
    os.unlink(tar)
    return _listed(tag)
