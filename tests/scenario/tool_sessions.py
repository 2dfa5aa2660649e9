"""The tool packages of a run, through the real pool: each in a sandbox of
its own that is started once and kept, what is refused and under which code,
what an agent is told of it, what is left when the run is over or its
supervisor is killed."""
import json
import os
import time

import consent_seal
import engine_case
import harness
import machine_pace
import mcp_setup
from harness import check
from tool_pool import DRIVE, Pool, odd_package



def sandboxes(home):
    """Containers of runs that this home's audit chain knows."""
    listed = engine_case.podman(
        "ps", "-a", "--no-trunc", "--format", "{{.Names}} {{.ID}}").stdout
    return [line.split()[1] for line in listed.splitlines()
            if any(e["run"] in line for e in audit(home, "launch"))]


def audit(home, event):
    path = os.path.join(home, ".agentnode", "ledger", "audit.jsonl")
    return [e.get("fields", e) for e in harness.json_lines(path)
            if e.get("event") == event]


def kept(home):
    pool = Pool(home, ["odd", "other"], sessions=2)
    first = pool.text("odd", "started")
    check("a tool of a package runs", str(first).isdigit(), (first,
                                                             pool.errors))
    check("the second call finds the same server",
          pool.text("odd", "started") == first)
    check("arguments arrive as they were",
          json.loads(pool.text("odd", "echo", {"a": "\u00e9\n\"", "b": [1.5]}))
          == {"a": "\u00e9\n\"", "b": [1.5]})
    listed = pool.call("odd", listing=True)
    check("its tools are listed", [t["name"] for t in listed["result"][
        "tools"]][:2] == ["echo", "started"], listed)
    check("i109_allowlist_of_the_package: what the entry does not allow is "
          "not listed", "append" not in [
              t["name"] for t in pool.call("other", listing=True)["result"][
                  "tools"]])
    said = pool.call("other", "append", {"text": "x"})
    check("i109_allowlist_of_the_package: nor called",
          said["code"] == "tool_not_allowed", said)
    check("i108_noise: a line that is no message is nobody's answer",
          pool.text("odd", "noise") == "ok")
    check("i108_ids: an answer with another id is nobody's answer",
          pool.text("odd", "other") == "ok")
    many = [pool.send("odd", "echo", {"n": n}) for n in range(16)]
    check("many calls at a time, each with its own answer", all(
        json.loads(pool.result(n)["result"]["content"][0]["text"]) ==
        {"n": i} for i, n in enumerate(many)))
    said = pool.call("odd")
    check("a package of many tools wants to know which",
          said["code"] == "bad_request" and "tools" in said["detail"], said)
    said = pool.call("odd", "big", {"bytes": 3 << 20})
    check("a result that is too long is not handed on",
          said["code"] == "too_long", said)
    said = pool.call("nobody-asked", "echo")
    check("a package outside the allowlist is refused here, too",
          said["code"] == "tool_not_allowed", said)
    said = pool.call("odd", "die")
    check("a server that ends fails its calls",
          said["code"] == "tool_ended", said)
    again = pool.text("odd", "started")
    check("the next call starts another", str(again).isdigit() and
          again != first, again)
    check("the pool closes", pool.close() == 0 and pool.closed, pool.errors)
    check("nothing of it is left", sandboxes(home) == [], sandboxes(home))
    launches = audit(home, "launch")
    check("every start has its record, of a tool", len(launches) == 3 and
          {e["kind"] for e in launches} == {"tool"}, launches)


def limits(home):
    pool = Pool(home, ["odd", "silent"], sessions=1, calls=3, timeout_s=2)
    said = pool.call("odd", "never")
    check("a call that takes too long ends by itself",
          said["code"] == "tool_timeout", said)
    pool.text("odd", "started")
    pool.text("odd", "started")
    said = pool.call("odd", "started")
    check("the count of calls is kept here, too",
          said["code"] == "too_many_tool_calls", said)
    check("it closes", pool.close("stopped") == 0 and pool.closed)


def cancelled(home):
    """Calls that are taken back: while their package starts, while they wait
    for its place, while they run. None has an answer, and there is room."""
    pool = Pool(home, ["odd", "other"], sessions=1, timeout_s=60,
                calls=200)
    early = [pool.send("odd", "never") for _ in range(2)]
    waits = pool.send("other", "echo")
    for number in early + [waits]:
        pool.cancel(number)
    check("a call of the same package goes on",
          str(pool.text("odd", "started")).isdigit(), pool.errors)
    for _ in range(3):
        numbers = [pool.send("odd", "never") for _ in range(31)]
        check("the last place is free", pool.text("odd", "echo") == "{}")
        for number in numbers:
            pool.cancel(number)
    heard = json.loads(pool.text("odd", "cancelled"))
    check("the server was told of each that it had",
          heard == ["never: cancelled"] * 93, len(heard))
    check("the place of an idle package is another's",
          json.loads(pool.text("other", "echo")) == {})
    check("none of them was answered", not any(
        number in pool.answers for number in early + [waits] + numbers),
        pool.answers)
    check("it closes", pool.close() == 0 and pool.closed, pool.errors)


