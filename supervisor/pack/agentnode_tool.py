# SPDX-License-Identifier: Apache-2.0
"""Runs a function of a tool pack where it belongs. Comes with AgentNode, not
with the image: standard library only. What the tool may do is decided
outside; this file is no boundary.

One run: standard input holds {"module", "functions", "kwargs"} as JSON; the
first of the functions that the module has is called. Exactly one JSON goes
to descriptor 3: {"ok": true, "result"} or {"ok": false, "error": {"type",
"message"}}. Whatever is printed goes to standard error.

With the word `serve` and a plan, for agents: an MCP server on standard input
and descriptor 3. The tool's code never runs in that process, but in one of
its own for each call, started as above. The host gives one call to one
server: that walls them from each other, nothing here does."""
import sys

import asyncio
import importlib
import inspect
import json
import os
import selectors
import signal

PACK = os.getcwd()  # /pack; on the host its sealed folder
RESULT = 3
REQUEST_MAX = 16 * 1024 * 1024
MESSAGE_MAX = 4000
CHUNK = 65536


# --- one run -----------------------------------------------------------------

def read_all(fd, most):
    parts, size = [], 0
    while size <= most:
        part = os.read(fd, CHUNK)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
    raise ValueError("the request is too long")


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def find(module, names):
    for name in names:
        function = getattr(module, name, None)
        if callable(function):
            return function
    raise AttributeError(f"{module.__name__} has no function "
                         f"{' or '.join(names)}")


def call(request):
    sys.path.insert(0, PACK)
    sys.argv = [request["module"]]
    function = find(importlib.import_module(request["module"]),
                    request["functions"])
    value = function(**request["kwargs"])
    if inspect.isawaitable(value):
        value = asyncio.run(wait(value))
    return value


async def wait(value):
    return await value


def failure(error):
    """Type and message; no traceback. A tool may have made its own str."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    return {"ok": False, "error": {"type": type(error).__name__[:100],
                                   "message": text[:MESSAGE_MAX]}}


def run(request):
    """(exit code, bytes): what the tool gave."""
    try:
        value = call(request)
        # No NaN, no cycle, nothing that is no JSON.
        text = json.dumps({"ok": True, "result": value}, allow_nan=False)
        return 0, text.encode() + b"\n"
    except BaseException as error:  # the tool's own failure is a result
        import traceback
        try:
            traceback.print_exc()
        except BaseException:
            pass
        return 1, json.dumps(failure(error)).encode() + b"\n"


def finish(code, data):
    """The tool's threads and exit handlers are not waited for."""
    try:
        write_all(RESULT, data)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        code = 1
    os._exit(code)


def one():
    os.set_inheritable(RESULT, False)
    request = json.loads(read_all(0, REQUEST_MAX))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    finish(*run(request))


# --- serving -----------------------------------------------------------------

class Call:
    """A tool that runs in a process of its own."""

    def __init__(self, rpc, request, most):
        self.rpc, self.data, self.most = rpc, b"", most
        self.fd, theirs = os.pipe()
        os.set_blocking(self.fd, False)
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self.fd)
            os.close(theirs)
            raise
        if self.pid == 0:
            self.become(request, theirs)
        os.close(theirs)

    def become(self, request, theirs):
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(theirs, RESULT, inheritable=False)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.closerange(RESULT + 1, 256)
            finish(*run(request))
        finally:
            os._exit(1)

    def is_dead(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG |
                         os.WNOWAIT) is not None

    def rest(self):
        """What is left in the pipe of one that is dead; what it left
        behind may hold it open."""
        try:
            while len(self.data) <= self.most:
                part = os.read(self.fd, CHUNK)
                if not part:
                    break
                self.data += part
        except BlockingIOError:
            pass

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except OSError:
                pass

    def end(self):
        """Nothing of it stays; how it ended."""
        self.kill()
        os.close(self.fd)
        return os.waitpid(self.pid, 0)[1]


