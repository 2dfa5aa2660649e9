#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The secrets of a server: given by name, consented to for a time, and in no
place but the workload's environment. Every refusal comes by its code before
anything starts, and the search for the value finds it where it is put on
purpose."""
import json
import os
import pty
import secrets
import subprocess
import time

import engine_case
import harness
import mcp_client
import mcp_setup
import schema_check
from secret_search import found, inside, memfds, read
from consent_seal import clone, sealed
from harness import agentnode, check

SERVER = """
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        result = {"protocolVersion": m["params"]["protocolVersion"],
                  "capabilities": {"tools": {}},
                  "serverInfo": {"name": "keeper", "version": "1"}}
    elif m.get("method") == "tools/list":
        result = {"tools": [{"name": "tell",
                             "inputSchema": {"type": "object"}}]}
    elif m.get("method") == "tools/call":
        name = m["params"]["arguments"]["name"]
        result = {"content": [{"type": "text",
                               "text": os.environ.get(name, "(unset)")}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}),
          flush=True)
"""
NAMES = ("WEATHER_API_KEY", "PLAIN_WORD")


def values():
    return {name: "s3cr3t-" + secrets.token_hex(16) for name in NAMES}


def start(home, env, *options, cwd=None):
    client = mcp_client.Client(
        [harness.AGENTNODE, "mcp", "run", *options, "keeper"],
        env=harness.environment(home, **env), cwd=cwd or home)
    client.initialize()
    return client


def told(client, name):
    return client.call("tell", name=name)["content"][0]["text"]


def arrives(home):
    env = values()
    client = start(home, env)
    for name, value in env.items():
        check(f"{name} arrives", told(client, name) == value)
    places = found(home, env["WEATHER_API_KEY"])
    check("it is in one place", len(places) == 1, places)
    check("which is the workload's environment", places
          and places[0].endswith("/environ")
          and inside(places[0].split("/")[2]), places)
    places = found(home, env["PLAIN_WORD"])
    check("and so is the other", len(places) == 1
          and places[0].endswith("/environ"), places)
    held = memfds(*env.values())
    check("nobody holds the memfd any more", not held, held)
    with os.fdopen(os.memfd_create("agentnode-secret"), "wb") as file:
        file.write(env["PLAIN_WORD"].encode())
        file.flush()
        held = memfds(*env.values())
    check("the search sees one that is held", len(held) == 1, held)
    client.close()
    check("it ended in order", client.exit_code() == 0)
    places = found(home, env["WEATHER_API_KEY"])
    check("and then it is nowhere", not places, places)
    return launches(home)


def control(home):
    """The search is able to find: the same value, told in the open."""
    value = "s3cr3t-" + secrets.token_hex(16)
    client = start(home, values(), "--env", "IN_THE_OPEN=" + value)
    places = found(home, value)
    client.close()
    check("the search finds what is on a command line",
          any(place.endswith("/cmdline") for place in places)
          and "ps" in places, places)
    path = os.path.join(home, ".agentnode", "log", "left.log")
    with open(path, "w", encoding="ascii") as file:
        file.write(value)
    check("and what is in a file", path in found(home, value))
    os.unlink(path)


def records(home, event):
    return [r["fields"] for r in agentnode(
        home, "audit", "show", "--json", "--last",
        "500").json()["records"] if r["event"] == event]


def launches(home):
    return len(records(home, "launch"))


def refused(home, name, code, *options, env=None, cwd=None, words=()):
    before = launches(home)
    env = values() if env is None else env
    result = agentnode(home, "mcp", "run", *options, "keeper",
                       timeout=120, cwd=cwd or home, **env)
    check(f"{name}: {code}", result.code == 125 and result.out == ""
          and f"{code}: " in result.err and result.err.count("\n") == 1
          and all(word in result.err for word in words)
          and not any(v and v in result.err for v in env.values()), result)
    check(f"{name}: nothing started", launches(home) == before)


def variables(home):
    env = values()
    refused(home, "a variable that is not set", "credentials_missing",
            env={"PLAIN_WORD": env["PLAIN_WORD"]},
            words=("agentnode secret set WEATHER_API_KEY",))
    refused(home, "one that is empty", "credentials_empty",
            env={**env, "WEATHER_API_KEY": ""},
            words=("WEATHER_API_KEY", "empty"))
    refused(home, "one that is too long", "credentials_too_long",
            env={**env, "PLAIN_WORD": "x" * 9000}, words=("PLAIN_WORD",))
    refused(home, "the same variable by --env", "bad_args", "--env",
            "PLAIN_WORD=x", words=("PLAIN_WORD",))
    refused(home, "another host", "credentials_network", "--allow",
            "evil.example.com", words=("--allow",))


def network(home):
    """The hosts of the consent are all: not even the host's own are added."""
    agentnode(home, "config", "set", "egress.allow", "other.example.com")
    client = start(home, values())
    client.close()
    agentnode(home, "config", "unset", "egress.allow")
    launch = records(home, "launch")[-1]
    check("it reaches what was consented to", launch["egress"]
          == ["api.example.com:443"] and launch["tier"] == "unverified",
          launch)
    check("the record has the names", launch["secrets"] == list(NAMES),
          launch)


