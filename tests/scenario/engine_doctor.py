#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""status, doctor and gc say what is there, with exit codes and JSON that
their schemas hold; a missing layer is named together with its fix."""
import atexit
import os

import engine_case
import harness
import schema_check
from harness import check

HOME = harness.folder()
IMAGE = engine_case.image()


def sandbox(verb, *words, home=HOME, timeout=120):
    return harness.agentnode(home, "sandbox", verb, *words, timeout=timeout)


def holds(verb, done):
    schema = schema_check.load(harness.SOURCE, f"sandbox-{verb}")
    faults = list(schema_check.faults(done.json(), schema))
    return check(f"{verb} --json holds to its schema", not faults,
                 (faults, done))


def found(done):
    return {one["check"]: one for one in done.json()["checks"]}


# Nothing is set up.
done = sandbox("status", "--json")
check("status without an image is 1", done.code == 1
      and "sandbox build" in done.json()["detail"], done)
holds("status", done)
done = sandbox("doctor", "--json")
holds("doctor", done)
checks = found(done)
check("doctor without an image is 1 and says what to run", done.code == 1
      and checks["image"]["ok"] is False
      and "sandbox build" in checks["image"]["fix"], done)
check("the rest is still looked at", checks["landlock"]["ok"]
      and checks["engine"]["ok"] and checks["leftovers"]["ok"], done)

# A pinned image that is not here.
harness.agentnode(HOME, "config", "set", "sandbox.image",
                  "localhost/agentnode-sandbox@sha256:" + "0" * 64)
checks = found(sandbox("doctor", "--json", "--quick"))
check("a missing image is named", checks["image"]["ok"] is False
      and "not known" in checks["image"]["detail"], checks["image"])

# All is well.
harness.agentnode(HOME, "config", "set", "sandbox.image", IMAGE)
done = sandbox("doctor", "--json")
holds("doctor", done)
bad = [one for one in done.json()["checks"] if not one["ok"]]
check("doctor is 0 when all is well", done.code == 0 and not bad,
      bad or done)
check("a good check has no fix", all(one["fix"] == ""
      for one in done.json()["checks"]), done)
done = sandbox("doctor")
check("doctor prints one line per check", done.code == 0
      and len(done.out.strip().split("\n")) == len(checks), done)
done = sandbox("status", "--json")
check("status is 0", done.code == 0 and done.json()["image"] == IMAGE, done)
holds("status", done)
done = sandbox("status")
check("status is one line", done.code == 0
      and done.out.startswith("ready: podman ")
      and done.out.count("\n") == 1, done)

checks = found(sandbox("doctor", "no-such-package", "--json", "--quick"))
check("doctor looks at a package", checks["package"]["ok"] is False
      and "mcp install" in checks["package"]["fix"], checks)

# A leftover: a container with our label whose run nobody holds.
name = f"agentnode-exec-left-{os.getpid():016x}"
engine_case.podman("create", f"--name={name}", "--network=none",
                   f"--label=agentnode.run={os.getpid():016x}", IMAGE,
                   "/bin/true")
engine_case.podman("volume", "create",
                   f"--label=agentnode.tmp={os.getpid():016x}", name)
other = f"not-ours-{os.getpid()}"
for one in (name, other):
    atexit.register(engine_case.podman, "rm", "--force", one)
engine_case.podman("create", f"--name={other}", "--network=none", IMAGE,
                   "/bin/true")
checks = found(sandbox("doctor", "--json", "--quick"))
check("doctor counts leftovers", checks["leftovers"]["ok"] is False
      and "sandbox gc" in checks["leftovers"]["fix"], checks["leftovers"])
running = engine_case.Case("/bin/sleep", "60", home=HOME)
engine_case.wait(20, lambda: '"to":"running"' in running.log())
done = sandbox("gc", "--json")
holds("gc", done)
removed = {(one["kind"], one["name"]) for one in done.json()["removed"]}
check("gc removes both", done.code == 0
      and {("container", name), ("volume", name)} <= removed, done)
check("gc leaves a living run alone", running.known()
      and running.process.poll() is None, done)
check("gc leaves what is not ours",
      engine_case.podman("container", "exists", other).returncode == 0)
check("both are gone", engine_case.podman(
    "container", "exists", name).returncode == 1 and engine_case.podman(
        "volume", "exists", name).returncode == 1)
running.process.terminate()
running.process.wait()

# Wrong use.
for words in (("status", "--what"), ("doctor", "x", "y"), ("gc", "now"),
              ("selftest", "--quick")):
    done = sandbox(*words)
    check(f"sandbox {' '.join(words)} is a usage error", done.code == 2
          and "help" in done.err, done)
done = harness.agentnode(HOME, "sandbox", "gc", "--json")
check("nothing is left to collect", done.json()["left"] == [], done)
harness.finish()
