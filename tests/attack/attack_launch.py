# SPDX-License-Identifier: Apache-2.0
"""Attacks on what decides about a sandbox before it starts: configuration,
command lines, lockfile, image, volumes, missing parts, stored keys. Those of
tests/scenario/launch_bypasses.py are run from there."""
import json
import os
import re
import subprocess

import drive
import engine_case
import harness
import launch_bypasses
import mcp_setup
import vectors

GOOD = "api.example.test:443"
KEY = "sk-proj-attack-Zq7vTr4mQk9wLx2cNb8dKf5hJ3gH1aS6"
# The name of a check in launch_bypasses: the item it is counted for beside
# its own.
BESIDE = {"agentnode-egress-proxy": 3}


def number(name):
    found = re.match(r"b(\d+)", name)
    return int(found.group(1)) if found else None


class Borrowed:
    """The checks of launch_bypasses, as attacks and controls."""

    def __init__(self, tally):
        self.tally, self.code = tally, ""

    def check(self, name, ok, detail=""):
        outcome = detail[-1] if isinstance(detail, tuple) else detail
        code = outcome.get("code", "") if isinstance(outcome, dict) else ""
        self.tally.attack(number(name), name, not ok, code, seen=detail)
        for words, item in BESIDE.items():
            if words in name:
                self.tally.attack(item, name, not ok, code, seen=detail)
        return ok

    def control(self, name, ok, detail=""):
        items = [number(name)] + (list(BESIDE.values())
                                  if "the copy works" in name else [])
        self.tally.control(items, name, ok, detail)
        return ok

    def run(self):
        launch_bypasses.check = self.check
        launch_bypasses.control = self.control
        for part in launch_bypasses.PARTS:
            item = number(part.__name__)
            if not self.tally.wants(item, *BESIDE.values()):
                continue
            try:
                part()
            except Exception as error:  # what broke off has no verdict
                self.tally.control(item, part.__name__, False, repr(error))
        for item in (102, 105):
            self.tally.control(item, "a sandbox without any of it", good())


def good():
    _, outcome = launch_bypasses.run("/bin/true")
    return outcome.get("exit_code") == 0


def check(home, target, *options):
    done = harness.agentnode(home, "egress", "check", *options, "--json",
                             "--", target)
    return done, (json.loads(done.out) if done.code in (0, 3) else {})


def written(home, allow):
    """The configuration as an attacker's editor would leave it."""
    folder = os.path.join(home, ".agentnode")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"egress": {"allow": allow}}, file)
    os.chmod(path, 0o600)


def lists(tally, home):
    """2, 8: what a list may hold, and what an odd one means."""
    for name, value in (("an empty list", []), ("null", None),
                        ("a word", "all"), ("true", True), ("a star", ["*"]),
                        ("an empty text", [""]), ("an object", {"a": 1}),
                        ("a nested list", [[GOOD]])):
        written(home, value)
        done, said = check(home, GOOD)
        tally.attack(2, name, said.get("allowed"), said.get("code"),
                     seen=done)
    written(home, [GOOD])
    done, said = check(home, GOOD)
    tally.control(2, "a list with the host", said.get("allowed"), done)
    written(home, [])
    for entry in ("*", "*.com", "*.co.uk", "*.github.io", "*.amazonaws.com",
                  "*.", "*.*", "a.*.example", "tcp://0.0.0.0/0:443",
                  "http://*"):
        done, said = check(home, "evil.example.com:443", "--allow", entry)
        stored = harness.agentnode(home, "config", "set", "egress.allow",
                                   entry)
        tally.attack(8, entry, done.code in (0, 3) or stored.code == 0,
                     seen=(done, stored))
    done, said = check(home, "a.example.com:443", "--allow",
                       "*.example.com")
    tally.control(8, "a wildcard below a registrable name",
                  said.get("allowed"), done)


def warned(tally, home):
    """28, 120: nothing refuses these entries, so somebody has to say it."""
    for item, word, entries in (
            (28, "resolver", ("dns.google", "mozilla.cloudflare-dns.com",
                              "*.quad9.net", "any.example.com:853")),
            (120, "tenants", ("sentry.io", "*.ingest.sentry.io",
                              "bucket.s3.amazonaws.com"))):
        for entry in entries:
            stored = harness.agentnode(home, "config", "set",
                                       "egress.allow", entry)
            done, _ = check(home, GOOD, "--allow", entry)
            tally.attack(item, f"{entry} without a word",
                         word not in stored.err or word not in done.err,
                         seen=(stored, done))
    stored = harness.agentnode(home, "config", "set", "egress.allow",
                               "api.example.com")
    tally.control((28, 120), "an ordinary host needs no word",
                  stored.code == 0 and not stored.err, stored)


def shown(tally, home):
    """4: the command says what the proxy does (whose codes are attacked)."""
    options = [word for entry in drive.ALLOW for word in ("--allow", entry)]
    options += [word for entry in drive.DENY for word in ("--deny", entry)]
    rows = [row for row in vectors.NAMES if b"\0" not in row[1]
            and row[2] not in ("address_not_allowed", "lookup_failed")]
    for name, target, wanted in rows:
        done, said = check(home, os.fsdecode(target), *options)
        tally.attack(4, name, said.get("allowed"), said.get("code"), wanted,
                     done)
    for target in (GOOD, "API.EXAMPLE.TEST.:443", "a.wild.example:443"):
        done, said = check(home, target, *options)
        tally.control(4, target, said.get("allowed"), done)


