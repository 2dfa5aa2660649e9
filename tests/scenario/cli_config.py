"""The configuration: setting, reading, origins; malformed files, each named
with file and place; the team policy, which only narrows; writers at the same
time and writers that are killed."""
import json
import os
import random
import signal
import subprocess
import time

import harness
import schema_check
from harness import agentnode, check

home = harness.folder()
folder = os.path.join(home, ".agentnode")
path = os.path.join(folder, "config.json")


def write(text, where=path):
    os.makedirs(os.path.dirname(where), mode=0o700, exist_ok=True)
    with open(where, "w", encoding="utf-8") as file:
        file.write(text)


check("reading makes no folder",
      agentnode(home, "config", "list").code == 0
      and not os.path.exists(folder))
unset = agentnode(home, "config", "get", "sandbox.image")
check("a key that is not set is exit 1", unset.code == 1
      and "not set" in unset.err, unset)
done = agentnode(home, "config", "set", "sandbox.memory", "1g")
check("set", done.code == 0 and done.out == "sandbox.memory = 1g\n", done)
check("the folder is 0700 and the file 0600",
      os.stat(folder).st_mode & 0o777 == 0o700
      and os.stat(path).st_mode & 0o777 == 0o600)
check("get", agentnode(home, "config", "get", "sandbox.memory").out == "1g\n")
with open(path, encoding="utf-8") as file:
    check("nested on disk", json.load(file) == {"sandbox": {"memory": "1g"}})
done = agentnode(home, "config", "set", "egress.allow",
                 "münchen.example, *.Example.com")
check("IDN is shown converted", "xn--mnchen-3ya.example:443" in done.out,
      done)
for argv in (["config", "list", "--json"], ["config", "get", "--json",
                                            "egress.allow"],
             ["config", "get", "--json", "sandbox.image"]):
    result = agentnode(home, *argv)
    fault = schema_check.check_text(
        result.out, harness.SOURCE, "config-" + argv[1])
    check(" ".join(argv) + " fits its schema", fault == "", fault)
origin = agentnode(home, "config", "list", "--origin").out
check("origins", "user        sandbox.memory = 1g" in origin
      and "default     sandbox.pids = 256" in origin, origin)
result = agentnode(home, "config", "get", "--origin", "log.level",
                   AGENTNODE_LOG_LEVEL="warn")
check("the environment overrides", result.out == "warn\tenvironment\n",
      result)
result = agentnode(home, "config", "list", AGENTNODE_LOG_LEVEL="loud")
check("a bad variable is named, exit 5", result.code == 5
      and "AGENTNODE_LOG_LEVEL" in result.err, result)
result = agentnode(home, "config", "get", "agent_sandbox.enabled",
                   AGENTNODE_AGENT_SANDBOX="1")
check("AGENTNODE_AGENT_SANDBOX=1", result.out == "true\n", result)
agentnode(home, "config", "unset", "egress.allow")
agentnode(home, "config", "unset", "sandbox.memory")
with open(path, encoding="utf-8") as file:
    check("unset leaves no empty objects", json.load(file) == {})

for key, value, code, word in (
        ("sandbox.memry", "1g", 2, "nearest is 'sandbox.memory'"),
        ("sandbox.mmeory", "1g", 2, "nearest is 'sandbox.memory'"),
        ("memory", "1g", 2, "nearest is 'sandbox.memory'"),
        ("x" * 70000, "1g", 2, "no key"),
        ("sandbox.memory", "1x", 5, "size"),
        ("sandbox.memory", "1k", 5, "between"),
        ("egress.allow", "localhost", 5, "localhost"),
        ("egress.allow", "*.co.uk", 5, "co.uk"),
        ("egress.allow", "a\x1b[31m.example.com", 5, "egress.allow"),
        ("sandbox.image", "x:latest", 5, "sha256")):
    before = open(path, "rb").read()
    result = agentnode(home, "config", "set", key, value)
    check(f"set {key} {value!r}: exit {code}",
          result.code == code and word in result.err
          and "\x1b" not in result.err
          and result.err.count("\n") == 1
          and open(path, "rb").read() == before, result)

# The schema that is made from the table of keys says the same.
SCHEMA = schema_check.load(harness.SOURCE, "config")
for text, fits in (
        ('{"sandbox":{"memory":"1g","pids":9,"overrides":["no_landlock"]}}', 1),
        ('{"egress":{"allow":["a.example.com:443"]},"llm":{"day":{"cost":2}}}',
         1),
        ('{"sandbox":{"memry":"1g"}}', 0), ('{"colour":{"x":1}}', 0),
        ('{"sandbox.memory":"1g"}', 0), ('{"sandbox":{"pids":"many"}}', 0),
        ('{"sandbox":{"pids":1}}', 0), ('{"sandbox":{"memory":"1x"}}', 0),
        ('{"sandbox":{"overrides":["no_walls"]}}', 0),
        ('{"trust":{"minimum_trust_level":"gold"}}', 0)):
    write(text)
    result = agentnode(home, "config", "list")
    faults = list(schema_check.faults(json.loads(text), SCHEMA))
    check(f"schema and program agree on {text}", (faults == []) == bool(fits)
          and (result.code == 0) == bool(fits), (faults, result))

