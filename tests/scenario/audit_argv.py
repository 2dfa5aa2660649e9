#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode audit-argv` as people and CI call it: exit codes, the five
sentences of the how-to, JSON by its schema, keys that are not printed, the
document's tables, and the option table against the podman that is here."""
import glob
import json
import os
import re
import subprocess

import engine_case
import harness
import schema_check
from harness import agentnode, check

harness.need("podman")
home = harness.folder()
DIGEST = "python@sha256:" + "0123456789abcdef" * 4
HARD = ["--network", "none", "--read-only", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--user", "65534:65534",
        "--pids-limit", "256", "--memory", "512m"]
EXAMPLE = ["docker", "run", "-v", "/home/dev/project:/work", "-e",
           "AWS_SECRET_ACCESS_KEY", "python:3.12-slim"]
FIVE = ["forwards host environment variables", "network is not none",
        "mounts /home/dev/project read-write",
        "runs as root inside the container",
        "root filesystem is writable"]


def audit(*words, **more):
    return agentnode(home, "audit-argv", *words, **more)


def example():
    result = audit("--", *EXAMPLE)
    told = result.out.split("hardening that is missing:")[0].splitlines()
    check("the example: exit 1 and the five sentences, exactly",
          result.code == 1 and told[0] == "the host leaks in:"
          and [line[2:] for line in told[1:]
               if re.match(r"  \S", line)] == FIVE, result)
    check("the words and their position are told",
          "word 5: -e AWS_SECRET_ACCESS_KEY" in result.out
          and "word 3: -v /home/dev/project:/work" in result.out, result)
    result = audit("--json", "--", *EXAMPLE)
    value = result.json()
    check("JSON: exactly five leaks, and the rest is hardening",
          result.code == 1 and [f["says"] for f in value["findings"]] == FIVE
          and {f["code"] for f in value["hardening"]} == {
              "caps_kept", "new_privileges", "no_memory_limit",
              "no_pids_limit", "no_digest", "pull"}, result)
    fault = schema_check.check_text(result.out, harness.SOURCE, "audit-argv")
    check("JSON of a command line is by its schema", not fault, fault)


def codes():
    for engine in ("docker", "podman", "/usr/local/bin/nerdctl"):
        result = audit("--", engine, "run", *HARD, DIGEST, "--privileged")
        check(f"{engine}, hardened: exit 0 and one line",
              result.code == 0 and result.out == "no finding\n"
              and result.err == "", result)
    for words, says in (
            (["docker", "run", "--bogus", "x"], "word 3: --bogus"),
            (["sudo", "docker", "run", "x"], "word 1"),
            (["docker", "ps"], "word 2"), (["docker", "run"], "no image"),
            (["docker run x"], "whole line"), (["ls"], "word 1"),
            (["docker", "run", ""], "no image"),
            (["docker", "\x1b[31m\n"], "word 2"),
            ([""], "word 1")):
        result = audit("--", *words)
        check(f"no command line {words}: exit 2, one sentence",
              result.code == 2 and says in result.err and result.out == ""
              and result.err.count("\n") == 1 and "\x1b" not in result.err,
              result)
    for words in ([], ["--json"], ["--inspect"], ["--inspect", "x", "y"]):
        result = audit(*words)
        check(f"usage {words}: exit 2", result.code == 2, result)
    result = audit("--", "docker", "run", *["-e", "A"] * 5000, "x")
    check("too many words: exit 2 and the bound",
          result.code == 2 and "8192" in result.err, result)


def secrets():
    key = "ghp_abcdefghijklmnopqrstuvwxyz0123"
    for words in (["-e", "T=" + key], ["-eT=" + key], ["--env=T=" + key],
                  ["--env", "T=" + key]):
        for form in ([], ["--json"]):
            result = audit(*form, "--", "docker", "run", *HARD, *words,
                           DIGEST)
            check(f"{form} {words[0][:6]}: a key is named, not printed",
                  result.code == 1 and key not in result.out
                  and "T=..." in result.out, result)
    result = audit("--json", "--", "docker", "run", *HARD, "-e",
                   b"A\xff\x1b", "-v", b"/srv/\xff\x1b:/x", DIGEST)
    fault = schema_check.check_text(result.out, harness.SOURCE, "audit-argv")
    check("bytes that are no text are escaped", result.code == 1
          and not fault and "\x1b" not in result.out, (fault, result))


