#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys of providers in the real Secret Service: set from a descriptor, a
variable and a terminal, listed, kept over a restart of the keychain, removed;
each way a keychain can be missing has its own sentence and ends in time; and
the key is in no argv, environment, log, record or file but the keychain's."""
import hashlib
import json
import os
import signal
import socket
import subprocess
import time

import harness
import keyring_session
from harness import agentnode, check
from machine_pace import Deadline
from terminal_child import Terminal, helper_of, is_over

KEY = "sk-proj-Zq7vTr4mQk9wLx2cNb8d"
OTHER = "sk-proj-secondKEY0123456789ab"
# Stands in every environment here, so that a search can find something.
MARK = "is-in-the-environment"


class Home:
    """An AGENTNODE_HOME with providers, in a session."""

    def __init__(self, session):
        self.path = harness.folder()
        self.session = session
        folder = os.path.join(self.path, ".agentnode", "providers")
        os.makedirs(folder, mode=0o700)
        os.chmod(os.path.dirname(folder), 0o700)
        for name in ("openai", "gemini"):
            with open(os.path.join(folder, name + ".json"), "w",
                      encoding="utf-8") as file:
                file.write("{}")

    def run(self, *argv, stdin=None, timeout=60, **env):
        return agentnode(self.path, *argv, stdin=stdin, timeout=timeout,
                         **{**self.session.agent(), **env})

    def set(self, key, provider="openai", **env):
        return self.run("auth", "set", provider, "--from-fd", "0",
                        stdin=key + "\n", **env)

    def keys(self):
        return {row["provider"]: row for row in
                self.run("auth", "list", "--json").json()["keys"]}

    def events(self):
        found = self.run("audit", "show", "--json", "--last", "1000")
        return [(r["event"], r["fields"]) for r in found.json()["records"]]

    def stored(self, provider="openai"):
        """What the keychain has: a list of secrets."""
        done = self.session.tool("search", "--all", "provider", provider)
        return [line.split(" = ", 1)[1] for line in done.out.splitlines()
                if line.startswith("secret = ")]

    def read(self, provider="openai"):
        """What llm-key would get: status, digest of the key, sentence."""
        done = harness.run(
            os.path.join(harness.BUILD, "tests", "read_key"), provider,
            env=harness.environment(self.path, **self.session.agent()))
        row = done.out.rstrip("\n").split(" ", 4)
        return (row[1], row[3], row[4]) if len(row) == 5 else done

    def files(self):
        for folder, _, names in os.walk(self.path):
            for name in names:
                yield os.path.join(folder, name)


def sentence(result, code, *words):
    return (result.code == code and result.out == ""
            and result.err.startswith("agentnode: ")
            and result.err.count("\n") == 1
            and all(word in result.err for word in words))


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def sets(home):
    result = home.set(KEY)
    check("set from a descriptor", result.code == 0 and result.err == ""
          and "Nb8d" in result.out and KEY not in result.out, result)
    check("the keychain has it", home.stored() == [KEY], home.stored())
    check("i02: llm-key gets it, and the reader a status", home.read()
          == ("found", digest(KEY), ""), home.read())
    row = home.keys()["openai"]
    check("list: where, last four, when", row["backend"] == "secret_service"
          and row["last4"] == "Nb8d" and row["stored_at"].endswith("Z"), row)
    result = home.run("auth", "list")
    check("list for people", result.code == 0 and "openai" in result.out
          and "...Nb8d" in result.out and KEY not in result.out, result)
    result = home.run("auth", "set", "openai", "--from-env", "MY_KEY",
                      MY_KEY=OTHER)
    check("set from a variable replaces it", result.code == 0
          and home.stored() == [OTHER], result)
    short = "k0123456789abcdefg"
    result = home.set(short, "gemini")
    check("of a short key nothing is shown", result.code == 0
          and home.keys()["gemini"]["last4"] is None
          and "ends in" not in result.out
          and "cdefg" not in home.run("auth", "list").out, result)
    longest = "k" * 2048
    result = home.set(longest, "gemini")
    check("a key of 2 KiB", result.code == 0
          and home.stored("gemini") == [longest], result)
    other = Home(home.session)
    check("another home is another key", other.set(KEY).code == 0
          and sorted(home.stored()) == sorted([KEY, OTHER])
          and other.run("auth", "remove", "openai").code == 0
          and home.stored() == [OTHER], home.stored())


