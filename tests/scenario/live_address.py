#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An address that the host gets while a sandbox runs is the host's own from
then on: what listens there is not reached under an allowed name. All of it in
a network namespace of the test's own."""
import json
import os
import subprocess
import sys
import time

if os.environ.get("LIVE_ADDRESS") != "inside":
    os.environ["LIVE_ADDRESS"] = "inside"
    os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])

import harness
import internet
import test_ca
from harness import agentnode, check

NAME, ADDRESS, OTHER = "new.live.test", "8.8.4.4", "8.8.8.8"
# Asks every tenth of a second until it is refused for the address, and 20
# times more; a word for each answer.
INSIDE = """
import socket, time
left, end = None, time.monotonic() + 20
while left != 0 and time.monotonic() < end:
    conn = socket.create_connection(("127.0.0.1", 3128), 5)
    conn.sendall(b"CONNECT %(name)s:443 HTTP/1.1\\r\\n"
                 b"Host: %(name)s:443\\r\\n\\r\\n")
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        more = conn.recv(4096)
        if not more:
            break
        head += more
    lines = head.decode().split("\\r\\n")
    word = "ok" if " 200 " in lines[0] else lines[0]
    for line in lines:
        if line.lower().startswith("x-agentnode-reason:"):
            word = line.split(":")[1].strip()
    print(word, flush=True)
    if left is not None:
        left -= 1
    elif word == "address_not_allowed":
        left = 20
    conn.close()
    time.sleep(0.1)
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def main():
    harness.need("ip", "openssl", "unshare")
    ip("link", "set", "lo", "up")
    home = harness.folder()
    ca = test_ca.TestCA(harness.folder())
    dns = internet.DNSServer({NAME: [ADDRESS]})
    # It listens before the host has the address, as a server on any does.
    server = internet.TLSServer(ca.leaf(NAME), "0.0.0.0", 443,
                                lambda conn: conn.recv(1))
    done = agentnode(home, "config", "set", "egress.resolver", dns.address)
    check("the resolver is set", done.code == 0, done)
    script = os.path.join(harness.folder(), "ask.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(INSIDE % {"name": NAME})
    process = subprocess.Popen(
        [harness.AGENTNODE, "exec", "--boundary", "native", "--timeout", "40s",
         "--allow", NAME, "--input", "ask.py=" + script, "--json", "--", "python3",
         "ask.py"], env=harness.environment(home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log = os.path.join(home, ".agentnode", "log",
                       "agentnode-egress-proxy.jsonl")

    def asked():
        return os.path.exists(log) and [
            line for line in harness.json_lines(log)
            if line.get("event") == "connection"]

    check("the sandbox asks", harness.wait_until(lambda: len(asked() or ()) >= 2, 20))
    # What no policy could open is not worth a record.
    ip("addr", "add", "fe80::77/64", "dev", "lo")
    ip("addr", "add", "10.7.7.7/24", "dev", "lo")
    ip("addr", "add", OTHER + "/32", "dev", "lo")
    time.sleep(0.5)
    ip("addr", "add", ADDRESS + "/32", "dev", "lo")
    # Gone again: it stays refused, as it may come back.
    time.sleep(0.5)
    ip("addr", "del", OTHER + "/32", "dev", "lo")
    out, err = process.communicate(timeout=60)
    result = json.loads(out)
    words = result.get("stdout", "").split()
    check("it ran", process.returncode == 0 and result.get("code") == "",
          (process.returncode, out[-2000:], err[-2000:]))
    check("before, nobody answers there", words[:2] == ["dial_failed"] * 2,
          words)
    check("from then on it is refused as the host's own",
          words[-21:] == ["address_not_allowed"] * 21, words)
    between = words.count("ok")
    check("what got in between is a moment's", between <= 5, words)
    print(f"# {between} connections before the policy was narrower")
    done = agentnode(home, "audit", "show", "--json")
    found = [one["fields"] for one in json.loads(done.out)["records"]
             if one["event"] == "policy_replace"]
    check("each address is recorded, and no other",
          [one.get("own_added") for one in found] ==
          [[OTHER + "/32"], [ADDRESS + "/32"]], found)
    check("nothing else is in the record",
          all(not one[key] for one in found for key in
              ("allow_removed", "deny_added", "ranges_removed",
               "ech_removed")), found)
    check("the chain verifies", agentnode(home, "audit", "verify").code == 0)
    server.close()
    harness.finish()


if __name__ == "__main__":
    main()
