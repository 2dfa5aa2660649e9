#!/usr/bin/env python3
"""From inside one sandbox: real clients reach the allowed host by the proxy
and directly by name, everything else is refused with its code, and for a
name that is not allowed nobody is asked."""
import json
import os
import sys

import client_image
import drive
import engine_case
import harness
import tree_bytes
from harness import check

# tests/attack plays the vectors from inside and has more names.
LOOKED_UP = {"api"}


def configure(home, net):
    """The host's configuration: the test internet's resolver and ranges."""
    folder = os.path.join(home, ".agentnode")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w",
              encoding="utf-8") as file:
        json.dump({"egress": {
            "resolver": net.dns.address,
            "deny": drive.DENY,
            "hello_timeout_ms": 1500,
            "extra_ranges": {k: [v] for k, v in drive.RANGES.items()}}},
            file)
    os.chmod(file.name, 0o600)


def play(home, files, image, *command):
    """Run a command in a sandbox with the test's files in /t."""
    stream = os.path.join(harness.folder(), "t.tree")
    with open(stream, "wb") as file:
        file.write(tree_bytes.pack(files))
    options = ["--tmpfs", "/t:33554432", "--import", f"/t:{stream}",
               "--wall", "150"]
    for entry in drive.ALLOW:
        options += ["--allow", entry]
    case = engine_case.Case(*command, options=options, home=home,
                            image_name=image, stdin=0)
    output, outcome = case.finish(200)
    check("the sandbox ran " + os.path.basename(command[1]),
          outcome.get("started") and outcome.get("exit_code") == 0
          and outcome.get("removed"), f"{outcome} {output[-500:]}")
    try:
        return json.loads(output), case
    except ValueError:
        print(case.log()[-3000:])
        return None, case


def source(name):
    with open(os.path.join(harness.SOURCE, "tests", "support", name),
              "rb") as file:
        return file.read()


def clients(home, net, image, *programs):
    with open(net.ca.root, "rb") as file:
        root = file.read()
    got, _case = play(
        home, {"inside_clients.py": source("inside_clients.py"),
               "root.pem": root}, image,
        "python3", "/t/inside_clients.py", "api.example.test",
        "other.example.net", "/t/root.pem", *programs)
    for name, text in (got or {"allowed": {}})["allowed"].items():
        check("reaches the allowed host: " + name, text == "ok", text)
    for name, text in (got or {"other": {}})["other"].items():
        check("does not reach another: " + name, text != "ok", text)
    check("three ways each", got and len(got["allowed"])
          == 3 + sum(3 if "node" in p else 2 for p in programs), got)


def main():
    harness.need("podman", "openssl", "mmdebstrap")
    net = drive.TestInternet()
    home = harness.folder()
    configure(home, net)
    clients(home, net, engine_case.image(), "node")
    clients(home, net, client_image.image(), "node18", "curl", "openssl")
    asked = {q[0] for q in net.dns.queries}
    extra = [q for q in asked if q.split(".")[0] not in LOOKED_UP]
    check("b026_no_lookup_of_denied_names", not extra, extra)
    harness.finish()


if __name__ == "__main__":
    sys.exit(main())
