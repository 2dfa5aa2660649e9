#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode validate`: the tool packs of tests/packs are valid; a package
with many faults is told all of them with their paths; what cannot be read
is exit code 2; folders and archives get the same answer; nothing is
installed and no engine is asked."""
import os
import tarfile

import harness
import pack_case
import schema_check
from harness import check

home = harness.folder()


def validate(path, code, *words):
    result = harness.agentnode(home, "validate", path, "--json", *words)
    name = os.path.basename(path)
    check(f"{name}: exit code {code}", result.code == code, result)
    if not result.out:
        return {}
    fault = schema_check.check_text(result.out, harness.SOURCE, "validate")
    check(f"{name}: schema", not fault, fault)
    return result.json()


def paths(answer, key="faults"):
    return {one["path"] for one in answer.get(key, [])}


for name in pack_case.NODE:
    answer = validate(pack_case.folder(name), 0)
    check(f"{name} is valid", answer.get("ok") is True
          and answer["faults"] == [] and answer["package"] == name, answer)
for name in pack_case.PYTHON:
    answer = validate(pack_case.ready(name), 0)
    check(f"{name} is valid", answer.get("ok") is True, answer)
result = harness.agentnode(home, "validate", pack_case.folder("csv-tools"))
check("in words", result.code == 0 and "csv-tools 0.3.0 is valid"
      in result.out, result)
agent = os.path.join(harness.SOURCE, "tests", "agents", "py")
check("an agent too", harness.agentnode(home, "validate", agent).code == 0)

# ---- all faults at once -----------------------------------------------------------
WRONG = """manifest_version: "0.9"
package_id: Wrong Name
package_type: toolpack
name: W
summary: short
publisher: tester
version: latest
runtime: python
surprise: true
permissions:
  network: {level: internal, allowed_domains: ["*.example.com", "10.0.0.1"]}
  filesystem: {level: read_only}
env_requirements:
  - {name: "A-B"}
dependencies: ["tabulate>=1"]
capabilities:
  tools:
    - {name: one, entrypoint: "gone.module:run", input_schema: {type: array}}
    - {name: one, entrypoint: "../up:run"}
    - {name: "no good"}
  resources:
    - {name: r, uri: "file:///etc", content_path: "missing.txt"}
"""
wrong = harness.folder()
os.chmod(wrong, 0o755)
pack_case.write(wrong, "agentnode.yaml", WRONG)
pack_case.write(wrong, "requirements.txt", "six\nidna==3.1\n-e .\n")
pack_case.write(wrong, ".env", "KEY=1\n")
answer = validate(wrong, 1)
WANT = {
    "manifest.manifest_version", "manifest.package_id", "manifest.name",
    "manifest.summary", "manifest.version", "manifest.surprise",
    "manifest.permissions.network.level",
    "manifest.permissions.network.allowed_domains",
    "manifest.permissions.network.allowed_domains[0]",
    "manifest.permissions.network.allowed_domains[1]",
    "manifest.permissions.filesystem.level",
    "manifest.env_requirements[0].name", "manifest.dependencies[0]",
    "manifest.capabilities.tools[0].entrypoint",
    "manifest.capabilities.tools[0].input_schema.type",
    "manifest.capabilities.tools[1].name",
    "manifest.capabilities.tools[1].entrypoint",
    "manifest.capabilities.tools[2].name",
    "manifest.capabilities.tools[2].entrypoint",
    "manifest.capabilities.resources[0].uri",
    "manifest.capabilities.resources[0].content_path",
    "requirements.txt:1", "requirements.txt:2", "requirements.txt:3"}
check("every fault has its path", paths(answer) == WANT,
      paths(answer) ^ WANT)
check("none is told twice", len(answer["faults"])
      == len({(f["path"], f["message"]) for f in answer["faults"]}), answer)
check("a secret in the tree is a warning", ".env" in
      paths(answer, "warnings"), answer["warnings"])
check("a tool without action_type is a warning",
      "manifest.capabilities.tools[0]" in paths(answer, "warnings"), answer)

# ---- archives -------------------------------------------------------------------------
archive = os.path.join(harness.folder(), "package.tar.gz")
with tarfile.open(archive, "w:gz") as tar:
    tar.add(wrong, arcname="wrong-1.0")
check("an archive gets the same answer", paths(validate(archive, 1)) == WANT)
with tarfile.open(archive, "w:gz") as tar:
    tar.add(pack_case.folder("csv-tools"), arcname=".")
    info = tarfile.TarInfo("../out")
    tar.addfile(info)
answer = validate(archive, 1)
check("an unsafe archive is a fault", paths(answer) == {"tree_unsafe"},
      answer)

# ---- what is no package ------------------------------------------------------------------
empty = harness.folder()
os.chmod(empty, 0o755)
check("a folder without a manifest", paths(validate(empty, 1))
      == {"agentnode.yaml"})
for text, part in (("a: [", "line"), ("a: 1\na: 2\n", "already"),
                   ("- 1\n", "mapping"), ("", "")):
    pack_case.write(empty, "agentnode.yaml", text)
    answer = validate(empty, 1)
    check(f"{text!r} is a fault", part in str(answer.get("faults")), answer)
validate(os.path.join(empty, "nothing"), 2)
validate("/dev/null", 2)
check("no word is a wrong call",
      harness.agentnode(home, "validate").code == 2)
check("nothing was installed", not os.path.exists(
    os.path.join(home, ".agentnode", "agentnode.lock")))
harness.finish()
