# SPDX-License-Identifier: Apache-2.0
"""An agent of one broker as a program: ask_broker.py PORT KEYFILE COMMAND...
starts drive_broker (COMMAND) with the key on a descriptor, asks for one
completion and for one that must be refused, and says what it saw like
inside_walls.py. Exit 0: the first was served; 7: it was not, and nothing was
open; 9: open."""
import json
import os
import signal
import socket
import subprocess
import sys

PATH = "/openai/v1/chat/completions"
port, key_file = int(sys.argv[1]), sys.argv[2]


def ask(**more):
    body = json.dumps({"model": "gpt-4o-mini", "messages": [
        {"role": "user", "content": "How many?"}], **more})
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as agent:
            agent.settimeout(8)
            agent.sendall((
                f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
            answer = b""
            while True:
                piece = agent.recv(65536)
                if not piece:
                    return answer
                answer += piece
    except OSError:
        return b""


with open(key_file, "rb") as file:
    key = file.read()
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    drive = subprocess.Popen(
        [*sys.argv[3:], "--key-fd", str(file.fileno())],
        pass_fds=[file.fileno()], stdout=subprocess.PIPE)
opened, served = [], False
if drive.stdout.readline().startswith(b"ready"):
    good, bad = ask(), ask(web_search_options={})
    served = good.startswith(b"HTTP/1.1 200") and b"choices" in good
    if bad.startswith(b"HTTP/1.1 200"):
        opened.append("a field that is not allowed")
    if key in good + bad:
        opened.append("the key was answered")
drive.send_signal(signal.SIGTERM)
try:
    code = drive.wait(15)
except subprocess.TimeoutExpired:
    drive.kill()
    opened.append("drive_broker did not end")
    code = drive.wait()
print(json.dumps({"open": opened, "tunnel": served}), flush=True)
sys.exit(9 if opened else 0 if served and code == 0 else 7)
