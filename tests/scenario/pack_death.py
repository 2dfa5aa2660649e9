#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An installation of a tool pack that is killed at any instant leaves a
lockfile with the old entry or the new one, whole; a run of what the lockfile
says works; after `sandbox gc` there is no half volume and no container, and
after the next installation no file of a dead one."""
import json
import os
import random
import secrets
import signal
import subprocess
import time

import engine_case
import harness
import mcp_setup
import pack_runs
from harness import check

ROUNDS, FILES = 30, 60
SLUG = "death-" + secrets.token_hex(4)
TOOLS = [{"name": "tell", "entrypoint": "lib:tell", "action_type": "read",
          "description": "Says which one it is."}]
case = pack_runs.PackCase()


def folder(number):
    """Version 1.0.NUMBER, enough files that filling takes a moment."""
    text = pack_runs.MANIFEST.format(slug=SLUG, runtime="python",
                                     tools=json.dumps(TOOLS))
    files = {f"data/{i}.txt": secrets.token_hex(2000) for i in range(FILES)}
    return mcp_setup.package({
        **files, "lib.py": f"def tell():\n    return {number}\n",
        "agentnode.yaml": text.replace("version: 1.0.0",
                                       f"version: 1.0.{number}")}, "pack")


def entry():
    return mcp_setup.lock(case.home)["packages"][SLUG]


def volumes():
    out = engine_case.podman("volume", "ls", "--format={{.Name}}").stdout
    return {v for v in out.split() if SLUG in v}


def halves():
    """Volumes that do not have all files of a pack."""
    found = {}
    for name in volumes():
        path = engine_case.podman("volume", "inspect", "--format",
                                  "{{.Mountpoint}}", name).stdout.strip()
        count = sum(len(names) for _, _, names in os.walk(path))
        if count != FILES + 2:
            found[name] = count
    return found


def left():
    """What no living program needs, in our home."""
    found = []
    for place, _, names in os.walk(os.path.join(case.home, ".agentnode")):
        found += [os.path.join(place, n) for n in names
                  if n.startswith("tmp") or n.endswith((".tar", ".new"))]
    return found


def killed(number, span):
    before = entry()
    process = subprocess.Popen(
        [harness.AGENTNODE, "install", folder(number), "--yes"],
        env=harness.environment(case.home), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    delay = random.uniform(0, span)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    name = f"killed after {delay:.3f} s"
    result = case.run("lock", "verify")
    now = entry()
    is_new = now["version"] == f"1.0.{number}"
    ok = check(f"{name}: the lockfile is whole, and has the "
               f"{'new' if is_new else 'old'} entry", result.code == 0
               and (is_new or now == before), (result, before, now))
    ok = check(f"{name}: its volume is there", harness.wait_until(
        lambda: now["sandbox_volume"] in volumes(), 10), now) and ok
    return is_new, ok


def main():
    try:
        begin = time.monotonic()
        result = case.run("install", folder(0), "--yes", timeout=120)
        span = time.monotonic() - begin
        check("installed", result.code == 0, result)
        came = 0
        for number in range(1, ROUNDS + 1):
            is_new, ok = killed(number, span)
            came += is_new
            if not ok:
                break
        print(f"# {came} of {ROUNDS} had come in time; {span:.2f} s each")
        report, result = case.report(SLUG)
        check("what the lockfile says runs", report.get("result")
              == int(entry()["version"].rsplit(".", 1)[1]), result)
        result = case.run("verify", SLUG, timeout=60)
        check("and is whole", result.code == 0, result)
        half = halves()
        print(f"# half filled: {len(half)} of {len(volumes())}")
        result = case.run("sandbox", "gc", timeout=120)
        check("after gc no half volume is left", result.code == 0
              and not halves(), (half, halves(), result))
        check("and that of the lockfile is", entry()["sandbox_volume"]
              in volumes(), volumes())
        report, result = case.report(SLUG)
        check("which still runs", report.get("ok") is True, result)
        result = case.run("install", folder(99), "--yes", timeout=120)
        check("the next installation works", result.code == 0
              and entry()["version"] == "1.0.99", result)
        check("no temporary file is left", not left(), left())
        check("nor a container", case.left() == [], case.left())
        check("the audit chain is whole",
              case.run("audit", "verify").code == 0)
    finally:
        case.run("sandbox", "gc", timeout=120)
        for volume in volumes():
            engine_case.podman("volume", "rm", "-f", volume)
    harness.finish()


main()
