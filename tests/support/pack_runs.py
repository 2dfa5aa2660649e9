# SPDX-License-Identifier: Apache-2.0
"""Runs of tool packs for scenarios: a folder of files is installed as a
pack, its lockfile entry can be written over by hand and sealed anew, as a
team's own tool would, and its tools are run."""
import json
import os
import secrets

import engine_case
import harness
import mcp_setup
from harness import check

MANIFEST = """manifest_version: "0.3"
package_id: {slug}
package_type: toolpack
name: A pack of files
summary: Files that become a tool pack of a scenario
publisher: agentnode-tests
version: 1.0.0
runtime: {runtime}
capabilities:
  tools: {tools}
"""


# A volume is named after its content: of every scenario its own.
TOKEN = secrets.token_hex(8)


class PackCase:
    def __init__(self, extra=None):
        self.home = mcp_setup.home(extra)
        self.path = os.path.join(self.home, ".agentnode", "agentnode.lock")

    def run(self, *argv, timeout=60, stdin=None, **env):
        return harness.agentnode(self.home, *argv, timeout=timeout,
                                 stdin=stdin, **env)

    def put(self, slug, files, tools, runtime="python"):
        """Install files as a pack; tools: objects of the manifest."""
        folder = mcp_setup.package({
            **files, "tests.txt": TOKEN + "\n", "agentnode.yaml": MANIFEST.format(
                slug=slug, runtime=runtime, tools=json.dumps(tools))}, slug)
        result = self.run("install", folder, "--yes", "--json", timeout=300)
        if not check(f"{slug} is installed", result.code == 0, result):
            self.close()
            harness.finish()

    def change(self, slug, **fields):
        """Write fields of an entry (None: absent), and seal the file."""
        lock = mcp_setup.lock(self.home)
        entry = lock["packages"][slug]
        for name, value in fields.items():
            if value is None:
                entry.pop(name, None)
            else:
                entry[name] = value
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(lock, file)
        result = self.run("lock", "seal", "--force")
        return check(f"{slug} is sealed", result.code == 0, result)

    def tool(self, name, given=None, *words, timeout=90, **env):
        """`agentnode run NAME`; given: the arguments."""
        more = [] if given is None else ["--json-input", "-"]
        return self.run("run", name, *more, *words, timeout=timeout,
                        stdin=None if given is None else json.dumps(given),
                        **env)

    def report(self, name, given=None, *words, **more):
        """The report of a run, and the command's result."""
        result = self.tool(name, given, "--json", *words, **more)
        try:
            return json.loads(result.out), result
        except ValueError:
            return {}, result

    def audit(self, event):
        path = os.path.join(self.home, ".agentnode", "ledger", "audit.jsonl")
        return [e.get("fields", e) for e in harness.json_lines(path)
                if e.get("event") == event]

    def left(self):
        """Containers of any run that this home began."""
        listed = engine_case.podman(
            "ps", "-a", "--no-trunc", "--format", "{{.Names}}").stdout
        return [line for line in listed.splitlines()
                if any(e["run"] in line for e in self.audit("launch"))]

    def close(self):
        try:
            packages = mcp_setup.lock(self.home)["packages"]
        except OSError:
            packages = {}
        for entry in packages.values():
            engine_case.podman("volume", "rm", "-f",
                               entry.get("sandbox_volume")
                               or entry["mcp_sandbox_volume"])
