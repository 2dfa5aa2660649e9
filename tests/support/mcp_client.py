"""A small MCP client on a process's standard streams: requests with time
limits, progress, cancellation, and everything the server says kept."""
import json
import os
import queue
import subprocess
import threading
import time

VERSION = "2025-06-18"


class Ended(Exception):
    """The server's output ended."""


class Client:
    def __init__(self, argv, env=None, capabilities=None, cwd=None,
                 stderr=subprocess.PIPE):
        self.capabilities = capabilities or {}
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [str(word) for word in argv], env=env, cwd=cwd,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            start_new_session=True)
        self.answers, self.notes, self.asked, self.strange = {}, [], [], []
        self.next_id, self.changed = 0, threading.Condition()
        self.ended, self.error_text = False, b""
        self.threads = [threading.Thread(target=self._read, daemon=True)]
        if stderr == subprocess.PIPE:
            self.threads.append(
                threading.Thread(target=self._read_error, daemon=True))
        for thread in self.threads:
            thread.start()

    def _read_error(self):
        for line in self.process.stderr:
            self.error_text += line

    def _read(self):
        for line in self.process.stdout:
            try:
                self._take(json.loads(line))
            except ValueError:
                self.strange.append(line)
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def _take(self, message):
        with self.changed:
            if "method" in message and "id" in message:
                self.asked.append(message)
            elif "method" in message:
                self.notes.append(message)
            else:
                self.answers[message.get("id")] = message
            self.changed.notify_all()

    def send(self, message):
        """Any message, as one line."""
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Ended(str(error)) from error

    def post(self, method, **params):
        """Send a request; its id."""
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params:
            message["params"] = params
        self.send(message)
        return self.next_id

    def wait(self, number, seconds=30):
        """The whole answer to a request; None after the time."""
        end = time.monotonic() + seconds
        with self.changed:
            while number not in self.answers:
                left = end - time.monotonic()
                if self.ended:
                    raise Ended(self.text())
                if left <= 0:
                    return None
                self.changed.wait(left)
            return self.answers[number]

    def ask(self, method, seconds=30, **params):
        """Request and answer."""
        return self.wait(self.post(method, **params), seconds)

    def call(self, tool, seconds=30, **arguments):
        """tools/call; the result, or the whole answer when it is an error."""
        answer = self.ask("tools/call", seconds, name=tool,
                          arguments=arguments)
        return (answer or {}).get("result", answer)

    def note(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def notes_of(self, method, seconds=10):
        """Notifications of a method, waited for."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                found = [n for n in self.notes if n["method"] == method]
                left = end - time.monotonic()
                if found or self.ended or left <= 0:
                    return found
                self.changed.wait(left)

    def initialize(self, seconds=60):
        answer = self.ask("initialize", seconds, protocolVersion=VERSION,
                          capabilities=self.capabilities,
                          clientInfo={"name": "test", "version": "1"})
        self.first_answer = time.monotonic() - self.started
        if answer and "result" in answer:
            self.note("notifications/initialized")
        return answer

    def text(self):
        return self.error_text.decode("utf-8", "replace")[-2000:]

    def close(self, seconds=15):
        """End the input, as a client does; the exit code."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        return self.exit_code(seconds)

    def exit_code(self, seconds=15):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
            return "timeout"
        for thread in self.threads:
            thread.join(5)
        return code
