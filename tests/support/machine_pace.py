# SPDX-License-Identifier: Apache-2.0
"""Promises of time on a machine that others use as well. "Dead within one
second" is said of a quiet machine; a loaded one makes every process wait its
turn. So a yardstick runs beside what is measured: it makes a process, kills
it and reaps it, again and again, and its slowest turn in that time says what
the kernel needed for the least that any death needs. The limit is the promise
and STEPS such turns (a death of ours passes through about that many
processes). On a quiet machine a turn takes a millisecond and the limit is the
promise; whatever waits for a time limit, or does not die at all, is over it
on any machine.

    deadline = machine_pace.Deadline(1)
    os.kill(pid, signal.SIGKILL)
    check("...", deadline.wait(lambda: not alive()), deadline)
"""
import mmap
import os
import struct
import subprocess
import sys
import time

STEPS = 8
PATIENCE = 60  # seconds; nobody waits longer, whatever the machine does
YARDSTICK = """
import mmap, os, signal, struct, sys, time
memory = mmap.mmap(int(sys.argv[1]), 4096)
worst = 0.0
alive, ours = os.pipe()
while os.getppid() == int(sys.argv[2]):
    begin = time.monotonic()
    struct.pack_into("dd", memory, 0, worst, begin)
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        os.read(alive, 1)  # for ever, or until the yardstick is gone
        os._exit(0)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    worst = max(struct.unpack_from("d", memory)[0], time.monotonic() - begin)
    struct.pack_into("dd", memory, 0, worst, time.monotonic())
    time.sleep(0.01)
"""


class Deadline:
    """From now on. took: when the condition was seen, None before."""

    def __init__(self, seconds):
        self.seconds, self.took, self.worst = seconds, None, None
        fd = os.memfd_create("pace")
        os.truncate(fd, 4096)
        self._memory = mmap.mmap(fd, 4096)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", YARDSTICK, str(fd),
             str(os.getpid())], pass_fds=(fd,), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        os.close(fd)
        end = time.monotonic() + PATIENCE
        while not self._read()[0] and time.monotonic() < end:
            time.sleep(0.005)
        if not self._read()[0]:
            raise SystemExit("missing part: the yardstick does not run")
        # Turns before now count nothing.
        struct.pack_into("d", self._memory, 0, 0.0)
        self.begin = time.monotonic()

    def _read(self):
        return struct.unpack_from("dd", self._memory)

    def slowest(self):
        """The slowest turn of the yardstick, or the one that still runs."""
        if self.worst is not None:
            return self.worst
        worst, begun = self._read()
        return max(worst, time.monotonic() - begun - 0.01)

    def limit(self):
        return self.seconds + STEPS * self.slowest()

    def _stop(self):
        if self.worst is None:
            self.worst = self.slowest()
            self._process.kill()
            self._process.wait()

    def ends(self, took=None):
        """It happened: just now, or that long after the beginning of what
        was measured. True: in time."""
        self.took = time.monotonic() - self.begin if took is None else took
        in_time = self.took < self.limit()
        self._stop()
        return in_time

    def wait(self, condition):
        """Until condition() holds; true when that was in time."""
        while True:
            asked = time.monotonic()
            if condition():
                return self.ends(asked - self.begin)
            if asked - self.begin > min(self.limit(), PATIENCE):
                self._stop()
                return False
            time.sleep(0.002)

    def __repr__(self):
        took = "never" if self.took is None else f"{self.took:.3f} s"
        return (f"{took}, promised {self.seconds} s, limit here "
                f"{self.limit():.3f} s (slowest turn "
                f"{self.slowest() * 1000:.1f} ms)")
