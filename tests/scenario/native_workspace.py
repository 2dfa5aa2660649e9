#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real tools in a writable workspace behind the native boundary: git, npm,
python's venv, make and cc work; what runs code on the host later cannot be
touched by any trick; nothing is left on the host, not even after a kill."""
import json
import os
import shutil
import signal
import subprocess
import time

import harness
import schema_check
from harness import check

harness.need("git", "npm", "node", "/usr/bin/python3", "make", "cc")
BASE = harness.folder()
HOME = os.path.join(BASE, "user")
STATE = os.path.join(HOME, ".agentnode")
WORK = os.path.join(HOME, "project")
NAMES = ["--i-know", *(word for name in ("AUTHOR", "COMMITTER") for word in (
    "--env", f"GIT_{name}_NAME=a", "--env", f"GIT_{name}_EMAIL=a@b"))]
os.makedirs(STATE, mode=0o700)
os.makedirs(os.path.join(HOME, ".ssh"))
os.makedirs(WORK)
ENV = harness.environment(HOME)


def words(mode, work, command):
    return [harness.AGENTNODE, "exec", "--boundary", "native", "--mode", mode,
            "--workspace", work, "--timeout", "60s", "--json", *NAMES, "--",
            *command]


def inside(*command, mode="workspace-write", work=WORK, timeout=90):
    done = harness.run(*words(mode, work, command), env=ENV, timeout=timeout,
                       cwd=work)
    try:
        done.outcome = json.loads(done.out)
        done.out, done.err = done.outcome["stdout"], done.outcome["stderr"]
    except ValueError:
        done.outcome = {"code": "", "detail": done.err, "denied": []}
    return done


def shell(text, **how):
    return inside("/bin/sh", "-c", text, **how)


def put(name, text, work=WORK):
    path = os.path.join(work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def git(*argv, work=WORK):
    return subprocess.run(
        ["git", *argv], cwd=work, check=True, stdout=subprocess.PIPE,
        env=dict(ENV, GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a",
                 GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                 GIT_COMMITTER_EMAIL="a@b")).stdout.decode()


def tree(path):
    """Every name and link below; contents of .git's own data left out."""
    found = set()
    for folder, dirs, files in os.walk(path):
        dirs[:] = [d for d in dirs if d not in ("objects", "node_modules",
                                                "venv", "logs")]
        for name in dirs + files:
            found.add(os.path.relpath(os.path.join(folder, name), path))
    return found


SECRET = put("../.ssh/id_rsa", "PRIVATE")
put("../other/file", "theirs")
CLEAN = os.path.join(HOME, "clean")
os.makedirs(CLEAN)
git("init", "-q", work=CLEAN)
git("init", "-q")
put("README", "hello\n")
put(".vscode/settings.json", "{}\n")
put(".bashrc", "true\n")
git("add", "README")
git("commit", "-qm", "first")


def tools_work():
    put("Makefile", "all: hello\n\t./hello\nhello: hello.c\n"
        "\tcc -O1 -o hello hello.c\n")
    put("hello.c", "#include <stdio.h>\nint main(void)"
        "{ puts(\"built\"); return 0; }\n")
    done = shell("make 2>&1")
    check("make and cc build and run a program",
          done.code == 0 and "built" in done.out, (done, done.outcome))
    put("package.json", json.dumps({"name": "x", "version": "1.0.0",
                                    "scripts": {"test": "node t.js"}}))
    put("t.js", "const fs = require('fs'), os = require('os');\n"
        "fs.writeFileSync('made.txt', os.userInfo().username);\n"
        "require('assert')(fs.existsSync('README'));\n"
        "console.log('tested', process.version);\n")
    done = shell("npm test 2>&1")
    check("npm test runs the project's tests",
          done.code == 0 and "tested v" in done.out, (done, done.outcome))
    check("what it wrote is on disk, the invoker's own",
          os.path.exists(os.path.join(WORK, "made.txt")) and
          os.stat(os.path.join(WORK, "made.txt")).st_uid == os.getuid(), done)
    done = shell("/usr/bin/python3 -m venv venv && venv/bin/python -c "
                 "'import sys; print(sys.prefix)' && venv/bin/pip --version")
    check("python makes and uses a virtual environment",
          done.code == 0 and os.path.join(WORK, "venv") in done.out,
          (done, done.outcome))
    done = shell("git status --porcelain", work=CLEAN)
    check("git sees no placeholder in a clean repository",
          done.code == 0 and done.out == "", (done, done.outcome))
    done = shell("git status --short && git add hello.c && "
                 "git commit -qm second && git checkout -q -b side && "
                 "git stash list && git gc -q && git log --oneline")
    check("git adds, commits, branches and collects",
          done.code == 0 and len(done.out.strip().split("\n")) >= 2,
          (done, done.outcome))
    check("the host's git sees the commit",
          "second" in git("log", "--oneline", "side"))
    done = shell("mkdir sub && cd sub && git init -q && git commit -q "
                 "--allow-empty -m x && git log --oneline && cd .. && "
                 "rm -rf sub")
    check("a repository of its own can be made in a subdirectory",
          done.code == 0, done)


