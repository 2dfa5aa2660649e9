# SPDX-License-Identifier: Apache-2.0
"""Plays the supervisor for one agentnode-unpack process."""
import json
import os
import socket
import struct

MAGIC = 0x414E5431
DIR, FILE, LINK, END = 1, 2, 3, 4


class Unpack:
    def __init__(self, roots=(), timeout_s=60):
        path = os.path.join(os.environ["AGENTNODE_BUILD_DIR"],
                            "libexec/agentnode/agentnode-unpack")
        ours, theirs = socket.socketpair(socket.AF_UNIX,
                                         socket.SOCK_SEQPACKET)
        self.log_path = os.memfd_create("log")
        self.pid = os.fork()
        if self.pid == 0:
            fd = os.dup(theirs.fileno())
            os.dup2(fd, 3)
            os.set_inheritable(3, True)
            os.closerange(4, 256)
            try:
                os.execve(path, [path], {})
            finally:
                os._exit(127)
        theirs.close()
        self.socket = ours
        self.socket.settimeout(timeout_s + 10)
        fds = [os.open(r, os.O_RDONLY | os.O_DIRECTORY) for r in roots]
        self.send({"v": 1, "type": "config", "id": 0, "options":
                   {"roots": len(fds), "timeout_s": timeout_s}},
                  [self.log_path] + fds)
        for fd in fds:
            os.close(fd)
        self.ready = self.receive()
        self.next = 1

    def send(self, message, fds=()):
        socket.send_fds(self.socket, [json.dumps(message).encode()],
                        list(fds))

    def receive(self):
        data = self.socket.recv(65536)
        if not data:
            _, status = os.waitpid(self.pid, 0)
            self.pid = 0
            raise EOFError("unpack ended: %d, log: %s" % (
                os.waitstatus_to_exitcode(status), self.log()))
        return json.loads(data)

    def log(self):
        return os.pread(self.log_path, 1 << 20, 0).decode()

    def start(self, job, options, fds=()):
        self.send({"v": 1, "type": "work", "id": self.next, "job": job,
                   "options": options}, fds)
        self.next += 1

    def work(self, job, options, fds=()):
        """(result, None) or (None, (code, detail))."""
        self.start(job, options, fds)
        answer = self.receive()
        if answer["type"] == "done":
            return answer["result"], None
        return None, (answer["code"], answer["detail"])

    def close(self):
        self.socket.close()
        if self.pid:
            _, status = os.waitpid(self.pid, 0)
            self.pid = 0
            return os.waitstatus_to_exitcode(status)
        return None


def record(kind, path=b"", content=b"", mode=0o644, size=None):
    if isinstance(path, str):
        path = path.encode()
    return struct.pack("<IIIIQ", MAGIC, kind, mode, len(path),
                       len(content) if size is None else size) + path + content


def stream(*records):
    return b"".join(records) + record(END, mode=0)


def memfd(data=b""):
    fd = os.memfd_create("data")
    os.write(fd, data) if data else None
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def contents(fd):
    size = os.fstat(fd).st_size
    data = b""
    while len(data) < size:
        data += os.pread(fd, 1 << 20, len(data))
    return data
