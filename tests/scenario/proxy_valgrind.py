#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The proxy's code under valgrind while good and hostile clients talk to it:
no error, no definite leak, no descriptor left. The program has an empty
confinement table of its own (a test's, never installed), since valgrind
makes calls that the real one kills for."""
import asyncio
import os
import re
import shutil
import subprocess

import harness
import tunnel_client
from harness import check
from proxy_mix import drained, mix

harness.need("valgrind")
COUNT = 3000
FOLDER = harness.folder()
REPORT = os.path.join(FOLDER, "valgrind.log")
PROGRAM = os.path.join(FOLDER, "proxy")
with open(PROGRAM, "w", encoding="utf-8") as file:
    file.write(f"""#!/bin/sh
exec {shutil.which("valgrind")} --log-file={REPORT} --leak-check=full \\
    --errors-for-leak-kinds=definite --track-fds=yes \\
    {harness.BUILD}/tests/proxy_confine_none
""")
os.chmod(PROGRAM, 0o755)

upstream = subprocess.Popen(
    [os.path.join(harness.BUILD, "tests", "load_upstream"),
     "127.0.0.31:18444", "byte"], stdout=subprocess.PIPE)
upstream.stdout.readline()
world = tunnel_client.World(
    "--proxy", PROGRAM, "--limit", "idle_timeout_s=5", "--limit",
    "head_timeout_ms=5000", "--limit", "hello_timeout_ms=5000", port=18444)
failed, started = asyncio.run(mix(world, COUNT, 16, 0, 120))
check(f"{COUNT} connections, good and hostile", started == COUNT, started)
check("every good client was served, every refusal was the right one",
      not failed, failed[:10])
check("all of them end", harness.wait_until(lambda: drained(world), 30, 0.2),
      world.stats())
stats = world.stats()
check("as many ended as were accepted",
      stats["accepted"] == stats["ended"] >= COUNT, stats)
check("the proxy ends in order", world.drive.stop() == 0)
upstream.kill()
upstream.wait()


def report():
    if not os.path.exists(REPORT):
        return ""
    with open(REPORT, encoding="utf-8") as file:
        return file.read()


harness.wait_until(lambda: "ERROR SUMMARY" in report(), 20)
errors = re.search(r"ERROR SUMMARY: (\d+) errors", report())
check("valgrind: no error and no definite leak",
      errors is not None and errors[1] == "0", report()[-3000:])
opened = re.search(r"FILE DESCRIPTORS: (\d+) open \((\d+) std\)", report())
check("valgrind: the descriptors of its start are all that is open",
      opened is not None and int(opened[1]) <= 6, report()[-3000:])
print("# " + "; ".join(re.findall(
    r"(?:definitely lost|FILE DESCRIPTORS|ERROR SUMMARY)[^\n]*", report())))
harness.finish()
