#!/usr/bin/env python3
"""The project's own rules as a script: file names, function prefixes, sizes,
headers that compile alone, limits of common/, state changes, forbidden
calls, and that what the documents name exists. Prints each fault with its
place and exits 1 when there is one."""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PRODUCT = ("common/", "supervisor/", "egress-proxy/", "llm-broker/")
C_MAX, H_MAX, FUNCTION_MAX, DISPATCH_MAX = 600, 120, 60, 100
# Lines of code: comments and empty lines do not count.
COMMON_MODULES, COMMON_LINES = 17, 5700
# Pure parsers keep their position in a field; they have no story.
PARSERS = {"http_body.c", "mcp_json.c", "mcp_line.c", "client_hello.c"}
# One dispatch switch or table per process may be long.
DISPATCH = re.compile(r"_(dispatch|step|on_message)$")
ANY_NAME = {"main", "LLVMFuzzerTestOneInput", "__asan_default_options",
            "__lsan_default_options", "__ubsan_default_options"}
REPEATED = {"main.c", "CMakeLists.txt", ".gitignore", "README.md",
            "__init__.py", "package.json"}
FORBIDDEN = re.compile(
    r"\b(system|popen|strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|"
    r"pthread_create|inet_aton|gethostbyname|getaddrinfo|mktemp|tmpnam)\s*\(")
FUNCTION = re.compile(r"^([A-Za-z_]\w*)\(")

faults = []


def fault(place, text):
    faults.append(f"{place}: {text}")


def tracked():
    out = subprocess.run(
        ["git", "-C", TOP, "ls-files", "-co", "--exclude-standard"],
        check=True, capture_output=True, text=True).stdout
    return sorted(f for f in out.splitlines()
                  if os.path.exists(os.path.join(TOP, f)))


def lines_of(path):
    with open(os.path.join(TOP, path), encoding="utf-8",
              errors="replace") as file:
        return file.read().splitlines()


def check_names(files):
    seen = {}
    for path in files:
        if not path.endswith((".c", ".h", ".py", ".cmake")):
            continue
        base = os.path.basename(path)
        if base in REPEATED:
            continue
        if base in seen:
            fault(path, f"file name is there already: {seen[base]}")
        seen[base] = path


def functions_of(path, lines):
    """Yield (name, first line, last line); style puts names at column 0."""
    index = 0
    while index < len(lines):
        match = FUNCTION.match(lines[index])
        if not match or lines[index].rstrip().endswith(";"):
            index += 1
            continue
        body = index
        while body < len(lines) and lines[body] != "{":
            if lines[body].rstrip().endswith(";"):
                body = None
                break
            body += 1
        if body is None or body >= len(lines):
            index += 1
            continue
        end = body
        while end < len(lines) and lines[end] != "}":
            end += 1
        yield match.group(1), index, end
        index = end + 1


def check_source(path):
    lines = lines_of(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    if "SPDX-License-Identifier: Apache-2.0" not in (lines or [""])[0]:
        fault(path, "first line is no SPDX line")
    limit = H_MAX if path.endswith(".h") else C_MAX
    if len(lines) > limit:
        fault(path, f"{len(lines)} lines, at most {limit}")
    if not path.startswith(PRODUCT):
        return
    if not any("/*" in line for line in lines[1:4]):
        fault(path, "no comment at the head says what the file is for")
    prefix = None if stem == "main" else stem
    for name, first, last in functions_of(path, lines):
        size = last - first + 2
        most = DISPATCH_MAX if DISPATCH.search(name) else FUNCTION_MAX
        if size > most:
            fault(f"{path}:{first + 1}", f"{name} has {size} lines, "
                  f"at most {most}")
        if name in ANY_NAME:
            continue
        if prefix is None and not name.startswith("main_"):
            fault(f"{path}:{first + 1}", f"{name} does not begin with main_")
        if prefix and not name.startswith(prefix):
            fault(f"{path}:{first + 1}",
                  f"{name} does not begin with {prefix}")
    for number, line in enumerate(lines, 1):
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line.split("/*")[0])
        if line.lstrip().startswith("*"):
            continue
        found = FORBIDDEN.search(code)
        if found:
            fault(f"{path}:{number}", f"forbidden call {found.group(1)}")


