#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tool packs on the host: one of a tier that may is built for it and runs
there, with an environment from nothing, limits, and an end of its whole tree;
everything says that this is a policy and not a boundary. What the operator
or the policy wants in the sandbox is never there, and nothing of a community
tier is, whatever a lockfile says (invariant 8)."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import consent_seal
import engine_case
import harness
import mcp_setup
import schema_check
from harness import agentnode, check
from registry_world import Key, Registry, configure, home_with, need, pack

harness.need("podman", "unshare", "/usr/bin/node")
need()
WORDS = "policy, not a boundary"
TOKEN = os.urandom(8).hex()
# An attested entry that is not as it was installed; one that never was
# built for the host.
KEPT_OUT = {"trust_unbound", "host_build_stale"}
home = mcp_setup.home({"agent_sandbox": {"enabled": True}})
work = harness.folder()
os.chmod(work, 0o755)
state = os.path.join(home, ".agentnode")
lock = os.path.join(state, "agentnode.lock")

MANIFEST = """manifest_version: "0.3"
package_id: {slug}
package_type: toolpack
name: Host tools
summary: Tools that look at where they run
publisher: acme-tools
version: 1.0.0
runtime: python
{more}capabilities:
  tools:
{tools}
"""
TOOL = """    - name: {name}
      entrypoint: tools:{name}
      action_type: compute
      input_schema: {{type: object, properties: {{a: {{type: string}}}}}}
"""
CODE = '''import os, resource, subprocess, sys, time

def look(a=""):
    status = open("/proc/self/status").read()
    return {"env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid(),
            "file": __file__, "umask": oct(os.umask(0o77)),
            "fds": sorted(os.listdir("/proc/self/fd")),
            "privs": "NoNewPrivs:\\t1" in status,
            "cap": status.split("CapEff:\\t")[1][:16],
            "sid": os.getsid(0) == os.getpid(),
            "groups": open("/proc/self/cgroup").read(),
            "core": resource.getrlimit(resource.RLIMIT_CORE)[0]}

def spawn(a):
    """Forked twice, in sessions of their own, deaf to signals."""
    a = os.environ["TMPDIR"] + "/" + a
    subprocess.run(["/bin/sh", "-c", f"""
(setsid sh -c 'trap "" TERM HUP INT; echo $$ >> {a}; exec sleep 300' \\
    > /dev/null 2>&1 &)
(setsid sh -c 'echo $$ >> {a}; while :; do sleep 1; done' > /dev/null 2>&1 &)
while [ $(cat {a} | wc -l) -lt 2 ]; do sleep 0.02; done"""])
    return {"started": 2}

def wait(a):
    spawn(a)
    time.sleep(300)

def eat(a=""):
    return {"bytes": len(bytearray(os.urandom(1) * (96 << 20)))}

def eat_all(a=""):
    held = [bytearray(os.urandom(1) * (64 << 20)) for _ in range(40)]
    return {"bytes": sum(len(x) for x in held)}

def flood(a=""):
    return "x" * (64 << 20)
'''


def source(slug, more="", version="1.0.0"):
    names = ("look", "spawn", "wait", "eat", "eat_all", "flood")
    return mcp_setup.package({
        "agentnode.yaml": MANIFEST.format(slug=slug, more=more, tools="".join(
            TOOL.format(name=name) for name in names)).replace(
                "version: 1.0.0", f"version: {version}"),
        "tools.py": CODE, "tests.txt": TOKEN + "\n"}, slug)


def node_source():
    return mcp_setup.package({
        "agentnode.yaml": MANIFEST.format(
            slug="node-tools", more="", tools=TOOL.format(name="look")).replace(
                "runtime: python", "runtime: node").replace(
                "tools:look", "./tools.mjs:look"),
        "tools.mjs": "export function look() {\n"
                     "  return {cwd: process.cwd(), home: process.env.HOME,"
                     " count: Object.keys(process.env).length};\n}\n",
        "tests.txt": TOKEN + "\n"}, "node-tools")


