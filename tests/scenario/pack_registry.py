#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dependencies of tool packs and agents from a registry of the tests' own:
by hash from a Python index, by integrity from npm, source packages and
install scripts only when they are allowed, nothing of the package itself in
the build sandbox, no other host reached; and the agents run with them."""
import base64
import hashlib
import json
import os

import engine_case
import harness
import mcp_setup
import pack_case
import package_registry
import schema_check
import wheel_maker
from harness import check
from internet import DNSServer
from test_ca import TestCA

harness.need("podman", "openssl")
home = harness.folder()
ca = TestCA(harness.folder())
dns = DNSServer({package_registry.NAME: ["127.0.0.21"],
                 "elsewhere.example.test": ["127.0.0.22"]})
registry = package_registry.Registry(ca.leaf(package_registry.NAME))
package_registry.configure(home, registry, dns.address, ca.root,
                           engine_case.image())
config = os.path.join(home, ".agentnode", "config.json")
with open(config, encoding="ascii") as file:
    settings = json.load(file)
settings["agent_sandbox"] = {"enabled": True}
with open(config, "w", encoding="ascii") as file:
    json.dump(settings, file)

SUMS = {}
for name in ("tabulate", "python-dateutil", "six"):
    place = harness.folder()
    path, version, sum_ = wheel_maker.make(name, place)
    with open(path, "rb") as file:
        registry.add_pypi(name, os.path.basename(path), file.read())
    SUMS[name] = (version, sum_)

MANIFEST = """manifest_version: "0.3"
package_id: {slug}
package_type: {kind}
name: A package of the tests
summary: A package that is made by the tests alone
publisher: agentnode-tests
version: 1.0.0
runtime: {runtime}
"""
TOOLS = """capabilities:
  tools:
    - {{name: go, entrypoint: "{entry}", action_type: compute}}
"""
AGENT = """agent:
  entrypoint: {entry}
  goal: use a dependency