# Malformed files: never the defaults, never overwritten.
DEEP = "[" * 40 + "]" * 40
for name, text, word in (
        ("empty", "", "line 1"),
        ("cut", '{"sandbox": {', "line 1"),
        ("third line", '{\n"sandbox":\n{"memory" "1g"}}', "line 3"),
        ("array", "[]", "one JSON object"),
        ("unknown key", '{"sandbox":{"memry":"1g"}}', "sandbox.memry"),
        ("unknown group", '{"colour":{"x":1}}', "colour"),
        ("dotted", '{"sandbox.memory":"1g"}', "sandbox.memory"),
        ("duplicate", '{"log":{},"log":{}}', "duplicate"),
        ("wrong type", '{"sandbox":{"pids":"many"}}', "sandbox.pids"),
        ("null", '{"sandbox":{"pids":null}}', "sandbox.pids"),
        ("range", '{"sandbox":{"pids":1}}', "between"),
        ("fraction", '{"sandbox":{"pids":8.5}}', "sandbox.pids"),
        ("deep", '{"x":' + DEEP + "}", "deeper"),
        ("bad entry", '{"egress":{"allow":["10.0.0.1"]}}', "egress.allow"),
        ("not UTF-8", '{"log":{"level":"\udcff"}}', "line 1"),
        ("trailing", "{} {}", "line 1"),
        ("large", '{"x":"' + "y" * (1 << 20) + '"}', "larger")):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    before = open(path, "rb").read()
    for argv in (["config", "list"], ["config", "set", "sandbox.pids", "9"]):
        result = agentnode(home, *argv)
        check(f"{name}: {argv[1]} is exit 5 with file and place",
              result.code == 5 and word in result.err
              and "config.json" in result.err
              and result.err.count("\n") == 1
              and result.err.startswith("agentnode: "), result)
    check(f"{name}: the file is untouched",
          open(path, "rb").read() == before)
os.unlink(path)

# Who owns what, and what kind of file it is.
os.symlink("/etc/hostname", path)
result = agentnode(home, "config", "list")
check("a link is refused", result.code == 5 and "link" in result.err, result)
os.unlink(path)
os.mkfifo(path)
result = agentnode(home, "config", "list", timeout=10)
check("a pipe is refused, at once", result.code == 5
      and "regular" in result.err, result)
os.unlink(path)
write("{}")
os.chmod(path, 0o666)
result = agentnode(home, "config", "list")
check("a file others may write is refused", result.code == 5
      and "writable by others" in result.err, result)
os.chmod(path, 0o600)
if os.geteuid() == 0:
    os.chown(path, 12345, 12345)
    result = agentnode(home, "config", "list")
    check("a foreign file is refused", result.code == 5
          and "12345" in result.err, result)
    os.chown(path, 0, 0)
os.unlink(path)

# Eight writers at the same time: nothing is lost.
keys = ["sandbox.pids", "sandbox.cpu_milli", "egress.max_tunnels",
        "egress.head_timeout_ms", "egress.hello_timeout_ms",
        "egress.dial_timeout_ms", "egress.idle_timeout_s", "build.timeout_s"]
writers = [subprocess.Popen(
    [harness.AGENTNODE, "config", "set", key, str(100 + index)],
    env=harness.environment(home), stdout=subprocess.DEVNULL)
    for index, key in enumerate(keys)]
check("8 writers end well", all(w.wait(30) == 0 for w in writers))
for index, key in enumerate(keys):
    check(f"8 writers: {key}", agentnode(home, "config", "get", key).out
          == f"{100 + index}\n")

# Writers killed at any moment: the file is whole each time.
whole = True
for turn in range(40):
    writer = subprocess.Popen(
        [harness.AGENTNODE, "config", "set", "sandbox.pids", str(10 + turn)],
        env=harness.environment(home), stdout=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 0.008))
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    whole = whole and agentnode(home, "config", "list").code == 0
check("40 killed writers leave a whole file", whole)
agentnode(home, "config", "set", "sandbox.pids", "77")
check("and nothing beside it", os.listdir(folder) == ["config.json"],
      os.listdir(folder))

# The team policy, in a mount namespace of its own over /etc.
NARROW = r"""
mount -t tmpfs none "$1" && mkdir "$1/etc" && cp /etc/passwd /etc/group "$1/etc/" &&
mount --bind "$1/etc" /etc && mkdir -p /etc/agentnode &&
chmod 755 /etc/agentnode && cp "$2" /etc/agentnode/policy.json &&
chmod 644 /etc/agentnode/policy.json && eval "$3" && shift 3 && exec "$@"
"""
ROOT = os.geteuid() == 0
# A user becomes root of a user namespace, in which his files are root's.
UNSHARE = ["unshare", "-m"] if ROOT else ["unshare", "-rm"]
mount_dir = harness.folder()
policy_file = os.path.join(home, "policy")