# Each must fail, and leave every protected path as it is.
TRICKS = {
    "write a hook": "echo x > .git/hooks/pre-commit",
    "write the config": "echo x >> .git/config",
    "git config": "git config core.fsmonitor evil",
    "move the config away": "mv .git/config .git/config2",
    "replace the config": "echo x > .git/n && mv -f .git/n .git/config",
    "move the repository away": "mv .git .git2",
    "remove the repository": "rm -rf .git; test ! -e .git",
    "move the hooks away": "mv .git/hooks .git/h2",
    "turn git to another config": "echo ../evil > .git/commondir",
    "a new commondir": "rm -f .git/commondir && echo ../e > .git/commondir",
    "a config of the worktree": "echo x > .git/config.worktree",
    "a second name of the config": "ln .git/config mine",
    "exchange two directories": "/usr/bin/python3 -c \"import ctypes; c = "
    "ctypes.CDLL(None, use_errno=True); import sys; sys.exit(c.renameat2("
    "-100, b'.git', -100, b'other', 2) != 0)\"",
    "a link in place of one": "rm -f .envrc; ln -s README .envrc && "
    "test -L .envrc",
    "settings of an editor": "echo '{}' > .vscode/tasks.json",
    "settings of an agent": "mkdir -p .claude && echo x > .claude/s.json",
    "a list of servers": "echo '{}' > .mcp.json",
    "our own lock": "echo '{}' > agentnode.lock",
    "a shell's start file": "echo x >> .bashrc",
    "another mode of it": "chmod 777 .git/hooks",
    "another owner's time": "touch -d 2001-01-01 .git/config",
    "a mount over it": "mount -t tmpfs none .git/hooks",
    "take the mount off": "umount .git/hooks; echo x > .git/hooks/x",
    "a new namespace": "unshare -Ur sh -c 'umount .git/hooks && echo x > "
    ".git/hooks/x'",
}


# What the kernel refuses outside as well, or needs what is not there.
NOT_OUTSIDE = {"a mount over it", "take the mount off", "a new namespace"}