def restart(home):
    session = home.session
    session.stop()
    check("the keychain starts again", session.start())
    check("it kept the keys", home.stored() == [OTHER], home.stored())
    result = home.run("auth", "remove", "openai")
    check("remove", result.code == 0 and home.stored() == []
          and "openai" not in home.keys(), result)
    got = home.read()
    check("llm-key is told that there is none", got[:2] == ("missing", "-")
          and "auth set openai" in got[2], got)
    check("remove what is absent is 1", sentence(
        home.run("auth", "remove", "openai"), 1, "openai", "no key"))
    check("remove with a backend looks there", sentence(
        home.run("auth", "remove", "openai", "--backend", "secret_service"),
        1, "openai"))
    # Somebody else removed it there.
    home.set(KEY)
    session.tool("clear", "provider", "openai")
    result = home.run("auth", "remove", "openai")
    check("remove what the keychain lost", result.code == 0
          and "already" in result.out and "openai" not in home.keys(), result)


def refused(home):
    before = len(home.events())
    for name, key, words in (
            ("short", "sk-0123456789a", ("14 bytes", "16")),
            ("empty", "", ("empty",)),
            ("with a space", "sk-proj 0123456789abc", ("byte 8",)),
            ("with a tab", "sk-0123456789abcdef\t", ("byte 20",)),
            ("of two lines", "sk-0123456789abcdef\nsecond", ("byte 20",)),
            ("with NUL", "sk-0123456789\0abcdef", ("byte 14",)),
            ("not ASCII", "sk-0123456789abcdé", ("byte 18",)),
            ("too long", "k" * 2049, ("longer than",)),
            ("endless", "k" * 100000, ("longer than",))):
        result = home.set(key)
        check(f"a key {name} is refused", sentence(result, 2, *words)
              and (not key or key not in result.err), result)
    for name, argv in (
            ("a key on the command line", ["openai", KEY]),
            ("before the provider", [KEY, "openai"]),
            ("as an option", ["openai", "--key", KEY]),
            ("as an option's value", ["openai", "--key=" + KEY]),
            ("as the provider", [KEY]),
            ("as a descriptor", ["openai", "--from-fd", KEY]),
            ("as a variable's name", ["openai", "--from-env", KEY]),
            ("as a backend", ["openai", "--backend", KEY])):
        result = home.run("auth", "set", *argv)
        check(f"{name} is 2 and not repeated", result.code == 2
              and KEY not in result.out + result.err, result)
    result = home.run("auth", "set", "openai", KEY)
    check("it says that keys do not go there", sentence(
        result, 2, "never goes on the command line", "--from-fd"), result)
    for argv, words in (
            (["nobody"], ("nobody", "providers")),
            (["openai", "--from-fd", "77"], ("--from-fd",)),
            (["openai", "--from-env", "NOT_SET"], ("not set",)),
            (["openai", "--from-fd", "0", "--from-env", "A"], ("exclude",)),
            (["openai"], ("terminal", "--from-env")),
            (["openai", "--backend", "plain"], ("secret_service",))):
        result = home.run("auth", "set", *argv, stdin=KEY)
        check("auth set " + " ".join(argv), sentence(result, 2, *words),
              result)
    check("nothing is stored, nothing is recorded", home.stored() == []
          and len(home.events()) == before and home.keys().keys()
          == {"gemini"}, home.events()[before:])


def terminal(home, *argv, **env):
    return Terminal([harness.AGENTNODE, *argv], harness.environment(
        home.path, **{**home.session.agent(), **env}))