class Shop:
    def __init__(self):
        self.folder = harness.folder()
        os.chmod(self.folder, 0o755)
        self.registry = Registry(
            self.folder, Key(os.path.join(work, "registry.key")),
            Key(os.path.join(work, "publisher.key")))
        restricted = ("permissions:\n  network:\n    level: restricted\n"
                      "    allowed_domains: [\"a.example.com:443\"]\n")
        asks = ("env_requirements:\n  - {name: HOST_TOOLS_KEY, required: "
                "true, description: a key}\n")
        for slug, tier, more in (("host-tools", "trusted", ""),
                                 ("key-tools", "trusted", asks),
                                 ("best-tools", "curated", ""),
                                 ("known-tools", "verified", ""),
                                 ("net-tools", "trusted", restricted)):
            pack(source(slug, more), os.path.join(self.folder, slug + ".tgz"))
            self.registry.add(slug, "1.0.0", slug + ".tgz", tier=tier)
        pack(node_source(), os.path.join(self.folder, "node-tools.tgz"))
        self.registry.add("node-tools", "1.0.0", "node-tools.tgz",
                          tier="curated")
        for version in ("1.0.0", "2.0.0"):
            name = f"turn-tools-{version}.tgz"
            pack(source("turn-tools", version=version),
                 os.path.join(self.folder, name))
            self.registry.add("turn-tools", version, name, tier="trusted")
        self.registry.write()
        configure(home, **home_with(self.registry))


def policy(word):
    done = agentnode(home, "config", "set", "sandbox.host_trust_policy", word)
    check(f"the policy is {word}", done.code == 0, done)


def install(slug, *words):
    done = agentnode(home, "install", slug, "--yes", *words, timeout=120)
    check(f"{slug} is installed" + "".join(f" {w}" for w in words),
          done.code == 0, done)
    return done


def tool(name, argument=None, *words, slug="host-tools", **more):
    arg = ["--arg", f"a={argument}"] if argument is not None else []
    return agentnode(home, "run", f"{slug}/{name}", "--json", *arg, *words,
                     **more)


def entry(slug="host-tools"):
    return mcp_setup.lock(home)["packages"][slug]


def records(event):
    path = os.path.join(state, "ledger", "audit.jsonl")
    return [r.get("fields", r) for r in harness.json_lines(path)
            if r.get("event") == event]


def launched():
    return len([r for r in records("launch") if r["package"] == "host-tools"])


def note(name, slug="host-tools"):
    """A file in the TMPDIR of a pack on the host."""
    return os.path.join(state, "host", slug, "tmp", name)


