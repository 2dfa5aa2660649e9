"""A program on a terminal of its own (it is the terminal's session leader),
driven as a person would: wait for a question, type, look at what is shown."""
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time

import harness


def _take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    def __init__(self, argv, env):
        self.end, self.side = pty.openpty()
        # The program that asks is the only one of its session's foreground.
        self.process = subprocess.Popen(
            [str(a) for a in argv], stdin=self.side, stdout=self.side,
            stderr=self.side, env=env, preexec_fn=_take_terminal)
        self.shown = b""

    def look(self, seconds):
        """Take what is shown within that time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not select.select([self.end], [], [], 0.05)[0]:
                continue
            try:
                got = os.read(self.end, 65536)
            except OSError:
                return
            if not got:
                return
            self.shown += got
            harness.sealed(self.shown)

    def expect(self, text, seconds=20):
        """Until the text is shown (once more than before)."""
        want = self.shown.count(text) + 1
        until = time.monotonic() + seconds
        while self.shown.count(text) < want and time.monotonic() < until:
            self.look(0.05)
        return self.shown.count(text) >= want

    def type(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.end, view[:512]):]
            time.sleep(0.005 if len(view) else 0)

    def echoes(self):
        """Echo, line editing and signals are as they were at first."""
        flags = termios.tcgetattr(self.side)[3]
        want = termios.ECHO | termios.ICANON | termios.ISIG
        return flags & want == want

    def hides(self):
        return termios.tcgetattr(self.side)[3] & termios.ECHO == 0

    def finish(self, seconds=30):
        """The exit code; what is left is shown."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            self.look(0.05)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            return "timeout"
        self.look(0.1)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.end)
        os.close(self.side)


def children(pid):
    """Its living children: (pid, name)."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        rest = text[text.rindex(")") + 2:].split()
        if int(rest[1]) == pid and rest[0] != "Z":
            found.append((int(name), text[text.index("(") + 1:
                                          text.rindex(")")]))
    return found


def helper_of(pid):
    """The keyring helper of a program, or None; its name is cut to 15."""
    for child, name in children(pid):
        if name == "agentnode-keyri":
            return child
    return None


def is_over(pid):
    """It is gone, or nobody has reaped it yet."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return True
    return text[text.rindex(")") + 2] == "Z"
