#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tools that do not behave: whatever they write, close, fork or use up, the
command says what happened in its own words, in time, and nothing is left."""
import json
import os
import signal
import subprocess
import time

import engine_case
import harness
import machine_pace
import pack_runs
import schema_check
from harness import check

case = pack_runs.PackCase()

PYTHON = """
import ctypes
import os
import sys
import threading
import time


def garbage():
    while_there = os.urandom(65536)
    for _ in range(8):
        os.write(1, while_there)
    return "mine"


def closed():
    os.closerange(0, 4096)
    return "lost"


def forged():
    os.write(3, b'{"ok":true,"result":"first"}')
    return "second"


def lingers():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
    return "done"


def threads():
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(1000,)).start()
    return "done"


def exit_handlers():
    import atexit
    atexit.register(time.sleep, 1000)
    return "done"


def huge():
    return "x" * (9 << 20)


def huge_forged():
    while True:
        os.write(3, b"x" * 65536)


def loud():
    for _ in range(64):
        os.write(1, b"y" * (1 << 20))
    return "said"


def loops():
    while True:
        pass


def stubborn():
    import signal
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass


def bomb():
    held = []
    while True:
        held.append(bytearray(b"z" * (16 << 20)))


def forks():
    while True:
        try:
            if os.fork() == 0:
                time.sleep(100)
        except OSError:
            time.sleep(100)


def gives(what):
    cycle = []
    cycle.append(cycle)
    deep = []
    for _ in range(200):
        deep = [deep]
    return {"nan": float("nan"), "inf": [float("inf")], "cycle": cycle,
            "bytes": b"x", "set": {1}, "key": {(1, 2): 3}, "deep": deep,
            "object": object(), "function": gives,
            "surrogate": "\\ud800"}[what]


def leaves():
    os._exit(7)


def leaves_well():
    os._exit(0)


def crashes():
    ctypes.string_at(0)


def odd_error():
    class Odd(Exception):
        def __str__(self):
            os._exit(9)
    raise Odd


def odd_text():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
    Odd.__name__ = "\\x1b[2J" + "O" * 5000
    raise Odd


def long_error():
    raise ValueError("e" * (8 << 20))


def kills_init():
    for number in (9, 15, 19):
        try:
            os.kill(1, number)
        except OSError as error:
            print(error)
    try:
        os.kill(-1, 9)
    except OSError as error:
        print(error)
    return "alive"


def control():
    return "\\x1b[31m\\u202e\\x00\\r\\n"
