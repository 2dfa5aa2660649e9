#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sandbox selftest --boundary native` passes whole, as root and as an
ordinary user, without an engine being asked for anything; and fails when a
layer of init is taken away."""
import json
import os

import engine_case
import harness
import schema_check
from harness import check

WEAK = os.path.join(harness.BUILD, "tests", "selftest_weak")
HOME = harness.folder()
ENV = harness.environment(HOME)


def failed(done):
    return [f"{one['name']}: {one['detail']}"
            for one in json.loads(done.out)["probes"] if not one["ok"]]


done = harness.agentnode(HOME, "sandbox", "selftest", "--boundary", "native",
                         "--json", timeout=120)
report = done.json() if done.code == 0 else {}
probes = report.get("probes", [])
check("every probe of a container passes", done.code == 0 and report["ok"],
      failed(done) if done.code == 1 else done)
check("at least 90 probes", len(probes) >= 90, len(probes))
faults = list(schema_check.faults(report, schema_check.load(
    harness.SOURCE, "sandbox-selftest")))
check("its JSON holds to the schema", not faults, faults)
check("no engine was asked for anything",
      not os.path.exists(os.path.join(HOME, "engine.json")))
wrong = harness.agentnode(HOME, "sandbox", "selftest", "--boundary", "vm")
check("another boundary is a usage error", wrong.code == 2, wrong)
for what, variant in (("init's protection and Landlock domain", "open"),
                      ("init's Landlock domain", "bare"),
                      ("init's filter", "unguarded")):
    done = harness.run(WEAK, "--native", env=dict(
        ENV, SELFTEST_WEAK_INIT=os.path.join(
            harness.BUILD, "tests", "inside", f"init_{variant}")), timeout=120)
    check(f"without {what}: it fails and names it",
          done.code == 1 and len(failed(done)) > 0, done)
records = harness.run(os.path.join(harness.BUILD, "bin", "agentnode"),
                      "audit", "show", "--json", env=ENV, timeout=60)
check("the launch record names the boundary",
      '"boundary": "native"' in records.out and
      '"mode": "read-only"' in records.out, records)
runs = [one["fields"]["run"] for one in records.json()["records"]
        if one["event"] == "launch"]
left = [run for run in runs if os.path.exists(
    f"/sys/fs/cgroup/memory/native-{run}") or os.path.exists(
        f"/sys/fs/cgroup/native-{run}")]
check("no control group is left", len(runs) >= 4 and not left, (runs, left))
harness.finish()
