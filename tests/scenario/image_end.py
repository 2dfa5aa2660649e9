#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox build that is ended while mmdebstrap works: a signal is given on to
it and nothing stays; what a killed one leaves in /var/tmp is named and removed
by sandbox gc; where the archive cannot be kept is refused before anything is
fetched."""
import os
import signal
import subprocess
import time

import harness
import registry_config
import schema_check
from harness import check

harness.need("podman", "mmdebstrap", "curl", "npm")
home = harness.folder()
IMAGE = os.path.join(home, ".agentnode", "image")
NOTE = os.path.join(IMAGE, "scratch")


def agentnode(*argv, timeout=60):
    return harness.agentnode(home, *argv, timeout=timeout)


def started():
    """A build whose mmdebstrap has begun, and the folder it has."""
    build = subprocess.Popen(
        [harness.AGENTNODE, "sandbox", "build", "--force"],
        env=harness.environment(home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    path, limit = "", time.monotonic() + 60
    while time.monotonic() < limit and build.poll() is None:
        try:
            with open(NOTE, encoding="ascii") as note:
                path = note.read()
            if any(os.path.isdir(os.path.join(path, name, "etc"))
                   for name in os.listdir(path)):
                break
        except OSError:
            pass
        time.sleep(0.05)
    check("mmdebstrap works in a folder of ours", build.poll() is None and
          path.startswith("/var/tmp/agentnode-image-") and
          os.stat(path).st_mode & 0o7777 == 0o711, path)
    return build, path


def told(number):
    build, path = started()
    begun = time.monotonic()
    build.send_signal(number)
    _, err = build.communicate(timeout=30)
    text = err.decode("utf-8", "replace")
    check("%s: it ends and says why" % number.name, build.returncode == 4
          and "a signal came" in text and time.monotonic() - begun < 15, text)
    check("%s: nothing stays" % number.name, not os.path.exists(path)
          and not os.path.exists(NOTE)
          and not os.path.exists(os.path.join(IMAGE, "debian.tar")), path)


def unread():
    """Nobody reads its progress any more, and then a signal comes."""
    build, path = started()
    build.stderr.close()
    build.stdout.close()
    build.terminate()
    build.wait(timeout=30)
    check("nobody reads: nothing stays", not os.path.exists(path)
          and not os.path.exists(NOTE), path)


def killed():
    build, path = started()
    answer = agentnode("sandbox", "gc", "--json")
    check("gc leaves a build alone that lives", answer.code == 0 and
          path not in answer.out and os.path.exists(path), answer)
    build.kill()
    build.communicate(timeout=30)
    check("what is killed leaves it", os.path.exists(path), path)
    limit = time.monotonic() + 15
    while True:  # its own children end a little later
        answer = agentnode("sandbox", "gc", "--json")
        if answer.code == 0 or time.monotonic() > limit:
            break
    fault = schema_check.check_text(answer.out, harness.SOURCE, "sandbox-gc")
    check("schema of gc", not fault, fault)
    check("gc names and removes it",
          {"kind": "image build", "name": path} in answer.json()["removed"]
          and not os.path.exists(path) and not os.path.exists(NOTE), answer)


def output():
    for name, path in (("a missing folder", "/nonexistent/image.tar"),
                       ("a file that is there", __file__)):
        result = agentnode("sandbox", "build", "--force", "--output", path)
        check("--output in %s" % name, result.code == 2 and path in result.err
              and "npm" not in result.err, result)


url, _, _, bundle = registry_config.settings()
agentnode("config", "set", "build.npm_registry", url)
agentnode("config", "set", "build.ca_bundle", bundle)
output()
told(signal.SIGTERM)
told(signal.SIGINT)
told(signal.SIGQUIT)
unread()
killed()
harness.finish()
