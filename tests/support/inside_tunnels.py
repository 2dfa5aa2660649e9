"""Runs inside a sandbox: opens tunnels and tells what becomes of them. A line
of standard input is a command, a line of standard output an event (JSON):
  open KEY proxy|direct NAME   -> {"open": KEY, "answer": ...}
  echo KEY                     -> {"echo": KEY, "ok": ...}
and, unasked, {"ended": KEY, "how": ...}. Standard library only."""
import json
import select
import socket
import ssl
import sys

tunnels = {}


def say(**event):
    print(json.dumps(event), flush=True)


def reason(head):
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"x-agentnode-reason:"):
            return line.split(b":")[1].strip().decode()
    return head.split(b"\r\n")[0].decode()


def connect(way, name):
    """A connected socket and "ok", or None and why not."""
    if way == "direct":
        return socket.create_connection((name, 443), 5), "ok"
    conn = socket.create_connection(("127.0.0.1", 3128), 5)
    conn.sendall(f"CONNECT {name}:443 HTTP/1.1\r\n"
                 f"Host: {name}:443\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        more = conn.recv(4096)
        if not more:
            break
        head += more
    if b" 200 " not in head.split(b"\r\n")[0]:
        return None, reason(head)
    return conn, "ok"


def open_tunnel(key, way, name):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        conn, answer = connect(way, name)
        if conn is not None:
            conn.settimeout(5)
            tunnels[key] = context.wrap_socket(conn, server_hostname=name)
    except OSError as error:
        answer = type(error).__name__
    say(open=key, answer=answer)


def echo(key):
    try:
        conn = tunnels[key]
        conn.settimeout(5)
        conn.sendall(b"ping " + key.encode())
        answer = conn.recv(100)
    except (KeyError, OSError):
        answer = b""
    say(echo=key, ok=answer == b"ping " + key.encode())


def drop(key):
    """Something came that nobody asked for: the end, or a session ticket."""
    tunnels[key].setblocking(False)
    try:
        # Below TLS, where a reset is one.
        socket.socket.recv(tunnels[key], 1, socket.MSG_PEEK)
        how = "data" if tunnels[key].recv(100) else "fin"
    except (ssl.SSLWantReadError, BlockingIOError):
        return
    except OSError as error:
        how = type(error).__name__
    del tunnels[key]
    say(ended=key, how=how)


say(ready=True)
while True:
    by_socket = {conn: key for key, conn in tunnels.items()}
    ready, _, _ = select.select([sys.stdin, *by_socket], [], [])
    for one in ready:
        if one is not sys.stdin:
            drop(by_socket[one])
            continue
        words = sys.stdin.buffer.raw.readline().decode().split()
        if not words:
            sys.exit(0)
        if words[0] == "open":
            open_tunnel(*words[1:])
        else:
            echo(words[1])