def check_states(path):
    """Only X_enter assigns ->state."""
    lines = lines_of(path)
    if os.path.basename(path) in PARSERS:
        return
    for name, first, last in functions_of(path, lines):
        if name.endswith(("_enter", "_new", "_init", "_start", "_open")):
            continue
        for number in range(first, last):
            if re.search(r"[\w\])](->|\.)state\s*=[^=]", lines[number]):
                fault(f"{path}:{number + 1}",
                      f"{name} assigns state; only _enter may")


def check_header_alone(path):
    flags = subprocess.run(
        ["pkg-config", "--cflags", "libevent_core", "jansson", "libcares",
         "libarchive", "libseccomp", "libsecret-1"], capture_output=True,
        text=True).stdout.split()
    done = subprocess.run(
        ["cc", "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall",
         "-Wextra", "-Werror", "-I", TOP, *flags, "-include",
         os.path.join(TOP, path), "-x", "c", "/dev/null"],
        capture_output=True, text=True)
    if done.returncode != 0:
        fault(path, "does not compile alone: "
              + done.stderr.strip().splitlines()[0])


def code_lines(path):
    text = re.sub(r"/\*.*?\*/", "", "\n".join(lines_of(path)), flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip())


def check_common(files):
    common = [f for f in files if f.startswith("common/")]
    modules = [f for f in common if f.endswith(".h")]
    total = sum(code_lines(f) for f in common
                if f.endswith((".c", ".h", ".inc")))
    if len(modules) > COMMON_MODULES:
        fault("common", f"{len(modules)} modules, at most {COMMON_MODULES}")
    if total > COMMON_LINES:
        fault("common", f"{total} lines, at most {COMMON_LINES}")
    for path in common:
        for number, line in enumerate(lines_of(path), 1):
            found = re.match(r'#include "([^"]+)"', line)
            if found and not found.group(1).startswith("common/"):
                fault(f"{path}:{number}",
                      f"common includes {found.group(1)}")
            if re.match(r"#include <(openssl|libsecret)/", line):
                fault(f"{path}:{number}", "common never includes OpenSSL "
                      "or libsecret")


# Readers of what a command wrote, and who alone may call them: processes
# without rights. The supervisor has their answers.
READERS = {
    "supervisor/native/native_hint.h": ("supervisor/unpack/collect.c",
                                        "supervisor/native/native_hint.c"),
    "supervisor/unpack/result_reader.h": ("supervisor/unpack/",),
    "supervisor/unpack/result_text.h": ("supervisor/unpack/",),
}


def check_readers(files):
    for path in files:
        if not path.startswith(PRODUCT) or not path.endswith((".c", ".h")):
            continue
        for number, line in enumerate(lines_of(path), 1):
            found = re.match(r'#include "([^"]+)"', line)
            may = READERS.get(found.group(1)) if found else None
            if may and not path.startswith(may):
                fault(f"{path}:{number}", f"includes {found.group(1)}, which "
                      "reads what a command wrote")


def check_documents(files):
    """Paths and our own functions named in the documents exist."""
    names = set(files)
    folders = {os.path.dirname(f) for f in files}
    source = "\n".join("\n".join(lines_of(f)) for f in files
                       if f.endswith((".c", ".h")))
    for path in files:
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(lines_of(path), 1):
            for word in re.findall(r"`([^`\s]+)`", line):
                place = f"{path}:{number}"
                clean = word.rstrip("/")
                if re.match(r"(common|supervisor|egress-proxy|config|tests|"
                            r"deploy|docs|cmake|llm-broker)/[\w./-]+$",
                            clean):
                    if clean not in names and clean not in folders \
                            and not any(f.startswith(clean + "/")
                                        for f in folders):
                        fault(place, f"names {word}, which does not exist")
                call = re.match(r"([a-z]\w+_\w+)\(\)$", word)
                if call and not re.search(r"\b%s\(" % call.group(1), source):
                    fault(place, f"names {word}, which does not exist")


def main():
    files = tracked()
    check_names(files)
    for path in files:
        if path.endswith((".c", ".h")):
            check_source(path)
        if path.endswith(".c") and path.startswith(PRODUCT):
            check_states(path)
        if path.endswith(".h") and path.startswith(PRODUCT):
            check_header_alone(path)
    check_common(files)
    check_readers(files)
    check_documents(files)
    for text in faults:
        print(text)
    print(f"layout: {len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
