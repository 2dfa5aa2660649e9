# SPDX-License-Identifier: Apache-2.0
"""A home whose sandboxes an OCI runtime starts without an engine."""
import glob
import os

import engine_case
import harness
from harness import check


class OciHome:
    def __init__(self, runtime="auto", image=None):
        self.home = harness.folder("agentnode-home-")
        self.env = harness.environment(self.home)
        self.image = image or engine_case.image()
        for key, value in (("image", self.image), ("engine", "oci"),
                           ("runtime", runtime)):
            done = self.agentnode("config", "set", f"sandbox.{key}", value)
            if done.code != 0:
                check(f"sandbox.{key} is set", False, done)

    def agentnode(self, *words, timeout=120):
        return harness.run(harness.AGENTNODE, *words, env=self.env, cwd="/",
                           timeout=timeout)

    def shell(self, script, *options, timeout=120):
        """The result of a command in a container, as a dictionary."""
        done = self.agentnode("exec", "--json", *options, "--", "/bin/sh",
                              "-c", script, timeout=timeout)
        try:
            return done.json()
        except ValueError:
            check("a result is one JSON object", False, done)
            return {}

    def roots(self):
        return os.path.join(self.env["AGENTNODE_HOME"], "roots")

    def root(self):
        """The directory of the pinned image."""
        return os.path.join(self.roots(),
                            self.image.partition("@sha256:")[2])


def groups(run="*"):
    """Control groups of runs without an engine."""
    return glob.glob(f"/sys/fs/cgroup/*/native-{run}") + \
        glob.glob(f"/sys/fs/cgroup/native-{run}")