PROMPT = b"it is not shown): "


def ask(home):
    """auth set at a terminal, up to its question."""
    person = terminal(home, "auth", "set", "openai", MARK=MARK)
    check("it asks", person.expect(PROMPT), person.shown)
    return person


def typed(home):
    person = ask(home)
    check("the echo is off", person.hides())
    helper = helper_of(person.process.pid)
    looks_at_helper(helper)
    person.type(KEY.encode() + b"\r")
    check("set by typing", person.finish() == 0 and home.stored() == [KEY],
          person.shown)
    check("nothing of it was shown", KEY.encode() not in person.shown
          and b"sk-proj" not in person.shown and b"Nb8d" in person.shown,
          person.shown)
    check("the echo is on again", person.echoes())
    person.close()
    person = ask(home)
    person.type(b"wrong\x15sk-x\x7f\x7f" + OTHER[2:].encode() + b"\r")
    check("backspace and ^U", person.finish() == 0
          and home.stored() == ["sk" + OTHER[2:]], home.stored())
    person.close()
    for name, keys in (("^C", b"abc\x03"), ("^D", b"\x04"),
                       ("^\\", b"\x1c")):
        person = ask(home)
        person.type(keys)
        check(f"{name} cancels with 130", person.finish() == 130
              and b"cancelled" in person.shown and person.echoes()
              and home.stored() == [OTHER], person.shown)
        person.close()
    person = ask(home)
    person.type(b"k" * 17000 + b"\r")
    check("typing without end is refused", person.finish() == 2
          and person.echoes() and home.stored() == [OTHER], person.shown)
    person.close()


def looks_at_helper(helper):
    """What the helper is made of while it waits for the key."""
    def read(name):
        with open(f"/proc/{helper}/{name}", "rb") as file:
            return file.read()
    if not check("a helper waits", helper is not None):
        return
    check("its argv is its path", read("cmdline").split(b"\0")[1:] == [b""],
          read("cmdline"))
    check("its environment is empty", read("environ") == b"",
          read("environ"))
    status = dict(line.split(":", 1) for line in
                  read("status").decode().splitlines())
    check("no new privileges, a filter", status["NoNewPrivs"].strip()
          == "1" and status["Seccomp"].strip() == "2", status)
    check("no capability", all(int(status[name], 16) == 0 for name in
                               ("CapInh", "CapPrm", "CapEff", "CapAmb")))
    core = [line for line in read("limits").decode().splitlines()
            if "core" in line][0]
    check("no core dump", core.split()[4:6] == ["0", "0"], core)


def killed(home):
    person = ask(home)
    helper = helper_of(person.process.pid)
    os.kill(helper, signal.SIGKILL)
    check("the helper is killed: an error, and the echo is on",
          person.finish() == 70 and person.echoes()
          and home.stored() == [OTHER], person.shown)
    person.close()
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
        person = ask(home)
        helper = helper_of(person.process.pid)
        person.process.send_signal(number)
        person.process.wait()
        check(f"{number.name} to agentnode: the helper is gone within 1 s",
              harness.wait_until(lambda: is_over(helper), 1))
        check("and the echo is on", person.echoes())
        person.close()


def locked(home):
    session = home.session
    session.stop()
    session.start(password=None)
    deadline = Deadline(3)
    result = home.set(KEY)
    check("that is quick", deadline.ends(result.seconds), deadline)
    check("a locked keychain is 4 and says so", sentence(
        result, 4, "locked", "unlock"), result)
    result = home.run("auth", "remove", "openai")
    check("remove, too", sentence(result, 4, "locked"), result)
    got = home.read()
    check("a key is not read from it", got[:2] == ("unavailable", "-")
          and "locked" in got[2], got)
    check("list needs no keychain", "openai" in home.keys(), home.keys())
    result = home.set(KEY, DISPLAY=":77")
    check("with a display but nobody there it ends", sentence(
        result, 4, "locked") and result.seconds < 65, result)
    session.stop()
    session.start(password=b"not the password")
    check("a wrong password leaves it locked", sentence(
        home.set(KEY), 4, "locked"))
    session.stop()
    session.start()
    check("and the old key is still there", home.stored() == [OTHER])
    check("a set that came to nothing before is not recorded", not [
        e for e, _ in home.events() if e == "key_set_failed"])
    check("a remove that failed is", home.events()[-1][0]
          == "key_remove_failed", home.events()[-2:])


