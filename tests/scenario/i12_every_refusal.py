#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""i12_every_decision: a refusal reaches the audit chain whatever its sentence
quotes; a byte that is no UTF-8, or a character that a bound cut in two, must
not keep the record out."""
import json

import engine_case
import harness
from harness import check

HOME = harness.folder()
ZERO = "sha256:" + "0" * 64


def refusals():
    shown = harness.agentnode(HOME, "audit", "show", "--json", "--last", "500")
    records = json.loads(shown.out)["records"] if shown.code == 0 else []
    return [one["fields"] for one in records if one["event"] == "refusal"]


for name, volume in [("plain", "absent"), ("no UTF-8", "absent-\udcff")]:
    before = len(refusals())
    _, outcome = engine_case.run(
        "/bin/true", home=HOME, options=["--mount", f"{volume}:/pack:{ZERO}"])
    check(f"{name}: refused", outcome.get("started") is False
          and outcome["code"] == "integrity_volume", outcome)
    after = refusals()
    check(f"{name}: the refusal is in the chain", len(after) == before + 1
          and after[-1]["run"] == outcome.get("id"), (before, after[-2:]))
harness.finish()