def is_dead(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def pids(path):
    with open(path, encoding="utf-8") as file:
        return [int(line) for line in file.read().split()]


def installed():
    done = agentnode(home, "install", "host-tools", "--yes", "--json",
                     timeout=120)
    fault = schema_check.check_text(done.out, harness.SOURCE, "install")
    check("host-tools is installed", done.code == 0 and fault == "",
          fault or done)
    check("installing says where it will run, and what that is",
          "runs      on the host: a policy, not a boundary" in done.err, done)
    has = entry()
    check("the entry is sealed for the host", has["build_mode"] == "host"
          and has["host_path"] == has["volume_host_path"]
          and has["sandboxed"] is False
          and has["effective_host_trust_policy_at_install"] == "default", has)
    explained = agentnode(home, "explain", "host-tools")
    check("explain says it", "on the host, by policy and without a boundary"
          in explained.out, explained)
    shown = agentnode(home, "info", "host-tools", "--json")
    info = shown.json()
    fault = schema_check.check_text(
        shown.out, harness.SOURCE, "info") or schema_check.check_text(
        agentnode(home, "list", "--json").out, harness.SOURCE, "list")
    check("info and list fit their schemas", fault == "", fault)
    check("info says it", info["build_mode"] == "host"
          and info["runnable"] is True and info["place"] == "host"
          and info["boundary"] == WORDS, info)
    listed = agentnode(home, "list")
    check("list says it", "on the host: " + WORDS in listed.out, listed)
    doctor = agentnode(home, "sandbox", "doctor", "host-tools", timeout=120)
    check("doctor says it", "on the host (policy, not a boundary)"
          in doctor.out and "every run hashes it" in doctor.out, doctor)


def looked():
    done = tool("look", SECRET="of the caller")
    said = done.json()
    fault = schema_check.check_text(done.out, harness.SOURCE, "run")
    check("it runs on the host, and the result says what that is",
          fault == "" and said["ok"] and said["place"] == "host"
          and said["boundary"] == WORDS, fault or done)
    seen = said["result"]
    own = os.path.join(state, "host", "host-tools")
    nowhere = "http://127.0.0.1:9"
    closed = {name: nowhere for name in (
        "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy",
        "ALL_PROXY", "all_proxy")}
    where = entry()["host_path"]
    check("its environment is exactly the list", seen["env"] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
        "HOME": own + "/home", "TMPDIR": own + "/tmp",
        "NODE_PATH": where + "/node_modules", "PYTHONPATH": where,
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
        "NODE_USE_ENV_PROXY": "1", **closed}, seen["env"])
    check("its home and temporary folder are private", all(
        os.stat(os.path.join(own, name)).st_mode & 0o777 == 0o700
        for name in ("home", "tmp")), own)
    check("session, rights and limits", seen["sid"] and seen["privs"]
          and seen["cap"] == "0" * 16 and seen["umask"] == "0o77"
          and seen["core"] == 0 and seen["cwd"] == where
          and seen["file"].startswith(where + "/"), seen)
    launch = [r for r in records("launch") if r["kind"] == "toolpack"][-1]
    grouped = "/agentnode-host-" + launch["run"] in seen["groups"]
    check("the record says policy, and what holds the limits",
          launch["boundary"] == "policy"
          and launch["boundary_words"] == WORDS
          and launch["tier"] == "trusted"
          and launch["content_hash"] == entry()["volume_content_hash"]
          and launch["limits"] == ("control group" if grouped
                                   else "rlimits only"), launch)
    removal = [r for r in records("removal") if r["run"] == launch["run"]]
    check("and its end is one", len(removal) == 1 and removal[0]["removed"]
          and removal[0]["boundary"] == "policy", removal)


def ended():
    done = tool("spawn", "/tmp/spawned")
    check("an absolute path among the arguments is refused there",
          done.code == 125
          and done.json()["error"]["code"] == "guard_arguments", done)
    path = note("spawned")
    done = tool("spawn", "spawned")
    check("children that forked twice are dead when it ends", done.code == 0
          and len(pids(path)) == 2 and all(map(is_dead, pids(path))), done)
    path = note("timed")
    done = tool("wait", "timed", "--timeout", "2")
    check("the time limit ends the whole tree", done.code != 0
          and done.json()["error"]["code"] == "timeout"
          and done.seconds < 6 and all(map(is_dead, pids(path))), done)
    done = tool("eat").json()
    check("peak memory is told", done["ok"]
          and done["peak_memory"] > 96 << 20, done)
    done = tool("eat_all")
    check("more memory than it may have ends it", done.code != 0
          and done.json()["peak_memory"] <= 513 << 20, done)
    done = tool("flood")
    check("a result that is too long is let go", done.code != 0
          and done.json()["error"]["code"] == "result_too_long"
          and done.json()["truncated"] is True, done)


