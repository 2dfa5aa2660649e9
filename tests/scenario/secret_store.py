#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets of packages that are stored: in the real Secret Service, in the
encrypted file, as systemd's credentials. A run's value goes from there into
the workload's environment and is nowhere else, not even in the supervisor's
memory; a variable of the caller's comes first; keys of providers and secrets
never mix; every way that fails is a refusal before anything starts."""
import json
import os
import secrets
import subprocess
import time

import harness
import keyring_session
import pack_runs
import schema_check
import secret_search
from harness import check

CODE = """
import os
import time


def tell(name):
    return os.environ.get(name, "(unset)")


def hold(path, name):
    time.sleep(5)
    return len(os.environ.get(name, ""))
"""
TOOLS = [{"name": tool, "capability_id": tool, "description": "Reads one.",
          "action_type": "read", "entrypoint": "keeper:" + tool,
          "input_schema": {"type": "object", "properties": {
              "name": {"type": "string", "maxLength": 99},
              "path": {"type": "string", "maxLength": 99}}}}
         for tool in ("tell", "hold")]
NAME, MAYBE = "WEATHER_API_KEY", "NICE_TO_HAVE"
WANTS = [{"name": NAME, "required": True}, {"name": MAYBE, "required": False}]
PASSPHRASE = "correct horse battery"

session = keyring_session.Session()
case = pack_runs.PackCase()


def value():
    return "s3cr3t-" + secrets.token_hex(16)


def run(*argv, **more):
    env = {"XDG_RUNTIME_DIR": "/nowhere", **session.agent()}
    return case.run(*argv, **{**env, **more})


def tell(name, *words, **env):
    result = run("run", "keeper/tell", "--json", *words, "--arg",
                 "name=" + name, **env)
    try:
        return json.loads(result.out).get("result"), result
    except ValueError:
        return None, result


def refused(what, code, *words, texts=(), **env):
    before = len(case.audit("launch"))
    result = run("run", "keeper/tell", *words, "--arg", "name=" + NAME, **env)
    check(f"{what}: {code}", result.code == 125 and result.out == ""
          and f"{code}: " in result.err and all(t in result.err
                                                for t in texts), result)
    check(f"{what}: nothing started", len(case.audit("launch")) == before)


def given(count, **words):
    """A descriptor with text in it."""
    read, write = os.pipe()
    os.write(write, count.encode())
    os.close(write)
    return read


def with_passphrase(*argv, option="--passphrase-fd", stdin=None,
                    passphrase=PASSPHRASE):
    fd = given(passphrase)
    env = harness.environment(case.home, XDG_RUNTIME_DIR="/nowhere")
    done = subprocess.run(
        [harness.AGENTNODE, *argv[:1], *argv[1:2], option, str(fd),
         *argv[2:]], env=env, input=stdin, capture_output=True, text=True,
        pass_fds=[fd], timeout=60, check=False)
    os.close(fd)
    return harness.Result(done.returncode, done.stdout, done.stderr, 0)


def commands(secret):
    result = run("secret", "set", NAME, secret)
    check("never on the command line", result.code == 2
          and secret not in result.err, result)
    for name, code in (("OPENAI_API_KEY", 3), ("LD_PRELOAD", 3),
                       ("open-ai", 2), ("1X", 2)):
        result = run("secret", "set", name, "--from-fd", "0", stdin=secret)
        check(f"{name} is no secret: {code}", result.code == code
              and secret not in result.err, result)
    result = run("secret", "set", NAME, "--from-fd", "0", stdin="a\0b")
    check("nor is NUL", result.code == 2 and "NUL" in result.err, result)
    result = run("secret", "list", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE, "secret-list")
    check("none is there", not fault and result.json()["secrets"] == [],
          (fault, result))
    result = run("secret", "set", NAME, "--from-env", "GIVEN", GIVEN=secret)
    check("set from a variable", result.code == 0
          and NAME in result.out and secret[-4:] not in result.out, result)
    result = run("secret", "list", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE, "secret-list")
    rows = result.json()["secrets"]
    check("it is listed", not fault and len(rows) == 1
          and rows[0]["name"] == NAME
          and rows[0]["backend"] == "secret_service", (fault, rows))
    check("and is no key of a provider",
          run("auth", "list", "--json").json()["keys"] == [])
    check("the record has its name", case.audit("secret_set") == [
        {"name": NAME, "backend": "secret_service"}])
    item = session.tool("search", "--all", "secret", NAME)
    check("it lies in the keychain", secret in item.out
          and "com.agentnode.sandbox.secret" in item.out + item.err, item)
    check("the help of doctor", "missing secret" not in run(
        "sandbox", "doctor", "keeper").out)


def runs(secret):
    refused("nobody consented", "credentials_consent_missing")
    result = run("consent", "add", "keeper", "--yes")
    check("consented", result.code == 0, result)
    said, result = tell(NAME)
    check("the stored one arrives", said == secret, result)
    launch = case.audit("launch")[-1]
    check("the record says where it came from",
          launch["secrets"] == [NAME]
          and launch["secret_sources"] == {NAME: "secret_service"}, launch)
    said, result = tell(MAYBE)
    check("what is not stored may be left out", said == "(unset)", result)
    other = value()
    said, result = tell(NAME, **{NAME: other})
    launch = case.audit("launch")[-1]
    check("a variable comes first", said == other
          and launch["secret_sources"] == {NAME: "environment"},
          (launch, result))
    refused("a variable that is empty counts", "credentials_empty",
            texts=("agentnode secret set",), **{NAME: ""})
    said, result = tell(MAYBE, **{MAYBE: other})
    launch = case.audit("launch")[-1]
    check("both ways in one run", said == other and launch["secret_sources"]
          == {NAME: "secret_service", MAYBE: "environment"},
          (launch, result))
    said, result = tell(NAME, **{MAYBE: other})
    check("and the stored one is there too", said == secret, result)


def searched(secret):
    """While the workload has it, nothing else does."""
    before = len(case.audit("launch"))
    env = harness.environment(case.home, **session.agent())
    mark = "in-the-open-" + secrets.token_hex(8)
    process = subprocess.Popen(
        [harness.AGENTNODE, "run", "keeper/hold", "--json", "--arg",
         "path=" + mark, "--arg", "name=" + NAME], env=env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    harness.wait_until(lambda: len(case.audit("launch")) > before, 20)
    places = []
    until = time.monotonic() + 4
    while not places and time.monotonic() < until:
        places = [p for p, data in secret_search.running()
                  if secret.encode() in data]
    places = secret_search.found(case.home, secret)
    check("one place has it: the workload's environment", len(places) == 1
          and places[0].endswith("/environ")
          and secret_search.inside(places[0].split("/")[2]), places)
    held = {pid: secret_search.in_memory(pid, secret, mark)
            for pid in secret_search.family(process.pid)}
    check("no process of ours has it in its memory",
          len(held) > 2 and not any(secret in h for h in held.values()), held)
    check("and the search sees the supervisor's memory",
          mark in held[process.pid], held)
    check("nor does one hold the memfd", not secret_search.memfds(secret))
    out, err = process.communicate(timeout=60)
    check("the tool had it", json.loads(out).get("result") == len(secret),
          (out, err))
    places = secret_search.found(case.home, secret)
    check("then it is nowhere", not places, places)


def keychains(secret):
    session.freeze(True)
    begin = time.monotonic()
    refused("a keychain that hangs", "credentials_unavailable")
    check("in time", time.monotonic() - begin < 12)
    session.freeze(False)
    session.stop()
    refused("no keychain", "credentials_unavailable",
            texts=("secret_service",))
    session.start(None)
    refused("a locked one", "credentials_unavailable", texts=("locked",))
    session.stop()
    session.start()
    session.tool("clear", "secret", NAME)
    refused("gone from the keychain", "credentials_missing", texts=(NAME,))
    result = run("secret", "remove", NAME)
    check("removed from the list", result.code == 0, result)
    refused("not stored", "credentials_missing",
            texts=("agentnode secret set " + NAME,))
    said = run("sandbox", "doctor", "keeper").out
    check("doctor says what to do", "missing secret " + NAME in said
          and "agentnode secret set " + NAME in said, said)
    said = run("explain", "keeper").out
    check("explain does", "agentnode secret set " + NAME
          in " ".join(said.split()), said)


def mixed():
    """The same word as a key and as a secret; each is found as itself."""
    folder = os.path.join(case.home, ".agentnode", "providers")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "token.json"), "w",
              encoding="ascii") as file:
        file.write("{}")
    key, secret = "sk-" + secrets.token_hex(16), value()
    result = run("auth", "set", "token", "--from-fd", "0", stdin=key)
    check("a key named token", result.code == 0, result)
    case.change("keeper", env_requirements=[{"name": "token"}])
    run("consent", "add", "keeper", "--yes")
    result = run("run", "keeper/tell", "--arg", "name=token")
    check("a secret of that name is another thing", result.code == 125
          and "credentials_missing: " in result.err, result)
    result = run("secret", "set", "token", "--from-fd", "0", stdin=secret)
    check("and can be stored beside it", result.code == 0, result)
    said, result = tell("token")
    check("the package gets the secret", said == secret, result)
    check("removing one", run("secret", "remove", "token").code == 0)
    check("leaves the other", run("auth", "remove", "token").code == 0)
    case.change("keeper", env_requirements=WANTS)


def in_file():
    secret = value()
    result = with_passphrase("secret", "set", NAME, "--from-fd", "0",
                             "--backend", "file", stdin=secret)
    path = os.path.join(case.home, ".agentnode", "secrets.enc")
    check("set in the file", result.code == 0 and "secrets.enc" in result.err,
          result)
    with open(path, "rb") as file:
        data = file.read()
    check("which is sealed", data.startswith(b"ANSECR01")
          and secret.encode() not in data
          and os.stat(path).st_mode & 0o777 == 0o600)
    words = ("--arg", "name=" + NAME, "--json")
    result = with_passphrase("run", "keeper/tell", *words,
                             option="--secrets-passphrase-fd")
    check("it opens with the passphrase", result.code == 0
          and result.json()["result"] == secret
          and case.audit("launch")[-1]["secret_sources"] == {NAME: "file"},
          result)
    result = with_passphrase("run", "keeper/tell", *words,
                             option="--secrets-passphrase-fd",
                             passphrase="wrong battery")
    check("with no other", "credentials_unavailable" in result.out + result.err
          and "wrong passphrase" in result.out + result.err, result)
    refused("nor without", "credentials_unavailable",
            texts=("--secrets-passphrase-fd",))
    keys = os.path.join(case.home, ".agentnode", "keys.enc")
    with open(keys, "wb") as file:
        file.write(data)
    os.chmod(keys, 0o600)
    result = with_passphrase("auth", "set", "token", "--from-fd", "0",
                             "--backend", "file", stdin="sk-" + "x" * 30)
    check("a file of secrets is none of keys", result.code == 6, result)
    os.unlink(keys)
    check("removed", run("secret", "remove", NAME).code == 0
          and not os.path.exists(path))


def of_systemd():
    secret = value()
    folder = harness.folder()
    env = {"CREDENTIALS_DIRECTORY": folder}
    for name, text in (("agentnode-secret." + NAME, secret + "\n"),
                       ("agentnode." + MAYBE.lower(), "sk-" + "y" * 30)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(os.path.join(folder, name), 0o400)
    said, result = tell(NAME, **env)
    check("a credential of the unit arrives", said == secret
          and case.audit("launch")[-1]["secret_sources"]
          == {NAME: "credentials"}, result)
    rows = run("secret", "list", "--json", **env).json()["secrets"]
    check("and is listed", rows == [{"name": NAME, "backend": "credentials",
                                     "stored_at": None}], rows)
    result = run("secret", "set", NAME, "--backend", "credentials",
                 "--from-fd", "0", stdin=secret)
    check("systemd stores them itself", result.code == 2
          and "agentnode-secret." + NAME in result.err, result)


def main():
    try:
        case.put("keeper", {"keeper.py": CODE}, TOOLS)
        case.change("keeper", env_requirements=WANTS,
                    permissions={"network_level": "none"})
        result = run("secret", "set", NAME, "--from-fd", "0", stdin="x")
        check("without a keychain: 4, and what there is instead",
              result.code == 4 and "--backend file" in result.err, result)
        check("a keychain of our own", session.start())
        secret = value()
        commands(secret)
        runs(secret)
        searched(secret)
        keychains(secret)
        mixed()
        in_file()
        of_systemd()
    finally:
        session.close()
        case.close()
    harness.finish()


main()
