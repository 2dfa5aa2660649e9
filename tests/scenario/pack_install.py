#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode install` of tool packs: seven with real libraries of npm and of
Debian's Python are sealed with every dependency recorded; the same are
refused when the network word is unknown; hostile archives, unpinned lists
and packages nobody agreed to leave nothing behind."""
import io
import json
import os
import re
import subprocess
import tarfile

import engine_case
import harness
import mcp_setup
import pack_case
from harness import check
from terminal_child import Terminal

harness.need("podman", "npm")
home = pack_case.home()
lock = os.path.join(home, ".agentnode", "agentnode.lock")


def packages():
    return mcp_setup.lock(home)["packages"] if os.path.exists(lock) else {}


def volumes():
    out = engine_case.podman("volume", "ls", "--format={{.Name}}").stdout
    return set(out.split())


# Slugs of this run alone: others may install the same packs meanwhile.
BAD = "bad-" + pack_case.TOKEN[:8]
TAR = "tar-" + pack_case.TOKEN[:8]


def rename(path):
    """The same package under the slug of what must leave nothing."""
    place = os.path.join(path, "agentnode.yaml")
    with open(place, encoding="utf-8") as file:
        text = file.read()
    pack_case.write(path, "agentnode.yaml", re.sub(
        r"(?m)^package_id: .*$", "package_id: " + BAD, text))


def bad(name, path, code, word, *words, exit_code=(3, 5)):
    had, before = volumes(), packages()
    if os.path.isdir(path):
        rename(path)
    result = pack_case.install(home, path, *words)
    check(f"{name}: refused", result.code in exit_code
          and f"({code})" in result.err and word in result.err, result)
    new = [v for v in volumes() - had if BAD in v or TAR in v]
    check(f"{name}: nothing is left", packages() == before and not new, new)


# ---- nobody agreed ---------------------------------------------------------------
plain = pack_case.ready("table-tools")
result = harness.agentnode(home, "install", plain, stdin="", timeout=60)
check("without a terminal and --yes: refused", result.code == 3
      and "consent_needed" in result.err, result)
check("what it asks for was shown", "layout (compute)" in result.err
      and "no host" in result.err and "tabulate" in result.err, result)


def answer(word):
    """Install it from a terminal: exit code and what was shown."""
    end = Terminal([harness.AGENTNODE, "install", plain],
                   harness.environment(home))
    check("the question comes", end.expect(b"[y/N]"), end.shown)
    end.type(word)
    code = end.process.wait(120)
    end.look(0.2)
    return code, end.shown.decode(errors="replace")


code, shown = answer(b"n\n")
check("no at the terminal: refused", code == 3
      and "consent_refused" in shown, (code, shown))
check("nothing is installed", not packages(), packages())
code, shown = answer(b"y\n")
check("yes at the terminal: installed", code == 0
      and "table-tools" in packages(), (code, shown))

# ---- seven that are real -----------------------------------------------------------
WANTED = {"csv-tools": {"csv-parse"}, "html-tools": {
    "turndown", "@mixmark-io/domino"}, "markdown-tools": {"marked"},
    "version-tools": {"semver"}, "yaml-tools": {"yaml"},
    "table-tools": {"tabulate"}, "date-tools": {"python-dateutil", "six"}}
for name in pack_case.NODE + list(pack_case.PYTHON):
    result = pack_case.install(home, pack_case.ready(name))
    if not check(f"{name}: installed", result.code == 0, result):
        continue
    entry = packages()[name]
    check(f"{name}: its dependencies are recorded", {
        d["name"] for d in entry["dependencies"]} == WANTED[name] and all(
        d["integrity"].startswith(("sha512-", "sha256:"))
        for d in entry["dependencies"]), entry["dependencies"])
    check(f"{name}: its entry is sealed", entry["package_type"] == "toolpack"
          and entry["sandboxed"] is True
          and entry["trust_level"] == "unverified"
          and entry["publisher_slug"] == "agentnode-tests"
          and entry["build_mode"] == "sandbox_volume"
          and entry["permissions"]["network_level"] == "none"
          and entry["sandbox_volume"].startswith(f"agentnode-pack-{name}-")
          and entry["_integrity"]["canonical_version"] == 4
          and all(isinstance(t, dict) and t["name"] and t["entrypoint"]
                  for t in entry["tools"] if len(entry["tools"]) > 1), entry)
check("lock verify", harness.agentnode(home, "lock", "verify").code == 0)
check("verify", harness.agentnode(home, "verify").code == 0)
seven = packages()
inside = os.listdir(seven["html-tools"]["volume_host_path"])
check("npm's tree is beside the package", "node_modules" in inside
      and "html.mjs" in inside, inside)
inside = os.listdir(seven["date-tools"]["volume_host_path"])
check("pip's tree is beside the package", "dateutil" in inside
      and "six.py" in inside and "dates" in inside, inside)
done = subprocess.run(
    ["node", "-e", "import('./tools.mjs').then(m => console.log("
     "m.render({text: '# Hi'}).html.trim()))"],
    cwd=seven["markdown-tools"]["volume_host_path"], capture_output=True,
    text=True, check=False, timeout=30)
check("what is sealed works", done.stdout.strip() == "<h1>Hi</h1>", done)
records = harness.agentnode(home, "audit", "show", "--json").json()["records"]
install = [r["fields"] for r in records if r["event"] == "install"
           and r["fields"]["package"] == "csv-tools"]
check("the audit chain has it with its tools", install
      and install[0]["tools"] == ["rows", "total"], install)

# ---- the same artifact, the same hash -------------------------------------------------
again = harness.agentnode(home, "install", pack_case.ready("csv-tools"),
                          "--yes", "--json", timeout=240)
check("a folder is the same artifact every time", again.code == 0
      and again.json()["entry"]["artifact_hash"]
      == seven["csv-tools"]["artifact_hash"]
      and again.json()["entry"]["volume_content_hash"]
      == seven["csv-tools"]["volume_content_hash"], again)
archive = os.path.join(harness.folder(), "csv.tar.gz")
os.chmod(os.path.dirname(archive), 0o755)
with tarfile.open(archive, "w:gz") as tar:
    tar.add(pack_case.ready("csv-tools"), arcname="csv-tools-0.3.0")
result = pack_case.install(home, archive)
check("an archive with one folder in front", result.code == 0, result)
entry = packages()["csv-tools"]
with open(archive, "rb") as file:
    body = file.read()
check("its hash is of the archive's bytes", entry["artifact_hash"]
      == "sha256:" + __import__("hashlib").sha256(body).hexdigest(), entry)
check("and its content is that of the folder", entry["volume_content_hash"]
      == seven["csv-tools"]["volume_content_hash"], entry)

# ---- the network word -------------------------------------------------------------------
for name in pack_case.NODE + list(pack_case.PYTHON):
    for word in ("internal", "full", "limited", "~"):
        if word != "internal" and name != "yaml-tools":
            continue
        path = pack_case.folder(name, lambda text, word=word: text.replace(
            "permissions:\n  network: {level: none}\n", "").replace(
            "capabilities:", "permissions:\n  network: {level: %s}\n"
            "capabilities:" % word, 1))
        if name in pack_case.PYTHON:
            pack_case.wheels(path, pack_case.PYTHON[name])
        bad(f"{name} with network {word}", path, "manifest_invalid",
            "network.level")

# ---- dependencies that are not pinned ------------------------------------------------------
for line in ("tabulate", "tabulate>=0.8", "tabulate==0.8.9",
             "tabulate==0.8.* --hash=sha256:" + "0" * 64,
             "tabulate[wide]==0.8.9 --hash=sha256:" + "0" * 64,
             "tabulate==0.8.9 --hash=md5:" + "0" * 32,
             "tabulate==0.8.9 ; python_version > '3' --hash=sha256:"
             + "0" * 64,
             "--index-url=https://evil.example.com/",
             "-e .", "-r other.txt", "git+https://example.com/x.git",
             "tabulate @ https://example.com/t.whl"):
    path = pack_case.write(pack_case.folder("table-tools"),
                           "requirements.txt", f"# first\n{line}\n")
    bad(f"requirements.txt: {line[:40]}", path, "manifest_invalid",
        "requirements.txt:2")
wheels = pack_case.folder("table-tools")
place = pack_case.wheels(wheels, ["tabulate"], inside=False)
result = pack_case.install(home, wheels, "--wheels", place)
check("wheels of a folder, by hash", result.code == 0, result)
with open(os.path.join(wheels, "requirements.txt"), encoding="utf-8") as file:
    text = file.read()
pack_case.write(wheels, "requirements.txt",
                text[:-3] + ("00\n" if text[-3:] != "00\n" else "11\n"))
bad("a wheel with another hash", wheels, "build_failed", "HASH",
    "--wheels", place, exit_code=(1,))
path = pack_case.wheels(pack_case.folder("date-tools"), ["python-dateutil"])
bad("a dependency of a dependency that is not listed", path, "build_failed",
    "six", exit_code=(1,))
path = pack_case.ready("table-tools")
pack_case.write(path, "tabulate.py", "print('mine')\n")
bad("a file of the package that a dependency brings too", path,
    "tree_unsafe", "tabulate.py")

package = "package-lock.json"
path = pack_case.folder("csv-tools")
os.unlink(os.path.join(path, package))
bad("no package-lock.json", path, "manifest_invalid", package)
for name, change in (
        ("no integrity", lambda e: e.pop("integrity")),
        ("a weak integrity", lambda e: e.update(integrity="sha1-aaaa")),
        ("a link", lambda e: e.update(link=True)),
        ("a git source", lambda e: e.update(
            resolved="git+ssh://git@example.com/x.git")),
        ("plain HTTP", lambda e: e.update(
            resolved="http://example.com/x.tgz"))):
    path = pack_case.folder("csv-tools")
    with open(os.path.join(path, package), encoding="utf-8") as file:
        content = json.load(file)
    change(content["packages"]["node_modules/csv-parse"])
    pack_case.write(path, package, json.dumps(content))
    bad(f"package-lock.json with {name}", path, "manifest_invalid",
        "node_modules/csv-parse")
path = pack_case.folder("csv-tools")
with open(os.path.join(path, package), encoding="utf-8") as file:
    content = json.load(file)
content["packages"]["node_modules/csv-parse"]["integrity"] = \
    "sha512-" + "A" * 86 + "=="
pack_case.write(path, package, json.dumps(content))
bad("package-lock.json with another integrity", path, "build_failed",
    "npm", exit_code=(1,))

# ---- hostile archives ---------------------------------------------------------------------------
MANIFEST = open(os.path.join(pack_case.PACKS, "table-tools",
                             "agentnode.yaml"), "rb").read().replace(
    b"table-tools", TAR.encode())
CODE = b"def layout(rows):\n    return rows\n"


def hostile(*entries, top=""):
    """A tar.gz with the package and what an attacker adds."""
    path = os.path.join(harness.folder(), "package.tar.gz")
    os.chmod(os.path.dirname(path), 0o755)
    with tarfile.open(path, "w:gz") as tar:
        for name, body in ((top + "agentnode.yaml", MANIFEST),
                           (top + "table_tools.py", CODE)):
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
        for name, kind, target in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = target
            if kind == tarfile.REGTYPE:
                info.size = 1
            tar.addfile(info, io.BytesIO(b"x")
                        if kind == tarfile.REGTYPE else None)
    return path


FILE, LINK = tarfile.REGTYPE, tarfile.SYMTYPE
for name, entry in (
        ("an absolute name", ("/etc/cron.d/x", FILE, "")),
        ("a name that climbs", ("../x", FILE, "")),
        ("a name that climbs inside", ("a/../../x", FILE, "")),
        ("a link out", ("a", LINK, "/etc/passwd")),
        ("a link that climbs", ("a", LINK, "../../x")),
        ("a hard link", ("a", tarfile.LNKTYPE, "agentnode.yaml")),
        ("a device", ("a", tarfile.CHRTYPE, "")),
        ("a fifo", ("a", tarfile.FIFOTYPE, "")),
        ("a second manifest", ("agentnode.yaml", FILE, "")),
        ("a control byte", ("a\x1b[2J", FILE, ""))):
    bad(name, hostile(entry), "tree_unsafe", "", exit_code=(3,))
bad("a name that differs by case", hostile(("Agentnode.YAML", FILE, "")),
    "manifest_invalid", "upper and lower case")
bad("two folders in front", hostile(("other/x", FILE, ""), top="one/"),
    "manifest_invalid", "not in the package")
junk = pack_case.write(harness.folder(), "junk.tar.gz", "no archive")
os.chmod(os.path.dirname(junk), 0o755)
bad("no archive", os.path.join(junk, "junk.tar.gz"), "tree_malformed",
    "archive")
bomb = os.path.join(harness.folder(), "bomb.tar.gz")
os.chmod(os.path.dirname(bomb), 0o755)
with tarfile.open(bomb, "w:gz", compresslevel=1) as tar:
    info = tarfile.TarInfo("zeros")
    info.size = 1200 << 20
    with open("/dev/zero", "rb") as zeros:
        tar.addfile(info, zeros)
bad("a bomb", bomb, "tree_too_big", "")
check("a good one for comparison", pack_case.install(
    home, hostile()).code == 0)

# ---- the end -------------------------------------------------------------------------------------
result = harness.agentnode(home, "remove", TAR)
check("remove", result.code == 0 and TAR not in packages(), result)
pack_case.forget(home)
harness.finish()