def under(policy, *argv, then=":", **env):
    write(policy if isinstance(policy, str) else json.dumps(policy),
          policy_file)
    return harness.run(*UNSHARE, "sh", "-c", NARROW, "sh", mount_dir,
                       policy_file, then, harness.AGENTNODE, *argv,
                       env=harness.environment(home, **env))


write(json.dumps({
    "sandbox": {"memory": "1g", "pids": 50, "overrides": ["no_landlock"]},
    "egress": {"allow": ["api.example.com", "x.corp.example",
                         "www.example.org"], "deny": ["a.example.com:443"],
               "rate_bytes": "0"},
    "agent_sandbox": {"enabled": True},
    "trust": {"minimum_trust_level": "curated"}}))
policy = {"sandbox": {"memory": "256m", "pids": 100, "overrides": [],
                      "engine": "podman"},
          "egress": {"allow": ["*.corp.example", "api.example.com"],
                     "deny": ["b.example.com:443"], "rate_bytes": "1m"},
          "agent_sandbox": {"enabled": False},
          "trust": {"minimum_trust_level": "verified"}}
for key, value, source in (
        ("sandbox.memory", "256m", "policy"), ("sandbox.pids", "50", "user"),
        ("sandbox.overrides", "", "policy"),
        ("sandbox.engine", "podman", "policy"),
        ("egress.allow", "api.example.com:443,x.corp.example:443", "policy"),
        ("egress.deny", "a.example.com:443,b.example.com:443", "policy"),
        ("egress.rate_bytes", "1m", "policy"),
        ("agent_sandbox.enabled", "false", "policy"),
        ("trust.minimum_trust_level", "curated", "user")):
    result = under(policy, "config", "get", "--origin", key)
    check(f"policy: {key} is {value!r} ({source})",
          result.out == f"{value}\t{source}\n", result)

# Keys of registries, and where the registry is: fewer, never more.
MINE, OURS, THEIRS = "1a" * 32, "2b" * 32, "3c" * 32
for name, key in (("mine", MINE), ("ours", OURS)):
    agentnode(home, "trust", "keys", "add", name, key)
agentnode(home, "config", "set", "trust.revoked_keys", MINE)
for rules, wanted in (
        ({"registry_keys": {"ours": OURS, "theirs": THEIRS}},
         [("ours", OURS, False)]),
        ({"registry_keys": {"ours": THEIRS}}, []),
        ({"registry_keys": {}}, []),
        ({"revoked_keys": [OURS]}, [("mine", MINE, True),
                                    ("ours", OURS, True)])):
    result = under({"trust": rules}, "trust", "keys", "list", "--json")
    check(f"policy {sorted(rules)}: {len(wanted)} keys", result.code == 0
          and [(k["name"], k["key"], k["revoked"])
               for k in result.json()["keys"]] == wanted, result)
result = under({"trust": {"registry_keys": {"ours": OURS}}}, "trust", "keys",
               "add", "theirs", THEIRS)
check("a key that the policy does not list does not count, and it is said",
      result.code == 0 and "does not count" in result.err, result)
result = under({"registry": {"path": "/srv/registry"}}, "config", "get",
               "--origin", "registry.path")
check("policy: the team's registry is the one",
      result.out == "/srv/registry\tpolicy\n", result)
result = under(policy, "config", "get", "agent_sandbox.enabled",
               AGENTNODE_AGENT_SANDBOX="1")
check("policy beats the environment", result.out == "false\n", result)
result = under(policy, "config", "set", "sandbox.memory", "2g")
check("set under a policy says so", result.code == 0
      and result.out == "sandbox.memory = 256m\n"
      and "team policy" in result.err, result)
for name, text, then, word in (
        ("malformed", "{", ":", "line 1"),
        ("unknown key", '{"sandbox":{"memry":1}}', ":", "sandbox.memry"),
        ("group-writable", "{}", "chmod 664 /etc/agentnode/policy.json",
         "writable by others"),
        ("foreign", "{}", "chown 12345 /etc/agentnode/policy.json", "12345"),
        ("foreign folder", "{}", "chown 12345 /etc/agentnode", "12345"),
        ("open folder", "{}", "chmod 777 /etc/agentnode",
         "writable by others"),
        ("link", "{}", "mv /etc/agentnode/policy.json /etc/agentnode/p && "
         "ln -s p /etc/agentnode/policy.json", "link"),
        ("a folder itself", "{}", "rm /etc/agentnode/policy.json && mkdir "
         "/etc/agentnode/policy.json", "regular")):
    if "chown" in then and not ROOT:
        continue  # he cannot give files away, so there is nothing to try
    result = under(text, "config", "list", then=then)
    check(f"policy {name}: exit 5", result.code == 5 and word in result.err
          and "/etc/agentnode" in result.err, result)
harness.finish()
