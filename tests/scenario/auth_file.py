#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys without a keychain: the file encrypted under a passphrase, and
systemd's credentials. The file is replaced whole or not at all; a wrong
passphrase, a damaged file and a changed entry are told apart; nobody gets a
key in plain text."""
import hashlib
import os
import random
import signal
import struct
import subprocess
import time

import harness
from harness import agentnode, check
from terminal_child import Terminal, helper_of

KEY = "sk-proj-Zq7vTr4mQk9wLx2cNb8d"
OTHER = "AIza-second-KEY-0123456789ab"
PASSPHRASE = "correct horse battery"
UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]


class Home:
    def __init__(self):
        self.path = harness.folder()
        self.folder = os.path.join(self.path, ".agentnode")
        os.makedirs(os.path.join(self.folder, "providers"))
        os.chmod(self.folder, 0o700)
        for name in ("openai", "gemini"):
            with open(os.path.join(self.folder, "providers",
                                   name + ".json"), "w",
                      encoding="utf-8") as file:
                file.write("{}")
        self.file = os.path.join(self.folder, "keys.enc")

    def environment(self, **env):
        env = harness.environment(self.path, **env)
        env.pop("XDG_RUNTIME_DIR", None)
        return env

    def start(self, *argv, key=None, passphrase=None, **env):
        """Two descriptors: the key is 0, the passphrase another."""
        read, write = os.pipe()
        argv = [harness.AGENTNODE, *argv]
        if passphrase is not None:
            os.write(write, passphrase.encode())
            argv += ["--passphrase-fd", str(read)]
        os.close(write)
        process = subprocess.Popen(
            argv, env=self.environment(**env), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            pass_fds=[read])
        os.close(read)
        return process

    def finish(self, process, key=None):
        begin = time.monotonic()
        out, err = process.communicate(key, timeout=60)
        return harness.Result(process.returncode, out, err,
                              time.monotonic() - begin)

    def set(self, provider, key, passphrase=PASSPHRASE, **env):
        return self.finish(self.start(
            "auth", "set", provider, "--from-fd", "0", "--backend", "file",
            passphrase=passphrase, **env), key)

    def run(self, *argv, **more):
        env = {k: v for k, v in more.items() if k.isupper()}
        rest = {k: v for k, v in more.items() if not k.isupper()}
        return agentnode(self.path, *argv, XDG_RUNTIME_DIR="/nowhere",
                         **env, **rest)

    def read(self, *providers, passphrase=PASSPHRASE, **env):
        """What llm-key would get: provider -> (status, digest, detail)."""
        read, write = os.pipe()
        os.write(write, (passphrase or "").encode())
        os.close(write)
        argv = [os.path.join(harness.BUILD, "tests", "read_key")]
        if passphrase is not None:
            argv += ["--passphrase-fd", str(read)]
        done = subprocess.run(
            argv + list(providers), env=self.environment(**env),
            capture_output=True, text=True, pass_fds=[read], timeout=60)
        os.close(read)
        rows = [line.split(" ", 4) for line in done.stdout.splitlines()]
        return {row[0]: (row[1], row[3], row[4]) for row in rows}

    def bytes(self):
        with open(self.file, "rb") as file:
            return file.read()

    def write(self, data):
        with open(self.file, "wb") as file:
            file.write(data)


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def sentence(result, code, *words):
    lines = [l for l in result.err.splitlines() if "warning: " not in l]
    return (result.code == code and len(lines) == 1 and result.out == ""
            and lines[0].startswith("agentnode: ")
            and all(word in lines[0] for word in words))


def never_plain(home):
    result = home.run("auth", "set", "openai", "--from-fd", "0", stdin=KEY)
    check("without a keychain: 4, and what there is instead", sentence(
        result, 4, "--backend file", "never kept in plain text"), result)
    check("nothing was written", not os.path.exists(home.file)
          and home.run("auth", "list", "--json").json()["keys"] == [])


def stores(home):
    result = home.set("openai", KEY + "\n")
    check("set in the file", result.code == 0 and "Nb8d" in result.out,
          result)
    check("and a loud warning", "warning: " in result.err
          and "passphrase" in result.err, result)
    status = os.stat(home.file)
    check("the file is private", status.st_mode & 0o7777 == 0o600)
    check("no key and no passphrase in it", KEY.encode() not in home.bytes()
          and PASSPHRASE.encode() not in home.bytes()
          and home.bytes().startswith(b"ANKEYS01\x11\x08\x01\x01"))
    check("another key beside it", home.set("gemini", OTHER).code == 0)
    got = home.read("openai", "gemini", "openai")
    check("i02: both arrive at llm-key, with one passphrase",
          got["openai"][:2] == ("found", digest(KEY))
          and got["gemini"][:2] == ("found", digest(OTHER)), got)
    result = home.run("config", "set", "auth.backend", "file")
    check("opt in by configuration", result.code == 0)
    result = home.finish(home.start(
        "auth", "set", "openai", "--from-fd", "0", passphrase=PASSPHRASE),
        OTHER)
    check("then --backend is not needed", result.code == 0
          and "warning: " in result.err
          and home.read("openai")["openai"][1] == digest(OTHER), result)
    home.set("openai", KEY)


def wrong(home):
    before = home.bytes()
    result = home.set("openai", OTHER, passphrase=PASSPHRASE + "x")
    check("a wrong passphrase is 1", sentence(
        result, 1, "wrong passphrase", "whole"), result)
    result = home.set("openai", OTHER, passphrase="")
    check("an empty one, too", sentence(result, 1, "empty"), result)
    result = home.finish(home.start("auth", "set", "openai", "--from-fd",
                                    "0"), OTHER)
    check("none and no terminal is 2", sentence(
        result, 2, "--passphrase-fd"), result)
    check("the file is unchanged", home.bytes() == before)
    got = home.read("openai", passphrase=PASSPHRASE + "x")["openai"]
    check("nobody reads with a wrong one", got[0] == "unavailable"
          and got[1] == "-" and "wrong passphrase" in got[2], got)
    got = home.read("openai", passphrase=None)["openai"]
    check("nor without one", got[0] == "unavailable" and got[1] == "-", got)


def damaged(home):
    good = home.bytes()
    spots = random.Random(7).sample(range(len(good)), 12)
    faults = [(f"bit of byte {at} flipped", good[:at] + bytes(
        [good[at] ^ 1 << at % 8]) + good[at + 1:]) for at in spots]
    faults += [(f"cut to {size} bytes", good[:size])
               for size in (0, 1, 55, 56, 119, 120, len(good) - 1)]
    faults += [("a byte longer", good + b"x"), ("another file", b"x" * 500)]
    for name, data in faults:
        home.write(data)
        result = home.set("openai", OTHER)
        if not check(f"{name}: 6, damaged", sentence(
                result, 6, "damaged"), result):
            break
        check(f"{name}: not written over", home.bytes() == data)
    got = home.read("openai")["openai"]
    check("nobody reads from it", got[0] == "unavailable"
          and got[1] == "-" and "damaged" in got[2], got)
    # Changed by somebody who knows the format: names swapped.
    body = good[:-64].replace(b"\6openai", b"\6gemnai").replace(
        b"\6gemini", b"\6openai").replace(b"\6gemnai", b"\6gemini")
    home.write(body + hashlib.sha256(body).hexdigest().encode())
    got = home.read("openai", "gemini")
    check("swapped entries do not authenticate", all(
        row[0] == "unavailable" and row[1] == "-" and "authenticate" in
        row[2] for row in got.values()) and len(got) == 2, got)
    # Its own salt under a check of another file.
    body = good[:12] + bytes(16) + good[28:-64]
    home.write(body + hashlib.sha256(body).hexdigest().encode())
    got = home.read("openai")["openai"]
    check("another salt is a wrong passphrase", got[0] == "unavailable"
          and "wrong passphrase" in got[2], got)
    # Cheap scrypt parameters are not taken from the file.
    body = good[:8] + bytes([4]) + good[9:-64]
    home.write(body + hashlib.sha256(body).hexdigest().encode())
    check("weaker parameters are refused", sentence(
        home.set("openai", OTHER), 6, "scrypt"))
    home.write(good)
    os.rename(home.file, home.file + ".real")
    os.symlink(home.file + ".real", home.file)
    check("a link is refused", home.set("openai", OTHER).code == 70)
    os.unlink(home.file)
    os.rename(home.file + ".real", home.file)
    os.chmod(home.file, 0o620)
    check("a file that others may write is refused",
          home.set("openai", OTHER).code == 70)
    os.chmod(home.file, 0o600)
    check("as before", home.read("openai")["openai"][1] == digest(KEY))


def removes(home):
    check("remove needs no passphrase", home.run(
        "auth", "remove", "openai").code == 0)
    got = home.read("openai", "gemini")
    check("it is gone, the other is not", got["openai"][0] == "missing"
          and got["gemini"][1] == digest(OTHER), got)
    check("remove the last", home.run("auth", "remove", "gemini").code == 0)
    check("the file goes with it", not os.path.exists(home.file))
    check("remove what is absent is 1",
          home.run("auth", "remove", "gemini").code == 1
          and home.run("auth", "remove", "gemini", "--backend",
                       "file").code == 1)
    check("a new file may have another passphrase",
          home.set("openai", KEY, passphrase="another one").code == 0
          and home.read("openai", passphrase="another one")["openai"][1]
          == digest(KEY))
    home.run("auth", "remove", "openai")
    check("a short passphrase for a new file is refused", sentence(
        home.set("openai", KEY, passphrase="1234567"), 1, "8 to 1024"))


def asked(home):
    """Key and passphrase at a terminal; a new one twice."""
    def person(*answers):
        end = Terminal([harness.AGENTNODE, "auth", "set", "openai",
                        "--backend", "file"], home.environment())
        for question, answer in answers:
            check(f"asked: {question.decode()}", end.expect(question, 15),
                  end.shown)
            end.type(answer.encode() + b"\r")
        code = end.finish()
        check("nothing typed is shown", not any(
            answer.encode() in end.shown for _, answer in answers
            if len(answer) > 3), end.shown)
        check("and the echo is on", end.echoes())
        end.close()
        return code, end.shown
    new, again = b"New passphrase", b"passphrase again: "
    code, shown = person((new, PASSPHRASE), (again, PASSPHRASE + "x"))
    check("two that differ", code == 1 and b"differ" in shown, shown)
    code, shown = person((new, PASSPHRASE), (again, PASSPHRASE),
                         (b"Key for openai", KEY))
    check("set at a terminal", code == 0 and home.read("openai")["openai"]
          [1] == digest(KEY), shown)
    code, shown = person((b"Passphrase of", "not that one"))
    check("a wrong passphrase is said before a key is asked for",
          code == 1 and b"wrong passphrase" in shown, shown)
    code, shown = person((b"Passphrase of", PASSPHRASE),
                         (b"Key for openai", "\x03"))
    check("cancelled at the key", code == 130 and home.read("openai")
          ["openai"][1] == digest(KEY), shown)


FULL = r"""
set -e
mount -t tmpfs -o size=4m,mode=0700 none "$AGENTNODE_HOME/small"
cp "$AGENTNODE_HOME"/*.enc "$AGENTNODE_HOME/small/"
mkdir -m 0700 "$AGENTNODE_HOME/small/log" "$AGENTNODE_HOME/small/providers"
cp "$AGENTNODE_HOME/providers/openai.json" "$AGENTNODE_HOME/small/providers/"
export AGENTNODE_HOME="$AGENTNODE_HOME/small"
sum=$(sha256sum < "$AGENTNODE_HOME/keys.enc")
# The ledger needs its room first.
head -c 30 /dev/zero | tr '\0' k | "$AGENTNODE" auth set openai --from-fd 0 \
    --backend file --passphrase-fd 3 3< <(printf '%s' "$PASSPHRASE") \
    2> /dev/null
sum=$(sha256sum < "$AGENTNODE_HOME/keys.enc")
head -c 8M /dev/zero > "$AGENTNODE_HOME/fill" 2> /dev/null || true
head -c 2000 /dev/zero | tr '\0' k | "$AGENTNODE" auth set openai \
    --from-fd 0 --backend file --passphrase-fd 3 \
    3< <(printf '%s' "$PASSPHRASE") && echo "code 0" || echo "code $?"
[ "$(sha256sum < "$AGENTNODE_HOME/keys.enc")" = "$sum" ] && echo unchanged
ls -A "$AGENTNODE_HOME"
"""


def full(home):
    """No room for the new file: an error, and the old one is whole."""
    os.mkdir(os.path.join(home.folder, "small"), 0o700)
    result = harness.run(
        *UNSHARE, "bash", "-c", FULL, timeout=60, env=home.environment(
            AGENTNODE=harness.AGENTNODE, PASSPHRASE=PASSPHRASE))
    os.rmdir(os.path.join(home.folder, "small"))
    check("a full disk: an error, the old file is whole", "unchanged" in
          result.out and "code 70" in result.out
          and "No space left" in result.err
          and ".keys.enc.new" not in result.out, result)


def killed(home):
    """Helper or supervisor die at any moment: the old key or the new."""
    keys = {digest(KEY): KEY, digest(OTHER): OTHER}
    source = random.Random(11)
    outcomes = set()
    for turn in range(10):
        process = home.start("auth", "set", "openai", "--from-fd", "0",
                             "--backend", "file", passphrase=PASSPHRASE)
        process.stdin.write((OTHER, KEY)[turn % 2])
        process.stdin.close()
        process.stdin = None
        time.sleep(0.02 if turn < 2 else source.uniform(0.3, 0.75))
        victim = helper_of(process.pid) if turn % 4 < 2 else process.pid
        if victim is not None:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.communicate(timeout=60)
        outcomes.add(process.returncode)
        got = home.read("openai")["openai"]
        if not check(f"killed {turn}: one key or the other",
                     got[0] == "found" and got[1] in keys, got):
            break
    check("some were killed in time", outcomes - {0} != set(), outcomes)
    result = home.set("openai", KEY)
    check("afterwards it works", result.code == 0 and home.read("openai")
          ["openai"][1] == digest(KEY), result)
    check("nothing is left behind", not [
        name for name in os.listdir(home.folder) if name.endswith(".new")])


def at_once(home):
    """Two writers: both keys are there."""
    first = home.start("auth", "set", "openai", "--from-fd", "0",
                       "--backend", "file", passphrase=PASSPHRASE)
    second = home.start("auth", "set", "gemini", "--from-fd", "0",
                        "--backend", "file", passphrase=PASSPHRASE)
    check("two at once", home.finish(first, KEY).code == 0
          and home.finish(second, OTHER).code == 0)
    got = home.read("openai", "gemini")
    check("both are stored", got["openai"][1] == digest(KEY)
          and got["gemini"][1] == digest(OTHER), got)


def credentials(home):
    folder = harness.folder()
    path = os.path.join(folder, "agentnode.gemini")
    with open(path, "w", encoding="utf-8") as file:
        file.write(OTHER + "\n")
    os.chmod(path, 0o400)
    env = {"CREDENTIALS_DIRECTORY": folder}
    result = home.run("auth", "set", "openai", "--from-fd", "0",
                      "--backend", "credentials", stdin=KEY, **env)
    check("credentials are not set here: it says how", sentence(
        result, 2, "systemd-creds encrypt", "LoadCredentialEncrypted=",
        "agentnode.openai"), result)
    check("nor removed", sentence(home.run(
        "auth", "remove", "gemini", "--backend", "credentials", **env), 2,
        "systemd-creds"))
    rows = home.run("auth", "list", "--json", **env).json()["keys"]
    check("list shows what systemd gave", {
        "provider": "gemini", "backend": "credentials", "last4": None,
        "stored_at": None} in rows, rows)
    got = home.read("gemini", passphrase=None, **env)["gemini"]
    check("it is read", got[:2] == ("found", digest(OTHER)), got)
    os.chmod(path, 0o444)
    got = home.read("gemini", passphrase=None, **env)["gemini"]
    check("a credential for everybody is none", got[0] == "unavailable"
          and "other users" in got[2], got)
    os.unlink(path)
    os.symlink("/etc/hostname", path)
    got = home.read("gemini", passphrase=None, **env)["gemini"]
    check("nor is a link", got[0] == "unavailable" and got[1] == "-", got)
    os.unlink(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write("too-short")
    os.chmod(path, 0o400)
    got = home.read("gemini", passphrase=None, **env)["gemini"]
    check("nor what is no key", got[0] == "unavailable"
          and "9 bytes" in got[2], got)
    os.unlink(path)
    os.mkfifo(path, 0o400)
    got = home.read("gemini", passphrase=None, **env)["gemini"]
    check("nor a pipe, which nobody waits for", got[0] == "unavailable"
          and "regular" in got[2], got)


def main():
    home = Home()
    never_plain(home)
    stores(home)
    wrong(home)
    damaged(home)
    removes(home)
    asked(home)
    full(home)
    killed(home)
    at_once(home)
    check("the digest is of the whole file", home.bytes()[-64:].decode()
          == hashlib.sha256(home.bytes()[:-64]).hexdigest()
          and struct.unpack(">B", home.bytes()[11:12]) == (2,))
    credentials(Home())
    harness.finish()


main()
