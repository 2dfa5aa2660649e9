#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The key never enters: a hostile provider echoes it in every form, an agent
takes all it can get and reads all it can reach, and the key is searched for
in every byte that went in, in the container's files, environments and /proc,
in logs, audit, lockfile and run records, in the engine's records, in argv and
environments of all our processes, and in the memory of supervisor, gate and
broker. The same search finds it when the broker is one that does not
redact."""
import base64
import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time

import agent_case
import harness
import key_search
import process_figures
import provider_standin
from harness import check

KEYS = agent_case.KEYS
PREFIXES = ["sk-proj-", "sk-ant-api03-", "AIzaSy"]
MODES = ["echo:" + form for form in provider_standin.forms("x" * 40)]
HEAD_MODES = ["status:401", "status:500", "redirect", "gzip"]

harness.need("gcore")
case = agent_case.AgentCase({"agent_sandbox": {
    "enabled": True, "llm": {"max_calls": 100000,
                             "max_input_chars": 100000000,
                             "max_output_chars": 100000000}}})
case.install("search")


def lines(result):
    out = []
    for line in result.out.splitlines():
        try:
            out.append(json.loads(line))
        except ValueError:
            out.append({"odd": line})
    return out


def leaks(result):
    """[(provider, stream, mode, form)] of keys that went in."""
    out = []
    for row in lines(result):
        if "bytes" in row:
            form = key_search.found(base64.b64decode(row["bytes"]),
                                    KEYS[row["provider"]])
            if form:
                out.append((row["provider"], row["stream"], row["mode"],
                            form))
        elif "found" in row and any(
                key_search.found(row["text"].encode("latin1"), key)
                for key in KEYS.values()):
            out.append(("file", row["found"], "", row["text"]))
    return out


def descendants(root):
    """Processes of ours from root on: {pid: name}."""
    out = {}
    for pid in process_figures.below(root):
        try:
            path = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue
        if path.startswith(harness.BUILD):
            out[pid] = os.path.basename(path)
    return out


# ---- every byte that goes in ------------------------------------------------
given = {"providers": list(KEYS), "modes": MODES + HEAD_MODES,
         "prefixes": PREFIXES}
result = case.agent("search-agent", given, timeout=240)
rows = [row for row in lines(result) if "bytes" in row]
check("the hostile provider answered every request",
      len(rows) == len(KEYS) * 2 * len(MODES + HEAD_MODES)
      and len(case.provider.calls) >= len(rows), (len(rows), result))
answered = [row for row in rows if base64.b64decode(row["bytes"]).startswith(
    b"HTTP/1.1 200") and row["mode"].startswith("echo")]
check("what it echoed was passed on, not refused as a whole",
      len(answered) == len(KEYS) * 2 * len(MODES), len(answered))
check("with the keys overwritten",
      sum(b"********" in base64.b64decode(row["bytes"])
          for row in answered) == len(answered),
      [(row["provider"], row["stream"], row["mode"]) for row in answered
       if b"********" not in base64.b64decode(row["bytes"])][:10])
check("no byte of a key went in, in any form", leaks(result) == [],
      leaks(result)[:10])

# ---- while it runs: files inside, processes, memory -------------------------
out = os.path.join(case.folder, "out")
with open(out, "wb") as file:
    run = subprocess.Popen(
        [harness.AGENTNODE, "agent", "run", "search-agent", "--input",
         json.dumps({"providers": list(KEYS), "modes": ["echo:raw"],
                     "prefixes": PREFIXES, "walk": True, "wait": 20})],
        env=harness.environment(case.home, **case.session.agent()),
        stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL)
calls = len(case.provider.calls)
seen, bad = set(), []
end = time.monotonic() + 60
while time.monotonic() < end:
    for pid, name in descendants(run.pid).items():
        seen.add(name)
        for part in ("cmdline", "environ"):
            try:
                with open(f"/proc/{pid}/{part}", "rb") as file:
                    data = file.read()
            except OSError:
                continue
            if any(key_search.found_fast(data, provider_standin.forms(key))
                   for key in KEYS.values()):
                bad.append((name, part))
    with open(out, "rb") as file:
        if b'"files"' in file.read():
            break
    time.sleep(0.01)
check("all our processes were looked at while they ran",
      {"agentnode", "agentnode-gate", "agentnode-llm-broker",
       "agentnode-llm-key", "agentnode-ledger", "agentnode-keyring"} <= seen,
      seen)
check("no argv and no environment of ours has a key", bad == [], bad[:5])

names = {name: pid for pid, name in descendants(run.pid).items()}
for name in ("agentnode", "agentnode-gate", "agentnode-llm-broker",
             "agentnode-ledger", "agentnode-llm-key"):
    folder = tempfile.mkdtemp(dir=case.folder)
    subprocess.run(["gcore", "-o", os.path.join(folder, "core"),
                    str(names[name])], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120, check=False)
    cores = os.listdir(folder)
    data = b""
    for core in cores:
        with open(os.path.join(folder, core), "rb") as file:
            data += file.read()
    forms = [(who, form) for who, key in KEYS.items()
             for form in key_search.found_fast(
                 data, provider_standin.forms(key))]
    check(f"the memory of {name} was read", len(data) > 1 << 16,
          (cores, len(data)))
    check(f"no key in the memory of {name}", forms == [], forms)
    shutil.rmtree(folder)

# the engine's records of the living container
bad = []
for top in ("/run/crun", "/run/containers", "/var/lib/containers/storage/"
            "overlay-containers", "/run/libpod"):
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            try:
                state = os.lstat(path)  # a fifo would wait for ever
                if not stat.S_ISREG(state.st_mode) or state.st_size > 4 << 20:
                    continue
                with open(path, "rb") as file:
                    data = file.read()
            except OSError:
                continue
            if any(key_search.found_fast(data, provider_standin.forms(key))
                   for key in KEYS.values()):
                bad.append(path)
check("no record of the engine has a key", bad == [], bad[:5])

# a broker that dies badly leaves no core
os.kill(names["agentnode-llm-broker"], signal.SIGSEGV)
run.wait(30)
check("a broker that crashes ends the run", run.returncode != 0,
      run.returncode)
cores = [os.path.join(folder, name) for folder, _, files in os.walk(case.home)
         for name in files if name.startswith("core")]
check("and leaves no core", cores == [], cores)

with open(out, encoding="utf-8", errors="replace") as file:
    walked = harness.Result(0, file.read(), "", 0)
rows = lines(walked)
check("the agent read its files and /proc",
      any(row.get("files", 0) > 100 for row in rows), walked)
check("it found beginnings of keys, so its search works",
      any("found" in row for row in rows), walked)
check("no file, environment or /proc inside has a key",
      leaks(walked) == [], leaks(walked)[:5])

# ---- what stays on disk -----------------------------------------------------
bad = []
for folder, _, files in os.walk(case.home):
    for name in files:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if any(key_search.found_fast(data, provider_standin.forms(key))
               for key in KEYS.values()):
            bad.append(os.path.join(folder, name))
check("no log, audit, lockfile, run record or database has a key",
      bad == [], bad)

# ---- the search can fail ------------------------------------------------------
# The same tree, with a broker that was built to redact nothing.
other = os.path.join(case.folder, "build")
shutil.copytree(harness.BUILD, other, symlinks=True, ignore=lambda top, _: [
    name for name in os.listdir(top)
    if top == harness.BUILD and name not in ("bin", "libexec", "share")])
shutil.copy(os.path.join(harness.BUILD, "tests", "broker_redact_none"),
            os.path.join(other, "libexec", "agentnode",
                         "agentnode-llm-broker"))
blind = harness.run(
    os.path.join(other, "bin", "agentnode"), "agent", "run", "search-agent",
    "--input", json.dumps({"providers": list(KEYS), "modes": MODES,
                           "prefixes": PREFIXES}),
    env=harness.environment(case.home, **case.session.agent()), timeout=240)
got = leaks(blind)
check("with a broker that does not redact the search finds every form",
      {(who, stream, mode) for who, stream, mode, _ in got}
      == {(who, stream, mode) for who in KEYS for stream in (False, True)
          for mode in MODES},
      ([(w, s, m) for w in KEYS for s in (False, True) for m in MODES
        if (w, s, m) not in {g[:3] for g in got}][:10], blind))

case.close()
harness.finish()
