# SPDX-License-Identifier: Apache-2.0
"""Runs inside a sandbox as its workload: tries what must fail, and says what
did not fail. Arguments: an address of the host that only an open network
reaches, a file of the host that must not be there, the entry that the policy
allows (address:port, raw TCP), the name that it denies. One line of JSON
goes to standard output and, so that a result which was lost on the way is
known all the same, through the allowed tunnel. Exit 0: every wall stood and
the tunnel worked; 7: every wall stood, the tunnel did not work; 9: open."""
import ctypes
import json
import os
import socket
import sys

host, secret, allowed, denied = sys.argv[1:5]
libc = ctypes.CDLL(None, use_errno=True)
opened, tunnel = [], None
PROXY = ("127.0.0.1", 3128)


def tried(name, function, *words):
    """Opens the wall called name when function does not fail."""
    try:
        value = function(*words)
    except (OSError, KeyError, ValueError):
        return
    if value is not None:
        opened.append(name)


def call(number, *words):
    """A system call that must fail."""
    return True if libc.syscall(number, *words) >= 0 else None


def dial(address, port):
    with socket.create_connection((address, int(port)), 3):
        return True


def written(path):
    with open(path, "a", encoding="utf-8"):
        return True


def present(path):
    return True if os.path.exists(path) else None


def status(key, wanted):
    with open("/proc/self/status", encoding="ascii") as file:
        rows = dict(line.rstrip("\n").split(":\t", 1) for line in file
                    if ":\t" in line)
    return None if wanted(rows[key]) else rows[key]


def connect(target):
    """A tunnel through the proxy, or an error."""
    conn = socket.create_connection(PROXY, 5)
    conn.sendall(f"CONNECT {target} HTTP/1.1\r\n"
                 f"Host: {target}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        more = conn.recv(4096)
        if not more:
            raise OSError("no answer")
        head += more
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise OSError(head)
    return conn


none = (0).__eq__
tried("mount", call, 165, b"none", b"/tmp", b"tmpfs", 0, None)
tried("unshare user", call, 272, 0x10000000)
tried("ptrace init", call, 101, 16, 1, 0, 0)
tried("keyctl", call, 250, 0, -3, 0)
tried("bpf", call, 321, 5, 0, 0)
tried("userfaultfd", call, 323, 1)
tried("io_uring", call, 425, 4, 0)
tried("chroot", call, 161, b"/tmp")
tried("stop init", call, 203, 1, 8, b"\xff" * 8)
tried("vsock", socket.socket, 40, socket.SOCK_STREAM)
tried("packet", socket.socket, 17, socket.SOCK_RAW)
tried("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
tried("init's memory", lambda: os.open("/proc/1/mem", os.O_RDWR))
tried("write /", written, "/agentnode-open")
tried("write /usr", written, "/usr/agentnode-open")
tried("host file", present, secret)
tried("host network", dial, *host.rsplit(":", 1))
tried("other network", lambda: True if [
    n for _, n in socket.if_nameindex() if n != "lo"] else None)
tried("root", lambda: None if os.getuid() else True)
for row, right in (("NoNewPrivs", "1".__eq__), ("Seccomp", "2".__eq__),
                   ("CapEff", lambda v: none(int(v, 16))),
                   ("CapPrm", lambda v: none(int(v, 16))),
                   ("CapBnd", lambda v: none(int(v, 16)))):
    tried(row, status, row, right)
tried("denied name", connect, f"{denied}:443")
tried("denied address", connect, host)
try:
    if allowed != "-":
        tunnel = connect(allowed)
except OSError:
    pass
said = json.dumps({"open": opened, "tunnel": tunnel is not None})
try:
    if tunnel is not None:
        tunnel.sendall(said.encode() + b"\n")
        if tunnel.recv(10) != b"thanks\n":
            tunnel = None
except OSError:
    tunnel = None
print(said, flush=True)
sys.exit(9 if opened else 0 if tunnel is not None or allowed == "-" else 7)