def start_fails(home):
    pool = Pool(home, ["silent"])
    begin = time.monotonic()
    said = pool.call("silent", "echo")
    check("a server that does not answer initialize is given up",
          said["code"] == "tool_start_failed" and
          time.monotonic() - begin < 20, said)
    check("it closes", pool.close() == 0 and pool.closed)


def turns(home):
    """One place, two packages: whoever is idle makes room."""
    pool = Pool(home, ["odd", "other"], sessions=1)
    calls = [pool.send(("odd", "other")[n % 2], "started") for n in range(4)]
    said = [pool.result(n) for n in calls]
    check("packages take turns where there is one place",
          all(s is not None and s["code"] == "" for s in said), said)
    check("it closes", pool.close() == 0 and pool.closed)


def state(home):
    pool = Pool(home, ["keeper"])
    check("a server's state is there", pool.text(
        "keeper", "append", {"text": "a"}) == "a")
    check("it closes", pool.close() == 0)
    pool = Pool(home, ["keeper"])
    check("and is kept from run to run", pool.text(
        "keeper", "append", {"text": "b"}) == "ab")
    other = Pool(home, ["keeper"])
    said = other.call("keeper", "append", {"text": "c"})
    check("two runs do not have it at the same time",
          said["code"] == "files_failed", said)
    check("they close", other.close() == 0 and pool.close() == 0)


def refused(home):
    pool = Pool(home, ["odd", "not-there"])
    said = pool.call("not-there", "echo")
    check("a package that is not installed has a code",
          said["code"] == "not_installed", said)
    check("it closes", pool.close() == 0)
    stranger = consent_seal.clone(mcp_setup.lock(home))
    pool = Pool(home, ["odd"],
                lockfile=os.path.join(stranger, "agentnode.lock"))
    lock = json.load(open(os.path.join(stranger, "agentnode.lock")))
    lock["packages"]["odd"]["mcp_allowed_domains"] = ["example.com"]
    with open(os.path.join(stranger, "agentnode.lock"), "w") as out:
        json.dump(consent_seal.sealed(lock), out)
    said = pool.call("odd", "echo")
    check("nobody agreed to it: refused", said["code"] == "consent_missing",
          said)
    check("the agent is not told what the host looks like",
          stranger not in said["detail"] and home not in said["detail"],
          said)
    check("the operator's log says it", stranger.encode()[-20:] in pool.errors
          or b"consent" in pool.errors, pool.errors)
    check("it closes", pool.close() == 0)
    # Written by the ledger, which outlives who told it by a moment.
    check("the refusal is in the audit chain", harness.wait_until(lambda: any(
        e["code"] == "consent_missing" and e["kind"] == "tool"
        for e in audit(home, "refusal")), 10), audit(home, "refusal"))


def dies(home):
    """The supervisor is killed: so is everything inside, within a second."""
    pool = Pool(home, ["odd", "other"])
    pool.text("odd", "started")
    pool.text("other", "started")
    inner = set()
    for run in sandboxes(home):
        inner |= set(engine_case.inside(run))
    deadline = machine_pace.Deadline(1)
    pool.process.kill()
    pool.process.wait()
    gone = deadline.wait(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inner))
    check("i04: with the supervisor every tool dies within a second",
          bool(inner) and gone, (deadline, inner))
    harness.wait_until(lambda: not sandboxes(home), 10)


def main():
    harness.need(DRIVE)
    home = mcp_setup.home({"mcp": {"start_timeout_s": 30},
                           **mcp_setup.MANY_CALLS})
    folder = odd_package()
    try:
        mcp_setup.install(home, folder, "--name", "odd")
        mcp_setup.install(home, folder, "--name", "other", "--tool", "echo",
                          "--tool", "started")
        mcp_setup.install(home, folder, "--name", "keeper", "--state", "1m")
        mcp_setup.install(home, folder, "--name", "silent", "--env",
                          "ODD_SILENT=1")
        kept(home)
        limits(home)
        cancelled(home)
        turns(home)
        state(home)
        refused(home)
        dies(home)
        harness.agentnode(home, "config", "set", "mcp.start_timeout_s", "3")
        start_fails(home)
    finally:
        mcp_setup.forget(home)
    harness.finish()


main()
