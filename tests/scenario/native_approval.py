#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`exec --approval`: a refused host is in the result, exact, with its flag;
on a terminal it is asked about once, the command runs again after a yes,
"always" lasts for its workspace alone; without a terminal, in CI and with
"never" nobody is asked and nothing is let through. A yes opens what it names
alone, is in the audit chain first, and is none after a signal."""
import json
import os
import signal

import harness
import internet
import schema_check
from harness import check
from terminal_child import Terminal, children

harness.need("curl")
HOME = harness.folder()
STATE = os.path.join(HOME, ".agentnode")
WORK, OTHER = os.path.join(HOME, "project"), os.path.join(HOME, "other")
DNS = internet.DNSServer({"api.example.test": ["127.0.0.5"],
                          "conf.example.test": ["127.0.0.5"]})
SCHEMA = schema_check.load(harness.SOURCE, "exec")
for path in (STATE, WORK, OTHER):
    os.makedirs(path, mode=0o700)
CONFIGURED = ["conf.example.test"]
with open(os.path.join(STATE, "config.json"), "w", encoding="utf-8") as file:
    json.dump({"egress": {"resolver": DNS.address, "allow": CONFIGURED}}, file)
ENV = {name: value for name, value in harness.environment(HOME).items()}
CURL = ("echo run >> runs; curl -sS -o /dev/null https://api.example.test/; "
        "curl -sS -o /dev/null https://api.example.test/; "
        "curl -sS -o /dev/null https://192.0.2.1/; exit 0")


def words(work, *more):
    return [harness.AGENTNODE, "exec", "--boundary", "native", "--mode",
            "workspace-write", "--workspace", work, "--json", *more, "--",
            "sh", "-c", CURL]


def exec_(work, *more, **env):
    done = harness.run(*words(work, *more), env=dict(ENV, **env), timeout=60)
    try:
        done.result = json.loads(done.out)
    except ValueError:
        done.result = {"denied": []}
    return done


def hosts(result):
    return {(one["target"], one["code"], one.get("flag"), one.get("count"))
            for one in result["denied"] if one["kind"] == "host"}


def runs(work):
    with open(os.path.join(work, "runs"), encoding="utf-8") as file:
        return len(file.read().split())


def records():
    """What the audit chain has of approvals."""
    with open(os.path.join(STATE, "ledger", "audit.jsonl"), encoding="utf-8") as file:
        all_ = [json.loads(line) for line in file]
    return [(one["fields"]["workspace"], one["fields"]["host"],
             one["fields"]["answer"]) for one in all_
            if one["event"] == "approval"]


def codes(result, name):
    return {h[1] for h in hosts(result) if h[0].startswith(name)}


HOST = "api.example.test:443"
REFUSED = {("api.example.test:443", "host_not_allowed",
            "--allow api.example.test:443", 2),
           ("192.0.2.1:443", "ip_literal", None, 1)}
done = exec_(WORK, "--approval", "on-request")
check("refused hosts are told exactly, with the flag that would allow them",
      hosts(done.result) == REFUSED, done)
check("the result holds to its schema", not list(
    schema_check.faults(done.result, SCHEMA)), done)
check("without a terminal nobody is asked, it ran once", runs(WORK) == 1, done)
check("no name was looked up", DNS.queries == [], DNS.queries)
done = exec_(WORK)
check("never: no proxy, nothing is let through",
      hosts(done.result) == set() and DNS.queries == [] and
      runs(WORK) == 2, done)


def person(answers, work=WORK, **env):
    """What is shown and the exit code, after these answers."""
    end = Terminal(words(work, "--approval", "on-request"), dict(ENV, **env))
    asked = 0
    for answer in answers:
        if not end.expect(b"[N]o", 20):
            break
        asked += 1
        end.type(answer)
    code = end.finish(30)
    shown = end.shown.decode("utf-8", "replace")
    end.close()
    return asked, shown, code


def object_in(shown):
    text = shown[shown.index("{\r\n"):].replace("\r\n", "\n")
    return json.JSONDecoder().raw_decode(text)[0]


ENV.pop("CI", None)
asked, shown, code = person([b"n\n"])
check("a no: asked once, not run again, the denial stands",
      asked == 1 and runs(WORK) == 3 and
      hosts(object_in(shown)) == REFUSED and "192.0.2.1:443 (" not in shown,
      shown)
for name, answer in (("^C", b"\x03o\n"), ("^D", b"\x04")):
    asked, shown, code = person([answer])
    result = object_in(shown)
    check(f"{name}, then a yes: nothing is granted, it is not run again",
          asked == 1 and code == 137 and result["code"] == "stopped" and
          result["native"]["granted"] == [] and hosts(result) == REFUSED, shown)
check("each ran once", runs(WORK) == 5)
end = Terminal(words(WORK, "--approval", "on-request"), ENV)
check("it is asked", end.expect(b"[N]o", 20), end.shown)
check("the placeholders are gone while it is asked",
      not os.path.exists(os.path.join(WORK, ".envrc")) and
      not os.path.exists(os.path.join(WORK, ".git")), os.listdir(WORK))
end.process.send_signal(signal.SIGTERM)
end.type(b"a\n")
check("SIGTERM ends the question", end.finish(10) == 137 and
      b'"stopped"' in end.shown, end.shown)
end.close()
check("and no yes is in the chain", records() == [] and runs(WORK) == 6 and
      not os.path.exists(os.path.join(STATE, "grants.json")), records())
end = Terminal(words(WORK, "--approval", "on-request"), ENV)
check("it is asked again", end.expect(b"[N]o", 20), end.shown)
for pid, name in children(end.process.pid):
    if name == "agentnode-ledge":
        os.kill(pid, signal.SIGKILL)
end.type(b"a\n")
check("without a record there is no grant", end.finish(10) == 137 and
      b'"audit_failed"' in end.shown and records() == [] and
      runs(WORK) == 7 and
      not os.path.exists(os.path.join(STATE, "grants.json")), end.shown)
end.close()
asked, shown, code = person([b"o\n"])
result = object_in(shown)
check("a yes is in the chain", records() == [(WORK, HOST, "once")], records())
check("the result names it", result["native"]["granted"] == [HOST], shown)
check("it holds to its schema", not list(
    schema_check.faults(result, SCHEMA)), shown)
check("once: run again, with the host let through",
      asked == 1 and runs(WORK) == 9 and
      {h[1] for h in hosts(result)} == {"ip_literal", "address_not_allowed"}, shown)
check("one result is printed", shown.count('"boundary"') == 1, shown)
check("nothing of it lasts",
      not os.path.exists(os.path.join(STATE, "grants.json")))
asked, shown, code = person([b"always\n"])
check("always: kept for the workspace", json.load(open(os.path.join(
    STATE, "grants.json"), encoding="utf-8")) == {
        WORK: [HOST]} and asked == 1, shown)
check("and is in the chain", records()[1:] == [(WORK, HOST, "always")])
before = runs(WORK)
done = exec_(WORK)
check("the next run has it, without a question",
      {h[1] for h in hosts(done.result)} == {"ip_literal", "address_not_allowed"}
      and runs(WORK) == before + 1, done)
check("and the result says so", done.result["native"]["granted"] == [HOST],
      done)
CURL = "curl -sS -o /dev/null https://conf.example.test/; " + CURL
done = exec_(WORK)
check("a grant opens what it names, not what the configuration has",
      codes(done.result, "conf") == {"host_not_allowed"} and
      "host_not_allowed" not in codes(done.result, "api"), done)
done = exec_(WORK, "--allow", "api.example.test")
check("an --allow does, and is no grant",
      "host_not_allowed" not in codes(done.result, "conf") and
      done.result["native"]["granted"] == [], done)
done = exec_(WORK, "--approval", "never")
check("an explicit never passes over what was granted for good",
      hosts(done.result) == set() and done.result["native"]["granted"] == [],
      done)
CURL = CURL.split("; ", 1)[1]
done = exec_(OTHER, "--approval", "on-request")
check("another workspace has not", hosts(done.result) == REFUSED, done)
asked, shown, code = person([b"o\n"], work=OTHER, CI="true")
check("in CI nobody is asked", asked == 0 and runs(OTHER) == 2, shown)
with open(os.path.join(STATE, "config.json"), "w", encoding="utf-8") as file:
    json.dump({"egress": {"resolver": DNS.address,
                          "deny": ["api.example.test"]}}, file)
done = exec_(WORK)
check("a deny entry wins over a grant",
      "host_denied" in {h[1] for h in hosts(done.result)}, done)
with open(os.path.join(STATE, "grants.json"), "w", encoding="utf-8") as file:
    file.write("{")
done = exec_(WORK)
check("a grants.json that cannot be read stops it",
      done.code == 125 and done.result["code"] == "bad_grants", done)
done = harness.run(harness.AGENTNODE, "exec", "--approval", "on-request", "--",
                   "true", env=ENV)
check("it is for the native boundary", done.code == 125 and
      "--boundary native" in done.err, done)
DNS.close()
harness.finish()