def grants(home):
    return os.path.join(home, ".agentnode", "secret_grants.json")


def edit(home, **fields):
    with open(grants(home), encoding="utf-8") as file:
        data = json.load(file)
    data["grants"][-1].update(fields)
    with open(grants(home), "w", encoding="utf-8") as file:
        json.dump(data, file)


def listed(home):
    result = agentnode(home, "consent", "list", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE,
                                    "consent-list")
    check("consent list fits its schema", fault == "", fault)
    return result.json()["secrets"]


def add(home, *words, code=0):
    result = agentnode(home, "consent", "add", "keeper", *words)
    return check("consent add " + " ".join(words) + f" is {code}",
                 result.code == code, result)


def consents(home):
    row = listed(home)[0]
    check("installing with --secret consents", row["state"] == "good"
          and row["names"] == sorted(NAMES)
          and row["domains"] == ["api.example.com:443"]
          and row["expires"] - row["granted"] == 90 * 86400, row)
    status = os.stat(grants(home))
    check("the file is private", status.st_mode & 0o7777 == 0o600, status)
    for name, fields, code in (
            ("expired", {"expires": int(time.time()) - 1},
             "credentials_consent_expired"),
            ("given in the future", {"granted": int(time.time()) + 9000},
             "credentials_consent_expired"),
            ("without its end", {"expires": -1},
             "credentials_consent_unreadable"),
            ("with a field more", {"more": 1},
             "credentials_consent_unreadable"),
            ("for another key", {"key": "0" * 64},
             "credentials_consent_missing")):
        good = read(grants(home))
        edit(home, **fields)
        refused(home, "a consent " + name, code)
        with open(grants(home), "wb") as file:
            file.write(good)
    os.chmod(grants(home), 0o666)
    refused(home, "a file that others may write",
            "credentials_consent_unreadable")
    os.chmod(grants(home), 0o600)
    os.rename(grants(home), grants(home) + ".away")
    os.symlink(grants(home) + ".away", grants(home))
    refused(home, "a link", "credentials_consent_unreadable")
    os.unlink(grants(home))
    refused(home, "no file", "credentials_consent_missing",
            words=("WEATHER_API_KEY", "api.example.com", "consent add"))
    once(home)
    os.rename(grants(home) + ".away", grants(home))


def once(home):
    env = values()
    client = start(home, env, "--consent-once")
    check("this run", told(client, "PLAIN_WORD") == env["PLAIN_WORD"])
    client.close()
    check("leaves no consent", not os.path.exists(grants(home)))
    refused(home, "and the next one", "credentials_consent_missing")


def revoked(home):
    result = agentnode(home, "consent", "revoke", "keeper", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE,
                                    "consent-revoke")
    check("consent revoke", result.code == 0 and fault == ""
          and result.json()["secrets"] == 1, (result, fault))
    check("there is nothing more to revoke",
          agentnode(home, "consent", "revoke", "keeper").code == 1)
    refused(home, "revoked", "credentials_consent_revoked")
    rows = {row["check"]: row for row in agentnode(
        home, "sandbox", "doctor", "keeper", "--quick", "--json",
        timeout=120).json()["checks"]}
    check("doctor says so", not rows["package_secrets"]["ok"]
          and "revoked" in rows["package_secrets"]["detail"]
          and "consent add" in rows["package_secrets"]["fix"]
          and rows["package_consent"]["ok"], rows)
    check("it is in the chain", len(records(home, "consent_revoked")) == 2)
    add(home, code=3)
    refused(home, "asked without a terminal", "credentials_consent_revoked")
    add(home, "--for", "a while", code=2)
    add(home, "--for", "7d", "--yes")
    row = listed(home)[0]
    check("for seven days", row["state"] == "good"
          and row["expires"] - row["granted"] == 7 * 86400, row)
    start(home, values()).close()
    record = records(home, "consent")[-1]
    check("the consent is in the chain", record["kind"] == "secrets"
          and record["names"] == sorted(NAMES)
          and record["package"] == "keeper", record)
    shown = agentnode(home, "consent", "list")
    check("consent list for people", "keeper" in shown.out
          and "good" in shown.out and "WEATHER_API_KEY" in shown.out, shown)