def killed():
    path = note("killed")
    explained = agentnode(home, "explain", "host-tools")
    check("explain does not promise what is not held",
          "nothing stops a socket" in explained.out
          and "whatever the user who runs it" in explained.out
          and "loopback alone" not in explained.out, explained)
    run = subprocess.Popen(
        [harness.AGENTNODE, "run", "host-tools/wait", "--arg", "a=killed"],
        env=harness.environment(home), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    harness.wait_until(lambda: os.path.exists(path) and len(pids(path)) == 2,
                       20)
    done = agentnode(home, "remove", "host-tools")
    check("nothing of a living run is removed", done.code != 0
          and "host-tools" in mcp_setup.lock(home)["packages"], done)
    run.send_signal(signal.SIGKILL)
    run.wait()
    begin = time.monotonic()
    dead = harness.wait_until(lambda: all(map(is_dead, pids(path))), 5)
    took = time.monotonic() - begin
    check("kill -9 of the supervisor: its tree is dead within 1 s",
          dead and took < 1, f"{took:.2f} s {pids(path)}")


def node():
    install("node-tools")
    done = tool("look", slug="node-tools")
    said = done.json()
    check("a pack in JavaScript too", done.code == 0
          and said["place"] == "host" and said["result"] == {
              "cwd": entry("node-tools")["host_path"],
              "home": os.path.join(state, "host", "node-tools", "home"),
              "count": 15}, done)


def secret():
    """A secret that was consented to: in the environment of the command and
    nowhere else."""
    value = "s3cr3t-" + os.urandom(8).hex()
    install("key-tools")  # --yes consents to it
    done = tool("look", slug="key-tools", HOST_TOOLS_KEY=value)
    said = done.json()
    check("the tool has it", done.code == 0 and said["place"] == "host"
          and said["result"]["env"].get("HOST_TOOLS_KEY") == value, done)
    found = subprocess.run(["grep", "-rlF", value, state],
                           capture_output=True, text=True).stdout
    check("no file of ours has it", found == "", found)
    launch = records("launch")[-1]
    check("the record has its name", launch["secrets"] == ["HOST_TOOLS_KEY"],
          launch)
    done = agentnode(home, "consent", "revoke", "key-tools")
    check("the consent is taken back", done.code == 0, done)
    done = tool("look", slug="key-tools", HOST_TOOLS_KEY=value)
    check("without it there is no run", done.code == 125
          and done.json()["error"]["code"] == "credentials_consent_revoked",
          done)


def called_by_agent():
    """An agent in its sandbox: the tool's code is here all the same."""
    source_ = os.path.join(harness.folder(), "packs")
    shutil.copytree(os.path.join(harness.SOURCE, "tests", "agents", "packs"),
                    source_)
    manifest = os.path.join(source_, "agentnode.yaml")
    with open(manifest, encoding="utf-8") as file:
        text = file.read()
    with open(manifest, "w", encoding="utf-8") as file:
        file.write(text.replace("[pypack, jspack, gonepack]",
                                "[host-tools]"))
    subprocess.run(["chmod", "-R", "a+rX", os.path.dirname(source_)],
                   check=True)
    done = agentnode(home, "install", source_, "--yes", timeout=120)
    check("an agent is installed", done.code == 0, done)
    done = agentnode(home, "agent", "run", "packs-agent", "--input",
                     json.dumps({"calls": [
                         ["host-tools", "look"], ["host-tools", "look"],
                         ["host-tools", "spawn", {"a": "by-agent"}],
                         ["host-tools", "spawn", {"a": "/tmp/x"}]]}),
                     timeout=150)
    said = done.json() if done.code == 0 else {}
    got = [row.get("result") or row for row in
           (said.get("value") or {}).get("calls", [])]
    check("an agent's calls run there, each in a process of its own",
          len(got) == 4 and got[0].get("env", {}).get("HOME") == os.path.join(
              state, "host", "host-tools", "home")
          and got[0]["pid"] != got[1]["pid"]
          and got[2] == {"started": 2}, got or done)
    check("an absolute path among its arguments is refused",
          len(got) == 4 and got[3].get("refused") == "guard_arguments", got)
    check("what a call left is dead", all(map(is_dead, pids(
        note("by-agent")))))
    made = [r for r in records("launch") if r["kind"] == "tool"]
    check("each has its record", len(made) >= 3 and all(
        r["boundary"] == "policy" for r in made), made)


def changed():
    path = os.path.join(entry()["host_path"], "tools.py")
    with open(path, "rb") as file:
        data = file.read()
    times = os.stat(path)
    with open(path, "r+b") as file:
        file.write(data.replace(b"return {\"started\"", b"return {\"stArted\""))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    done = tool("spawn", "changed")
    check("a changed byte, size and time as before: integrity_volume",
          done.code == 125 and done.json()["error"]["code"]
          == "integrity_volume" and not os.path.exists(note("changed")), done)
    with open(path, "wb") as file:
        file.write(data)
    check("as it was: it runs", tool("look").code == 0)


def forge(slug, name, codes, **fields):
    """Fields of an entry by hand, every seal made anew; then as it was."""
    with open(lock, encoding="utf-8") as file:
        before = file.read()
    forged = json.loads(before)
    forged["packages"][slug].update(fields)
    with open(lock, "w", encoding="utf-8") as file:
        json.dump(consent_seal.sealed(forged), file)
    done = tool("spawn", "forged", slug=slug)
    said = done.json()
    check(f"i08 {slug}: {name}", done.code == 125 and not said["ok"]
          and said["error"]["code"] in codes
          and not os.path.exists(note("forged", slug)), done)
    with open(lock, "w", encoding="utf-8") as file:
        file.write(before)


def no_host(name, code, done):
    said = done.json()
    check(f"{name}: {code}", done.code == 125
          and said["error"]["code"] == code and not said["ok"], done)


def policies():
    before = launched()
    policy("none")
    no_host("built for the host, and the policy is tighter now",
            "host_build_stale", tool("look"))
    doctor = agentnode(home, "sandbox", "doctor", "host-tools", timeout=120)
    check("doctor says so", "host_build_stale" in doctor.out, doctor)
    policy("curated_only")
    no_host("trusted is not curated", "host_build_stale", tool("look"))
    check("none of it started anything", launched() == before)
    policy("none")
    install("host-tools")
    check("installed again it is for the sandbox",
          entry()["build_mode"] == "sandbox_volume"
          and "host_path" not in entry(), entry())
    done = tool("look").json()
    check("and runs there", done["place"] == "sandbox"
          and "boundary" not in done, done)
    policy("default")
    done = tool("look").json()
    check("a looser policy leaves it there", done["place"] == "sandbox", done)
    explained = agentnode(home, "explain", "host-tools")
    check("explain: built for the sandbox", "in the sandbox: it was built "
          "for it" in explained.out, explained)


def documented():
    """The commands of docs/host-runs.md, in their order."""
    with open(os.path.join(harness.SOURCE, "docs", "host-runs.md"),
              encoding="utf-8") as file:
        lines = re.findall(r"^    agentnode (.*)$", file.read(), re.M)
    check("the document has an example", len(lines) == 2, lines)
    for line, mode in zip(lines, ("host", "sandbox_volume")):
        done = agentnode(home, *line.replace("word-count", "host-tools")
                         .split(), timeout=120)
        check(line, done.code == 0 and entry()["build_mode"] == mode, done)


def choices():
    install("host-tools")
    check("installed again it is for the host", tool("look").json()["place"]
          == "host")
    older = entry()
    install("host-tools", "--sandbox")
    check("--sandbox: it is not", entry()["build_mode"] == "sandbox_volume"
          and tool("look").json()["place"] == "sandbox")
    forge("host-tools", "the entry of before", KEPT_OUT, **older)
    install("net-tools")
    check("a restricted network stays in the sandbox",
          entry("net-tools")["build_mode"] == "sandbox_volume")
    install("best-tools")
    policy("curated_only")
    check("curated under curated_only is on the host",
          tool("look", slug="best-tools").json()["place"] == "host")
    policy("default")


def write_lock(change):
    """The lockfile by hand, every seal made anew."""
    with open(lock, encoding="utf-8") as file:
        data = json.load(file)
    change(data["packages"])
    with open(lock, "w", encoding="utf-8") as file:
        json.dump(consent_seal.sealed(data), file)


def older():
    """Whatever was bound for the host before --sandbox or remove is not any
    more, and what the lockfile says meanwhile has no part in it."""
    slug, kept = "turn-tools", []
    try:
        for version in ("1.0.0", "2.0.0"):
            install(f"{slug}@{version}")
            kept.append(entry(slug))
        write_lock(lambda all_: all_.update({slug: kept[0]}))
        done = tool("look", slug=slug)
        check("an older entry that was not taken back runs", done.code == 0
              and done.json()["place"] == "host", done)
        install(f"{slug}@2.0.0", "--sandbox")
        for row in kept:
            forge(slug, f"{row['version']} on the host, of before --sandbox",
                  {"trust_unbound"}, **row)
        install(f"{slug}@1.0.0")
        write_lock(lambda all_: all_.pop(slug))
        install(f"{slug}@1.0.0", "--sandbox")
        forge(slug, "its entry was deleted by hand before --sandbox",
              {"trust_unbound"}, **kept[0])
        install(f"{slug}@2.0.0")
        install(f"{slug}@1.0.0")
        done = agentnode(home, "remove", slug, "--keep-volume", timeout=120)
        check("it is removed", done.code == 0, done)
        write_lock(lambda all_: all_.update({slug: kept[1]}))
        no_host("an entry of before remove", "trust_unbound",
                tool("look", slug=slug))
        write_lock(lambda all_: all_.pop(slug))
    finally:
        for row in kept:
            engine_case.podman("volume", "rm", "-f", row["sandbox_volume"])


def i08():
    install("known-tools")
    local = agentnode(home, "install", source("own-tools"), "--yes",
                      timeout=120)
    check("own-tools is installed", local.code == 0, local)
    curated = entry("best-tools")
    for slug in ("known-tools", "own-tools"):
        has = entry(slug)
        check(f"i08 {slug} is built for the sandbox and runs there",
              has["build_mode"] == "sandbox_volume"
              and tool("look", slug=slug).json()["place"] == "sandbox", has)
        host = {"build_mode": "host", "host_path": has["volume_host_path"]}
        forge(slug, "build_mode alone", KEPT_OUT,
              build_mode="host")
        forge(slug, "all that says host", KEPT_OUT, **host)
        for tier in ("curated", "trusted"):
            forge(slug, f"and the claim {tier}", KEPT_OUT,
                  trust_level=tier, **host)
        forge(slug, "and the attestation of a curated one",
              {"trust_other_slug"},
              trust_level="curated", attestation=curated["attestation"],
              _signatures=curated["_signatures"], **host)
    # Of a tier that may, but the operator wanted it in the sandbox.
    has = entry()
    forge("host-tools", "the operator's choice is not undone",
          KEPT_OUT, build_mode="host", host_path=has["volume_host_path"])
    forge("host-tools", "by a note", KEPT_OUT, build_mode="host")
    launches = [r for r in records("launch") if r["package"] in (
        "known-tools", "own-tools")]
    check("i08 none of theirs is on the host", launches and all(
        r.get("boundary") is None for r in launches), launches)


def missing():
    """Without an engine nothing of the sandbox goes to the host."""
    podman = shutil.which("podman")

    def alone(slug):
        return harness.run(
            "unshare", "-m", "/bin/sh", "-c",
            'mount --bind /dev/null "$0" && exec "$@"', podman,
            harness.AGENTNODE, "run", f"{slug}/look", "--json",
            env=harness.environment(home))

    for slug in ("host-tools", "known-tools"):
        done = alone(slug)
        check(f"i08 {slug} without an engine: refused", done.code == 125
              and not done.json()["ok"]
              and done.json()["place"] == "sandbox", done)
    done = alone("best-tools").json()
    check("what is on the host needs none", done["ok"]
          and done["place"] == "host", done)


def removed():
    own = os.path.join(state, "host", "best-tools")
    deep = os.path.join(own, "tmp", "a", "b")
    os.makedirs(deep)
    os.symlink(work, os.path.join(deep, "link"))
    os.chmod(os.path.join(own, "tmp", "a"), 0)
    done = agentnode(home, "remove", "best-tools", timeout=120)
    check("remove takes its folders too, and follows no link",
          done.code == 0 and not os.path.exists(own)
          and os.path.exists(os.path.join(work, "registry.key")), done)


def main():
    Shop()
    try:
        installed()
        looked()
        ended()
        killed()
        node()
        secret()
        called_by_agent()
        changed()
        policies()
        documented()
        choices()
        older()
        i08()
        missing()
        removed()
        chain = agentnode(home, "audit", "verify")
        check("the audit chain is whole", chain.code == 0, chain)
    finally:
        try:
            left = mcp_setup.lock(home)["packages"].values()
        except OSError:
            left = []
        for has in left:
            engine_case.podman("volume", "rm", "-f", has["sandbox_volume"])
    harness.finish()


main()
