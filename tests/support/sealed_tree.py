"""A tree as an installation leaves it, old enough to be remembered, and the
ways in which somebody may change it afterwards."""
import ctypes
import ctypes.util
import mmap
import os
import shutil
import time

SETTLED = 2.2  # seconds after which a change counts as old
LIBC = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)


def make(root):
    """Folders, files, a link; nobody but the owner may write."""
    for name, data in (("word", b"good\n"), ("lib/a.js", b"a" * 70000),
                       ("lib/deep/b.js", b"b" * 5000), ("lib/empty", b""),
                       ("other/c.js", b"c" * 300)):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    os.symlink("lib/a.js", os.path.join(root, "link"))
    modes(root)


def modes(root):
    os.chmod(root, 0o755)
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o755)
        for name in files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o644)


def settle():
    time.sleep(SETTLED)


def poke(fd, offset, byte):
    os.pwrite(fd, byte, offset)


def byte(root):
    with open(os.path.join(root, "lib/a.js"), "r+b") as file:
        poke(file.fileno(), 4000, b"X")


def byte_times(root):
    """One byte, and size, mtime and atime as they were."""
    path = os.path.join(root, "lib/a.js")
    before = os.stat(path)
    byte(root)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def truncated(root):
    """Cut and grown again: the same size, zeros at its end."""
    path = os.path.join(root, "lib/deep/b.js")
    before = os.stat(path)
    os.truncate(path, 4999)
    os.truncate(path, 5000)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(root):
    """Another file in its place, with its size, mode and times."""
    path = os.path.join(root, "lib/deep/b.js")
    before = os.stat(path)
    with open(path + ".new", "wb") as file:
        file.write(b"X" * 5000)
    os.chmod(path + ".new", 0o644)
    os.utime(path + ".new", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.rename(path + ".new", path)


def mode(root):
    os.chmod(os.path.join(root, "lib/a.js"), 0o755)


def added(root):
    path = os.path.join(root, "lib")
    before = os.stat(path)
    with open(os.path.join(path, "more.js"), "wb") as file:
        file.write(b"//")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def removed(root):
    os.unlink(os.path.join(root, "lib/empty"))


def swapped(root):
    """Two folders change their names: every file is what it was."""
    for old, new in (("lib", "x"), ("other", "lib"), ("x", "other")):
        os.rename(os.path.join(root, old), os.path.join(root, new))


def copied(root):
    """A folder that was copied, and differs in a byte."""
    path = os.path.join(root, "other")
    shutil.copytree(path, path + ".new", copy_function=shutil.copy2)
    with open(os.path.join(path + ".new", "c.js"), "r+b") as file:
        file.write(b"X")
    shutil.rmtree(path)
    os.rename(path + ".new", path)


def link(root):
    path = os.path.join(root, "link")
    os.unlink(path)
    os.symlink("other/c.js", path)


def renamed(root):
    os.rename(os.path.join(root, "word"), os.path.join(root, "w0rd"))


def punched(root):
    """A hole where bytes were: fallocate keeps the size."""
    path = os.path.join(root, "lib/a.js")
    before = os.stat(path)
    with open(path, "r+b") as file:
        if LIBC.fallocate(file.fileno(), 3, ctypes.c_long(4096),
                          ctypes.c_long(4096)) != 0:
            raise OSError(ctypes.get_errno(), "fallocate")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {"one byte": byte, "one byte, times as before": byte_times,
           "cut and grown": truncated, "a replaced file": replaced,
           "a mode": mode, "a file more": added, "a file less": removed,
           "folders that changed places": swapped,
           "a copied folder": copied, "another link": link,
           "another name": renamed, "a hole": punched}


class Holder:
    """Somebody who has a file open, and mapped with dirty pages, since
    before it was hashed."""

    def __init__(self, root, mapped):
        self.path = os.path.join(root, "lib/a.js")
        self.fd = os.open(self.path, os.O_RDWR)
        self.map = mmap.mmap(self.fd, 70000) if mapped else None
        if mapped:
            self.map[100:101] = self.map[100:101]  # its page is dirty now
            self.map[8192:8193] = self.map[8192:8193]

    def write(self):
        """One byte, through the page that was dirty all the time."""
        before = os.stat(self.path)
        if self.map is not None:
            self.map[100:101] = b"X"
        else:
            poke(self.fd, 100, b"X")
        os.utime(self.path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def close(self):
        if self.map is not None:
            self.map.close()
        os.close(self.fd)