def terminal(home, answer):
    """A person at a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [harness.AGENTNODE, "consent", "add", "keeper", "--for", "forever"],
        stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
        env=harness.environment(home))
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        try:
            shown += os.read(ours, 4096)
        except OSError:
            break
    os.write(ours, answer)
    process.communicate(timeout=60)
    os.close(ours)
    return process.returncode, shown.decode()


def asked(home):
    agentnode(home, "consent", "revoke", "keeper")
    code, shown = terminal(home, b"n\n")
    check("no is no", code == 3 and "WEATHER_API_KEY" in shown
          and "api.example.com:443" in shown, (code, shown))
    refused(home, "after no", "credentials_consent_revoked")
    code, shown = terminal(home, b"y\n")
    check("yes is yes", code == 0 and listed(home)[0]["expires"] == 0,
          (code, shown))
    start(home, values()).close()


def bound(home):
    """Another version, hash, name or host is another consent."""
    for name, fields in (
            ("a host more", {"mcp_allowed_domains": [
                "api.example.com:443", "evil.example.com:443"]}),
            ("a name more", {"mcp_env_keys": [*NAMES, "ANOTHER_TOKEN"]}),
            ("another version", {"version": "9.9.9"})):
        lock = mcp_setup.lock(home)
        lock["packages"]["keeper"].update(fields)
        folder = clone(sealed(lock))
        check("lock seal", agentnode(home, "lock", "seal",
                                     cwd=folder).code == 0)
        refused(home, name, "credentials_consent_missing", cwd=folder,
                env={**values(), "ANOTHER_TOKEN": secrets.token_hex(9)})
    for bad in ("PATH", "LD_PRELOAD", "HTTPS_PROXY", "1X", "A B"):
        lock = mcp_setup.lock(home)
        lock["packages"]["keeper"]["mcp_env_keys"] = [bad]
        folder = clone(sealed(lock))
        agentnode(home, "lock", "seal", cwd=folder)
        refused(home, f"the name {bad}", "not_runnable", cwd=folder)
    for words in (["--secret", "PATH"], ["--secret", "A=B"],
                  ["--secret", "A", "--secret", "A"],
                  ["--secret", "A", "--env", "A=1"],
                  ["--secret-for", "7d"],
                  ["--secret", "A", "--secret-for", "8d"]):
        result = agentnode(home, "mcp", "install", "./x", *words)
        check("mcp install " + " ".join(words), result.code == 2, result)


def told_of(home):
    entry = mcp_setup.lock(home)["packages"]["keeper"]
    check("the lockfile has the names", entry["mcp_env_keys"] == list(NAMES))
    facts = agentnode(home, "explain", "keeper", "--json").json()
    check("explain has them", facts["secrets"] == list(NAMES)
          and facts["runs"] == "sandbox", facts)
    shown = agentnode(home, "lock", "seal")
    check("lock seal shows them", shown.code == 0
          and "WEATHER_API_KEY" in shown.out, shown)


def main():
    harness.need("podman", "ps")
    home = mcp_setup.home()
    folder = mcp_setup.package({"server.py": SERVER}, "keeper")
    mcp_setup.install(home, folder, "--entry", "server.py", "--allow",
                      "api.example.com", "--secret", NAMES[0], "--secret",
                      NAMES[1])
    volume = mcp_setup.lock(home)["packages"]["keeper"]["mcp_sandbox_volume"]
    try:
        told_of(home)
        arrives(home)
        control(home)
        network(home)
        variables(home)
        consents(home)
        revoked(home)
        asked(home)
        bound(home)
        codes = {r["code"] for r in records(home, "refusal")}
        check("refusals are in the chain", {
            "credentials_missing", "credentials_consent_expired",
            "credentials_consent_revoked"} <= codes, codes)
        check("the chain is whole",
              agentnode(home, "audit", "verify").code == 0)
    finally:
        engine_case.podman("volume", "rm", "-f", volume)
    harness.finish()


main()