def frozen(home):
    """The keychain is there and does not answer; then it dies."""
    home.session.freeze(True)
    result = home.set(KEY)
    check("a keychain that hangs is 4 within its 10 s", sentence(
        result, 4, "did not answer", "--backend file")
        and 9 < result.seconds < 14, result)
    home.session.freeze(False)
    process = subprocess.Popen(
        [harness.AGENTNODE, "auth", "set", "openai", "--from-fd", "0"],
        env=harness.environment(home.path, **home.session.agent()),
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE)
    harness.wait_until(lambda: helper_of(process.pid), 10)
    time.sleep(0.3)
    home.session.stop()
    _, err = process.communicate(KEY.encode(), timeout=30)
    check("a keychain that dies meanwhile is an error", process.returncode
          in (4, 70) and err.count(b"\n") == 1, err)
    check("and that is recorded", home.events()[-1][0] == "key_set_failed"
          and home.events()[-1][1]["provider"] == "openai",
          home.events()[-2:])


def missing(home):
    result = home.set(KEY)
    check("a bus without a keychain", sentence(
        result, 4, "org.freedesktop.secrets", "plain text"), result)
    run = harness.folder("agentnode-run-")
    result = home.set(KEY, DBUS_SESSION_BUS_ADDRESS="", XDG_RUNTIME_DIR=run)
    check("no D-Bus", sentence(
        result, 4, "no D-Bus session", "--backend file", "credentials"),
        result)
    result = home.set(KEY, DBUS_SESSION_BUS_ADDRESS="",
                      XDG_RUNTIME_DIR=home.session.run)
    check("XDG_RUNTIME_DIR/bus is found", sentence(
        result, 4, "org.freedesktop.secrets"), result)
    result = home.set(KEY, DBUS_SESSION_BUS_ADDRESS=f"unix:path={run}/gone")
    check("a bus that is gone", sentence(result, 4, "cannot be reached"),
          result)
    ran = os.path.join(run, "ran")
    for address in (f"unixexec:path=/usr/bin/touch,argv1={ran}",
                    "tcp:host=127.0.0.1,port=1", "autolaunch:",
                    f"unix:path={run}/gone;tcp:host=127.0.0.1,port=1"):
        result = home.set(KEY, DBUS_SESSION_BUS_ADDRESS=address)
        check(f"{address.split(':')[0]} is no bus for keys", sentence(
            result, 4, "no D-Bus session"), result)
    check("nothing was run by an address", not os.path.exists(ran))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(run, "hangs"))
        listener.listen(8)
        result = home.set(
            KEY, DBUS_SESSION_BUS_ADDRESS=f"unix:path={run}/hangs")
        check("a bus that never answers is 4 within its 10 s", sentence(
            result, 4, "did not answer") and 9 < result.seconds < 14, result)
    fresh = keyring_session.Session()
    fresh.start(password=None)
    home.session, old = fresh, home.session
    result = home.set(KEY)
    check("a keychain without a keyring in it", sentence(
        result, 4, "no default keyring"), result)
    home.session = old
    fresh.close()