def inspect():
    folder = os.path.join(harness.SOURCE, "tests", "golden", "inspect")
    for path in sorted(glob.glob(folder + "/*.json")):
        name = os.path.basename(path)[:-5]
        result = audit("--json", "--inspect", path)
        if name.startswith("bad_"):
            check(f"{name}: exit 2, one sentence", result.code == 2
                  and result.err.count("\n") == 1, result)
            continue
        fault = schema_check.check_text(result.out, harness.SOURCE,
                                        "audit-argv")
        clean = name.endswith("_hardened")
        check(f"{name}: exit code and schema", not fault
              and result.code == (0 if clean else 1)
              and result.json()["engine"] == name.split("_")[0],
              (fault, result))
    with open(os.path.join(folder, "docker_two.json"),
              encoding="utf-8") as file:
        result = audit("--inspect", "-", stdin=file.read())
    check("standard input; the container is named", result.code == 1
          and "container: other" in result.out
          and "[1].HostConfig.ReadonlyRootfs" in result.out, result)
    check("a file that is not there: exit 2",
          audit("--inspect", "/nowhere/x.json").code == 2)


def document():
    """The tables of the document are the table of the code."""
    with open(os.path.join(harness.SOURCE, "supervisor", "argv",
                           "argv_code.c"), encoding="utf-8") as file:
        source = file.read()
    want = []
    for body in re.findall(r"\[ARGV_CODE_\w+\] = \{(.*?)\},\n", source,
                           re.S):
        parts = ["".join(re.findall(r'"([^"]*)"', part))
                 for part in re.split(r",\n\t(?! )", body)]
        group = "hardening" if "ARGV_HARDENING" in body else "leaks"
        want.append((group, [parts[0], parts[1].replace("%s", "\u2026"),
                             parts[2], parts[3]]))
    check("the code has its rows", len(want) > 60
          and all(all(texts) for _, texts in want), len(want))
    with open(os.path.join(harness.SOURCE, "docs", "audit-argv.md"),
              encoding="utf-8") as file:
        text = file.read()
    for group in ("leaks", "hardening"):
        part = text.split(f"(`{group}`)", 1)[-1].split("\n###", 1)[0]
        have = [[cell.strip() for cell in line.strip("|").split(" | ")]
                for line in part.splitlines() if line.startswith("| `")]
        have = [[row[0].strip("`")] + row[1:] for row in have]
        check(f"docs/audit-argv.md has the codes of {group}, row by row",
              have == [texts for kind, texts in want if kind == group],
              [row for row in have
               if row not in [texts for _, texts in want]][:3])


def options_of(command):
    """Every option podman's help names: letter, name, takes a value."""
    text = subprocess.run(["podman", command, "--help"],
                          capture_output=True, text=True,
                          timeout=30).stdout
    found = re.findall(r"^ +(?:-(\w), )? *--([a-z0-9-]+)(?: ([^ ].*?))?  ",
                       text, re.M)
    return [(letter, name, bool(kind)) for letter, name, kind in found]


def table():
    """No option of the installed podman is unknown, or read otherwise."""
    for command in ("run", "create"):
        options = options_of(command)
        check(f"podman {command} --help is understood", len(options) > 100,
              options)
        wrong = []
        for letter, name, takes in options:
            if name == "help":
                continue
            for word in ["--" + name] + (["-" + letter] if letter else []):
                # With a value: it is swallowed. Without: it is the image.
                result = audit("--json", "--", "podman", command, word,
                               "1:/x" if name == "volume" else
                               "type=tmpfs,dst=/x" if name == "mount"
                               else "1", DIGEST)
                if result.code not in (0, 1):
                    wrong.append((word, result.err))
                elif (result.json()["image"] == DIGEST) != takes:
                    wrong.append((word, "takes a value:", takes))
        check(f"every option of podman {command} is in the table", not wrong,
              wrong)


# What a line says and a container does not show, or the engine adds.
APART = {"pull", "no_pids_limit", "proxy_default", "host_name_default",
         "env_forwarded", "cgroupns_host"}


def both_ways():
    """A line, and the container podman makes of it: the same codes."""
    image = engine_case.image()
    for name, options in (
            ("hardened", HARD), ("plain", []),
            ("mounts", HARD + ["-v", "/etc:/e:ro", "-v", "/srv:/s", "--mount",
                               "type=bind,src=/home,dst=/h,ro"]),
            ("rights", ["--privileged", "--pid=host", "--uts=host",
                        "--user=0", "-e", "API_KEY=abcdefgh", "--restart",
                        "always", "-m", "64m", "--read-only"])):
        words = ["podman", "create", *options, image, "true"]
        line = audit("--json", "--", *words).json()
        made = engine_case.podman(*words[1:])
        if not check(f"podman makes a container: {name}",
                     made.returncode == 0, made.stderr):
            continue
        shown = engine_case.podman("inspect", made.stdout.strip())
        engine_case.podman("rm", "-f", made.stdout.strip())
        seen = audit("--json", "--inspect", "-", stdin=shown.stdout).json()
        said, found = ({f["code"] for f in value["findings"]
                        + value["hardening"]} - APART
                       for value in (line, seen))
        check(f"line and container have the same codes: {name}",
              said == found and (name == "hardened") == (not said),
              (said ^ found, said))


example()
codes()
both_ways()
secrets()
inspect()
document()
table()
harness.finish()