def widened(tally):
    """5: hosts that nobody consented to."""
    home = mcp_setup.home()
    folder = launch_bypasses.package("wide-server")
    done = harness.agentnode(home, "mcp", "install", folder, "--entry",
                             "server.py", "--name", "wide", timeout=100)
    ran = harness.agentnode(home, "mcp", "run", "wide")
    tally.control(5, "as it was installed, it is started",
                  done.code == 0 and ran.code != 125, (done, ran))
    path = os.path.join(home, ".agentnode", "agentnode.lock")
    with open(path, encoding="utf-8") as file:
        good = json.load(file)
    for name, change in (
            ("mcp_allowed_domains", {"mcp_allowed_domains": ["evil.example"]}),
            ("permissions", {"permissions": {
                "network_level": "unrestricted",
                "allowed_domains": ["evil.example"]}}),
            ("an unknown list", {"allowed_hosts": ["evil.example"]})):
        lock = json.loads(json.dumps(good))
        lock["packages"]["wide"].update(change)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(lock, file)
        ran = harness.agentnode(home, "mcp", "run", "wide")
        code = re.search(r"\((\w+)\)|(integrity_\w+|bad_lockfile|\w+_refused"
                         r"|consent\w*)", ran.err)
        tally.attack(5, f"{name} in the lockfile", ran.code != 125,
                     code.group(0) if code else "", seen=ran)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(good, file)
    mcp_setup.forget(home)


def paths(tally):
    """93: programs with the names of ours and of the engine's, first."""
    home, evil = mcp_setup.home(), harness.folder("attack-path-")
    os.chmod(evil, 0o777)
    mark = os.path.join(evil, "mark")
    for name in ("podman", "crun", "runc", "conmon", "docker", "newuidmap",
                 "agentnode-init", "agentnode-egress-proxy", "sh", "python3",
                 "git", "agentnode-ledger", "secret-tool", "mount", "nft"):
        path = os.path.join(evil, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/bash\necho $0 >>{mark}\nenv >>{mark}\n")
        os.chmod(path, 0o755)
    harness.run("podman", "version", env={"PATH": evil})
    tally.control(93, "who looks in PATH runs them", os.path.exists(mark))
    if os.path.exists(mark):
        os.unlink(mark)
    for words in (("exec", "--", "/bin/true"),
                  ("exec", "--boundary", "native", "--", "/bin/true"),
                  ("sandbox", "doctor", "--quick"), ("mcp", "list")):
        done = harness.agentnode(
            home, *words, PATH=f"{evil}:{os.environ['PATH']}",
            OPENAI_API_KEY=KEY)
        tally.attack(93, " ".join(words), os.path.exists(mark)
                     or KEY in done.out + done.err, seen=(
                         engine_case.text(mark), done))
    done = harness.agentnode(home, "exec", "--", "/bin/true")
    tally.control(93, "the same with an honest PATH", done.code == 0, done)


def stored(tally):
    """94, 116: keys go in, and do not come out."""
    home = harness.folder("attack-keys-")

    def put(key):
        ends = [os.pipe() for _ in range(2)]
        for (_, writer), text in zip(ends, (key, "a long passphrase 7")):
            os.write(writer, text.encode())
            os.close(writer)
        readers = [reader for reader, _ in ends]
        done = subprocess.run(
            [harness.AGENTNODE, "auth", "set", "openai", "--from-fd",
             str(readers[0]), "--backend", "file", "--passphrase-fd",
             str(readers[1])], env=harness.environment(home),
            pass_fds=readers, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60)
        for reader in readers:
            os.close(reader)
        return done

    for name, key in (("empty", ""), ("one byte", "x"),
                      ("15 bytes", "k" * 15), ("a line end", "a" * 20 + "\nb"),
                      ("a space", "sk-proj aaaaaaaaaaaaaaa")):
        done = put(key)
        tally.attack(116, f"a key that is {name}", done.returncode == 0,
                     seen=done)
    done = put(KEY)
    tally.control((94, 116), "a key is stored", done.returncode == 0, done)
    seen = done.stdout + done.stderr
    for words in (("auth", "list"), ("auth", "list", "--json"),
                  ("config", "list"), ("secret", "list"),
                  ("sandbox", "doctor", "--quick"), ("audit", "show"),
                  ("llm", "usage")):
        done = harness.agentnode(home, *words)
        seen += done.out + done.err
        tally.attack(94, " ".join(words), KEY in seen or KEY[8:30] in seen,
                     seen=done)
    loose, plain = [], []
    for root, folders, files in os.walk(os.path.join(home, ".agentnode")):
        for name in ["", *files]:
            path = os.path.join(root, name)
            if os.stat(path).st_mode & 0o077:
                loose.append(path)
            if name and KEY in engine_case.text(path):
                plain.append(path)
        del folders
    tally.attack(94, "files that others may read", loose, seen=loose)
    tally.attack(94, "a file with the key as it is", plain, seen=plain)


def run(tally):
    home = harness.folder("attack-launch-")
    for items, part in (((2, 8), lambda: lists(tally, home)),
                        ((28, 120), lambda: warned(tally, home)),
                        ((4,), lambda: shown(tally, home)),
                        ((5,), lambda: widened(tally)),
                        ((93,), lambda: paths(tally)),
                        ((94, 116), lambda: stored(tally))):
        if tally.wants(*items):
            part()
    Borrowed(tally).run()
