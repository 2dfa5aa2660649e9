#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that does not attach as it should: a socket before Docker's own,
which passes everything on but the request to attach. Whatever is answered to
that one, no workload runs, the outcome says why, and nothing is left."""
import os
import select
import socket
import threading
import time

import engine_case
import harness
from dockerd import Dockerd
from harness import check

SWITCHED = (b"HTTP/1.1 101 UPGRADED\r\n"
            b"Content-Type: application/vnd.docker.raw-stream\r\n"
            b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
# Name, what is answered, whether it then ends, the outcome's codes.
ROWS = (
    ("a refusal", b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
     False, ("engine_failed",)),
    ("an answer that is none", b"SSH-2.0-x\r\n", False, ("engine_failed",)),
    ("an end before the answer", b"", True, ("init_died", "engine_failed")),
    ("an end after it", SWITCHED, True, ("init_died", "engine_failed")),
    ("bytes before the start", SWITCHED + b"\1\0\0\0\0\0\0\1x", False,
     ("engine_failed",)),
    ("a chunk of another stream", (SWITCHED, b"\2\0\0\0\0\0\0\1x"), False,
     ("init_protocol",)),
    ("bytes that are no chunk", (SWITCHED, b"HTTP/1.1 400 Bad Request\r\n"),
     False, ("init_protocol",)),
)


class Before:
    """The socket before Docker's."""

    def __init__(self, behind):
        self.behind, self.answer, self.ends = behind, None, False
        self.path = os.path.join(harness.folder(), "docker.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            one, _ = self.listener.accept()
            threading.Thread(target=self._one, args=(one,),
                             daemon=True).start()

    def _one(self, one):
        with one:
            try:
                first = one.recv(65536)
                if b"/attach?" in first.split(b"\r\n", 1)[0]:
                    self._attach(one)
                elif first:
                    self._pass(one, first)
            except OSError:
                pass  # one of them is gone

    def _attach(self, one):
        parts = self.answer if isinstance(self.answer, tuple) else (
            self.answer,)
        for part in parts:
            one.sendall(part)
            time.sleep(0.2)
        if not self.ends:
            while one.recv(65536):
                pass

    def _pass(self, one, first):
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(self.behind)
            other.sendall(first)
            ends = {one: other, other: one}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    got = end.recv(65536)
                    if not got:
                        return
                    ends[end].sendall(got)


daemon = Dockerd()
before = Before(daemon.socket)


def row(home, name, answer, ends, codes):
    before.answer, before.ends = answer, ends
    start = time.monotonic()
    case = engine_case.Case("/bin/echo", "ran", home=home,
                            image_name=daemon.image)
    out, outcome = case.finish(60)
    took = time.monotonic() - start
    check(f"{name}: refused, with the reason",
          outcome.get("code") in codes and outcome.get("removed") is True,
          (outcome, case.log()[-600:]))
    check(f"{name}: nothing ran", out == "", out)
    check(f"{name}: at once", took < 15, took)
    check(f"{name}: nothing is left", engine_case.wait(
        5, lambda: not daemon.containers()), daemon.containers())


try:
    HOME = daemon.home(wiring="mux", docker_socket=before.path)
    for one in ROWS:
        row(HOME, *one)
finally:
    daemon.end()
harness.finish()
