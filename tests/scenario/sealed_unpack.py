#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a tree changes with every change of the tree, also one
made through a descriptor or a mapping from before the hash; and it is given
only where that is certain."""
import os
import shutil
import subprocess
import time

import harness
import sealed_tree
from harness import check
from unpack_client import Unpack


def seal(unpack):
    return unpack.work("hash_tree", {"root": 0, "seal": True})[0]


def look(unpack):
    answer, fault = unpack.work("stat_tree", {"root": 0})
    return answer["stat"] if answer else fault


def tree():
    root = harness.folder()
    sealed_tree.make(root)
    return root


def every_change():
    trees = {name: tree() for name in sealed_tree.CHANGES}
    sealed_tree.settle()
    for name, change in sealed_tree.CHANGES.items():
        unpack = Unpack([trees[name]])
        first = seal(unpack)
        check(name + ": a settled tree gets a fingerprint", first.get("stat"),
              first)
        check(name + ": which stays", look(unpack) == first["stat"]
              and seal(unpack)["stat"] == first["stat"])
        change(trees[name])
        check(name + ": another fingerprint", look(unpack) != first["stat"])
        second = seal(unpack)
        check(name + ": another hash", second["hash"] != first["hash"])
        check(name + ": not remembered so soon",
              second.get("unsealed") == "recent", second)
        unpack.close()


def held(mapped):
    name = "a mapping" if mapped else "a descriptor"
    root = tree()
    holder = sealed_tree.Holder(root, mapped)
    sealed_tree.settle()
    unpack = Unpack([root])
    first = seal(unpack)
    if os.geteuid() == 0:  # the file is not unpack's: it cannot ask
        check(name + ": sealed", first.get("stat"), first)
    else:
        check(name + ": seen", first.get("unsealed") == "open_for_writing",
              first)
    before = look(unpack)
    check(name + ": nothing written, nothing seen", look(unpack) == before)
    holder.write()
    check(name + ": a write through it is seen", look(unpack) != before)
    check(name + ": and changes the hash",
          seal(unpack)["hash"] != first["hash"])
    holder.close()
    unpack.close()


def without_write_back():
    """What the hash has to do before it reads: without it a write to a page
    that is dirty already leaves no trace."""
    root = tree()
    holder = sealed_tree.Holder(root, True)
    sealed_tree.settle()
    unpack = Unpack([root])
    before = look(unpack)
    holder.map[100:101] = b"Y"
    silent = look(unpack) == before
    seal(unpack)  # writes back
    before = look(unpack)
    holder.map[100:101] = b"Z"
    check("after the hash the same write is seen", look(unpack) != before)
    print("a write to a dirty page leaves no trace before the hash:", silent)
    holder.close()
    unpack.close()


def doubts():
    def hard(root):
        os.link(os.path.join(root, "word"), os.path.join(root, "../word2"))

    def group(root):
        os.chmod(os.path.join(root, "lib/a.js"), 0o664)

    def folder(root):
        os.chmod(os.path.join(root, "lib"), 0o757)

    def owner(root):
        os.chown(os.path.join(root, "word"), 12345, 12345)

    rows = [("hard_link", hard), ("writable", group), ("writable", folder)]
    if os.geteuid() == 0:
        rows.append(("owner", owner))
    made = []
    for word, how in rows:
        root = os.path.join(harness.folder(), "tree")
        os.makedirs(root)
        sealed_tree.make(root)
        os.chmod(os.path.dirname(root), 0o755)
        how(root)
        made.append((word, how.__name__, root))
    sealed_tree.settle()
    for word, how, root in made:
        unpack = Unpack([root])
        answer = seal(unpack)
        check(f"{how}: {word}", answer.get("unsealed") == word
              and "stat" not in answer, answer)
        unpack.close()


def hard_link_outside():
    """A second name elsewhere: a change through it is a change of the same
    inode."""
    root = os.path.join(harness.folder(), "tree")
    os.makedirs(root)
    sealed_tree.make(root)
    os.chmod(os.path.dirname(root), 0o755)
    other = os.path.join(root, "../other")
    os.link(os.path.join(root, "word"), other)
    unpack = Unpack([root])
    before = look(unpack)
    with open(other, "r+b") as file:
        file.write(b"evil")
    check("a write through another name is seen", look(unpack) != before)
    unpack.close()


def memory_files():
    """A file system that is not known to move ctimes: never remembered."""
    if os.geteuid() != 0:
        return
    root = harness.folder()
    subprocess.run(["mount", "-t", "tmpfs", "none", root], check=True)
    try:
        sealed_tree.make(root)
        sealed_tree.settle()
        unpack = Unpack([root])
        answer = seal(unpack)
        check("tmpfs", answer.get("unsealed") == "filesystem", answer)
        unpack.close()
    finally:
        subprocess.run(["umount", root], check=True)


def mounted_over():
    """A mount over a file or folder of the tree is none of it."""
    if os.geteuid() != 0:
        return
    for name in ("word", "lib"):
        root, other = tree(), tree()
        subprocess.run(["mount", "--bind", os.path.join(other, name),
                        os.path.join(root, name)], check=True)
        try:
            unpack = Unpack([root])
            fault = look(unpack)
            check(f"a mount over {name}: no fingerprint",
                  isinstance(fault, tuple), fault)
            _, fault = unpack.work("hash_tree", {"root": 0, "seal": True})
            check(f"a mount over {name}: no hash", fault is not None)
            unpack.close()
        finally:
            subprocess.run(["umount", os.path.join(root, name)], check=True)


def while_hashing():
    """A file that changes while the tree is read."""
    root = tree()
    with open(os.path.join(root, "zz"), "wb") as file:
        file.write(b"z" * (200 << 20))
    sealed_tree.modes(root)
    sealed_tree.settle()
    unpack = Unpack([root])
    unpack.start("hash_tree", {"root": 0, "seal": True})
    time.sleep(0.05)
    sealed_tree.byte_times(root)
    answer = unpack.receive()
    check("a change during the hash: not remembered", "stat" not in
          answer["result"] and answer["result"]["unsealed"] in ("changed", "recent"),
          answer)
    unpack.close()
    shutil.rmtree(root)


def as_user():
    """Once more where unpack owns the files."""
    if os.geteuid() != 0 or "SEALED_AS_USER" in os.environ:
        return
    done = subprocess.run(
        ["setpriv", "--reuid=12346", "--regid=12346", "--clear-groups",
         "python3", os.path.abspath(__file__)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=dict(os.environ, SEALED_AS_USER="1", TMPDIR="/tmp"), cwd="/",
        timeout=100)
    check("the same as an ordinary user", done.returncode == 0, done.stdout)


def main():
    every_change()
    held(False)
    held(True)
    without_write_back()
    doubts()
    hard_link_outside()
    memory_files()
    mounted_over()
    while_hashing()
    as_user()
    harness.finish()


if __name__ == "__main__":
    main()
