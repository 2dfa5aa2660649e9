#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed tree works by itself, wherever it lies, and every program of
it is built hard: position independent, relocations read-only and bound at
start, stack protector, fortified (where the C library can), no search path of
its own."""
import os
import re
import stat
import subprocess

import engine_case
import harness
from harness import check

FILES = {"bin/agentnode", "share/agentnode/seccomp/agentnode.json",
         "share/agentnode/image/clean_rootfs",
         "share/agentnode/apparmor/agentnode-native",
         "share/bash-completion/completions/agentnode",
         "share/zsh/site-functions/_agentnode",
         "share/man/man1/agentnode.1", "share/man/man5/agentnode-config.5"}
PROGRAMS = {"libexec/agentnode/agentnode-" + name for name in (
    "egress-proxy", "gate", "host", "init", "keyring", "ledger", "llm-broker",
    "llm-key", "native", "probe", "unpack", "collect")} | {
        "libexec/agentnode/command/agentnode"}
STATIC = {"libexec/agentnode/agentnode-" + name for name in (
    "init", "native", "probe")}


def mode():
    """What the build directory was configured for."""
    with open(os.path.join(harness.BUILD, "CMakeCache.txt"),
              encoding="utf-8") as file:
        return re.search(r"^AGENTNODE_MODE:\w+=(\w+)$", file.read(),
                         re.MULTILINE).group(1)


def install():
    prefix = os.path.join(harness.folder("agentnode-installed-"), "usr")
    result = harness.run("cmake", "--install", harness.BUILD, "--prefix",
                         prefix)
    if not check("cmake --install", result.code == 0, result):
        harness.finish()
    os.chmod(os.path.dirname(prefix), 0o755)
    return prefix


def tree(prefix):
    found = set()
    for folder, _, names in os.walk(prefix):
        for name in names:
            found.add(os.path.relpath(os.path.join(folder, name), prefix))
    check("everything is there", FILES | PROGRAMS <= found,
          sorted((FILES | PROGRAMS) - found))
    beside = {path for path in found - FILES - PROGRAMS
              if not path.startswith("share/")}
    check("and no program more", beside == set(), beside)
    bad = []
    for path in found:
        bits = os.lstat(os.path.join(prefix, path)).st_mode
        if not stat.S_ISREG(bits) or bits & 0o6022:
            bad.append((path, oct(bits)))
    check("plain files, none for others to write, none set-id", bad == [],
          bad)


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"}
                          ).stdout


MUSL = ("agentnode-init", "agentnode-native")


def hardened(prefix, path, released):
    file = os.path.join(prefix, path)
    dynamic, segments = readelf("-d", file), readelf("-l", file)
    symbols = set(re.findall(r"\b__\w+_chk(?:_fail)?\b",
                             readelf("-s", file)))
    name = os.path.basename(path)
    check(f"{name}: position independent",
          re.search(r"Type:\s+DYN", readelf("-h", file))
          and re.search(r"FLAGS_1.*\bPIE\b", dynamic), dynamic)
    check(f"{name}: relocations read-only, bound at start",
          "GNU_RELRO" in segments and "BIND_NOW" in dynamic, dynamic)
    check(f"{name}: no executable stack",
          re.search(r"GNU_STACK.* RW +0x", segments), segments)
    check(f"{name}: nothing writable and executable",
          not re.search(r"LOAD.* RWE ", segments), segments)
    check(f"{name}: no search path of its own",
          not re.search(r"\((RPATH|RUNPATH)\)", dynamic), dynamic)
    check(f"{name}: stack protector", "__stack_chk_fail" in symbols, symbols)
    if name in MUSL:
        check(f"{name}: its C library has no fortified calls",
              symbols == {"__stack_chk_fail"}, symbols)
    elif released:
        check(f"{name}: fortified",
              symbols - {"__stack_chk_fail"}, symbols)
    # GLib starts threads and loads modules: it is in one process alone.
    check(f"{name}: GLib where it belongs", bool(
        re.search(r"\[lib(secret|g)[a-z]*-[12]", dynamic))
        == (name == "agentnode-keyring"), dynamic)
    if path in STATIC:
        check(f"{name}: needs nothing", "(NEEDED)" not in dynamic
              and "INTERP" not in segments, dynamic)


def works(prefix, home):
    def agentnode(*words, timeout=120):
        return harness.run(os.path.join(prefix, "bin", "agentnode"), *words,
                           env=harness.environment(home), timeout=timeout)
    result = agentnode("config", "set", "sandbox.image", engine_case.image())
    check("config set", result.code == 0, result)
    result = agentnode("egress", "check", "--allow", "a.example.com", "--",
                       "a.example.com:443")
    check("egress check: it would pass", result.code == 0, result)
    result = agentnode("egress", "check", "--allow", "a.example.com", "--",
                       "b.example.com:443")
    check("egress check: it would not", result.code == 3
          and "host_not_allowed" in result.out, result)
    result = agentnode("sandbox", "doctor", "--json")
    check("sandbox doctor", result.code == 0 and result.json()["ok"],
          [one for one in result.json()["checks"] if not one["ok"]]
          if result.out else result)
    result = agentnode("probe", "--json")
    check("probe", result.code == 0 and result.json(), result)
    result = agentnode("audit", "verify")
    check("audit verify", result.code == 0, result)
    result = agentnode("--version")
    check("version", result.code == 0, result)


def completes(prefix):
    file = os.path.join(prefix, "share", "bash-completion", "completions",
                        "agentnode")
    result = harness.run("bash", "-n", file)
    check("the completion is valid", result.code == 0, result)
    for path in ("man1/agentnode.1", "man5/agentnode-config.5"):
        with open(os.path.join(prefix, "share", "man", path),
                  encoding="utf-8") as text:
            check(f"{path} is a manual page", ".TH" in text.read(500))


def main():
    harness.need("cmake", "readelf", "podman")
    prefix = install()
    tree(prefix)
    released = mode() == "release"
    for path in sorted(PROGRAMS | {"bin/agentnode"}):
        hardened(prefix, path, released)
    completes(prefix)
    works(prefix, harness.folder())
    moved = prefix + "-elsewhere"
    os.rename(prefix, moved)
    works(moved, harness.folder())
    harness.finish()


if __name__ == "__main__":
    main()