def told(text, error=False, value=None):
    result = {"content": [{"type": "text", "text": text}], "isError": error}
    if isinstance(value, dict):
        result["structuredContent"] = value
    return result


def outcome(data, most):
    """An MCP result out of what a call gave: its first line."""
    if len(data) > most:
        return told("the tool's result is too long", True)
    try:
        said = json.loads(data.partition(b"\n")[0])
        if said["ok"]:
            value = said["result"]
            text = value if isinstance(value, str) else json.dumps(value)
            return told(text, False, value)
        error = said["error"]
        return told(f"{error['type']}: {error['message']}", True)
    except (ValueError, KeyError, TypeError, RecursionError):
        return told("the tool ended without a result", True)


class Server:
    def __init__(self, plan):
        self.tools = {tool["name"]: tool for tool in plan["tools"]}
        self.most = plan["result_max"]
        self.calls, self.data = {}, b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(0, selectors.EVENT_READ)
        self.deaths, told = os.pipe()
        os.set_blocking(self.deaths, False)
        os.set_blocking(told, False)
        self.selector.register(self.deaths, selectors.EVENT_READ)
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)

    def say(self, rpc, **body):
        write_all(RESULT, json.dumps({"jsonrpc": "2.0", "id": rpc, **body})
                  .encode() + b"\n")

    def refuse(self, rpc, code, text):
        self.say(rpc, error={"code": code, "message": text})

    def listed(self):
        return [{"name": tool["name"],
                 "description": tool.get("description", ""),
                 "inputSchema": tool.get("input_schema") or
                 {"type": "object"}} for tool in self.tools.values()]

    def call(self, rpc, params):
        tool = self.tools.get(params.get("name"))
        if tool is None:
            self.refuse(rpc, -32602, "there is no such tool")
            return
        try:
            one = Call(rpc, {"module": tool["module"],
                             "functions": tool["functions"],
                             "kwargs": params.get("arguments") or {}},
                       self.most)
        except OSError as error:  # no process or descriptor is left
            self.refuse(rpc, -32000, f"the tool cannot start: {error}")
            return
        self.calls[one.fd] = one
        self.selector.register(one.fd, selectors.EVENT_READ)

    def forget(self, one):
        self.selector.unregister(one.fd)
        del self.calls[one.fd]
        one.end()

    def cancel(self, rpc):
        for one in list(self.calls.values()):
            if one.rpc == rpc:
                self.forget(one)

    def message(self, message):
        method, rpc = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method == "initialize":
            self.say(rpc, result={
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "agentnode-pack", "version": "1"}})
        elif method == "ping":
            self.say(rpc, result={})
        elif method == "tools/list":
            self.say(rpc, result={"tools": self.listed()})
        elif method == "tools/call":
            self.call(rpc, params)
        elif method == "notifications/cancelled":
            self.cancel(params.get("requestId"))
        elif rpc is not None:
            self.refuse(rpc, -32601, "there is no such method")

    def take(self):
        """Lines of the client's; false at its end."""
        part = os.read(0, CHUNK)
        if not part:
            return False
        self.data += part
        *lines, self.data = self.data.split(b"\n")
        for line in lines:
            if line.strip():
                self.message(json.loads(line))
        return True

    def hear(self, one):
        try:
            part = os.read(one.fd, CHUNK)
        except BlockingIOError:  # the number was another call's before
            return
        one.data += part
        if not part or b"\n" in part or len(one.data) > one.most:
            self.over(one)

    def over(self, one):
        self.forget(one)
        self.say(one.rpc, result=outcome(one.data, one.most))

    def bury(self):
        os.read(self.deaths, CHUNK)
        for one in list(self.calls.values()):
            if one.is_dead():
                one.rest()
                self.over(one)

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fd == 0:
                    if not self.take():
                        return
                elif key.fd == self.deaths:
                    self.bury()
                elif key.fd in self.calls:
                    self.hear(self.calls[key.fd])


def serve(plan):
    os.set_inheritable(RESULT, False)
    Server(plan).run()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(json.loads(sys.argv[2]))
    else:
        one()
