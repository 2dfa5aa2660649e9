#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode run`: functions in Python and JavaScript, synchronous or not;
arguments and which function they reach; what comes out; what is refused
before anything starts; the network that the entry's word means."""
import json
import os
import signal
import subprocess
import time

import consent_seal
import harness
import pack_runs
import schema_check
from harness import check

case = pack_runs.PackCase()

PYTHON = """
import os
import sys


def count(text, upper=False):
    print("words of the tool's own")
    sys.stderr.write("and complaints\\n")
    os.write(1, b'{"ok":true,"result":"forged"}\\n')
    os.system("echo from a child; echo to its error >&2")
    return {"words": len(text.split()), "upper": upper}


def hang():
    import time
    time.sleep(60)


async def later(n):
    return n + 1


def bad(**rest):
    raise ValueError("no \\x1b[2J words in /pack")


def quit(**rest):
    sys.exit("gone")


def give(value=None):
    return value


def environment():
    names = set(os.environ)
    return {"names": sorted(names), "cwd": os.getcwd(),
            "fds": sorted(int(n) for n in os.listdir("/proc/self/fd")),
            "write": can_write("/pack/x"), "input": sys.stdin.read(),
            "uid": os.getuid()}


def can_write(path):
    try:
        open(path, "w").close()
        return True
    except OSError as error:
        return type(error).__name__


def hello(**rest):
    return "by its own name"


def reach(host):
    import socket
    try:
        socket.create_connection((host, 443), 3).close()
        return "reached"
    except OSError as error:
        return str(error)


def ask(url):
    import urllib.request
    try:
        return urllib.request.urlopen(url, timeout=5).status
    except Exception as error:
        return str(error)
"""
JS = """
import path from 'node:path';
export function join({parts}) {
	console.log('words of the tool\\'s own');
	return {joined: path.join(...parts)};
}
export async function later({n}) {
	await new Promise((resolve) => setTimeout(resolve, 20));
	return n + 1;
}
export function bad() {
	throw new RangeError('too much');
}
export async function lost() {
	Promise.reject(new Error('nobody waits for this'));
	await new Promise((resolve) => setTimeout(resolve, 5000));
}
export function give({what}) {
	return {nan: NaN, big: 10n, fn: () => 1, bytes: Buffer.from('x'),
		nothing: undefined, deep: {list: [1, 'a', null]}}[what];
}
export function quit() {
	process.exit(0);
}
"""
TYPES = {"type": "object", "properties": {
    "n": {"type": "integer"}, "upper": {"type": "boolean"},
    "text": {"type": "string"}}}


def tool(name, entry=None, schema=None):
    found = {"name": name, "entrypoint": entry, "input_schema": schema}
    return {k: v for k, v in found.items() if v is not None}


def python():
    report, result = case.report("pypack/count", {"text": "a b  c"})
    check("a function's result", result.code == 0 and report.get("result")
          == {"words": 3, "upper": False}, result)
    check("the report has the schema's form", schema_check.check_text(
        result.out, harness.SOURCE, "run") == "", result)
    check("time and memory are reported", report.get("duration_ms", 0) > 0
          and report.get("peak_memory", 0) > 1 << 20
          and report.get("exit") == 0
          and report.get("truncated") is False
          and report.get("place") == "sandbox", report)
    result = case.tool("pypack/count", None, "--arg", "text=a b", "--arg",
                       "upper=true", "--verbose")
    check("i108: what a tool prints, also past its library and by a child, "
          "is not the result", result.code == 0 and
          result.out == '{"words":2,"upper":true}\n', result)
    check("--verbose shows it", "words of the tool's own" in result.err and
          "complaints" in result.err and "from a child" in result.err and
          "KiB of memory" in result.err, result)
    check("an asynchronous function", case.tool(
        "pypack/later", None, "--arg", "n=4").out == "5\n")
    result = case.tool("pypack/bad")
    check("a function that raises: exit 1, type and message, made safe",
          result.code == 1 and result.out == "" and
          "tool_failed: ValueError: no " in result.err and
          "\x1b" not in result.err and "Traceback" not in result.err, result)
    report, result = case.report("pypack/bad", {})
    check("and in the report", result.code == 1 and report.get("error") ==
          {"code": "tool_failed", "type": "ValueError",
           "message": "no \x1b[2J words in /pack"} and
          "\x1b" not in result.out and schema_check.check_text(
              result.out, harness.SOURCE, "run") == "", result)
    report, result = case.report("pypack/quit", {})
    check("sys.exit is a failure of the tool", result.code == 1 and
          report.get("error", {}).get("type") == "SystemExit", result)
    for value in ("x", 1.5, None, True, [1, {"a": []}], {"\u00e9": "\u202e"}):
        report, result = case.report("pypack/give", {"value": value})
        check(f"a result that is {json.dumps(value)}", report.get("ok") and
              report.get("result") == value and "\u202e" not in result.out,
              result)
    check("a function by the tool's name", case.tool("oldpack/hello").out ==
          '"by its own name"\n')
    check("an entrypoint without a function: run", case.tool(
        "olderpack/anything", {"a": 1}).out == '{"a":1}\n')
    result = case.tool("pypack/none")
    check("a function that is not there", result.code == 1 and
          "AttributeError" in result.err, result)