def the_tricks_are_real():
    """Each does its harm where nothing is protected."""
    missed = []
    for name, trick in TRICKS.items():
        if name in NOT_OUTSIDE:
            continue
        copy = os.path.join(BASE, "copy")
        shutil.copytree(CLEAN, copy, symlinks=True)
        put(".bashrc", "true\n", copy)
        put(".vscode/settings.json", "{}\n", copy)
        put("README", "", copy)
        os.makedirs(os.path.join(copy, "other"))
        done = subprocess.run(["/bin/sh", "-c", trick], cwd=copy, env=ENV,
                              check=False, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            missed.append(name)
        shutil.rmtree(copy)
    check("each trick works where nothing is protected", missed == [], missed)


def protected_paths_hold():
    os.makedirs(os.path.join(WORK, "other"), exist_ok=True)
    before = tree(WORK), open(os.path.join(WORK, ".git/config"),
                              encoding="utf-8").read()
    text = "".join(f"( {trick} ) >/dev/null 2>&1 && echo '{name}'\n"
                   for name, trick in TRICKS.items())
    done = shell(text + "exit 0")
    check("no trick reaches a protected path",
          done.code == 0 and done.out == "", (done, done.outcome))
    check("nothing on the host changed one either",
          done.outcome["native"]["protected_changed"] == [], done.outcome)
    after = tree(WORK), open(os.path.join(WORK, ".git/config"),
                             encoding="utf-8").read()
    check("what is protected is as it was", before[1] == after[1], after[1])
    check("no placeholder is left",
          after[0] - before[0] <= {".git/n", ".git/h2"} and
          not os.path.exists(os.path.join(WORK, ".envrc")) and
          not os.path.exists(os.path.join(WORK, ".git/commondir")),
          sorted(after[0] ^ before[0]))


def ordinary_layouts_start():
    """What is named twice is mounted once; what a .git file, a config and a
    link among the hooks name in the workspace is read-only too."""
    work = os.path.join(HOME, "layouts")
    os.makedirs(work)
    git("init", "-q", "--separate-git-dir", ".bare", work=work)
    put(".git.new", "gitdir: ./.bare\n", work)
    os.rename(os.path.join(work, ".git.new"), os.path.join(work, ".git"))
    for name in (".githooks/pre-commit", ".husky/_/pre-push", ".envrc",
                 ".gitconfig", "scripts/check", "more"):
        put(name, "", work)
    for name, value in (("core.hooksPath", ".husky/_"),
                        ("include.path", "../.gitconfig"),
                        ("include.path", "../more")):
        git("config", "--add", name, value, work=work)
    put("more", "[core]\n\thooksPath = ~/layouts/.githooks\n", work)
    os.symlink("../../scripts/check",
               os.path.join(work, ".bare/hooks/pre-commit"))
    before = open(os.path.join(work, ".bare/config"), encoding="utf-8").read()
    tries = ("x >> .git", "x >> .bare/config", "x > .bare/hooks/update",
             "x >> .githooks/pre-commit", "x >> .husky/_/pre-push",
             "x > .husky/new", "x >> .gitconfig", "x >> more",
             "x >> scripts/check", "x > .bare/commondir")
    moves = (".bare", "scripts", ".husky", ".husky/_", ".git")
    done = inside("/bin/sh", "-c", "git status >/dev/null || echo git; " +
                  "".join(f"(echo {one}) 2>/dev/null && echo '{one}'\n"
                          for one in tries) +
                  "".join(f"mv {one} gone 2>/dev/null && echo 'mv {one}'\n"
                          for one in moves) + "echo ok > file", work=work)
    check("a workspace with all of it starts, and all of it holds",
          done.code == 0 and done.out == "" and
          open(os.path.join(work, ".bare/config"),
               encoding="utf-8").read() == before and
          os.path.exists(os.path.join(work, "file")), (done, done.outcome))
    put(".git", "not a gitdir\n", work)
    done = shell("true", work=work)
    check("a .git file that says no directory is refused",
          done.code == 125 and done.outcome["code"] == "view_refused" and
          "gitdir" in done.outcome["detail"], (done, done.outcome))


def a_linked_worktree_keeps_its_repository():
    """Its .git is a file, and the config that counts lies outside."""
    main, work = os.path.join(HOME, "main"), os.path.join(HOME, "linked")
    os.makedirs(main)
    git("init", "-q", work=main)
    git("commit", "-q", "--allow-empty", "-m", "x", work=main)
    git("config", "core.hooksPath", "tools/hooks", work=main)
    git("worktree", "add", "-q", work, work=main)
    with open(os.path.join(work, ".git"), encoding="utf-8") as file:
        before = file.read()
    hook = r"printf '#!/bin/sh\ntouch ran\n'"
    tries = ("echo gitdir: ./evil > .git", "rm -f .git && echo x > .git",
             "mv .git gone", "echo gitdir: ./evil > new && mv -f new .git",
             f"mkdir -p tools/hooks && {hook} > tools/hooks/pre-commit",
             "mv tools gone", f"ls {main}")
    done = shell("".join(f"({one}) >/dev/null 2>&1 && echo '{number}'\n"
                         for number, one in enumerate(tries)) +
                 "echo ok > file; chmod +x tools/hooks/*", work=work)
    with open(os.path.join(work, ".git"), encoding="utf-8") as file:
        after = file.read()
    check("a linked worktree's .git and its hooks are not a command's",
          done.out == "" and after == before and
          done.outcome["native"]["protected_changed"] == [] and
          os.path.exists(os.path.join(work, "file")), (done, done.outcome))
    git("commit", "-q", "--allow-empty", "-m", "y", work=work)
    check("and the host's next commit in it runs nothing of the command's",
          not os.path.exists(os.path.join(work, "ran")) and
          not os.path.exists(os.path.join(work, "tools")), os.listdir(work))


def new_repositories_are_named():
    """One in the index runs code at the host's next git status: nothing
    prevents that, so that the result must say it."""
    work = os.path.join(HOME, "nested")
    os.makedirs(work)
    git("init", "-q", work=work)
    os.makedirs(os.path.join(work, "old"))
    git("init", "-q", work=os.path.join(work, "old"))
    put("lib/.git", "gitdir: ../old/.git\n", work)
    done = shell("true", work=work)
    check("an old repository is not told",
          done.outcome["native"]["repositories"] == [] and
          done.outcome["native"]["repositories_complete"], done.outcome)
    done = shell(
        "git init -q sub && git -C sub commit -q --allow-empty -m x && "
        "git -C sub config core.fsmonitor 'touch ../ran; false' && "
        "git update-index --add --cacheinfo "
        "160000,$(git -C sub rev-parse HEAD),sub && "
        "git init -q --bare deep/bare && echo '[a]' >> old/.git/config && "
        "echo gitdir: ../evil > lib/.git && "
        "mkdir $(printf 'odd\\377') && echo x > $(printf 'odd\\377')/.git",
        work=work)
    named = sorted(os.path.relpath(path, work) for path in
                   done.outcome["native"]["repositories"])
    check("new and changed repositories are named", done.code == 0 and
          named == ["deep/bare", "lib/.git", "odd?/.git", "old/.git",
                    "sub/.git"],
          (named, done, done.outcome))
    done = shell(
        "printf '#!/bin/sh\\n' > old/.git/hooks/post-index-change && "
        "mkdir d c c/objects c/refs && echo c > c/config && "
        "echo 'ref: refs/heads/x' > d/HEAD && echo ../c > d/commondir && "
        "mkdir -p .git/remotes && echo x > .git/remotes/origin", work=work)
    named = sorted(os.path.relpath(path, work) for path in
                   done.outcome["native"]["repositories"])
    check("a hook, a common directory and a remote are named too",
          done.code == 0 and named == [".git", "d", "old/.git"],
          (named, done, done.outcome))
    plain = harness.run(*[word for word in words(
        "workspace-write", work, ("/bin/sh", "-c", "git init -q again"))
        if word != "--json"], env=ENV, timeout=60, cwd=work)
    check("and a person is warned", "again/.git is a new or changed "
          "repository" in plain.err, plain)


def host_git(work, *argv):
    """The host's own git, as its user or prompt runs it."""
    return subprocess.run(["git", *(argv or ("status", "--short"))], cwd=work,
                          env=dict(ENV, GIT_CONFIG_NOSYSTEM="1"), check=False,
                          stdin=subprocess.DEVNULL, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def runs_nothing(name, work, text, inside_at=None, setup=None):
    """What a command leaves behind does not run at the host's next git
    status; and did, without the boundary."""
    marker = os.path.join(BASE, "ran-" + name.replace(" ", "-"))
    text = text.replace("MARKER", marker)
    copy = work + ".copy"
    for place in (copy, work):
        os.makedirs(place)
        if setup is not None:
            setup(place)
    at = inside_at or ""
    subprocess.run(["/bin/sh", "-c", text], cwd=os.path.join(copy, at),
                   env=ENV, check=False, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said = host_git(os.path.join(copy, at))
    check(f"{name}: it is real", os.path.exists(marker), said.stdout)
    if os.path.exists(marker):
        os.unlink(marker)
    shutil.rmtree(copy)
    done = shell(text + "\ntrue", work=os.path.join(work, at))
    said = host_git(os.path.join(work, at))
    check(f"{name}: it runs nothing on the host",
          done.code == 0 and not os.path.exists(marker),
          (done, done.outcome, said.stdout, os.listdir(work)))


def the_root_is_no_repository():
    """HEAD, objects and refs are one, without any .git."""
    make = ("mkdir objects; mkdir refs; echo 'ref: refs/heads/x' > HEAD; "
            "printf '[core]\\n\\trepositoryformatversion = 0\\n"
            "\\tbare = false\\n\\tworktree = .\\n"
            "\\tfsmonitor = \"touch MARKER; false\"\\n' > config; "
            "echo x > file")
    runs_nothing("a plain folder", os.path.join(HOME, "plain"), make)
    runs_nothing("a subdirectory", os.path.join(HOME, "around"), make,
                 "front", lambda work: (
                     git("init", "-q", work=work),
                     os.makedirs(os.path.join(work, "front"))))
    runs_nothing("a broken repository", os.path.join(HOME, "broken"),
                 "rm -f .git/HEAD; " + make, None,
                 lambda work: git("init", "-q", work=work))
    runs_nothing("a common directory", os.path.join(HOME, "common"),
                 f"rm -f .git/HEAD; mkdir c; cd c; {make}; mv HEAD ..; cd ..;"
                 "echo c > commondir; cp c/config config.worktree; "
                 "printf '[extensions]\\n\\tworktreeConfig = true\\n' >> "
                 "c/config", None,
                 lambda work: git("init", "-q", work=work))


def repository(config, **files):
    """One that is there, with a config of its user's and files of it."""
    def setup(work):
        git("init", "-q", work=work)
        for name, text in files.items():
            put(name, text, work)
            os.chmod(os.path.join(work, name), 0o755)
        with open(os.path.join(work, ".git/config"), "a",
                  encoding="utf-8") as file:
            file.write(config)
    return setup


def what_a_config_names_is_not_written():
    """In the root, in the repository around it, in lines of any shape."""
    hook = ("mkdir -p hooks; printf '#!/bin/sh\\ntouch MARKER\\n' > "
            "hooks/post-index-change; chmod +x hooks/*; "
            "git add file 2>/dev/null; touch file")
    indexed = {"file": "x"}

    def around(config):
        def setup(work):
            repository(config, **{"front/file": "x"})(work)
            git("add", ".", work=work)
        return setup
    runs_nothing("hooks of the repository around", os.path.join(HOME, "a1"),
                 hook, "front", around("[core]\n\thooksPath = front/hooks\n"))
    runs_nothing("an include of the repository around",
                 os.path.join(HOME, "a2"),
                 "printf '[core]\\n\\tfsmonitor = \"touch MARKER; false\"\\n'"
                 " > team", "front", around("[include]\n\tpath = ../front/team\n"))
    for number, line in enumerate((
            "[core]\n\thooksPath = \\\nhooks\n",
            "[core][core]hooksPath = hooks\n",
            "[core]" + " " * 1200 + "hooksPath = hooks\n")):
        runs_nothing(f"hooks in a line of shape {number}",
                     os.path.join(HOME, f"l{number}"), hook, None,
                     repository(line, **indexed))
    evil = "printf '#!/bin/sh\\ntouch MARKER\\ncat\\n' > {0}; chmod +x {0}"
    runs_nothing("the program of a filter", os.path.join(HOME, "p1"),
                 evil.format("tools/clean.sh") + "; git add file; "
                 "sleep 1; echo y > file", None,
                 repository("[filter \"nb\"]\n\tclean = tools/clean.sh %f\n",
                            **{"tools/clean.sh": "#!/bin/sh\ncat\n", **indexed,
                               ".gitattributes": "file filter=nb\n"}))
    runs_nothing("the program of fsmonitor", os.path.join(HOME, "p2"),
                 evil.format("tools/fsm.sh"), None,
                 repository("[core]\n\tfsmonitor = tools/fsm.sh\n",
                            **{"tools/fsm.sh": "#!/bin/sh\nfalse\n"}))
    runs_nothing("a program that is not there yet", os.path.join(HOME, "p3"),
                 "mkdir -p tools; " + evil.format("tools/fsm.sh"), None,
                 repository("[core]\n\tfsmonitor = tools/fsm.sh\n"))


def waiting(work, state, text, plain):
    """A run that waits until file "go" is there, then does text."""
    argv = words("workspace-write", work, (
        "/bin/sh", "-c", "echo x > waits; while ! test -e go; do sleep 0.05; "
        "done; " + text + "; true"))
    one = subprocess.Popen(
        [word for word in argv if not plain or word != "--json"],
        env=dict(ENV, AGENTNODE_HOME=state), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not os.path.exists(os.path.join(work, "waits")) and \
            time.monotonic() < deadline:
        time.sleep(0.02)
    os.unlink(os.path.join(work, "waits"))
    return one


def what_the_host_takes_away_is_told():
    """git clean takes placeholders, and each with its mount."""
    work = os.path.join(HOME, "cleaned")
    os.makedirs(work)
    git("init", "-q", work=work)
    text = "mkdir -p .vscode; echo x > .vscode/tasks.json; echo x > .envrc"
    for plain in (False, True):
        one = waiting(work, STATE, text, plain)
        git("clean", "-fdxq", work=work)
        put("go", "", work)
        out, err = one.communicate(timeout=60)
        wrote = os.path.exists(os.path.join(work, ".envrc"))
        paths = {os.path.join(work, name) for name in (".vscode", ".envrc")}
        told = err if plain else json.loads(out)["native"]["protected_changed"]
        check("git clean beside a run is told, " +
              ("to a person" if plain else "in the result"),
              wrote and all(path in told for path in paths), (out, err))
        git("clean", "-fdxq", work=work)
    other = os.path.join(HOME, "state2")
    os.makedirs(other, mode=0o700)
    first = waiting(work, STATE, "true", False)
    second = waiting(work, other, "while test -e .envrc; do sleep 0.05; done; "
                     "echo x > .envrc", False)
    put("go", "", work)
    first.communicate(timeout=60)
    out, err = second.communicate(timeout=60)
    check("and what a run with another state took for real, and lost",
          os.path.join(work, ".envrc") in
          json.loads(out)["native"]["protected_changed"], (out, err))


def second_names_hold():
    """A link in an editor's directory, and a second name in an agent's."""
    work = os.path.join(HOME, "names")
    put("tools/tasks.json", "{}", work)
    put("tools/s.json", "{}", work)
    os.makedirs(os.path.join(work, ".vscode"))
    os.symlink("../tools/tasks.json", os.path.join(work, ".vscode/tasks.json"))
    done = shell("echo evil > tools/tasks.json; mv tools gone; echo x > x",
                 work=work)
    with open(os.path.join(work, ".vscode/tasks.json"),
              encoding="utf-8") as file:
        text = file.read()
    check("what a link in a protected directory leads to is protected",
          text == "{}" and os.path.exists(os.path.join(work, "x")),
          (done, done.outcome))
    os.makedirs(os.path.join(work, ".claude"))
    os.link(os.path.join(work, "tools/s.json"),
            os.path.join(work, ".claude/settings.json"))
    done = shell("echo evil > tools/s.json", work=work)
    with open(os.path.join(work, "tools/s.json"), encoding="utf-8") as file:
        text = file.read()
    check("a second name of a protected file is refused",
          text == "{}" and done.outcome["code"] == "view_refused" and
          "2 names" in done.outcome["detail"], (done, done.outcome))


def nothing_else_is_reached():
    done = shell(f"cat {SECRET}; cat ../other/file; ls -A ..; ls -A {STATE};"
                 "ls /home /root /srv /mnt /opt; cat /etc/shadow "
                 "/etc/machine-id; echo x > ../evil; ls -A /var/lib /run")
    check("home, state and the rest of the host are not there",
          "PRIVATE" not in done.out and "theirs" not in done.out and
          not os.path.exists(os.path.join(HOME, "evil")), done)
    os.symlink(SECRET, os.path.join(WORK, "out"))
    done = shell("cat out; echo x > out")
    check("a link out of the workspace leads nowhere",
          done.code != 0 and "PRIVATE" not in done.out and
          open(SECRET, encoding="utf-8").read() == "PRIVATE", done)
    os.unlink(os.path.join(WORK, "out"))
    done = shell("echo x > new; echo x > README; echo ok > $TMPDIR/a; "
                 "cat $TMPDIR/a", mode="read-only")
    check("read-only writes the scratch alone",
          done.out == "ok\n" and
          not os.path.exists(os.path.join(WORK, "new")), done)


def killed(work):
    """A run whose supervisor is killed while it holds its placeholders."""
    one = subprocess.Popen(words("workspace-write", work, (
        "/bin/sleep", "30")), env=ENV, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not os.path.exists(os.path.join(work, "agentnode.lock")) and \
            time.monotonic() < deadline:
        time.sleep(0.02)
    one.send_signal(signal.SIGKILL)
    one.wait(timeout=10)


def a_fresh_folder():
    fresh = os.path.join(HOME, "fresh")
    os.makedirs(fresh)
    done = shell("git init 2>&1; ls -A; echo x > file; mkdir -p .claude/x",
                 work=fresh)
    check("git init at the top is refused, files are not",
          os.listdir(fresh) == ["file"], (os.listdir(fresh), done))
    runs = [subprocess.Popen(words("workspace-write", fresh, (
        "/bin/sh", "-c", f"sleep 0.{n}; echo x > .envrc; echo x > f{n}")),
        env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL) for n in range(4)]
    for one in runs:
        one.wait(timeout=60)
    check("runs side by side leave what they wrote and nothing else",
          sorted(os.listdir(fresh)) == ["f0", "f1", "f2", "f3", "file"],
          os.listdir(fresh))
    killed(fresh)
    check("a killed run leaves its placeholders",
          all(os.path.exists(os.path.join(fresh, name))
              for name in (".git", ".envrc", "agentnode.lock")))
    done = harness.run(harness.AGENTNODE, "sandbox", "gc", "--json", env=ENV,
                       timeout=60)
    gone = [one["name"] for one in json.loads(done.out)["removed"]
            if one["kind"] == "placeholder"]
    check("gc removes them and says which",
          sorted(os.listdir(fresh)) == ["f0", "f1", "f2", "f3", "file"] and
          {os.path.join(fresh, ".git"), os.path.join(fresh, ".envrc")} <=
          set(gone), (os.listdir(fresh), done))
    fault = schema_check.check_text(done.out, harness.SOURCE, "sandbox-gc")
    check("its report holds to the schema", not fault, fault)
    killed(fresh)
    done = shell("true", work=fresh)
    check("the next one removes them",
          sorted(os.listdir(fresh)) == ["f0", "f1", "f2", "f3", "file"],
          (os.listdir(fresh), done))
    done = shell("true", work=HOME)
    check("a home is no workspace", done.code == 125 and
          done.outcome["code"] == "view_refused" and
          "home" in done.outcome["detail"], (done, done.outcome))


tools_work()
the_tricks_are_real()
protected_paths_hold()
ordinary_layouts_start()
a_linked_worktree_keeps_its_repository()
new_repositories_are_named()
the_root_is_no_repository()
what_a_config_names_is_not_written()
second_names_hold()
what_the_host_takes_away_is_told()
nothing_else_is_reached()
a_fresh_folder()
shutil.rmtree(os.path.join(WORK, "venv"), ignore_errors=True)
harness.finish()
