#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""auth test: one call with the stored key over the real broker and llm-key to
a provider that takes it, refuses it, is broken, or is not there; the exit
code says which, and nothing of the answer reaches this program."""
import json
import os
import subprocess

import harness
import keyring_session
import provider_standin
from harness import agentnode, check
from internet import DNSServer
from test_ca import TestCA

KEYS = {"openai": "sk-proj-Zq7vTr4mQk9wLx2cNb8d",
        "anthropic": "sk-ant-api03-pL8mKq2wXz7vBn4tRc9yDf6gHj",
        "gemini": "AIzaSyD4fGh7jKl2mNbVcXz9qWeRtYuIoP1aS"}


class Case:
    def __init__(self):
        folder = harness.folder()
        self.ca = TestCA(folder)
        self.provider = provider_standin.Provider(
            self.ca.leaf(*provider_standin.NAMES))
        self.names = {name: ["127.0.0.1"] for name in provider_standin.NAMES}
        self.dns = DNSServer(self.names)
        self.session = keyring_session.Session()
        check("the keychain starts", self.session.start())
        self.home = harness.folder()
        self.folder = os.path.join(self.home, ".agentnode")
        os.mkdir(self.folder, 0o700)
        self.configure(self.dns.address, self.ca.root)

    def configure(self, resolver, ca, port=None):
        place = {"port": port or self.provider.port,
                 "cidrs": ["127.0.0.1/32"], "ca": ca}
        with open(os.path.join(self.folder, "config.json"), "w",
                  encoding="utf-8") as file:
            json.dump({"egress": {"resolver": resolver},
                       "llm": {"upstream": {n: place for n in KEYS}}}, file)

    def run(self, *argv, **more):
        return agentnode(self.home, *argv, timeout=120,
                         **{**self.session.agent(), **more})

    def set(self, provider, *more, key=None):
        return self.run("auth", "set", provider, "--from-fd", "0", *more,
                        stdin=(key or KEYS[provider]) + "\n")

    def test(self, provider="openai", **more):
        return self.run("auth", "test", provider, **more)

    def close(self):
        self.provider.close()
        self.dns.close()
        self.session.close()


def sentence(result, code, *words):
    return (result.code == code and result.out == ""
            and result.err.startswith("agentnode: ")
            and result.err.count("\n") == 1
            and all(word in result.err for word in words))


def taken(case):
    check("no key is 5", sentence(case.test(), 5, "auth set openai"),
          case.test())
    for provider, key in KEYS.items():
        case.set(provider)
        before = len(case.provider.calls)
        result = case.test(provider)
        calls = case.provider.calls[before:]
        check(f"{provider} takes it: 0", result.code == 0
              and result.out == f"{provider} takes the key.\n"
              and result.err == "", result)
        check("one call, for its models, with the key", len(calls) == 1
              and calls[0].method == "GET" and calls[0].path.endswith(
                  "/models") and calls[0].head.count(key.encode()) == 1,
              [c.head for c in calls])


def refused(case):
    for status in (401, 403):
        case.provider.mode = f"status:{status}"
        result = case.test()
        check(f"{status} is 1", sentence(result, 1, "refuses the key"),
              result)
    for mode, word in (("status:429", "upstream_error"),
                       ("status:500", "upstream_error"),
                       ("redirect", "redirect_refused"),
                       ("raw:garbage", "upstream_")):
        case.provider.mode = mode
        result = case.test()
        check(f"{mode} is 4", sentence(
            result, 4, "could not be found out", word), result)
    case.provider.mode = "silent"
    result = case.test()
    check("a provider that says nothing is 4, in time", sentence(
        result, 4, "timeout") and result.seconds < 30, result)
    case.provider.mode = "normal"


def unreachable(case):
    other = TestCA(harness.folder())
    case.configure(case.dns.address, other.root)
    result = case.test()
    check("another authority is 4", sentence(result, 4, "upstream_tls"),
          result)
    case.configure(case.dns.address, case.ca.root, harness.free_port())
    result = case.test()
    check("nobody there is 4", sentence(result, 4, "dial_failed"), result)
    # An address that is the provider's name for nobody.
    case.dns.names = {}
    empty = DNSServer({})
    case.configure(empty.address, case.ca.root)
    result = case.test()
    check("no such name is 4", sentence(result, 4, "lookup_failed"), result)
    empty.close()
    case.configure(case.dns.address, case.ca.root)
    case.session.stop()
    result = case.test()
    check("no keychain is 4", sentence(result, 4, "org.freedesktop.secrets"),
          result)
    case.session.start()


def others(case):
    check("an unknown provider is 2", sentence(
        case.test("nobody"), 2, "nobody"))
    check("a key is no word here either", sentence(
        case.run("auth", "test", "openai", KEYS["openai"]), 2))
    result = case.set("gemini", "--backend", "file", "--passphrase-fd", "0")
    check("key and passphrase cannot be one descriptor", sentence(
        result, 2, "differ"), result)


def passphrase(case, provider, text, *argv, stdin=None):
    read, write = os.pipe()
    os.write(write, text.encode())
    os.close(write)
    done = subprocess.run(
        [harness.AGENTNODE, *argv, provider, "--passphrase-fd", str(read)]
        + (["--from-fd", "0", "--backend", "file"] if stdin else []),
        env=harness.environment(case.home, **case.session.agent()),
        input=stdin or "", capture_output=True, text=True, timeout=60,
        pass_fds=[read])
    os.close(read)
    return harness.Result(done.returncode, done.stdout, done.stderr, 0)


def from_file(case):
    result = passphrase(case, "openai", "correct horse", "auth", "set",
                        stdin=KEYS["openai"])
    check("set in the encrypted file", result.code == 0, result)
    result = passphrase(case, "openai", "correct horse", "auth", "test")
    check("a key of the file is tried", result.code == 0, result)
    result = passphrase(case, "openai", "correct horsf", "auth", "test")
    check("a wrong passphrase is 4", sentence(
        result, 4, "wrong passphrase"), result)
    result = case.test()
    check("no passphrase is 4", sentence(result, 4, "--passphrase-fd"),
          result)


def nowhere(case):
    words = [key.encode() for key in KEYS.values()]
    found = []
    for folder, _, names in os.walk(case.home):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            found += [name for word in words if word in data]
    check("i02: no key in any file", found == [], found)
    log = [row for row in harness.json_lines(os.path.join(
        case.folder, "log", "agentnode-llm-broker.jsonl"))
        if row["event"] == "call"]
    check("each call has its line", len(log) >= 9 and {
        row["code"] for row in log} >= {"", "key_refused"},
        [row["code"] for row in log])


def main():
    case = Case()
    try:
        taken(case)
        refused(case)
        unreachable(case)
        others(case)
        from_file(case)
        nowhere(case)
    finally:
        case.close()
    harness.finish()


main()
