# SPDX-License-Identifier: Apache-2.0
"""Removes what a scenario leaves when it is killed: started by harness.folder()
with a pipe that ends when the scenario does, however it ends. Standard input
has one folder a line; at its end, processes whose words or environment name
one of them are killed and what is there still is removed. It must never touch
anything that does not carry the name of such a folder, which mkdtemp made."""
import os
import shutil
import signal
import sys
import time


def named(folders):
    """Pids of processes that name one of the folders."""
    words = [os.fsencode(path) for path in folders]
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            said = b""
            for part in ("cmdline", "environ"):
                with open(f"/proc/{name}/{part}", "rb") as file:
                    said += file.read()
        except OSError:
            continue
        if any(word in said for word in words):
            found.append(int(name))
    return found


def mounted(path):
    """Whether something is mounted in it: then it is not ours to empty."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return any(line.split()[4].startswith(path + "/") for line in file)


def sweep(folders):
    for pid in named(folders):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    for _ in range(20):
        for path in folders:
            if not mounted(path):
                shutil.rmtree(path, ignore_errors=True)
        folders = [path for path in folders if os.path.isdir(path)]
        if not folders:
            return
        time.sleep(0.1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given = [line.rstrip("\n") for line in sys.stdin]
    sweep([path for path in given if os.path.isdir(path)])
