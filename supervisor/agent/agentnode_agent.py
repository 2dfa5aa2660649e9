# SPDX-License-Identifier: Apache-2.0
"""Runs an agent of the form module:function inside the sandbox. Comes with
the sandbox, not with the image: standard library only. What the agent may
do is decided outside, by the broker and the gate; this file is no boundary.

AGENTNODE_AGENT holds {"entrypoint", "goal", "input", "steps"} as JSON. The
result is posted to the tools port, where it is bounded."""
import asyncio
import http.client
import importlib
import inspect
import json
import os
import sys

HOST = "127.0.0.1"
LLM_PORT = int(os.environ.get("AGENTNODE_LLM_PORT", "4100"))
TOOLS_PORT = int(os.environ.get("AGENTNODE_TOOLS_PORT", "4101"))
ANSWER_MAX = 16 * 1024 * 1024
NOT_THERE = "is not there: this agent has no such access"


class AgentError(RuntimeError):
    """A call that the host refused or that failed; code says which."""

    def __init__(self, text, code=""):
        super().__init__(text)
        self.code = code


def post(port, path, body, what):
    """One JSON answer to one JSON question."""
    connection = http.client.HTTPConnection(HOST, port)
    try:
        connection.request("POST", path, json.dumps(body),
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        data = response.read(ANSWER_MAX + 1)
    except ConnectionRefusedError:
        raise AgentError(f"{what} {NOT_THERE}", "not_granted") from None
    except (OSError, http.client.HTTPException) as error:
        raise AgentError(f"{what} failed: {error}", "failed") from None
    finally:
        connection.close()
    try:
        answer = json.loads(data)
    except ValueError:
        raise AgentError(f"{what}: the answer is no JSON "
                         f"(status {response.status})", "failed") from None
    return response, answer


class Answer(dict):
    """A result that may be awaited, so that ctx.run_tool and ctx.call_llm
    serve synchronous and asynchronous agents alike."""

    def __await__(self):
        return self
        yield  # makes this a generator


class Context:
    """What an agent's function gets as its first argument."""

    def __init__(self, goal):
        self.goal = goal
        self._calls = 0

    def run_tool(self, slug, tool_name=None, **arguments):
        """Run a tool of an allowed package in that package's sandbox.
        {"success", "result", "error", "mode_used"}."""
        self._calls += 1
        response, answer = post(TOOLS_PORT, "/agentnode/rpc", {
            "jsonrpc": "2.0", "id": self._calls, "method": "run_tool",
            "params": {"slug": slug, "tool_name": tool_name,
                       "arguments": arguments}}, "run_tool")
        if "error" in answer:
            error = answer["error"]
            raise AgentError(error.get("message", "run_tool failed"),
                             (error.get("data") or {}).get("code", ""))
        return Answer(answer["result"])

    def call_llm(self, messages):
        """{"role", "content"} from the model the host chose."""
        response, answer = post(LLM_PORT, "/agentnode/call_llm",
                                {"messages": messages}, "call_llm")
        if answer.get("ok") is not True:
            raise AgentError(str(answer.get("error", "call_llm failed")),
                             response.getheader("X-AgentNode-Reason", ""))
        return Answer(answer["completion"])


def finish(body):
    post(TOOLS_PORT, "/agentnode/result", body, "the result")


def call(function, context, arguments):
    value = function(context, **arguments)
    if inspect.isawaitable(value):
        value = asyncio.run(_wait(value))
    return value


async def _wait(value):
    return await value


# --- declared steps ----------------------------------------------------------

def look_up(reference, values):
    """$name.key.0 in what earlier steps returned; None when absent."""
    found = values
    for part in reference.removeprefix("$").split("."):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdigit() \
                and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


def fill(mapping, values):
    if isinstance(mapping, str) and mapping.startswith("$"):
        return look_up(mapping, values)
    if isinstance(mapping, dict):
        return {key: fill(item, values) for key, item in mapping.items()}
    if isinstance(mapping, list):
        return [fill(item, values) for item in mapping]
    return mapping


def holds(when, values):
    """`$ref == v`, `$ref != v`, `$ref is null`, `$ref is not null`."""
    words = when.split(None, 2)
    found = look_up(words[0], values)
    rest = " ".join(words[1:])
    if rest == "is null":
        return found is None
    if rest == "is not null":
        return found is not None
    if words[1] not in ("==", "!="):
        raise AgentError(f"when: '{when}' is no condition", "bad_step")
    try:
        value = json.loads(words[2])
    except ValueError:
        value = words[2].strip("'")
    return (found == value) == (words[1] == "==")


def run_steps(context, steps, given):
    values = {"input": given, "goal": context.goal}
    last = None
    for step in steps:
        if step.get("when") and not holds(step["when"], values):
            values[step["name"]] = None
            continue
        slug, _, tool = step["tool"].partition("/")
        last = context.run_tool(slug, tool or None,
                                **fill(step.get("input_mapping") or {},
                                       values))
        if not last.get("success"):
            raise AgentError(f"step {step['name']}: {last.get('error')}",
                             "step_failed")
        values[step["name"]] = last.get("result")
    return values[steps[-1]["name"]] if steps else last


# --- main --------------------------------------------------------------------

def run(plan):
    context = Context(plan.get("goal"))
    given = plan.get("input") or {}
    if plan.get("steps"):
        return run_steps(context, plan["steps"], given)
    module, _, name = plan["entrypoint"].partition(":")
    function = getattr(importlib.import_module(module), name or "run")
    return call(function, context, given)


def main():
    plan = json.loads(os.environ.pop("AGENTNODE_AGENT"))
    try:
        value = run(plan)
        json.dumps(value)
    except Exception as error:  # the agent's own failure is a result
        import traceback
        traceback.print_exc()
        finish({"ok": False, "error": f"{type(error).__name__}: {error}",
                "code": getattr(error, "code", "") or "agent_failed"})
        return 1
    finish({"ok": True, "value": value})
    return 0


if __name__ == "__main__":
    sys.exit(main())
