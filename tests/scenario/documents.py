#!/usr/bin/env python3
"""What the documents show works: README's commands are run in their order,
and every command line of every other document names a command and options
that exist."""
import glob
import os
import re
import shlex

import harness
import mcp_setup
from harness import check

# Made by their own scenarios; here the image of the tests is used.
GIVEN = {"agentnode sandbox build"}


def command_lines(path):
    """Lines of code blocks that start with agentnode."""
    with open(path, encoding="utf-8") as file:
        fenced = False
        for number, line in enumerate(file, 1):
            if line.startswith("```"):
                fenced = not fenced
            text = line.strip()
            if (fenced or line.startswith("    ")) and \
                    text.startswith("agentnode "):
                yield number, text.split("  #")[0].rstrip("\\ ")


def command_of(words, known):
    """The longest run of words that is a command."""
    for count in (3, 2, 1):
        name = " ".join(words[1:1 + count])
        if name in known:
            return name
    return None


def known_commands(home):
    listed = harness.agentnode(home, "--help").out
    return {line[2:21].strip() for line in listed.splitlines()
            if re.match(r"  [a-z]", line) and not line.startswith("  --")}


def options_exist(home, known, place, text):
    words = shlex.split(re.sub(r"\[[^\]]*\]|\.\.\.", "", text))
    name = command_of(words, known)
    if not check(f"{place} is a command", name, text):
        return
    shown = harness.agentnode(home, "help", *name.split()).out
    for word in words:
        if word == "--":
            break
        if word.startswith("--") and word not in ("--json", "--help"):
            check(f"{place} {word}", word.split("=")[0] in shown, text)


def readme(home):
    ran = 0
    for number, text in command_lines(os.path.join(harness.SOURCE,
                                                   "README.md")):
        if text in GIVEN:
            continue
        done = harness.agentnode(home, *shlex.split(text)[1:], timeout=400)
        check(f"README.md:{number} {text}", done.code == 0, done)
        ran += 1
    check("README has commands", ran >= 6, ran)


def main():
    harness.need("podman")
    home = mcp_setup.home(registry=True)
    known = known_commands(home)
    check("the help lists commands", len(known) > 20, known)
    for path in sorted(glob.glob(os.path.join(harness.SOURCE, "*.md"))
                       + glob.glob(os.path.join(harness.SOURCE, "docs",
                                                "*.md"))):
        for number, text in command_lines(path):
            options_exist(home, known,
                          f"{os.path.basename(path)}:{number}", text)
    readme(home)
    mcp_setup.forget(home)
    harness.finish()


if __name__ == "__main__":
    main()