"""
JS = """
import fs from 'node:fs';
import {spawn} from 'node:child_process';
export function garbage() {
	fs.writeSync(1, '{"ok":true,"result":"forged"}\\n');
	return 'mine';
}
export function closed() {
	for (let fd = 0; fd < 64; fd++)
		try { fs.closeSync(fd); } catch {}
	return 'lost';
}
export function loops() {
	for (;;);
}
export function lingers() {
	spawn('sleep', ['1000'], {detached: true, stdio: 'inherit'});
	setInterval(() => {}, 1000);
	return 'done';
}
export function handlers() {
	process.on('exit', () => { for (;;); });
	return 'done';
}
export function bomb() {
	const held = [];
	for (;;)
		held.push(Buffer.alloc(16 << 20, 1));
}
export function cycle() {
	const a = {};
	a.a = a;
	return a;
}
export function odd() {
	throw {get message() { throw new Error('no'); }};
}
export function nothing() {
	throw null;
}
export function forever() {
	return new Promise(() => {});
}
"""
PY_TOOLS = ("garbage closed forged lingers threads exit_handlers huge "
            "huge_forged loud loops stubborn bomb forks gives leaves "
            "leaves_well crashes odd_error odd_text long_error kills_init "
            "control").split()
JS_TOOLS = ("garbage closed loops lingers handlers bomb cycle odd nothing "
            "forever").split()


def ends(name, code, error=None, value=None, within=30, given=None,
         words=()):
    """A run that ends so, in time, with a report of the right form."""
    report, result = case.report(name, given or {}, *words)
    good = result.code == code and result.seconds < within and \
        schema_check.check_text(result.out, harness.SOURCE, "run") == ""
    if error is None:
        good = good and report.get("ok") is True and \
            report.get("result") == value
    else:
        good = good and report.get("ok") is False and \
            report.get("error", {}).get("code") == error
    check(f"{name} {given or ''}: {error or 'its result'}", good, result)
    return report, result


def output():
    ends("hostile/garbage", 0, None, "mine")
    ends("hostile/closed", 1, "no_result")
    ends("hostile/forged", 1, "bad_result")
    report, result = ends("hostile/loud", 0, None, "said")
    check("64 MiB of words are in no report", len(result.out) < 1000)
    report, result = ends("hostile/huge", 137, "result_too_long")
    check("that it was let go is said", report.get("truncated") is True,
          report)
    ends("hostile/huge_forged", 137, "result_too_long")
    result = case.tool("hostile/control")
    check("control bytes come out as escapes", result.code == 0 and
          json.loads(result.out) == "\x1b[31m\u202e\0\r\n" and
          not any(ord(c) < 32 for c in result.out[:-1]) and
          "\u202e" not in result.out, result)


def values():
    for what in ("nan", "inf", "cycle"):
        report, _ = ends("hostile/gives", 1, "tool_failed",
                         given={"what": what})
        check(f"{what}: a ValueError", report["error"]["type"] ==
              "ValueError", report)
    for what in ("bytes", "set", "key", "object", "function"):
        report, _ = ends("hostile/gives", 1, "tool_failed",
                         given={"what": what})
        check(f"{what}: a TypeError", report["error"]["type"] ==
              "TypeError", report)
    ends("hostile/gives", 1, "bad_result", given={"what": "deep"})
    ends("hostjs/cycle", 1, "tool_failed")


def endings():
    report, _ = ends("hostile/leaves", 1, "no_result")
    check("its exit code is reported", report.get("exit") == 7 and
          "exit 7" in report["error"]["message"], report)
    ends("hostile/leaves_well", 1, "no_result")
    report, _ = ends("hostile/crashes", 1, "no_result")
    check("a crash is one", "signal 11" in report["error"]["message"], report)
    ends("hostile/odd_error", 1, "no_result")
    report, result = ends("hostile/odd_text", 1, "tool_failed")
    check("an error's name is cut and made safe", len(
        report["error"]["type"]) <= 127 and "\x1b" not in result.out, report)
    report, _ = ends("hostile/long_error", 1, "tool_failed")
    check("and its message", len(report["error"]["message"]) <= 4096)
    report, result = case.report("hostile/kills_init", {})
    check("it can end itself and nothing else", result.code in (0, 1, 137)
          and result.seconds < 15, result)
    ends("hostjs/odd", 1, "tool_failed")
    ends("hostjs/nothing", 1, "tool_failed")


def leftovers():
    ends("hostile/lingers", 0, None, "done")
    ends("hostile/threads", 0, None, "done")
    ends("hostile/exit_handlers", 0, None, "done")
    ends("hostjs/lingers", 0, None, "done")
    ends("hostjs/handlers", 0, None, "done")
    ends("hostjs/garbage", 0, None, "mine")
    ends("hostjs/closed", 1, "no_result")
    check("nothing is left", case.left() == [], case.left())


def limits():
    for name in ("hostile/loops", "hostile/stubborn", "hostjs/loops",
                 "hostjs/forever", "hostile/forks"):
        error = "no_result" if name == "hostjs/forever" else "timeout"
        code = 1 if name == "hostjs/forever" else 137
        report, _ = ends(name, code, error, words=("--timeout", "2"))
        if error == "timeout":
            check(f"{name}: ended at its time, and it is said",
                  2000 <= report["duration_ms"] < 10000 and
                  "time limit" in report["error"]["message"], report)
    for name in ("hostile/bomb", "hostjs/bomb"):
        report, _ = ends(name, 137, "out_of_memory", within=40)
        check(f"{name}: the most it had is reported",
              report.get("peak_memory", 0) > 400 << 20, report)
    result = case.tool("hostile/bomb")
    check("out of memory is said", result.code == 137 and
          "out_of_memory: the tool needed more memory" in result.err, result)
    check("nothing is left", case.left() == [], case.left())


def stopped():
    """A signal, and the supervisor's death."""
    for number, name in ((signal.SIGINT, "SIGINT"),
                         (signal.SIGKILL, "SIGKILL")):
        process = subprocess.Popen(
            [harness.AGENTNODE, "run", "hostile/stubborn"],
            env=harness.environment(case.home), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        check("the tool runs", harness.wait_until(case.left, 20))
        time.sleep(1)
        ident = engine_case.podman(
            "ps", "--no-trunc", "-q", "--filter",
            "name=" + case.left()[0]).stdout.strip()
        inner = set(engine_case.inside(ident))
        dead, gone = machine_pace.Deadline(1), machine_pace.Deadline(5)
        process.send_signal(number)
        check(f"i04: {name}: the tool is dead within a second", dead.wait(
            lambda: not any(os.path.exists(f"/proc/{pid}")
                            for pid in inner)) and inner, (dead, inner))
        check(f"i04: {name}: nothing is left", gone.wait(
            lambda: case.left() == []), (gone, case.left()))
        out, err = process.communicate(timeout=30)
        check(f"{name} ends the run", process.returncode in (137, -9) and
              out == b"", (process.returncode, out, err))


def pieces(names, where):
    return [{"name": n, "entrypoint": where + ":" + n} for n in names]


case.put("hostile", {"lib.py": PYTHON}, pieces(PY_TOOLS, "lib"))
case.put("hostjs", {"lib.mjs": JS}, pieces(JS_TOOLS, "./lib.mjs"),
         runtime="node")
try:
    for part in (output, values, endings, leftovers, limits, stopped):
        print(f"# {part.__name__}", flush=True)
        part()
finally:
    case.close()
harness.finish()
