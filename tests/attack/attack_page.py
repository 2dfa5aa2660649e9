# SPDX-License-Identifier: Apache-2.0
"""docs/attack-suite.md: written from the registry and one complete run, and
read back to be held against the registry. Must never invent a verdict."""
import os
import re

import attack_engines
import attack_registry
import harness

PATH = os.path.join(harness.SOURCE, "docs", "attack-suite.md")
BEGIN = "<!-- the table is written by tests/attack/run.py --write-docs -->"
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", re.M)


def cell(text):
    return text.replace("|", "\\|") or "-"


def places(item, engines):
    """Where it was tried, in words."""
    found = [attack_registry.PLACES[letter] for letter in item.places
             if letter not in "IS"]
    for letter in "IS":
        if letter in item.places:
            found.append(f"{attack_registry.PLACES[letter]}: " + ", ".join(
                name for name in engines if name not in ("wire", "launch")
                and (letter == "I" or attack_engines.make(name).serves)))
    return "; ".join(found)


def rows(report, engines):
    lines, group = [], None
    for item in attack_registry.ITEMS:
        if item.group != group:
            group = item.group
            lines += ["", f"### {group}", "",
                      "| item | how it is tried | where | verdict | code |",
                      "|---|---|---|---|---|"]
        if item.number in attack_registry.LEFT_OUT:
            lines.append(f"| {item.number} | {cell(item.name)} | - | "
                         "left out | - |")
            continue
        codes = " ".join(report.code(item.number))
        lines.append(f"| {item.number} | **{cell(item.name)}**: "
                     f"{cell(item.how)} | {places(item, engines)} | "
                     f"{report.verdict(item.number)} | {cell(codes)} |")
    lines += ["", "### Left out", ""]
    lines += [f"- {number}: {why}." for number, why
              in attack_registry.LEFT_OUT.items()]
    lines += ["", "### Other codes than the list's", ""]
    lines += [f"- {number}: {why}." for number, why
              in attack_registry.OTHER_CODES.items()]
    return lines


def write(report, engines):
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    head = text[:text.index(BEGIN) + len(BEGIN)]
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(head + "\n" + "\n".join(rows(report, engines)) + "\n")


def faults():
    """What the page says otherwise than the registry."""
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    said = {int(row[0]): row[1:] for row in ROW.findall(text)}
    found = []
    for item in attack_registry.ITEMS:
        row = said.get(item.number)
        if row is None:
            found.append(f"item {item.number} has no row")
        elif item.number in attack_registry.LEFT_OUT:
            if row[2] != "left out":
                found.append(f"item {item.number} is left out")
        elif row[0] != f"**{cell(item.name)}**: {cell(item.how)}":
            found.append(f"item {item.number} is told otherwise")
        elif row[2] != "refused":
            found.append(f"item {item.number} is {row[2]}")
    return found