def trace(home, *argv, stdin=None, **env):
    """Run under strace; program -> the calls that had the key in a buffer.
    (strace cannot look into memfd_secret memory, nor can anybody else.)"""
    out = os.path.join(harness.folder(), "trace")
    result = harness.run(
        "strace", "-ff", "-qq", "-v", "-s", "70000", "-o", out,
        harness.AGENTNODE, *argv, timeout=120, stdin=stdin,
        env=harness.environment(home.path, **home.session.agent(), **env))
    check("set under strace", result.code == 0 and home.stored() == [KEY],
          result)
    seen = {}
    for name in os.listdir(os.path.dirname(out)):
        with open(os.path.join(os.path.dirname(out), name),
                  encoding="latin-1") as file:
            lines = file.read().splitlines()
        execs = [n for n, l in enumerate(lines) if l.startswith("execve(")]
        program = "agentnode"
        if execs:
            program = os.path.basename(
                lines[execs[-1]].split('"')[1])
            # Until then it is a copy of the supervisor.
            if program != "agentnode":
                seen.setdefault("agentnode", []).extend(
                    l for l in lines[:execs[-1]] if KEY in l)
        seen.setdefault(program, []).extend(
            l for l in lines[execs[-1] if execs else 0:] if KEY in l)
    return seen


def traced(home):
    """Every system call of every process: who had the key in a buffer?"""
    harness.need("strace")
    seen = trace(home, "auth", "set", "openai", "--from-fd", "0",
                 stdin=KEY + "\n")
    check("traced supervisor, ledger and helper", {
        "agentnode", "agentnode-ledger", "agentnode-keyring"} <=
        set(seen), seen.keys())
    check("i02: the supervisor had it in no call", seen["agentnode"] == [],
          seen["agentnode"])
    check("nor the ledger", seen["agentnode-ledger"] == [])
    check("the helper at most read it, and sent it to nobody in the clear",
          len(seen["agentnode-keyring"]) <= 1 and all(
              line.startswith("read(") for line in
              seen["agentnode-keyring"]), seen["agentnode-keyring"])
    seen = trace(home, "auth", "set", "openai", "--from-env", "A_KEY",
                 A_KEY=KEY)
    lines = [l for l in seen["agentnode"] if not l.startswith("execve(")]
    check("from a variable it goes into one pipe (and is found there)",
          len(lines) == 1 and lines[0].startswith("write("), lines)
    check("and to no other process", seen["agentnode-ledger"] == []
          and len(seen["agentnode-keyring"]) <= 1, seen)


def nowhere(home):
    """The key, its halves and the other keys in what was left behind."""
    words = [w.encode() for w in (KEY, OTHER, KEY[:14], KEY[14:], OTHER[8:])]
    found, looked = [], 0
    for path in list(home.files()) + [
            os.path.join(f, n) for f, _, ns in os.walk(home.session.home)
            for n in ns]:
        with open(path, "rb") as file:
            data = file.read()
        looked += 1
        found += [path for word in words if word in data]
    check("i02: it is in no file", found == [] and looked > 5,
          (found, looked))
    for event, fields in home.events():
        if event.startswith("key_"):
            check(f"{event} has provider and backend alone", set(fields) <=
                  {"provider", "backend", "code"} and "Nb8d" not in
                  json.dumps(fields), fields)


def recorded(home):
    """No record, no effect."""
    ledger = os.path.join(home.path, ".agentnode", "ledger", "audit.jsonl")
    with open(ledger, "rb") as file:
        data = file.read()
    with open(ledger, "r+b") as file:
        file.truncate(data[:-1].rindex(b"\n") + 1)
    result = home.set(OTHER)
    check("i12: with a broken chain no key is set", result.code in (6, 70)
          and home.stored() == [KEY], result)
    check("and none is removed", home.run("auth", "remove", "openai").code
          in (6, 70) and home.stored() == [KEY])
    with open(ledger, "r+b") as file:
        file.write(data)
    check("as before", home.set(OTHER).code == 0
          and home.stored() == [OTHER])


def main():
    session = keyring_session.Session()
    try:
        check("a keychain of our own", session.start())
        home = Home(session)
        sets(home)
        restart(home)
        refused(home)
        typed(home)
        killed(home)
        locked(home)
        frozen(home)
        missing(home)
        check("the keychain is back", session.start())
        traced(home)
        recorded(home)
        nowhere(home)
    finally:
        session.close()
    harness.finish()


main()
