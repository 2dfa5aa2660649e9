#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bypass suite: every known bypass of attack_registry.py, tried. Prints
a table of item, verdict and code; fails when one went through, was refused
with another code, or has no verdict.

    run.py [--engine NAME]... [--item N]... [--json] [--write-docs]

NAME: wire (proxy, broker and gate, once for all engines), launch, an engine
of this machine, or all (the default). --weaken takes a wall away, for the
suite's own test: what stood behind it must be seen to go through."""
import argparse
import atexit
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"),
                os.path.join(HERE, "..", "scenario"), HERE]

import attack_broker  # noqa: E402
import attack_engines  # noqa: E402
import attack_gate  # noqa: E402
import attack_group  # noqa: E402
import attack_inside  # noqa: E402
import attack_launch  # noqa: E402
import attack_page  # noqa: E402
import attack_proxy  # noqa: E402
import attack_registry  # noqa: E402
import attack_served  # noqa: E402
import attack_tables  # noqa: E402
import drive  # noqa: E402
import harness  # noqa: E402
from attack_tally import NONE, ORDER, PASSED, REFUSED, Tally  # noqa: E402

WIRE, LAUNCH = "wire", "launch"
EVIL = ("other.example.net:443", "http://other.example.net:80")
WEAK = {
    "allow": "the attacker's host is on the list",
    "redactor": "a broker that overwrites no key",
    "models": "another model than the agent's is on the host's list",
}


def timed(name, part, *words):
    """Runs a part, and says how long it took."""
    begun = time.monotonic()
    part(*words)
    print(f"# {name}: {time.monotonic() - begun:.1f} s", file=sys.stderr)


def wire(net, only, weaken):
    """The places that have nothing to do with an engine."""
    tallies = {letter: Tally(name, only) for letter, name in
               attack_registry.PLACES.items() if letter in "PBG"}
    evil = EVIL if weaken == "allow" else ()
    timed("table", attack_tables.run, tallies["P"], net, evil)
    timed("proxy", attack_proxy.run, tallies["P"], net)
    broker = os.path.join(harness.BUILD, "tests", "broker_redact_none") \
        if weaken == "redactor" else attack_broker.broker_host.PROGRAM
    timed("broker", attack_broker.run, tallies["B"], broker)
    timed("gate", attack_gate.run, tallies["G"])
    return tallies


def launch(only):
    tally = Tally("launch", only)
    attack_launch.run(tally)
    return {"L": tally}


def on_engine(net, name, only, weaken):
    """One sandbox for what it can do by itself, one with an agent in it for
    the broker, some for what the launch does without root; none when
    nothing of it is wanted."""
    engine = attack_engines.make(name)
    tallies = {letter: Tally(f"{where}, {name}", only) for letter, where
               in attack_registry.PLACES.items() if letter in "ISU"}
    evil = EVIL if weaken == "allow" else ()
    parts = {"I": (attack_inside.run, tallies["I"], engine, net, evil),
             "S": (attack_served.run, tallies["S"], engine,
                   weaken == "models"),
             "U": (attack_group.run, tallies["U"], engine, net)}
    wanted = {"I": True, "S": engine.serves, "U": engine.group}
    for letter, part in parts.items():
        wanted[letter] &= tallies[letter].wants(*[
            item.number for item in attack_registry.ITEMS
            if letter in item.places])
        if wanted[letter]:
            timed(tallies[letter].place, *part)
    return {letter: tallies[letter] for letter in parts if wanted[letter]}


class Report:
    """{(item, place letter, engine): verdict}, and what is wrong."""

    def __init__(self, only):
        self.only, self.cells, self.faults = only, {}, []
        self.codes, self.attacks = {}, 0

    def items(self):
        return [item for item in attack_registry.ITEMS
                if item.places and (self.only is None
                                    or item.number in self.only)]

    def add(self, engine, tallies):
        for item in self.items():
            for letter, tally in tallies.items():
                if letter not in item.places:
                    continue
                verdict = tally.verdict(item.number)
                self.cells[item.number, letter, engine] = verdict
                self.codes.setdefault(item.number, []).extend(
                    tally.codes(item.number))
                self.attacks += tally.attacks(item.number)
                if verdict != REFUSED:
                    self.faults.append(
                        f"item {item.number} at {tally.place}: {verdict}")
                    self.faults += ["    " + line for line in
                                    tally.faults(item.number)[:12]]

    def verdict(self, number):
        """The worst of its places."""
        found = [verdict for (item, _letter, _engine), verdict
                 in self.cells.items() if item == number]
        return min(found, key=ORDER.index) if found else NONE

    def code(self, number):
        return list(dict.fromkeys(self.codes.get(number, [])))


def show(report, as_json, complete):
    rows = [{"item": item.number, "name": item.name,
             "verdict": report.verdict(item.number),
             "codes": report.code(item.number),
             "places": {f"{attack_registry.PLACES[letter]}/{engine}": verdict
                        for (number, letter, engine), verdict
                        in report.cells.items() if number == item.number}}
            for item in report.items()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return rows
    for row in rows:
        if row["verdict"] == NONE and not complete and not row["places"]:
            continue
        where = ",".join(sorted(row["places"]))
        print(f"{row['item']:4} {row['verdict']:11} "
              f"{' '.join(row['codes'])[:40]:40} {row['name'][:50]} "
              f"[{where}]")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--item", action="append", type=int)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    parser.add_argument("--weaken", choices=sorted(WEAK))
    words = parser.parse_args()
    complete = words.engine in ([], ["all"])
    engines = words.engine if not complete else [
        WIRE, LAUNCH, *attack_engines.available()]
    report, begun = Report(set(words.item) if words.item else None), \
        time.monotonic()
    net = drive.TestInternet()
    atexit.register(attack_engines.forget)
    atexit.register(attack_served.forget)
    for name in engines:
        at = time.monotonic()
        if name == WIRE:
            report.add(name, wire(net, report.only, words.weaken))
        elif name == LAUNCH:
            report.add(name, launch(report.only))
        else:
            report.add(name, on_engine(net, name, report.only, words.weaken))
        print(f"# {name} in all: {time.monotonic() - at:.1f} s",
              file=sys.stderr)
    rows = show(report, words.json, complete)
    out = sys.stderr if words.json else sys.stdout
    for line in report.faults:
        print(line, file=out)
    if complete:
        report.faults += [f"item {row['item']} has no verdict"
                          for row in rows if row["verdict"] == NONE]
    passed = sum(row["verdict"] == PASSED for row in rows)
    print(f"# {report.attacks} attacks on {', '.join(engines)} in "
          f"{time.monotonic() - begun:.0f} s: {passed} items went through, "
          f"{len(report.faults)} faults", file=out)
    if words.write_docs:
        attack_page.write(report, engines)
    sys.exit(1 if report.faults or not report.cells else 0)


if __name__ == "__main__":
    main()
