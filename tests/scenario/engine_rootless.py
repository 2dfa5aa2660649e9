#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary user's engine: the same walls, a uid of its own from the user's
subordinate range, the same end whatever is killed. Where the kernel gives
ordinary containers no limits (cgroup v1), a start is refused with the fix,
unless the named override accepts it; every run's record says so then."""
import json
import os
import signal
import time

import engine_case
import fighter
import harness
import machine_pace
from harness import check

USER = engine_case.User()
HOME = USER.home if USER.made else harness.folder()


def start(*command, options=()):
    return engine_case.Case(*command, options=options, home=HOME, user=USER,
                            image_name=USER.image)


def agentnode(*words):
    env = harness.environment(HOME)
    env.update(USER.env)
    return harness.run(harness.AGENTNODE, *words, env=env) if not USER.made \
        else harness.run("setpriv", f"--reuid={USER.uid}",
                         f"--regid={USER.gid}", "--clear-groups",
                         harness.AGENTNODE, *words, env=env, cwd="/")


def kill(label, *victims):
    case = start("/usr/bin/python3", "-c", fighter.FIGHTER)
    line = case.process.stdout.readline()
    monitor, container = engine_case.monitor(case.name)
    pids = {"supervisor": case.pid, "monitor": monitor,
            "client": engine_case.children(case.pid).get("podman")}
    if not check(f"{label}: it runs", line == b"up\n"
                 and None not in pids.values(), (line, pids, case.log())):
        return
    init = engine_case.Init(monitor)
    check(f"{label}: many processes fight", init.count() > 30, init.count())
    deadline = machine_pace.Deadline(1)
    for victim in victims:
        os.kill(pids[victim], signal.SIGKILL)
    dead = init.is_dead(10) and deadline.ends()
    check(f"{label}: dead within 1 s", dead,
          (deadline, case.log()[-2500:]))
    if "supervisor" in victims:
        case.process.wait()
        after = start("/bin/true")
        after.finish()
    else:
        _, outcome = case.finish(15)
        check(f"{label}: the outcome says why",
              outcome.get("code") == "engine_died"
              and outcome.get("removed") is True, outcome)
    check(f"{label}: the engine's record is gone",
          engine_case.wait(5, lambda: not case.known()),
          [line for line in after.log().split("\n") if "leftovers" in line]
          if "supervisor" in victims else container)


try:
    case = start("/bin/true")
    _, outcome = case.finish(60)
    limited = outcome.get("code") != "limits_unavailable"
    if not limited:
        check("without limits a start is refused with the fix",
              outcome["started"] is False
              and "no_cgroup_limits" in outcome["detail"], outcome)
        agentnode("config", "set", "sandbox.image", USER.image)
        report = agentnode("sandbox", "doctor", "--quick", "--json")
        found = {one["check"]: one for one in report.json()["checks"]}
        check("doctor names the layer that is missing",
              found["limits"]["ok"] is False
              and "no_cgroup_limits" in found["limits"]["fix"]
              and report.code == 1, report)
        done = agentnode("config", "set", "sandbox.overrides",
                         "no_cgroup_limits")
        check("the override is set", done.code == 0, done)
    out, outcome = start("/bin/sh", "-c", "id -u; cat /proc/self/status; "
                         "cat /proc/self/uid_map").finish(60)
    check("it runs", outcome.get("code") == "" and outcome["exit_code"] == 0,
          outcome)
    inside = out.split("\n")[0]
    check("a uid of its own in the user's range", inside.isdigit()
          and 10000 <= int(inside) < 60000, out[:200])
    check("no capability, filtered, no new privileges",
          out.count("0000000000000000") >= 5 and "NoNewPrivs:\t1" in out
          and "Seccomp:\t2" in out, out)
    shown = agentnode("audit", "show", "--json").out
    check("the launch record says which layer is missing",
          limited or "no_cgroup_limits" in shown, shown[-600:])
    kill("supervisor", "supervisor")
    kill("client", "client")
    kill("monitor", "monitor")
    kill("supervisor and monitor", "supervisor", "monitor")
    check("nothing is left", USER.podman(
        "ps", "-aq", "--filter", "label=agentnode.run").stdout == "")
finally:
    USER.end()
harness.finish()
