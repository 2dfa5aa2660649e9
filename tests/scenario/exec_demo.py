#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A task that means harm, measured: on the host it reads the credentials,
finds the secret and reaches the network; behind each boundary none of it;
the policy differs where it honestly must; one argument that hands the host's
environment over undoes the policy, and is refused unless it is known."""
import http.server
import os
import threading

import exec_case
import harness
from harness import check

case = exec_case.ExecCase()
SECRET = "wJalrXUtnFEMI-demo-secret"
HOST_HOME = harness.folder("agentnode-host-home-")
os.makedirs(f"{HOST_HOME}/.aws")
with open(f"{HOST_HOME}/.aws/credentials", "w", encoding="utf-8") as file:
    file.write("[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"
               f"aws_secret_access_key = {SECRET}\n")


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
TARGET = f"http://127.0.0.1:{server.server_address[1]}/"

case.path("probe.py", '''
import json, os, socket, sys, urllib.error, urllib.parse, urllib.request

target, home = sys.argv[1:3]
report = {}


def read(path):
    try:
        with open(path) as f:
            return "readable, %d bytes" % len(f.read())
    except FileNotFoundError:
        return "no such file"
    except OSError as error:
        return type(error).__name__


report["credentials"] = read(os.path.expanduser("~/.aws/credentials"))
report["by_absolute_path"] = read(home + "/.aws/credentials")
report["secret_in_env"] = "AWS_SECRET_ACCESS_KEY" in os.environ
try:
    with urllib.request.urlopen(target, timeout=3) as res:
        report["network"] = "reached, status %d" % res.status
except urllib.error.URLError as e:
    report["network"] = ("refused" if isinstance(
        e.reason, ConnectionRefusedError) else "failed: %s" % e.reason)
try:
    where = urllib.parse.urlsplit(target)
    socket.create_connection((where.hostname, where.port), 3).close()
    report["raw_socket"] = "reached"
except ConnectionRefusedError:
    report["raw_socket"] = "refused"
except OSError as error:
    report["raw_socket"] = type(error).__name__
report["cwd_entries"] = sorted(os.listdir("."))
open("result.json", "w").write('{"answer": 42}')
print(json.dumps(report))
''')
ENV = {"AWS_SECRET_ACCESS_KEY": SECRET, "HOME": HOST_HOME,
       "AGENTNODE_HOME": os.path.join(case.home, ".agentnode")}
WORDS = ("python3", "probe.py", TARGET, HOST_HOME)


def probe(*options):
    result = case.run(*WORDS, options=("--input", "probe.py", *options), **ENV)
    try:
        return result, harness.json.loads(result["stdout"])
    except (KeyError, ValueError):
        check(f"the probe answers with {options}", False, result)
        return result, {}


# On the host, as an agent would run it without a boundary.
host = harness.run(*WORDS, env=dict(os.environ, **ENV), cwd=case.place)
os.unlink(os.path.join(case.place, "result.json"))
report = host.json()
check("on the host the credentials are readable",
      report["credentials"].startswith("readable, "), report)
check("on the host the secret is in the environment",
      report["secret_in_env"] is True, report)
check("on the host the network answers",
      report["network"] == "reached, status 200"
      and report["raw_socket"] == "reached", report)

for boundary in ("container", "native", "policy"):
    result, report = probe("--boundary", boundary)
    check(f"{boundary}: no such file", report.get("credentials")
          == "no such file", result)
    check(f"{boundary}: the secret is absent",
          report.get("secret_in_env") is False, result)
    check(f"{boundary}: refused", report.get("network") == "refused", result)
    check(f"{boundary}: it has its input and nothing else",
          report.get("cwd_entries") == ["probe.py"], result)
    check(f"{boundary}: the file comes back as text",
          {name: one["text"] for name, one in case.files(result).items()}
          == {"result.json": '{"answer": 42}'}, result)
    check(f"{boundary}: it says whether it is one",
          result["is_boundary"] == (boundary != "policy")
          and ("policy, not a boundary" in result["note"])
          == (boundary == "policy"), result)
    if boundary == "policy":
        check("policy: an absolute path and a raw socket pass it, which is "
              "why it is none",
              report["by_absolute_path"].startswith("readable, ")
              and report["raw_socket"] == "reached", result)
    else:
        check(f"{boundary}: an absolute path and a raw socket do not help",
              report.get("by_absolute_path") == "no such file"
              and report.get("raw_socket") == "refused", result)
    check(f"{boundary}: the secret's value is nowhere",
          SECRET not in str(result), result)

# Handed the host's environment.
HANDED = [word for name, value in (
    ("HOME", HOST_HOME), ("AWS_SECRET_ACCESS_KEY", SECRET),
    ("HTTP_PROXY", ""), ("http_proxy", ""))
    for word in ("--env", f"{name}={value}")]
for boundary in ("container", "native", "policy"):
    result = case.run(*WORDS, options=(
        "--input", "probe.py", "--boundary", boundary, *HANDED), **ENV)
    check(f"{boundary}: the host's environment is refused",
          result["rc"] == 125 and result["code"] == "env_refused"
          and not result["started"] and "HOME" in result["detail"]
          and result["i_know"] == []
          and SECRET not in str(result), result)
    done = case.call("true", options=(
        "--boundary", boundary, "--env", "AWS_SECRET_ACCESS_KEY"), **ENV)
    check(f"{boundary}: forwarding by name is refused", done.code == 2
          and "AWS_SECRET_ACCESS_KEY" in done.err, done)
result, report = probe("--boundary", "policy", *HANDED, "--i-know")
check("policy: one argument undoes it",
      report["credentials"].startswith("readable, ")
      and report["secret_in_env"] is True
      and report["network"] == "reached, status 200", result)
check("policy: and the result says so", sorted(
    (one["name"], one["why"]) for one in result["i_know"]) == [
        ("AWS_SECRET_ACCESS_KEY", "credential"), ("HOME", "home"),
        ("HTTP_PROXY", "proxy"), ("http_proxy", "proxy")], result)
result, report = probe("--boundary", "container", *HANDED[:4], "--i-know")
check("container: the file and the network stay away even so",
      report["by_absolute_path"] == "no such file"
      and report["credentials"] == "no such file"
      and report["network"] == "refused"
      and report["secret_in_env"] is True, result)
records = harness.agentnode(
    case.home, "audit", "show", "--json").json()["records"]
check("refusals are in the chain, and no value is", any(
    row["event"] == "refusal" and row["fields"]["code"] == "env_refused"
    for row in records) and SECRET not in str(records), records[-3:])
done = case.call("true", options=("--boundary", "policy"))
check("policy says what it is to a person", done.code == 0
      and "policy, not a boundary" in done.err, done)
done = case.call("true", options=("--boundary", "vm"))
check("vm is not available, and says so", done.code == 125
      and "boundary_unavailable" in done.err, done)
check("nothing is left", harness.wait_until(
    lambda: not case.left() and not case.containers(), 10),
    (case.left(), case.containers()))
harness.finish()
