"""The command line as a newcomer meets it: help of everything, nearest
names, exit codes, completion in real shells, manual pages that are current,
and an output that cannot be written."""
import os
import re
import subprocess
import sys

import harness
from harness import agentnode, check

home = harness.folder()


def one_sentence(result):
    """Every error: one line on stderr that begins with our name."""
    lines = result.err.strip().splitlines()
    return (result.err.endswith("\n") and lines
            and lines[-1].startswith("agentnode: "))


usage = agentnode(home, "--help")
check("--help exits 0", usage.code == 0 and "Example:" in usage.out, usage)
rows = re.findall(r"^  ([a-z][a-z-]*(?: [a-z][a-z-]*)?) {2,}\S", usage.out,
                  re.MULTILINE)
check("the help lists commands", len(rows) >= 10 and "config get" in rows,
      rows)
version = agentnode(home, "--version")
check("--version", version.code == 0
      and re.fullmatch(r"agentnode \d+\.\d+\.\d+\n", version.out), version)
bare = agentnode(home)
check("no command: usage on stderr, exit 2",
      bare.code == 2 and bare.out == "" and "Usage:" in bare.err, bare)

for words, nearest in (
        (["confg"], "config"), (["config", "gte"], "config get"),
        (["conifg", "list"], "config list"),
        (["adit", "verify"], "audit verify"), (["logz"], "logs"),
        (["audit", "verfy", "--json"], "audit verify")):
    result = agentnode(home, *words)
    check("nearest to " + " ".join(words),
          result.code == 2 and one_sentence(result)
          and f"agentnode {nearest}" in result.err, result)
for words in (["frobnicate"], ["--frobnicate"], ["x" * 5000], ["\x1b[31m"],
              ["config", "frobnicate"], ["help", "frobnicate"], [""]):
    result = agentnode(home, *words)
    check("unknown: " + repr(" ".join(words))[:30],
          result.code == 2 and one_sentence(result)
          and "\x1b" not in result.err, result)

# A wrong option: which word, and what is wrong with it.
for words, said in (
        ("audit show --since yesterday", "'yesterday' is no value of '--since'"),
        ("audit show --last 0", "'0' is no value of '--last'"),
        ("exec --bogus", "'--bogus' is not an option of it"),
        ("exec --bogus=secret -- true", "'--bogus' is not an option of it"),
        ("exec", "a word is missing"), ("exec true", "from 'true' on"),
        ("llm usage --by foo", "'foo' is no value of '--by'"),
        ("config set sandbox.pids -5", "'-5' is not an option of it"),
        ("config set sandbox.pids", "from 'sandbox.pids' on"),
        ("list --json=1", "'--json' takes no value"),
        ("list -j", "'-j' is not an option of it"),
        ("list -secret", "'-s' is not an option of it"),
        ("config set sandbox.pids=secret", "from 'sandbox.pids' on"),
        ("auth set --secret", "used wrongly"),
        ("logs --process", "'--process' needs a value"),
        ("remove --lockfile", "'--lockfile' needs a value"),
        ("sandbox pull a b", "from 'a' on"),
        ("runs show", "a word is missing"),
        ("exec --\x1b[31m -- true", "is not an option of it")):
    result = agentnode(home, *words.split(" "))
    check("wrong use: " + repr(words), result.code == 2
          and one_sentence(result) and said in result.err
          and "\x1b" not in result.err and "secret" not in result.err
          and "agentnode help " in result.err, result)

for row in rows:
    words = row.split()
    help_one = agentnode(home, "help", *words)
    check(f"help {row}: usage and example",
          help_one.code == 0
          and help_one.out.lower().startswith(f"usage: agentnode {row}")
          and "example" in help_one.out.lower(), help_one)
    option = agentnode(home, *words, "--help")
    check(f"{row} --help is the same", option.code == 0
          and option.out == help_one.out, option)
    wrong = agentnode(home, *words, "--no-such-option")
    check(f"{row}: a wrong option is exit 2",
          wrong.code == 2 and one_sentence(wrong), wrong)
group = agentnode(home, "config")
check("a group alone is exit 2 and lists it",
      group.code == 2 and "config get" in group.err, group)
check("group --help", agentnode(home, "config", "--help").code == 0)

