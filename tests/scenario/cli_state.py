"""Homes that are wrong or full: one clear error, the right exit code, and
nothing half-written, for configuration, lockfile and logs."""
import json
import os
import pwd
import shutil

import harness
from harness import agentnode, check

# A user becomes root of a user namespace, in which his files are root's.
UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
home = harness.folder()
folder = os.path.join(home, ".agentnode")


def sentence(result, code, *words):
    return (result.code == code and result.err.count("\n") == 1
            and result.err.startswith("agentnode: ")
            and all(word in result.err for word in words))


# The home itself.
result = agentnode(home, "config", "set", "sandbox.pids", "9",
                   AGENTNODE_HOME="relative/home")
check("a relative AGENTNODE_HOME", sentence(result, 5, "absolute"), result)
result = agentnode(home, "config", "list", AGENTNODE_HOME="/" + "x" * 5000)
check("an endless AGENTNODE_HOME", sentence(result, 5, "too long"), result)
result = agentnode(home, "config", "set", "sandbox.pids", "9",
                   AGENTNODE_HOME=home + "/no/such/folder")
check("a home whose parent is missing", sentence(result, 5, "No such file"),
      result)
with open(os.path.join(home, "file"), "w") as file:
    file.write("x")
result = agentnode(home, "config", "set", "sandbox.pids", "9",
                   AGENTNODE_HOME=home + "/file")
check("a home that is a file", sentence(result, 5, "folder"), result)
os.symlink("/tmp", os.path.join(home, "link"))
result = agentnode(home, "config", "list", AGENTNODE_HOME=home + "/link")
check("a home that is a link", sentence(result, 5, "link"), result)
result = agentnode(home, "config", "list", AGENTNODE_HOME=home + "/link//")
check("a home that is a link and slashes", sentence(result, 5, "link"),
      result)
os.mkdir(os.path.join(home, "open"), 0o700)
os.chmod(os.path.join(home, "open"), 0o777)
result = agentnode(home, "config", "list", AGENTNODE_HOME=home + "/open")
check("a home others may write", sentence(result, 5, "writable by others"),
      result)
result = agentnode(home, "config", "set", "sandbox.pids", "9",
                   AGENTNODE_HOME="")
check("an empty AGENTNODE_HOME is ~/.agentnode", result.code == 0
      and os.path.exists(folder + "/config.json"), result)
shutil.rmtree(folder)
if os.geteuid() == 0:
    os.mkdir(folder, 0o700)
    os.chown(folder, 12345, 12345)
    for argv in (["config", "list"], ["config", "set", "sandbox.pids", "9"],
                 ["logs"], ["audit", "show"], ["lock", "verify"]):
        result = agentnode(home, *argv)
        code = 1 if argv == ["lock", "verify"] else 5
        check("a foreign home: " + " ".join(argv[:2]),
              sentence(result, code, "12345"), result)
    shutil.rmtree(folder)
    # The home of the account, where HOME says nothing.
    other = harness.folder()
    os.chmod(other, 0o755)
    nobody = pwd.getpwnam("nobody")
    env = {"PATH": os.environ["PATH"]}
    result = harness.run("setpriv", "--reuid", str(nobody.pw_uid),
                         "--clear-groups", harness.AGENTNODE, "config", "set",
                         "sandbox.pids", "9", env=env)
    check("without HOME the account's is taken",
          sentence(result, 5, nobody.pw_dir), result)

# A full disk: a small tmpfs, filled up to a margin.
MOUNTED = r"""
mount -t tmpfs -o size=64k,mode=0700 none "$1" || exit 99
margin=$2; shift 2
"$AGENTNODE" config set sandbox.pids 33 >/dev/null || exit 98
printf '%s' "$LOCK" > "$AGENTNODE_HOME/agentnode.lock"
"$AGENTNODE" lock seal >/dev/null || exit 97
head -c 10000000 /dev/zero > "$AGENTNODE_HOME/filler" 2>/dev/null
truncate -s "-$margin" "$AGENTNODE_HOME/filler"
before=$(sha256sum < "$AGENTNODE_HOME/config.json")
lock=$(sha256sum < "$AGENTNODE_HOME/agentnode.lock")
"$@"; code=$?
[ "$before" = "$(sha256sum < "$AGENTNODE_HOME/config.json")" ] || exit 96
[ "$lock" = "$(sha256sum < "$AGENTNODE_HOME/agentnode.lock")" ] || exit 95
ls -A "$AGENTNODE_HOME" | grep -q '\.new$' && exit 94
[ "$("$AGENTNODE" config get sandbox.pids)" = 33 ] || exit 93
"$AGENTNODE" lock verify >/dev/null || exit 92
exit $code
"""
LOCK = json.dumps({"lockfile_version": "0.1", "packages": {
    f"pack-{i}": {"version": "1.0.0", "artifact_hash": "x" * 300}
    for i in range(20)}})
os.makedirs(folder, mode=0o700, exist_ok=True)


def full(margin, *argv):
    env = harness.environment(home, AGENTNODE=harness.AGENTNODE, LOCK=LOCK)
    return harness.run(*UNSHARE, "sh", "-c", MOUNTED, "sh", folder,
                       str(margin), *argv, env=env, cwd=home)


