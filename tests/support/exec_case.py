# SPDX-License-Identifier: Apache-2.0
"""`agentnode exec` in a home of its own: one call, its result held to the
schema; what may be left of it on this machine."""
import glob
import json
import os

import engine_case
import harness
import schema_check
from harness import check


class ExecCase:
    def __init__(self):
        self.home = harness.folder("agentnode-home-")
        self.place = harness.folder("agentnode-cwd-")
        self.image = engine_case.image()
        done = harness.agentnode(
            self.home, "config", "set", "sandbox.image", self.image)
        check("an image is set", done.code == 0, done)

    def path(self, name, content=b""):
        """A file in the current directory of the calls."""
        path = os.path.join(self.place, name)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str)
                       else content)
        return path

    def call(self, *command, options=(), timeout=60, **env):
        """The whole of it: exit code, output, error."""
        return harness.agentnode(
            self.home, "exec", *options, "--", *command, timeout=timeout,
            cwd=self.place, **env)

    def run(self, *command, options=(), timeout=60, **env):
        """The result as a dictionary, with "rc" beside; {} without one."""
        done = self.call(
            *command, options=("--json", *options), timeout=timeout, **env)
        try:
            result = json.loads(done.out)
        except ValueError:
            check("a result is one JSON object", False, done)
            return {"rc": done.code, "err": done.err}
        fault = schema_check.check_text(done.out, harness.SOURCE, "exec")
        if fault:
            check("the result fits its schema", False, fault)
        result["rc"], result["seconds"] = done.code, done.seconds
        return result

    def shell(self, script, *words, options=(), **more):
        return self.run("sh", "-c", script, "sh", *words, options=options,
                        **more)

    def files(self, result):
        return {one["name"]: one for one in result.get("files", ())}

    def left(self):
        """What is still there of commands of this home."""
        found = []
        state = os.path.join(self.home, ".agentnode")
        for path in glob.glob("/proc/[0-9]*/environ"):
            if state in engine_case.text(path):
                found.append(engine_case.text(
                    os.path.dirname(path) + "/cmdline").replace("\0", " "))
        for name in glob.glob(os.path.join(state, "exec", "*")):
            if os.path.isdir(name):
                found.append(name)
        return found

    def containers(self):
        """Containers of its runs that the engine knows."""
        path = os.path.join(self.home, ".agentnode", "ledger", "audit.jsonl")
        mine = [one.get("fields", one).get("run")
                for one in harness.json_lines(path)
                if one.get("event") == "launch"]
        names = engine_case.podman("ps", "--all",
                                   "--format={{.Names}}").stdout.split()
        return [name for name in names
                if any(run and name.endswith(run) for run in mine)]
