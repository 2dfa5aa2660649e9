# SPDX-License-Identifier: Apache-2.0
"""What came of each attack. A place calls attack() for each that it tried
and control() for the same action done rightly; an item's verdict follows
from both. Must never count a silent harness as a refusal."""
import threading

REFUSED, PASSED = "refused", "PASSED"
OTHER, NO_CONTROL, NONE = "OTHER CODE", "NO CONTROL", "NO VERDICT"
# Worst first: a table shows the worst of an item's places.
ORDER = [PASSED, OTHER, NO_CONTROL, NONE, REFUSED]


class Row:
    def __init__(self, item, name, passed, code, wanted, seen):
        self.item, self.name, self.passed = item, name, bool(passed)
        self.code, self.wanted, self.seen = code or "", wanted or "", seen

    def fault(self):
        """Why the row is not as it must be, or ''."""
        if self.passed:
            return f"went through: {self.seen}"[:400]
        if self.wanted and self.code != self.wanted:
            return (f"{self.code or 'no code'} instead of {self.wanted}: "
                    f"{self.seen}")[:400]
        return ""


class Tally:
    """The rows of one place on one engine."""

    def __init__(self, place, only=None):
        self.place, self.only = place, only
        self.rows, self.controls = [], []
        self.lock = threading.Lock()

    def wants(self, *items):
        """Whether any of these is to be tried."""
        return self.only is None or any(n in self.only for n in items)

    def attack(self, item, name, passed, code="", wanted="", seen=""):
        """passed: it did what it must not. wanted: the code, if any."""
        with self.lock:
            self.rows.append(Row(item, name, passed, code, wanted, seen))

    def control(self, items, name, ok, seen=""):
        """The same action, allowed: it has to work."""
        items = [items] if isinstance(items, int) else list(items)
        with self.lock:
            self.controls += [(item, name, bool(ok), seen) for item in items]

    def verdict(self, item):
        rows = [row for row in self.rows if row.item == item]
        controls = [one for one in self.controls if one[0] == item]
        if any(row.passed for row in rows):
            return PASSED
        if not rows:
            return NONE
        if not controls or not all(one[2] for one in controls):
            return NO_CONTROL
        return OTHER if any(row.fault() for row in rows) else REFUSED

    def codes(self, item):
        """The codes that were seen, in order."""
        return list(dict.fromkeys(row.code for row in self.rows
                                  if row.item == item and row.code))

    def faults(self, item):
        """One line for each thing that is not as it must be."""
        lines = [f"{row.name}: {row.fault()}" for row in self.rows
                 if row.item == item and row.fault()]
        return lines + [f"control {name}: {seen}"[:400]
                        for number, name, ok, seen in self.controls
                        if number == item and not ok]

    def attacks(self, item):
        return sum(row.item == item for row in self.rows)


def number(name):
    """The item in the name of a vector, b006_suffix or b87_model; or None."""
    digits = name[1:].split("_")[0]
    return int(digits) if name[:1] == "b" and digits.isdigit() else None