big = ",".join(f"host-{i}.example.com" for i in range(400))
for margin in (0, 4096):
    result = full(margin, harness.AGENTNODE, "config", "set", "egress.allow",
                  big)
    check(f"disk full ({margin} left): config set is exit 70, old file kept",
          sentence(result, 70, "No space left", "unchanged"), result)
    result = full(margin, harness.AGENTNODE, "lock", "seal", "--force")
    check(f"disk full ({margin} left): lock seal is exit 70, old file kept",
          sentence(result, 70, "No space left", "unchanged"), result)

# A read-only disk.
RDONLY = r"""
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99
shift; exec "$@"
"""
agentnode(home, "config", "set", "sandbox.pids", "44")


def read_only(*argv):
    return harness.run(*UNSHARE, "sh", "-c", RDONLY, "sh", folder,
                       harness.AGENTNODE, *argv,
                       env=harness.environment(home), cwd=home)


result = read_only("config", "get", "sandbox.pids")
check("read-only: reading works", result.out == "44\n", result)
result = read_only("config", "set", "sandbox.pids", "45")
check("read-only: set is exit 70", sentence(result, 70, "Read-only"), result)
check("read-only: nothing changed",
      agentnode(home, "config", "get", "sandbox.pids").out == "44\n")

# No descriptors left.
result = harness.run("prlimit", "--nofile=4:4", harness.AGENTNODE, "config",
                     "set", "sandbox.pids", "45",
                     env=harness.environment(home))
check("no descriptors: an error, no change", result.code not in (0, "timeout")
      and result.code < 128 and result.err.startswith("agentnode: ")
      and agentnode(home, "config", "get", "sandbox.pids").out == "44\n",
      result)

# Logs: what is in a file cannot move the terminal.
os.mkdir(folder + "/log", 0o700)
with open(folder + "/log/agentnode-egress-proxy.jsonl", "w") as file:
    for i in range(200):
        file.write(json.dumps({"ts": "2026-01-01T00:00:00.000Z",
                               "level": "info", "process": "x",
                               "event": "tick", "n": i}) + "\n")
    file.write("not json \x1b]0;title\x07 \x9b31m\n")
os.chmod(folder + "/log/agentnode-egress-proxy.jsonl", 0o600)
result = agentnode(home, "logs", "--names")
check("logs --names lists", result.out == "agentnode-egress-proxy\n", result)
result = agentnode(home, "logs", "egress-proxy", "--last", "3")
lines = result.out.splitlines()
check("logs --last 3", len(lines) == 3 and "n=198" in lines[0]
      and "\x1b" not in result.out and "\x07" not in result.out, result)
check("logs default is 100",
      len(agentnode(home, "logs", "egress-proxy").out.splitlines()) == 100)
check("logs --json keeps lines",
      json.loads(agentnode(home, "logs", "egress-proxy", "--json", "--last",
                           "2").out.splitlines()[0])["n"] == 199)
for name in ("../config", "agentnode-../../x", "x" * 300, "no-such"):
    result = agentnode(home, "logs", name)
    check(f"logs {name[:20]}", result.code in (1, 2)
          and result.err.startswith("agentnode: "), result)
for last in ("-1", "x", "", "1.5"):
    check(f"logs --last {last!r} is exit 2", agentnode(
        home, "logs", "egress-proxy", "--last", last).code == 2)

# The lockfile's commands.
lock = os.path.join(home, "agentnode.lock")
for name, text, code, words in (
        ("malformed", '{"lockfile_version": "0.1",\n "packages": {,}}', 5,
         ["line 2", "agentnode.lock"]),
        ("unknown version", '{"lockfile_version":"9","packages":{}}', 5,
         ["'9'"]),
        ("duplicate", '{"lockfile_version":"0.1","packages":{"abc":{},'
         '"abc":{}}}', 5, ["duplicate"]),
        ("unknown field", '{"lockfile_version":"0.1","packages":{"abc":'
         '{"evil":1}}}', 5, ["packages.abc.evil"])):
    with open(lock, "w") as file:
        file.write(text)
    result = agentnode(home, "lock", "seal", cwd=home)
    check(f"lock seal, {name}: exit {code}", sentence(result, code, *words),
          result)
    result = agentnode(home, "lock", "verify", cwd=home)
    check(f"lock verify, {name}: exit 1", sentence(result, 1, *words),
          result)
    check(f"{name}: untouched", open(lock).read() == text)
for words in (("remove", "x"), ("list",), ("lock", "seal"), ("verify", "x"),
              ("mcp", "run", "x"), ("mcp", "install", "npm:x@1.0.0")):
    result = agentnode(home, *words, "--lockfile", "", cwd=home)
    check(f"{' '.join(words)}: an empty --lockfile names no other file",
          result.code != 0 and "--lockfile: an empty path" in result.err,
          result)
for words in ("list", "info abc", "verify", "mcp list", "remove abc",
              "mcp config abc --client cursor", "lock seal", "explain abc",
              "consent add abc", "argv abc", "guard check abc/tool"):
    result = agentnode(home, *words.split(" "), cwd=home,
                       AGENTNODE_LOCKFILE=home + "/none")
    check(f"{words} without lockfile: exit 5",
          sentence(result, 5, "/none: there is no such lockfile",
                   "agentnode mcp install"), result)
result = agentnode(home, "lock", "verify", AGENTNODE_LOCKFILE=home + "/none")
check("lock verify without file: exit 1", sentence(result, 1, "no such"),
      result)
harness.finish()
