"""The supervisor's pool of tool packages, driven: drive_tools and what it
says."""
import json
import os
import subprocess
import threading

import harness
import mcp_setup

DRIVE = os.path.join(harness.BUILD, "tests", "drive_tools")


def odd_package():
    """A folder with the package of odd_tools.js, to be installed."""
    source = os.path.join(harness.SOURCE, "tests", "support", "odd_tools.js")
    with open(source, encoding="utf-8") as file:
        return mcp_setup.package({
            "package.json": json.dumps({"name": "odd", "version": "1.0.0",
                                        "bin": {"odd": "server.js"}}),
            "server.js": file.read()})


class Pool:
    """drive_tools and what it says."""

    def __init__(self, home, packages, **options):
        lock = os.path.join(home, ".agentnode", "agentnode.lock")
        self.process = subprocess.Popen(
            [DRIVE, json.dumps({"packages": packages, "lockfile": lock,
                                **options})],
            env=harness.environment(home), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.answers, self.changed = {}, threading.Condition()
        self.closed, self.number, self.errors = False, 0, b""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            said = json.loads(line)
            with self.changed:
                if "closed" in said:
                    self.closed = True
                else:
                    self.answers[said["id"]] = said
                self.changed.notify_all()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def send(self, package, tool=None, arguments=None, listing=False):
        self.number += 1
        line = {"id": self.number, "package": package, "tool": tool,
                "list": listing, "arguments": arguments or {}}
        self.process.stdin.write((json.dumps(
            {k: v for k, v in line.items() if v is not None}) + "\n").encode())
        self.process.stdin.flush()
        return self.number

    def cancel(self, number):
        self.process.stdin.write(
            (json.dumps({"cancel": number}) + "\n").encode())
        self.process.stdin.flush()

    def result(self, number, seconds=90):
        with self.changed:
            self.changed.wait_for(lambda: number in self.answers, seconds)
            return self.answers.get(number)

    def call(self, package, tool=None, arguments=None, **options):
        return self.result(self.send(package, tool, arguments, **options))

    def text(self, package, tool, arguments=None):
        """The text a tool returns, or its code."""
        said = self.call(package, tool, arguments)
        if said is None or said["code"]:
            return said
        return said["result"]["content"][0]["text"]

    def close(self, code=""):
        try:
            self.process.stdin.write(
                (json.dumps({"close": code}) + "\n").encode())
            self.process.stdin.flush()
            self.process.stdin.close()
        except OSError:
            pass
        try:
            code = self.process.wait(60)
            self.reader.join(5)
            return code
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "timeout"