def environment():
    report, result = case.report("pypack/environment", {})
    got = report.get("result") or {}
    check("i01: the environment is ours alone", set(got.get("names", [])) == {
        "PATH", "HOME", "TMPDIR", "LANG", "NODE_PATH", "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}, got)
    check("nothing is left on its standard input", got.get("input") == "",
          got)
    check("it has its streams, its result and no other descriptor",
          got.get("fds") == [0, 1, 2, 3, 4], got)
    check("its files cannot be written", got.get("write") == "OSError" or
          got.get("write") == "PermissionError", got)


def node():
    result = case.tool("jspack/join", {"parts": ["a", "..", "b"]})
    check("JavaScript: a result, without what is printed",
          result.code == 0 and result.out == '{"joined":"b"}\n', result)
    check("an asynchronous function in JavaScript",
          case.tool("jspack/later", {"n": 1}).out == "2\n")
    result = case.tool("jspack/bad")
    check("an error in JavaScript", result.code == 1 and
          "tool_failed: RangeError: too much" in result.err, result)
    result = case.tool("jspack/lost", {})
    check("a rejection nobody waits for is a failure, at once",
          result.code == 1 and "nobody waits" in result.err and
          result.seconds < 5, result)
    for what in ("nan", "big", "fn", "bytes"):
        result = case.tool("jspack/give", {"what": what})
        check(f"{what} is no JSON, and is not made into some",
              result.code == 1 and "TypeError" in result.err, result)
    check("undefined is null", case.tool(
        "jspack/give", {"what": "nothing"}).out == "null\n")
    check("lists and objects", case.tool("jspack/give", {"what": "deep"}).out ==
          '{"list":[1,"a",null]}\n')
    result = case.tool("jspack/quit")
    check("process.exit is no result", result.code == 1 and
          "no_result: the tool ended without a result (exit 0)"
          in result.err, result)


def refused():
    before = len(case.audit("launch"))
    for words, code, why in (
            (("pypack",), "no_such_tool", "say which"),
            (("pypack/nothing",), "no_such_tool", "has no tool"),
            (("absent",), "not_installed", "not in"),
            (("pypack/later", "--arg", "n=x"), "bad_args", "integer"),
            (("pypack/later", "--arg", "n"), "bad_args", "NAME=VALUE"),
            (("pypack/later", "--arg", "n=1", "--arg", "n=2"), "bad_args",
             "twice"),
            (("pypack/later", "--timeout", "121"), "bad_args",
             "packs.timeout_s")):
        result = case.run("run", *words)
        check(f"{' '.join(words)} never starts: {code}",
              result.code == 125 and code in result.err and why in result.err
              and result.out == "", result)
    result = case.run("run", "absent", "--json")
    check("the report of what never started", result.code == 125 and
          result.json()["error"]["code"] == "not_installed" and
          schema_check.check_text(result.out, harness.SOURCE, "run") == "",
          result)
    for stdin, why in (("[1]", "object"), ('{"a":1,"a":2}', "duplicate"),
                       ("{", "line 1"), ('{"a":NaN}', "line 1")):
        result = case.run("run", "pypack/give", "--json-input", "-", stdin=stdin)
        check(f"--json-input {stdin} is a mistake of the caller's",
              result.code == 2 and why in result.err, result)
    for words in (("pypack/../x",), ("Pypack",), ("pypack/",), ("pypack", "more"),
                  ("pypack", "--timeout", "0"), ("pypack", "--nothing")):
        result = case.run("run", *words)
        check(f"run {' '.join(words)} is refused",
              result.code in (2, 125), result)
    check("none of them started anything",
          len(case.audit("launch")) == before)


def consent():
    lock = json.load(open(case.path, encoding="utf-8"))
    lock["packages"]["pypack"]["permissions"] = {
        "network_level": "restricted", "allowed_domains": ["example.com"]}
    path = os.path.join(consent_seal.clone(consent_seal.sealed(lock)),
                        "agentnode.lock")
    result = case.tool("pypack/later", None, "--arg", "n=1", "--lockfile", path)
    check("a lockfile of somebody else's has no consent here",
          result.code == 125 and "consent_missing" in result.err and
          "network restricted, 1 hosts" in result.err, result)
    check("and the refusal is in the chain", any(
        e.get("code") == "consent_missing" and e.get("kind") == "toolpack"
        for e in case.audit("refusal")))
    case.change("pypack", tools=[tool("later", "../main:later")])
    result = case.tool("pypack/later")
    check("a function that is no name is refused", result.code == 125 and
          "not_runnable" in result.err, result)


def network():
    for word in (None, "none", "internet", "full", "limited", "UNRESTRICTED"):
        case.change("pypack", permissions={} if word is None
                    else {"network_level": word})
        report, result = case.report("pypack/reach", {"host": "example.com"})
        check(f"i03: network {word}: none", "reached" not in result.out and
              report.get("ok") is True and not any(
                  "egress" in str(e) for e in case.audit("launch")[-1:]),
              result)
    case.change("pypack", permissions={"network_level": "unrestricted"})
    result = case.tool("pypack/reach", {"host": "example.com"})
    check("unrestricted that the host does not name: none, and it is said",
          result.code == 0 and "unrestricted_network" in result.err and
          "reached" not in result.out, result)
    result = case.run("config", "set", "packs.unrestricted_network", "pypack")
    check("the host names it", result.code == 0, result)
    report, result = case.report("pypack/ask", {"url": "https://example.com/"})
    check("unrestricted that is named: still only what egress.allow has, "
          "here nothing", report.get("ok") is True and
          report.get("result") != 200 and
          "unrestricted_network" not in result.err, result)
    case.run("config", "set", "egress.allow", "allowed.example.com")
    report, result = case.report("pypack/ask", {"url": "https://example.com/"})
    check("and the host's list is the list", "403" in str(
        report.get("result")), report)
    case.change("pypack", permissions={"network_level": "restricted",
                                   "allowed_domains": ["sealed.example.org"]})
    report, result = case.report(
        "pypack/ask", {"url": "https://allowed.example.com/"})
    check("restricted: the sealed list alone, not the host's own",
          "403" in str(report.get("result")), report)
    report, result = case.report(
        "pypack/ask", {"url": "https://sealed.example.org/"})
    check("a sealed host passes the list (and is looked up)",
          report.get("ok") is True and "403" not in str(report.get("result")),
          report)
    case.change("pypack", permissions={"network_level": "restricted",
                                   "allowed_domains": []})
    report, result = case.report("pypack/reach", {"host": "example.com"})
    check("restricted to nothing is nothing", report.get("ok") is True and
          "reached" not in result.out, result)


def lost():
    """A result that cannot be written is none; whose fault an end is."""
    words = ["run", "pypack/give", "--arg", "value=" + 99 * "x"]
    for more in ([], ["--json"]):
        result = harness.agentnode_into("/dev/full", case.home, *words, *more)
        check(f"run {more} onto a full disk", harness.is_lost(result), result)
    place = os.path.join(case.home, "small")
    os.mkdir(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", place],
                   check=True)
    try:
        file = os.path.join(place, "result")
        result = harness.agentnode_into(
            file, case.home, *words[:-1], "value=" + 20000 * "x")
        check("a result that is cut in the middle", harness.is_lost(result)
              and os.path.getsize(file) == 8192, result)
    finally:
        subprocess.run(["umount", place], check=True)
    for more in ([], ["--json"]):
        process = subprocess.Popen(
            [harness.AGENTNODE, "run", "pypack/hang", *more],
            env=harness.environment(case.home), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        harness.wait_until(lambda: case.left(), 20)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        check(f"^C {more} is said as what it is", process.returncode == 137
              and "no_result" not in out + err
              and ('"code":"stopped"' in out.replace(" ", "") if more
                   else "stopped: a signal came" in err), (out, err))
    ends = [row.get("code") for row in case.audit("removal")]
    check("and so in the audit chain", ends[-2:] == ["stopped"] * 2, ends)


TOOLS = [tool(n, "lib.main:" + n, TYPES) for n in (
    "count", "later", "bad", "quit", "give", "environment", "reach", "ask", "hang")]
case.put("pypack", {"lib/__init__.py": "", "lib/main.py": PYTHON,
                "json.py": "raise SystemExit('a pack is not the library')\n"},
         TOOLS + [tool("none", "lib.main:not_there")])
# What manifests of version 0.1 said, as their entries have it.
case.put("oldpack", {"tool.py": PYTHON}, [tool("hello", "tool")])
case.change("oldpack", entrypoint="tool", tools=[tool("hello")])
case.put("olderpack", {"tool.py": "def run(**given):\n    return given\n"},
         [tool("anything", "tool")])
case.put("jspack", {"src/tool.mjs": JS}, [
    tool(n, "./src/tool.mjs:" + n) for n in (
        "join", "later", "bad", "lost", "give", "quit")], runtime="node")
try:
    for part in (python, environment, node, lost, refused, network, consent):
        print(f"# {part.__name__}", flush=True)
        part()
    check("nothing is left", case.left() == [], case.left())
finally:
    case.close()
harness.finish()
