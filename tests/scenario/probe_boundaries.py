#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The how-to's task, measured: what it finds on a host with credentials, a
secret and a network, with an environment from nothing alone, and behind each
boundary. Environment and proxy variables hide what is asked for nicely; the
real home and a socket of its own are kept away by walls only."""
import http.server
import json
import os
import threading

import engine_case
import harness
import mcp_setup
import schema_check
from harness import check

harness.need("podman", "unshare")
PROBE = os.path.join(harness.LIBEXEC, "agentnode-probe")
home = mcp_setup.home()
for name in (".aws/credentials", ".ssh/id_rsa", ".netrc"):
    os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
    with open(os.path.join(home, name), "w", encoding="ascii") as out:
        out.write("secret of the host\n")
passwd = os.path.join(harness.folder(), "passwd")
with open(passwd, "w", encoding="ascii") as out:
    out.write(f"root:x:0:0:root:{home}:/bin/sh\n"
              "nobody:x:65534:65534::/nonexistent:/bin/false\nbroken\n")


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/"
WHERE = ["--url", URL, "--raw", "127.0.0.1", "--metadata", "127.0.0.1",
         "--resolver", "127.0.0.1"]


def told(name, result):
    """Its facts; they hold to the schema."""
    fault = schema_check.check_text(result.out, harness.SOURCE, "probe")
    check(f"{name}: facts by their schema", result.code == 0 and not fault,
          (fault, result))
    try:
        return json.loads(result.out)
    except ValueError:
        return {}


def outside(name, env):
    """The probe itself, in a scratch directory, the home being root's."""
    scratch = harness.folder()
    result = harness.run(
        "unshare", "-m", "sh", "-c",
        'mount --bind "$1" /etc/passwd && shift && exec "$@"', "sh", passwd,
        PROBE, "--report", "--scratch", scratch, "--processes-max", "20",
        *WHERE, env=env, cwd=scratch)
    facts = told(name, result)
    check(f"{name}: nothing is left in the home", not [
        n for n in os.listdir(home) if n.startswith(".agentnode-probe")])
    return facts


def says(name, facts, want):
    for key, value in want.items():
        have = facts.get(key)
        check(f"{name}: {key}", value(have) if callable(value)
              else have == value, have)


THREE = "3 of 28: .aws/credentials .netrc .ssh/id_rsa"
BY_PATH = (f"3 of 56: {home}/.aws/credentials {home}/.netrc "
           f"{home}/.ssh/id_rsa")
SECRETS = {"AWS_SECRET_ACCESS_KEY": "x",
           "PLAIN": "ghp_abcdefghijklmnopqrstuvwxyz", "LANG": "C.UTF-8"}

says("host", outside("host", {"HOME": home, **SECRETS}), {
    "credentials": "readable, 19 bytes", "secret_in_env": True,
    "credential_files": THREE, "passwd_credentials": BY_PATH,
    "secrets_in_env": lambda v: v and v.startswith("2 of ") and sorted(
        v.split(": ")[1].split()) == ["AWS_SECRET_ACCESS_KEY", "PLAIN"],
    "network": "reached, status 200", "network_raw": "reached, status 200",
    "write_homes": f"1 of 2: {home}"})

# An environment from nothing: a policy, and no boundary.
result = harness.run(
    "unshare", "-m", "sh", "-c",
    'mount --bind "$1" /etc/passwd && shift && exec "$@"', "sh", passwd,
    os.path.join(harness.BUILD, "bin", "agentnode"), "probe", "--boundary",
    "policy", *WHERE, env=harness.environment(home, **SECRETS), cwd="/")
check("policy: says what it is", "policy, not a boundary" in result.err,
      result)
check("policy: nothing is left in the home", not [
    n for n in os.listdir(home) if n.startswith(".agentnode-probe")])
says("policy", told("policy", result), {
    "credentials": "no such file", "secret_in_env": False,
    "credential_files": "none of 28", "secrets_in_env":
    lambda v: v and v.startswith("none of "),
    "network": "refused",
    "passwd_credentials": BY_PATH, "network_raw": "reached, status 200",
    "write_homes": f"1 of 2: {home}"})

for boundary in ("container", "native"):
    result = harness.agentnode(home, "probe", "--boundary", boundary,
                               "--json", "--url", URL, timeout=90, **SECRETS)
    says(boundary, told(boundary, result), {
        "credentials": "no such file", "secret_in_env": False,
        "credential_files": "none of 28",
        "passwd_credentials": lambda v: v and v.startswith("none of "),
        "secrets_in_env": "none of 4", "network": "refused",
        "network_raw": "refused", "cwd_entries": "",
        "raw_address": "failed: ENETUNREACH",
        "metadata": "failed: ENETUNREACH",
        "write_outside": "refused in 11 folders",
        "write_homes": lambda v: v and v.endswith(": /sandbox-home"),
        "result_file": "written"})
result = harness.agentnode(home, "probe", "--boundary", "native", timeout=90)
check("for people: a line per fact", result.code == 0
      and "passwd_credentials  none of " in result.out
      and "secret of the host" not in result.out, result)
result = harness.agentnode(home, "probe", "--boundary", "vm")
check("another word is exit 2", result.code == 2
      and "container, native, policy or host" in result.err, result)
check("no container is left", not [
    n for n in engine_case.podman("ps", "-a", "--format", "{{.Names}}")
    .stdout.split() if n.startswith("agentnode-selftest-")
    and not engine_case.wait(10, lambda n=n: n not in engine_case.podman(
        "ps", "-a", "--format", "{{.Names}}").stdout)])
server.shutdown()
harness.finish()
