#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i11_everything_is_bounded: a workload cannot grow the log of a running
process without end: a full log is moved aside, and the lines go on in a new
one."""
import json
import os
import time

import engine_case
import harness
from harness import check

HOME = harness.folder()
LOG = os.path.join(HOME, ".agentnode", "log", "agentnode-egress-proxy.jsonl")
SCRIPT = """
import socket, time
for i in range(60):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT refused.example:443 HTTP/1.1\\r\\n"
              b"Host: refused.example:443\\r\\n\\r\\n")
    s.recv(999)
    time.sleep(0.1)
"""

case = engine_case.Case("python3", "-c", SCRIPT, home=HOME,
                        options=["--allow", "a.example.com:443"])
check("the proxy writes its log", engine_case.wait(
    20, lambda: os.path.exists(LOG) and os.path.getsize(LOG) > 1000))
full = os.stat(LOG).st_ino
os.truncate(LOG, 11 << 20)
check("a full log is moved aside", engine_case.wait(
    10, lambda: os.path.exists(LOG + ".1") and os.path.exists(LOG)
    and os.stat(LOG + ".1").st_ino == full))
check("the lines go on in the new one", engine_case.wait(
    10, lambda: os.path.getsize(LOG) > 300), os.path.getsize(LOG))
size = os.path.getsize(LOG + ".1")
time.sleep(1)
check("and no more in the old one", os.path.getsize(LOG + ".1") == size)
_, outcome = case.finish()
check("the run was not disturbed", outcome["exit_code"] == 0, outcome)
with open(LOG, encoding="utf-8") as file:
    check("each line is whole", all(json.loads(line) for line in file))
harness.finish()
