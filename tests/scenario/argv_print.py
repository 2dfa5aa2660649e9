#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode argv`: what would be run for a server, a tool pack and an
image passes audit-argv, has the flags of a real run, works when a person
runs it, leaves nothing behind, and says why when nothing would be run."""
import json
import os
import shlex

import engine_case
import harness
import mcp_setup
import pack_runs
import schema_check
from harness import check

harness.need("podman", "unshare", "bash")
SERVER = """
import os, sys
for line in sys.stdin:
    print(line.strip()[::-1], os.getuid() > 0, os.path.exists("/etc/shadow")
          and os.access("/etc/shadow", os.R_OK), os.getcwd(), flush=True)
"""
TOOL = "def hello(name='x'):\n    return 'hello ' + name\n"

case = pack_runs.PackCase()
IMAGE = engine_case.image()


def argv(*words, **more):
    return case.run("argv", *words, timeout=120, **more)


def audited(name, *words):
    """Printed as JSON and as a line: the same words, and clean."""
    result = argv("--json", *words)
    if not check(f"{name}: printed", result.code == 0, result):
        return []
    fault = schema_check.check_text(result.out, harness.SOURCE, "argv")
    check(f"{name}: JSON by its schema", not fault, fault)
    listed = result.json()
    line = argv(*words)
    # A run of its own has a user id of its own; bash reads the quotes back.
    back = harness.run("bash", "-c", "printf '%s\\0' " + line.out.rstrip("\n"))
    words_back = back.out.split("\0")[:-1]
    check(f"{name}: one line, the same words", line.code == 0
          and line.out.count("\n") == 1 and len(words_back) == len(listed)
          and [w for w, v in zip(words_back, listed) if w != v and not
               any(k in w for k in ("--user=", "--passwd-entry=", "uid="))]
          == [], (words_back, listed))
    audit = case.run("audit-argv", "--json", "--", *listed)
    check(f"{name}: audits clean", audit.code == 0
          and audit.json()["ok"], audit)
    return listed


def ran(words):
    """Run printed words, where this host's runtime can start a container."""
    quoted = " ".join(shlex.quote(w) for w in words)
    hide = ("while umount /sys/fs/cgroup/unified 2>/dev/null; do :; done; "
            if os.path.ismount("/sys/fs/cgroup/unified") else "")
    return harness.run("unshare", "-m", "bash", "-c", hide + "exec " + quoted,
                       timeout=90, stdin="abc\n")


def image():
    for engine in ("podman", "docker"):
        audited(f"image, {engine}", "--engine", engine, "--image", IMAGE)
    words = audited("image with words", "--image", IMAGE, "--", "sh", "-c",
                    "id -u; echo it\\'s $HOME; touch /x 2>&1; "
                    "ls /sys/class/net")
    result = ran(words)
    lines = result.out.splitlines()
    check("the printed line runs: own user, own home, no write, only lo",
          result.code == 0 and int(lines[0]) > 65536
          and lines[1] == "it's /sandbox-home" and "ead-only" in lines[2]
          and lines[3:] == ["lo"], result)


def packages():
    folder = mcp_setup.package({"server.py": SERVER}, "plain")
    mcp_setup.install(case.home, folder, "--entry", "server.py", "--allow",
                      "api.example.com")
    case.put("hello-pack", {"hello.py": TOOL}, [
        {"name": "hello", "entrypoint": "hello:hello",
         "capability_id": "hello", "description": "says hello"}])
    for slug in ("plain", "hello-pack"):
        for engine in ("podman", "docker"):
            words = audited(f"{slug}, {engine}", "--engine", engine, slug)
            check(f"{slug}, {engine}: its sealed volume, read-only", [
                w for w in words if w.startswith("--volume=agentnode-")
                and ":/pack:ro" in w], words)
    words = argv("--json", "plain", "--", "one more").json()
    check("a server's words are at the end", words[-1] == "one more"
          and words[-2] == "/pack/server.py", words)
    check("an allowed name has its loopback address", [
        w for w in words if w.startswith("--add-host=api.example.com:127.")],
        words)
    result = ran(argv("--json", "plain").json())
    check("the printed server answers, as nobody, in its home",
          result.out == "cba True False /sandbox-home\n", result)
    result = argv("hello-pack", "--", "x")
    check("a pack takes no words: exit 2", result.code == 2, result)


def refused():
    for words, code in ((["nowhere"], None), (["--image", "python:3"], 2),
                        (["--image", "python@sha256:12"], 2), ([], 2),
                        (["--engine", "lxc", "plain"], 2), (["A B"], 2),
                        (["plain", "x"], 2), (["--", "plain"], 2)):
        result = argv(*words)
        check(f"argv {' '.join(words)}: no line, one sentence",
              result.out == "" and result.err.count("\n") == 1
              and (result.code == code if code else result.code != 0), result)
    case.change("plain", volume_content_hash="sha256:" + "0" * 64)
    result = argv("plain")
    check("what would be refused is not printed",
          result.out == "" and result.code in (3, 6), result)


def nothing_left():
    runs = "/run/agentnode/runs" if os.getuid() == 0 else os.path.join(
        os.environ.get("XDG_RUNTIME_DIR", "/"), "agentnode", "runs")
    before = set(os.listdir(runs))
    for _ in range(5):
        argv("--image", IMAGE)
    check("no run file is left", not set(os.listdir(runs)) - before or not [
        n for n in set(os.listdir(runs)) - before
        if not engine_case.wait(10, lambda n=n: not os.path.exists(
            os.path.join(runs, n)))], set(os.listdir(runs)) - before)
    check("no container is left", not case.left())


image()
packages()
nothing_left()
refused()
case.close()
harness.finish()
