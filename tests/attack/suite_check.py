#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The registry is whole, and docs/attack-suite.md tells what it says."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), HERE]

import attack_page  # noqa: E402
import attack_registry  # noqa: E402
from harness import check, finish  # noqa: E402

ITEMS = attack_registry.ITEMS
check("there are 122 items, each once", [item.number for item in ITEMS]
      == list(range(1, 123)), len(ITEMS))
for item in ITEMS:
    check(f"{item.number} is tried somewhere, or left out with its reason",
          bool(item.places and item.how) != (
              item.number in attack_registry.LEFT_OUT)
          and set(item.places) <= set(attack_registry.PLACES), item)
check("every reason is a sentence", all(
    len(why) > 20 for why in attack_registry.LEFT_OUT.values()))
check("the page tells what the registry says", not attack_page.faults(),
      attack_page.faults())
finish()
