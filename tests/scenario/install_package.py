#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp install from npm, PyPI and a folder: what is right is sealed with
every dependency recorded, what is wrong is refused with its code, and then
neither lockfile nor volume is left."""
import json
import os
import subprocess

import harness
import package_registry
import schema_check
from engine_case import image
from harness import check
from internet import DNSServer
from test_ca import TestCA

harness.need("podman", "openssl")
home = harness.folder()
ca = TestCA(harness.folder())
dns = DNSServer({package_registry.NAME: ["127.0.0.21"],
                 "elsewhere.example.test": ["127.0.0.22"]})
registry = package_registry.Registry(ca.leaf(package_registry.NAME))
LOCK = os.path.join(home, "agentnode.lock")
IMAGE = image()


def configure(**more):
    package_registry.configure(home, registry, dns.address, ca.root, IMAGE,
                               **more)


def install(*argv, timeout=120):
    result = harness.agentnode(home, "mcp", "install", "--lockfile", LOCK,
                               "--json", *argv, timeout=timeout)
    if result.out:
        fault = schema_check.check_text(result.out, harness.SOURCE,
                                        "mcp-install")
        check("schema of " + " ".join(argv[:1]), not fault, fault)
    check("nothing unescaped of " + " ".join(argv[:1]), not [
        c for c in result.err if c != "\n" and not c.isprintable()],
        result.err[-300:])
    return result


def packages():
    if not os.path.exists(LOCK):
        return {}
    with open(LOCK, encoding="utf-8") as file:
        return json.load(file)["packages"]


def volumes():
    out = subprocess.run(
        ["podman", "volume", "ls", "--format={{.Name}}"], check=True,
        capture_output=True, text=True).stdout
    return set(out.split())


def left(new, argv):
    """New volumes that an installation of these words would have made."""
    words = [part for word in argv for part in
             word.replace("@", ":").replace("=", ":").split(":") if part]
    return [v for v in new if any(word in v for word in words
                                  if len(word) > 5)]


def good(name, *argv, code=0):
    result = install(*argv)
    if not check(name, result.code == code and result.out, result):
        return {}
    return result.json()["entry"]


def bad(name, want, exit_code, *argv, word=None, timeout=120):
    before, had = packages(), volumes()
    result = install(*argv, timeout=timeout)
    try:
        code = result.json()["code"] if result.out else "usage"
    except ValueError:
        code = "no json"
    check(name, result.code == exit_code and code == want, (code, result))
    check(name + ": one sentence",
          len([line for line in result.err.splitlines()
               if line.startswith("agentnode: ")]) == 1, result.err[-300:])
    if word:
        check(name + ": says " + word, word in result.err, result.err[-300:])
    check(name + ": nothing left",
          packages() == before and not left(volumes() - had, argv),
          volumes() - had)


def npm():
    entry = good("npm", "npm:good-server@1.0.0", "--allow",
                 "api.example.com", "--tool", "echo", "--state", "4m",
                 "--", "--flag")
    made.add(entry.get("mcp_sandbox_volume"))
    check("npm command", entry.get("mcp_preinstall_command") == [
        "node", "/pack/node_modules/good-server/server.js"], entry)
    check("npm dependencies", [(d["name"], d["version"], d["integrity"][:7])
          for d in entry.get("dependencies", [])] == [
        ("dep-a", "1.2.3", "sha512-"), ("good-server", "1.0.0", "sha512-")],
        entry.get("dependencies"))
    check("npm fields", entry.get("trust_level") == "unverified" and
          entry.get("mcp_allowed_domains") == ["api.example.com:443"] and
          entry.get("tools") == ["echo"] and
          entry.get("state") == {"size": 4 << 20} and
          entry.get("mcp_command") == ["server.js", "--flag"], entry)
    check("npm lockfile", packages().get("good-server", {}).get(
        "artifact_hash") == entry.get("artifact_hash"))
    check("lock verify", harness.agentnode(
        home, "lock", "verify", "--lockfile", LOCK).code == 0)
    out = subprocess.run(
        ["node", entry["volume_host_path"] +
         "/node_modules/good-server/server.js", "a"],
        capture_output=True, text=True, check=False) \
        if entry else None
    check("npm runs", out and out.stdout == "hello from dep a\n", out)
    again = good("npm again", "npm:good-server@1.0.0")
    check("same hash", again.get("artifact_hash") ==
          entry.get("artifact_hash"))
    scoped = good("scoped", "npm:@scope/tools@2.0.0-rc.1")
    made.add(scoped.get("mcp_sandbox_volume"))
    check("scoped slug", "tools" in packages(), list(packages()))
    two = good("two bins", "npm:two-bins@1.0.0")
    made.add(two.get("mcp_sandbox_volume"))
    check("two bins choice", two.get("mcp_preinstall_command", [""])[-1]
          .endswith("/b.js"), two.get("mcp_preinstall_command"))


def npm_scripts():
    entry = good("hook is off", "npm:hooked@1.0.0")
    made.add(entry.get("mcp_sandbox_volume"))
    path = entry.get("volume_host_path", "/nonexistent")
    check("hook did not run", os.path.exists(
        path + "/node_modules/hooked/a.js") and not os.path.exists(
        path + "/node_modules/hooked/ran"))
    entry = good("hook is on", "npm:hooked@1.0.0", "--allow-scripts",
                 "--name", "hooked-two")
    made.add(entry.get("mcp_sandbox_volume"))
    check("hook ran", os.path.exists(entry.get(
        "volume_host_path", "") + "/node_modules/hooked/ran"))
    bad("hook that shouts", "build_failed", 1, "npm:shouts@1.0.0",
        "--allow-scripts", word="npm: npm error")
    bad("hook cannot reach others", "build_failed", 1,
        "npm:phone-home@1.0.0", "--allow-scripts")
    check("others not asked for", not dns.asked("elsewhere.example.test"),
          dns.queries)


def npm_bad():
    bad("missing", "build_failed", 1, "npm:missing@1.0.0", word="404")
    bad("missing, its last words", "build_failed", 1, "npm:missing@1.0.0",
        word="npm: npm error 404")
    bad("missing version", "build_failed", 1, "npm:good-server@9.9.9")
    bad("integrity", "build_failed", 1, "npm:bad-integrity@1.0.0",
        word="integrity")
    bad("weak integrity", "package_invalid", 3, "npm:weak-integrity@1.0.0",
        word="weak-integrity")
    bad("no bin", "package_invalid", 3, "npm:no-bin@1.0.0", word="no command")
    bad("lost bin", "package_invalid", 3, "npm:lost-bin@1.0.0",
        word="missing.js")
    bad("leaving bin", "package_invalid", 3, "npm:leaving-bin@1.0.0")
    bad("noise", "build_failed", 1, "npm:noise@1.0.0")
    configure(size="32m")
    bad("full build", "build_full", 3, "npm:huge@1.0.0", word="build.size")
    configure(timeout_s=8)
    bad("stalls", "build_timeout", 4, "npm:stalls@1.0.0", timeout=60)
    configure(npm_registry="https://unknown.example.test/")
    bad("no such host", "build_failed", 1, "npm:good-server@1.0.0")
    configure()


def pypi():
    entry = good("pypi", "pypi:Plain_MCP==1.0.0")
    made.add(entry.get("mcp_sandbox_volume"))
    check("pypi command", entry.get("mcp_preinstall_command") == [
        "python", "/pack/bin/plain-mcp"], entry)
    check("pypi dependencies", [
        (d["name"], d["integrity"][:7]) for d in entry.get(
            "dependencies", [])] == [("plain-mcp", "sha256:")], entry)
    path = entry.get("volume_host_path", "")
    out = subprocess.run(["python3", path + "/bin/plain-mcp"],
                         env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin",
                              "PYTHONDONTWRITEBYTECODE": "1"},
                         capture_output=True, text=True, check=False)
    check("pypi runs", out.stdout == "hello from python\n", out)
    bad("wheel hash", "build_failed", 1, "pypi:bad-wheel==1.0.0")
    bad("no command", "package_invalid", 3, "pypi:no-command==1.0.0")
    bad("source only", "build_failed", 1, "pypi:source-only==1.0.0")


def folders():
    folder = harness.folder()
    os.chmod(folder, 0o755)
    with open(os.path.join(folder, "server.py"), "w",
              encoding="ascii") as file:
        file.write("print('local')\n")
    os.chmod(os.path.join(folder, "server.py"), 0o644)
    entry = good("folder", folder, "--name", "local-one")
    made.add(entry.get("mcp_sandbox_volume"))
    check("folder command", entry.get("mcp_preinstall_command") == [
        "python", "/pack/server.py"], entry)
    check("folder pin", entry.get("mcp_install", {}).get("manager") ==
          "local", entry.get("mcp_install"))
    os.symlink("/etc/passwd", os.path.join(folder, "out"))
    bad("folder link", "tree_unsafe", 3, folder, "--name", "local-two",
        word="out")
    os.unlink(os.path.join(folder, "out"))
    os.mkfifo(os.path.join(folder, "pipe"))
    bad("folder fifo", "tree_unsafe", 3, folder, "--name", "local-two")
    os.unlink(os.path.join(folder, "pipe"))
    os.rename(os.path.join(folder, "server.py"),
              os.path.join(folder, "other.py"))
    bad("folder without command", "package_invalid", 3, folder, "--name",
        "local-two", word="--entry")
    entry = good("folder entry", folder, "--name", "local-two", "--entry",
                 "other.py")
    made.add(entry.get("mcp_sandbox_volume"))
    bad("no folder", "usage", 2, folder + "/missing")


def refusals():
    for text in ("npm:good-server", "npm:good-server@latest",
                 "npm:good-server@^1.0.0", "npm:good-server@1.x",
                 "npm:good-server@*", "pypi:plain-mcp",
                 "pypi:plain-mcp>=1.0", "git+https://example.com/x.git",
                 "https://example.com/x.tgz", "good-server@1.0.0",
                 "npm:git@github.com:a/b", "file:/tmp/x"):
        bad("pin " + text, "usage", 2, text, word="use npm:"
            if not text.startswith("pypi") else "use pypi:")
    for entry in ("localhost", "10.0.0.1", "*.com", "https://example.com",
                  "a b.example.com", "single", "tcp://10.0.0.0/24:22"):
        bad("allow " + entry, "usage", 2, "npm:good-server@1.0.0", "--allow",
            entry, word=entry)
    with open(LOCK, encoding="utf-8") as file:
        text = file.read()
    with open(LOCK, "w", encoding="utf-8") as file:
        file.write(text[:-20])
    result = install("npm:good-server@1.0.0")
    check("broken lockfile", result.code == 5, result)
    with open(LOCK, encoding="utf-8") as file:
        check("broken lockfile untouched", file.read() == text[:-20])
    with open(LOCK, "w", encoding="utf-8") as file:
        file.write(text)


def left_behind():
    """A volume that a killed installation left half filled is replaced."""
    entry = packages()["good-server"]
    path = entry["volume_host_path"] + "/node_modules/good-server/server.js"
    with open(path, "a", encoding="ascii") as file:
        file.write("// changed\n")
    again = good("changed volume", "npm:good-server@1.0.0")
    with open(path, encoding="ascii") as file:
        check("changed volume replaced", "changed" not in file.read())
    check("replaced hash", again.get("artifact_hash") ==
          entry["artifact_hash"])


def remove():
    entry = packages()["tools"]
    result = harness.agentnode(home, "remove", "tools", "--lockfile", LOCK,
                               "--json")
    check("remove", result.code == 0 and "tools" not in packages() and
          entry["mcp_sandbox_volume"] not in volumes(), result)
    fault = schema_check.check_text(result.out, harness.SOURCE, "remove")
    check("schema of remove", not fault, fault)
    result = harness.agentnode(home, "remove", "tools", "--lockfile", LOCK)
    check("remove what is not there", result.code == 1, result)
    entry = packages()["two-bins"]
    result = harness.agentnode(home, "remove", "two-bins", "--keep-volume",
                               "--lockfile", LOCK)
    check("remove and keep", result.code == 0 and
          "two-bins" not in packages() and
          entry["mcp_sandbox_volume"] in volumes(), result)
    twin = good("twin", "npm:good-server@1.0.0", "--name", "good-twin")
    made.add(twin.get("mcp_sandbox_volume"))
    result = harness.agentnode(home, "remove", "good-twin", "--lockfile",
                               LOCK)
    check("remove a twin", result.code == 0 and
          packages()["good-server"]["mcp_sandbox_volume"] in volumes(),
          result)
    check("lockfile after removals", harness.agentnode(
        home, "lock", "verify", "--lockfile", LOCK).code == 0)


def audit():
    result = harness.agentnode(home, "audit", "verify")
    check("audit chain", result.code == 0, result)
    result = harness.agentnode(home, "audit", "show", "--json")
    check("audit has installs", '"install"' in result.out and
          '"uninstall"' in result.out, result)
    result = harness.agentnode(home, "audit", "show", "--json", "--last",
                               "500")
    first = [one["fields"] for one in json.loads(result.out)["records"]
             if one["event"] == "install"][0]
    check("what was agreed to is in the record",
          first.get("state") == {"size": 4 << 20} and
          first.get("tools") == ["echo"] and "files" not in first, first)


made = set()
configure()
try:
    npm()
    npm_scripts()
    npm_bad()
    pypi()
    folders()
    refusals()
    left_behind()
    remove()
    audit()
finally:
    for volume in made - {None}:
        subprocess.run(["podman", "volume", "rm", "-f", volume],
                       stdout=subprocess.DEVNULL, check=False)
harness.finish()
