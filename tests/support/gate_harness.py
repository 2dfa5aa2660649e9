"""Plays the supervisor for the real agentnode-gate: control socket, config,
streams made of pipes, and both ends of the conversation in this process."""
import array
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import time

import harness

PROGRAM = os.path.join(harness.LIBEXEC, "agentnode-gate")
STREAMS = ("client_in", "client_out", "work_in", "work_out", "work_err")
# Streams the gate reads; it gets the read end of these, else the write end.
READS = ("client_in", "work_out", "work_err")


class Gate:
    """One gate process. ends[name] is our end of each stream."""

    def __init__(self, options, streams=STREAMS, given=None, begin=True):
        """given: name -> descriptor to use instead of a pipe."""
        self.folder = harness.folder("gate-")
        self.log_path = os.path.join(self.folder, "log")
        self.ends, self.kept, self.number = {}, {}, 0
        self.control, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(self.log_path + ".err", "w"), close_fds=False,
            env={k: v for k, v in os.environ.items()
                 if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS")},
            preexec_fn=lambda: _only(theirs.fileno()))
        theirs.close()
        log = os.open(self.log_path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self.send("config", {"sandbox": "test", "options": options}, [log])
        os.close(log)
        self.ready = self.receive(10)
        if self.ready is None or not begin:
            return
        for name in streams:
            self.stream(name, (given or {}).get(name))
        self.work("start", {})

    def send(self, kind, body, fds=(), number=0):
        message = {"v": 1, "type": kind, "id": number, **body}
        socket.send_fds(self.control, [json.dumps(message).encode()],
                        list(fds))

    def work(self, job, options):
        self.number += 1
        self.send("work", {"job": job, "options": options},
                  number=self.number)

    def stream(self, name, fd=None):
        if fd is None:
            reader, writer = os.pipe()
            fd, ours = ((reader, writer) if name in READS
                        else (writer, reader))
            os.set_blocking(fd, False)
            self.ends[name] = ours
        self.send("stream", {"name": name}, [fd])
        os.close(fd)

    def receive(self, seconds):
        """The next message, or None at the end or after the time."""
        ready, _, _ = select.select([self.control], [], [], seconds)
        if not ready:
            return None
        data = self.control.recv(65536)
        return json.loads(data) if data else None

    def done(self, seconds=10):
        """The result of `done`, or None."""
        message = self.receive(seconds)
        if message is None or message["type"] != "done":
            return None
        return message["result"]

    def say(self, name, data, seconds=10):
        """Write all of it; bytes written before the time is over."""
        data = data.encode() if isinstance(data, str) else data
        fd, put, end = self.ends[name], 0, time.monotonic() + seconds
        os.set_blocking(fd, False)
        while put < len(data) and time.monotonic() < end:
            if not select.select([], [fd], [], 0.1)[1]:
                continue
            try:
                put += os.write(fd, data[put:put + 65536])
            except BlockingIOError:
                pass
        return put

    def line(self, name, seconds=10):
        """One line without its end, '' at the end, None after the time."""
        kept = self.kept.setdefault(name, bytearray())
        end = time.monotonic() + seconds
        while b"\n" not in kept:
            left = end - time.monotonic()
            if left <= 0 or not select.select(
                    [self.ends[name]], [], [], left)[0]:
                return None
            data = os.read(self.ends[name], 1 << 20)
            if not data:
                text, self.kept[name] = bytes(kept), bytearray()
                return text.decode("utf-8", "surrogateescape")
            kept += data
        at = kept.index(b"\n")
        text = bytes(kept[:at])
        del kept[:at + 1]
        return text.decode("utf-8", "surrogateescape")

    def rest(self, name, seconds=10):
        """Everything to the end of the stream."""
        out, end = bytearray(self.kept.pop(name, b"")), \
            time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.ends[name]], [], [], 0.1)[0]:
                data = os.read(self.ends[name], 1 << 20)
                if not data:
                    return bytes(out)
                out += data
        return None

    def shut(self, name):
        os.close(self.ends.pop(name))

    def rss(self):
        """Resident kilobytes, by pages of /proc/PID/statm."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def log(self):
        return harness.json_lines(self.log_path)

    def events(self, name):
        return [line for line in self.log() if line["event"] == name]

    def error_text(self):
        with open(self.log_path + ".err") as file:
            return file.read()

    def close(self, seconds=5):
        """End the control socket; the exit code, or 'timeout'."""
        self.control.close()
        for name in list(self.ends):
            self.shut(name)
        return self.wait(seconds)

    def wait(self, seconds=5):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            return "timeout"


def _only(control):
    """In the child: the control socket as 3, nothing above."""
    os.dup2(control, 3, inheritable=True)
    os.closerange(4, 4096)