# Completion, asked of the shells themselves.
BASH = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_agentnode; printf '%s\n' "${COMPREPLY[@]}"
"""
ZSH = r"""
compdef() { : }
compadd() { shift; print -l -- "$@" }
_files() { : }
source "$1"; shift
words=("$@"); CURRENT=$#words
_agentnode
"""


def complete(shell, script, *words):
    argv = {"bash": ["bash", "--norc", "-c", script, "bash"],
            "zsh": ["zsh", "-f", "-c", script, "zsh"]}[shell]
    path = os.path.join(home, shell + ".completion")
    return harness.run(*argv, path, *words,
                       env={"PATH": os.environ["PATH"]}).out.split()


harness.need("bash", "zsh")
for shell, script in (("bash", BASH), ("zsh", ZSH)):
    text = agentnode(home, "completion", shell)
    with open(os.path.join(home, shell + ".completion"), "w") as file:
        file.write(text.out)
    check(f"completion {shell}", text.code == 0 and len(text.out) > 500)
    first = complete(shell, script, "agentnode", "")
    check(f"{shell}: first words", {"config", "audit", "logs", "--version",
                                    "help"} <= set(first), first)
    check(f"{shell}: hidden commands stay hidden", "manual" not in first,
          first)
    second = complete(shell, script, "agentnode", "config", "")
    check(f"{shell}: second words",
          set(second) == {"get", "set", "unset", "list"}, second)
    keys = complete(shell, script, "agentnode", "config", "get", "")
    check(f"{shell}: keys and options",
          {"sandbox.memory", "egress.allow", "--json"} <= set(keys), keys)
check("bash: prefix", complete("bash", BASH, "agentnode", "conf")
      == ["config"])
check("completion without shell is exit 2",
      agentnode(home, "completion").code == 2)

# Manual pages are what the program prints.
for page, name in (("agentnode", "agentnode.1"),
                   ("config", "agentnode-config.5")):
    made = agentnode(home, "manual", page)
    path = os.path.join(harness.SOURCE, "docs", "man", name)
    with open(path, encoding="utf-8") as file:
        kept = file.read()
    check(f"docs/man/{name} is current: else run 'agentnode manual {page} > "
          f"docs/man/{name}'", made.code == 0 and made.out == kept)
    macros = set(re.findall(r"^\.(\S*)", made.out, re.MULTILINE))
    check(f"{name}: known macros only",
          macros <= {'\\"', "TH", "SH", "SS", "TP", "PP", "B", "I", "RI",
                     "BR", "br", "nf", "fi"}, macros)
made = agentnode(home, "manual", "schema")
with open(os.path.join(harness.SOURCE, "config", "schema", "config.json"),
          encoding="utf-8") as file:
    check("config/schema/config.json is current: else run 'agentnode manual "
          "schema > config/schema/config.json'", made.code == 0
          and made.out.rstrip() == file.read().rstrip())
for row in rows:
    check(f"the manual has {row}", "\n.SS " + row.replace("-", "\\-") + "\n"
          in agentnode(home, "manual", "agentnode").out)

# An answer that does not arrive is no success.
with open("/dev/full", "w") as full:
    done = subprocess.run([harness.AGENTNODE, "config", "list"], stdout=full,
                          stderr=subprocess.PIPE, text=True,
                          env=harness.environment(home))
check("a full disk under stdout is exit 70", done.returncode == 70
      and "standard output" in done.stderr, done)
read, write = os.pipe()
os.close(read)
done = subprocess.run([harness.AGENTNODE, "config", "list"], stdout=write,
                      stderr=subprocess.PIPE, text=True,
                      env=harness.environment(home))
os.close(write)
check("a reader that left is no error message", done.stderr == "", done)


def closed():
    for fd in (0, 1, 2):
        os.close(fd)


done = subprocess.run([harness.AGENTNODE, "config", "set", "sandbox.pids",
                       "99"], preexec_fn=closed, close_fds=False,
                      env=harness.environment(home))
after = agentnode(home, "config", "get", "sandbox.pids")
check("closed descriptors 0-2 do no harm", done.returncode == 0
      and after.out == "99\n", after)

# A shell that puts a command in its own place leaves its children to it.
LEFT = ("exec 3< <(sleep 2); exec \"$0\" \"$@\"")
for words in (("config", "get", "sandbox.pids"),
              ("exec", "--boundary", "native", "--", "echo", "99")):
    result = harness.run("bash", "-c", LEFT, harness.AGENTNODE, *words,
                         env=harness.environment(home))
    check(f"{words[0]} in the place of a shell that had a child",
          result.code == 0 and result.out == "99\n", result)

if sys.argv[1:]:
    print(usage)
harness.finish()
