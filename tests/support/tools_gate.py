"""The real agentnode-gate in mode agent, with a loopback listener in the
place of the sandbox's: plays the supervisor (answers tool calls by a table
of functions) and the agent (speaks HTTP to the port)."""
import http.client
import json
import os
import select
import socket
import threading

from gate_harness import Gate

STREAMS = ("client_out", "client_err", "work_out", "work_err")
SEALS = 0x1 | 0x2 | 0x4 | 0x8  # seal, shrink, grow, write
F_ADD_SEALS, F_GET_SEALS = 1033, 1034


def memfd(data):
    """A sealed memfd with these bytes, at its beginning."""
    import fcntl
    fd = os.memfd_create("result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
    return fd


def text(value, error=False):
    """The result of an MCP tool that is one text."""
    result = {"content": [{"type": "text", "text": value}]}
    if error:
        result["isError"] = True
    return result


class ToolsGate(Gate):
    """answer(call) -> an object (the result), or (code, detail); a call is
    {"package","tool","method","arguments"}. It is asked in a thread."""

    def __init__(self, answer=None, streams=STREAMS, **options):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.calls, self.decisions, self.said = [], [], None
        self.answer = answer or (lambda call: text("ok"))
        self.over = threading.Event()
        super().__init__({"mode": "agent", "port": self.port, **options},
                         streams=streams)
        if self.ready is None:
            return
        self.send("listen", {"sandbox": "test", "kind": "tools"},
                  [self.listener.fileno()])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                if not select.select([self.control], [], [], 0.2)[0]:
                    continue
                data, fds, _, _ = socket.recv_fds(self.control, 65536, 4)
            except (OSError, ValueError):
                break
            if not data:
                break
            message = json.loads(data)
            if message["type"] == "tool_call":
                threading.Thread(target=self._call, daemon=True,
                                 args=(message, fds)).start()
            elif message["type"] == "decision":
                self.decisions.append(message)
            elif message["type"] == "done":
                self.said = message["result"]
                self.over.set()
        self.over.set()

    def _call(self, message, fds):
        import fcntl
        call = {key: message.get(key)
                for key in ("package", "tool", "method")}
        call["sealed"] = [fcntl.fcntl(fd, F_GET_SEALS) & SEALS == SEALS
                          for fd in fds]
        call["arguments"] = None
        for fd in fds:
            with os.fdopen(fd, "rb") as file:
                call["raw"] = file.read()
                call["arguments"] = json.loads(call["raw"])
        call["id"] = message["id"]
        self.calls.append(call)
        if call["method"] == "cancel":
            return
        said = self.answer(call)
        try:
            if isinstance(said, tuple):
                self.send("tool_result", {"code": said[0], "detail": said[1]},
                          number=message["id"])
                return
            data = said if isinstance(said, bytes) else \
                json.dumps(said).encode()
            fd = memfd(data)
            self.send("tool_result", {"code": ""}, [fd],
                      number=message["id"])
            os.close(fd)
        except OSError:
            pass  # the gate is gone

    # --- the agent ---------------------------------------------------------

    def post(self, path, body, headers=None, method="POST", timeout=20):
        """(status, headers, answer) of one request on its own connection."""
        client = http.client.HTTPConnection("127.0.0.1", self.port,
                                            timeout=timeout)
        data = body if isinstance(body, (bytes, type(None))) else \
            json.dumps(body).encode()
        client.request(method, path, data, {
            "Content-Type": "application/json", **(headers or {})})
        response = client.getresponse()
        said = response.read()
        client.close()
        return (response.status, response.headers,
                json.loads(said) if said else None)

    def run_tool(self, slug, tool=None, arguments=None, number=1):
        """The answer to run_tool: an object with result or error."""
        return self.post("/agentnode/rpc", {
            "jsonrpc": "2.0", "id": number, "method": "run_tool",
            "params": {"slug": slug, "tool_name": tool,
                       "arguments": arguments or {}}})[2]

    def mcp(self, method, number=1, headers=None, **params):
        return self.post("/mcp", {"jsonrpc": "2.0", "id": number,
                                  "method": method, "params": params},
                         headers)[2]

    def raw(self, data, seconds=5, shut=False):
        """What comes back for these bytes until the end or the time."""
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(data)
            if shut:
                client.shutdown(socket.SHUT_WR)
            return self.read(client, seconds)

    @staticmethod
    def read(client, seconds):
        client.settimeout(seconds)
        said = bytearray()
        try:
            while True:
                data = client.recv(65536)
                if not data:
                    break
                said += data
        except (TimeoutError, ConnectionResetError):
            pass
        return bytes(said)

    # --- the end -----------------------------------------------------------

    def end(self, exit_code=0, seconds=10):
        """The workload ended: what the gate says of it all."""
        for name in ("work_out", "work_err"):
            if name in self.ends:
                self.shut(name)
        self.work("workload_ended", {"exit_code": exit_code, "signal": 0,
                                     "code": ""})
        self.over.wait(seconds)
        return self.said

    def code_counts(self):
        """Refusals told as decisions, by code."""
        counts = {}
        for one in self.decisions:
            counts[one["code"]] = counts.get(one["code"], 0) + one["count"]
        return counts
