#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `agentnode install` says and asks: consent to the secrets that a tool
pack names, as `consent add` asks for it, and the lists of dependencies that
are there and not read, of tool packs and of agents."""
import json
import os
import shutil

import harness
import mcp_setup
import pack_runs
from harness import check
from terminal_child import Terminal

CODE = "def tell(name='X'):\n    import os\n    return os.environ.get(name)\n"
SECRETS = "env_requirements: [{{name: SOME_TOKEN}}, {{name: OTHER}}]\n" \
    "permissions: {{network: {{level: restricted, " \
    "allowed_domains: [api.example.com]}}}}\n"
case = pack_runs.PackCase({"agent_sandbox": {"enabled": True}})


def folder(version="1.0.0", **files):
    text = (pack_runs.MANIFEST + SECRETS).format(
        slug="keeper", runtime="python", tools=json.dumps([{
            "name": "tell", "entrypoint": "lib:tell",
            "action_type": "read"}]))
    return mcp_setup.package({
        "lib.py": CODE, "salt.txt": pack_runs.TOKEN,
        "agentnode.yaml": text.replace("version: 1.0.0",
                                       "version: " + version), **files})


def consents():
    return case.run("consent", "list", "--json").json()["secrets"]


def typed(path, *answers):
    """Install it from a terminal: exit code and what was shown."""
    end = Terminal([harness.AGENTNODE, "install", path],
                   harness.environment(case.home))
    for question, word in answers:
        check(f"it asks: {question}", end.expect(question.encode(), 60),
              end.shown)
        end.type(word.encode() + b"\n")
    code = end.process.wait(120)
    end.look(0.2)
    return code, end.shown.decode(errors="replace")


def asked():
    path = folder()
    code, shown = typed(path, ("Install it?", "y"), ("Give it these", "n"))
    check("no to the secrets: it is installed", code == 0
          and "keeper" in mcp_setup.lock(case.home)["packages"]
          and "agentnode consent add keeper" in shown, (code, shown))
    check("and names and hosts were shown", "SOME_TOKEN" in shown
          and "api.example.com" in shown, shown)
    check("without a consent", consents() == [])
    result = case.tool("keeper", {"name": "SOME_TOKEN"}, SOME_TOKEN="a" * 20,
                       OTHER="b")
    check("so it does not run", result.code == 125
          and "credentials_consent_missing" in result.err, result)
    code, shown = typed(path, ("Install it?", "y"), ("Give it these", "y"))
    rows = consents()
    check("yes to them", code == 0 and len(rows) == 1
          and rows[0]["names"] == ["OTHER", "SOME_TOKEN"]
          and rows[0]["domains"] == ["api.example.com"]
          and rows[0]["state"] == "good"
          and rows[0]["expires"] - rows[0]["granted"] == 90 * 86400,
          (code, shown, rows))
    record = case.audit("consent")[-1]
    check("which is in the chain", record["kind"] == "secrets"
          and record["package"] == "keeper", record)
    report, result = case.report("keeper", {"name": "SOME_TOKEN"},
                                 SOME_TOKEN="a" * 20, OTHER="b")
    check("and it runs", report.get("result") == "a" * 20, result)
    code, shown = typed(path, ("Install it?", "y"))
    check("the very same package is not asked about again", code == 0
          and "Give it these" not in shown and len(consents()) == 1, shown)
    result = case.run("install", folder("1.0.1"), "--yes", timeout=120)
    rows = consents()
    check("another version is, and --yes is a yes", result.code == 0
          and len(rows) == 2 and rows[-1]["version"] == "1.0.1"
          and "SOME_TOKEN" in result.err, (result, rows))
    result = case.run("install", folder("1.0.2"), stdin="", timeout=60)
    check("nobody to ask: nothing", result.code == 3
          and "consent_needed" in result.err and len(consents()) == 2, result)


def unread():
    path = folder("1.0.3", **{
        "pyproject.toml": "[project]\ndependencies = ['requests']\n",
        "setup.py": "raise SystemExit(1)\n"})
    result = case.run("install", path, "--yes", timeout=120)
    check("a tool pack's other lists are named", result.code == 0 and all(
        f"{name} is not read" in result.err
        for name in ("pyproject.toml", "setup.py")), result)
    answer = case.run("validate", path, "--json").json()
    check("validate names them", {"pyproject.toml", "setup.py"} <= {
        w["path"] for w in answer["warnings"]}, answer)
    agent = os.path.join(harness.folder(), "packs")
    shutil.copytree(os.path.join(harness.SOURCE, "tests", "agents", "packs"),
                    agent)
    with open(os.path.join(agent, "Pipfile"), "w", encoding="ascii") as file:
        file.write("[packages]\nrequests = '*'\n")
    result = case.run("install", agent, timeout=120)
    check("an agent's too", result.code == 0
          and "Pipfile is not read" in result.err
          and "requirements.txt" in result.err, result)


try:
    asked()
    unread()
finally:
    case.close()
harness.finish()