"""


def package(slug, runtime, entry, files, kind="toolpack"):
    path = harness.folder()
    os.chmod(path, 0o755)
    pack_case.write(path, "agentnode.yaml", MANIFEST.format(
        slug=slug, kind=kind, runtime=runtime)
        + (TOOLS if kind == "toolpack" else AGENT).format(entry=entry))
    for inner, text in files.items():
        pack_case.write(path, inner, text)
    return path


def lines(*names, **other):
    return "".join(f"{n}=={SUMS[n][0]} --hash=sha256:{other.get(n, SUMS[n][1])}\n"
                   for n in names)


def npm(*names, change=lambda entries: None):
    """package.json and package-lock.json for packages of the registry."""
    entries, wants = {}, {}
    for name in names:
        version, manifest = list(registry.npm[name]["versions"].items())[0]
        wants[name] = version
        entries["node_modules/" + name] = {
            "version": version, "integrity": manifest["dist"]["integrity"],
            **({"hasInstallScript": True}
               if "scripts" in manifest else {}),
            **({"bin": {name: manifest["bin"]}} if "bin" in manifest else {})}
    change(entries)
    top = {"name": "x", "version": "1.0.0", "dependencies": wants}
    return {"package.json": json.dumps({**top, "private": True}),
            "package-lock.json": json.dumps({
                "name": "x", "version": "1.0.0", "lockfileVersion": 3,
                "requires": True, "packages": {"": top, **entries}})}


def install(path, *words, code=0, name=""):
    result = harness.agentnode(home, "install", path, "--yes", "--json",
                               *words, timeout=240)
    check(f"{name}: exit code {code}", result.code == code, result)
    answer = result.json() if result.out else {}
    fault = schema_check.check_text(result.out, harness.SOURCE, "install")
    check(f"{name}: schema", not fault, fault)
    return answer, result


def packages():
    return mcp_setup.lock(home)["packages"]


# ---- Python, from an index -----------------------------------------------------
answer, _ = install(package("py-index", "python", "go:go", {
    "go.py": "import dateutil\ndef go():\n    return 1\n",
    "requirements.txt": lines("python-dateutil", "six")}), name="by hash")
entry = answer.get("entry", {})
check("both are recorded by the hash they have", {
    d["name"]: d["integrity"] for d in entry.get("dependencies", [])} == {
    n: "sha256:" + SUMS[n][1] for n in ("python-dateutil", "six")}, entry)
check("they are in the volume", os.path.exists(os.path.join(
    entry.get("volume_host_path", ""), "dateutil", "parser")), entry)
check("pip's own report is not", not os.path.exists(os.path.join(
    entry.get("volume_host_path", ""), ".agentnode-report.json")))
audit = harness.agentnode(home, "audit", "show", "--json").json()["records"]
launches = [r["fields"] for r in audit if r["event"] == "launch"]
check("the build reaches the registry alone", launches and launches[0][
    "egress"] == ["%s:%d" % (package_registry.NAME, registry.port)], launches)
answer, result = install(package("py-wrong", "python", "go:go", {
    "go.py": "", "requirements.txt": lines("six", six="0" * 64)}),
    code=1, name="another hash")
check("another hash: build_failed", answer.get("code") == "build_failed",
      answer)
answer, result = install(package("py-short", "python", "go:go", {
    "go.py": "", "requirements.txt": lines("python-dateutil")}),
    code=1, name="one that is not listed")
check("one that is not listed: named", "six" in result.err, result)
digest = hashlib.sha256(registry.files[
    "/files/source-only-1.0.0.tar.gz"]).hexdigest()
answer, result = install(package("py-source", "python", "go:go", {
    "go.py": "", "requirements.txt":
    f"source-only==1.0.0 --hash=sha256:{digest}\n"}),
    code=1, name="a source package")
check("a source package is not built", answer.get("code") == "build_failed"
      and "No matching distribution" in answer.get("detail", ""), answer)

# ---- npm ---------------------------------------------------------------------------
answer, _ = install(package("js-index", "node", "go.mjs:go", {
    "go.mjs": "import a from 'dep-a'; export const go = () => a.word;",
    **npm("dep-a", "hooked")}), name="by integrity")
entry = answer.get("entry", {})
place = entry.get("volume_host_path", "")
check("npm's are recorded", [d["name"] for d in entry.get(
    "dependencies", [])] == ["dep-a", "hooked"], entry)
check("no script ran", os.path.exists(place + "/node_modules/hooked/a.js")
      and not os.path.exists(place + "/node_modules/hooked/ran"))
answer, _ = install(package("js-hooked", "node", "go.mjs:go", {
    "go.mjs": "", **npm("hooked")}), "--allow-scripts", name="with scripts")
check("a script ran where it was allowed", os.path.exists(
    answer.get("entry", {}).get("volume_host_path", "")
    + "/node_modules/hooked/ran"), answer)
audit = harness.agentnode(home, "audit", "show", "--json").json()["records"]
check("and the record says so", any(
    r["event"] == "install" and r["fields"]["package"] == "js-hooked"
    and r["fields"]["scripts"] is True for r in audit))
install(package("js-phone", "node", "go.mjs:go", {
    "go.mjs": "", **npm("phone-home")}), "--allow-scripts", code=1,
    name="a script that phones")
check("nobody else was asked for",
      not dns.asked("elsewhere.example.test"), dns.queries)


def forged(entries):
    entries["node_modules/dep-a"]["integrity"] = "sha512-" + \
        base64.b64encode(hashlib.sha512(b"other").digest()).decode()


answer, _ = install(package("js-wrong", "node", "go.mjs:go", {
    "go.mjs": "", **npm("dep-a", change=forged)}), code=1,
    name="another integrity")
check("another integrity: build_failed",
      answer.get("code") == "build_failed", answer)
files = npm("dep-a")
files["package.json"] = files["package.json"].replace("1.2.3", "9.9.9")
answer, _ = install(package("js-apart", "node", "go.mjs:go", {
    "go.mjs": "", **files}), code=1, name="list and lock that differ")
# What npm reads is the two files and nothing else of the package.
answer, _ = install(package("js-config", "node", "go.mjs:go", {
    "go.mjs": "", ".npmrc": "registry=https://elsewhere.example.test/\n",
    **npm("dep-a")}), name="a .npmrc of the package")
check("a .npmrc of the package changes nothing",
      not dns.asked("elsewhere.example.test"), dns.queries)

# ---- agents ----------------------------------------------------------------------------
answer, _ = install(package("agent-py", "python", "go:go", {
    "go.py": "import tabulate\ndef go(ctx):\n"
             "    return tabulate.tabulate([[1, 2]], tablefmt='plain')\n",
    "requirements.txt": lines("tabulate")}, kind="agent"),
    name="an agent in Python")
check("an agent's dependencies are recorded", [d["name"] for d in answer.get(
    "entry", {}).get("dependencies", [])] == ["tabulate"], answer)
result = harness.agentnode(home, "agent", "run", "agent-py", timeout=90)
check("it runs with what it needs", result.code == 0
      and json.loads(result.out).get("value") == "1  2", result)
answer, _ = install(package("agent-js", "node", "go.mjs:go", {
    "go.mjs": "import a from 'dep-a'; export const go = () => a.word;",
    **npm("dep-a")}, kind="agent"), name="an agent in JavaScript")
result = harness.agentnode(home, "agent", "run", "agent-js", timeout=90)
check("it runs too", result.code == 0
      and json.loads(result.out).get("value") == "from dep", result)
answer, _ = install(package("agent-bad", "python", "go:go", {
    "go.py": "", "requirements.txt": "tabulate\n"}, kind="agent"), code=5,
    name="an agent with a list that is not pinned")
check("its line is named", "requirements.txt:1" in answer.get("detail", ""),
      answer)

pack_case.forget(home)
harness.finish()
