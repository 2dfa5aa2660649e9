"""The real agentnode-gate in mode caller: plays the supervisor (jobs in,
answers out) and, by hand, the server of a tool package."""
import json
import os
import select
import socket

from gate_harness import Gate
from tools_gate import memfd

STREAMS = ("work_in", "work_out", "work_err")


class CallerGate(Gate):
    def __init__(self, streams=STREAMS, begin=True, **options):
        super().__init__({"mode": "caller", "package": "demo",
                          "tier": "unverified", **options}, streams=streams,
                         begin=begin)
        self.answers, self.said = {}, None

    def job(self, job, tool=None, arguments=None, fds=None):
        """Send a job; its number."""
        self.number += 1
        if fds is None:
            fds = [] if job == "list" else [memfd(
                arguments if isinstance(arguments, bytes)
                else json.dumps(arguments or {}).encode())]
        self.send("work", {"job": job, "options":
                           {} if tool is None else {"tool": tool}}, fds,
                  number=self.number)
        for fd in fds:
            os.close(fd)
        return self.number

    def result(self, number, seconds=10):
        """(code, detail, object) of a job; None after the time."""
        while number not in self.answers:
            if not select.select([self.control], [], [], seconds)[0]:
                return None
            data, fds, _, _ = socket.recv_fds(self.control, 65536, 4)
            if not data:
                return None
            message = json.loads(data)
            if message["id"] == 0:
                self.said = message["result"]
                continue
            value = None
            for fd in fds:
                with os.fdopen(fd, "rb") as file:
                    value = json.loads(file.read())
            self.answers[message["id"]] = (
                message["result"]["code"], message["result"]["detail"],
                value)
        return self.answers.pop(number)

    # --- the server --------------------------------------------------------

    def asked(self, seconds=10):
        """The next message to the server."""
        line = self.line("work_in", seconds)
        return json.loads(line) if line else None

    def tell(self, number, result=None, error=None):
        body = {"jsonrpc": "2.0", "id": number}
        if error is not None:
            body["error"] = {"code": -32000, "message": error}
        else:
            body["result"] = result
        self.say("work_out", json.dumps(body) + "\n")

    def initialized(self):
        """Through the handshake; what initialize asked for."""
        hello = self.asked()
        self.tell(hello["id"], {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "demo", "version": "1"}})
        return hello, self.asked()

    def ended(self, exit_code=0):
        self.work("workload_ended", {"exit_code": exit_code, "signal": 0,
                                     "code": ""})
