"""The real broker and llm-key under tests/bench/drive_broker, in front of a
stand-in provider; and small clients of the broker."""
import http.client
import json
import os
import signal
import socket
import subprocess
import time

import harness
import provider_standin
import test_ca

PROGRAM = os.path.join(harness.BUILD, "tests", "drive_broker")
KEY = "sk-agentnode-test-4Zq8w1Xy7Rb3Kd5Nf9Pj2Tm6Vh0Lc"
HOSTS = {"openai": "api.openai.com", "anthropic": "api.anthropic.com",
         "gemini": "generativelanguage.googleapis.com"}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Drive:
    """provider: a name of config/providers."""

    def __init__(self, provider="openai", key=KEY, standin=None, arguments=()):
        self.folder = harness.folder("drive-")
        self.ca = test_ca.TestCA(self.folder)
        self.standin = standin or provider_standin.Provider(
            self.ca.leaf(*provider_standin.NAMES))
        self.port = free_port()
        self.log_path = os.path.join(self.folder, "log")
        self.key = key
        host = HOSTS[provider]
        reader, writer = os.pipe()
        os.write(writer, key.encode())
        os.close(writer)
        self.process = subprocess.Popen(
            [PROGRAM, f"127.0.0.1:{self.port}", "--provider", os.path.join(
                harness.SOURCE, "config", "providers", provider + ".json"),
             "--key-fd", str(reader), "--host",
             f"{host}:{self.standin.port}", "--ca", self.ca.root,
             "--address", host + "=127.0.0.1", "--log", self.log_path,
             "--stats", "--decisions", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            pass_fds=[reader])
        os.close(reader)
        self.ready = self.process.stdout.readline().strip()
        self.lines = []

    def end(self):
        """(exit code, the lines that were printed)."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=20)
        self.lines = out.splitlines()
        return self.process.returncode, self.lines

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def post(self, path, body, headers=()):
        """(status, headers, body) over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=60)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {
            "Content-Type": "application/json", **dict(headers)})
        answer = connection.getresponse()
        try:
            got = answer.read()
        except http.client.IncompleteRead as error:
            got = error.partial
        connection.close()
        return answer.status, dict(answer.getheaders()), got


LEDGER_UID = 1879048191


def ledger_place(folder, name="ledger"):
    """A new folder in one that all may enter, for --ledger."""
    path = os.path.join(folder, name)
    os.mkdir(path, 0o700)
    os.chown(path, LEDGER_UID, LEDGER_UID)
    return path


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
