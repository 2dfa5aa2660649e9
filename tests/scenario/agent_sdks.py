#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unmodified SDKs of the three providers inside a sandbox: calls with and
without streaming, over the port and the unix socket, compressed bodies;
errors of the broker and of a provider as the SDKs' own typed errors; what is
closed by default; and what the provider saw of it."""
import threading

import agent_case
import harness
from harness import check

TEXT = "The answer is forty-two."

case = agent_case.AgentCase({"agent_sandbox": {
    "enabled": True, "llm": {"max_calls": 1000, "max_input_chars": 1000000,
                             "max_output_chars": 1000000,
                             "allowed_models": [
                                 "gpt-4o-mini", "text-embedding-3-small",
                                 "claude-haiku-4-5", "gemini-2.5-flash"]}}})
case.install("sdk", with_sdks=True)

# ---- calls that are served --------------------------------------------------
rows, result = case.steps(
    "openaiChat", "openaiChatStream", "openaiChatStreamUsage",
    "openaiResponses", "openaiResponsesStream", "openaiEmbeddings",
    "openaiModels", "openaiSocket", "zstd", "gzip", "anthropicMessage",
    "anthropicStream", "anthropicCount", "geminiGenerate", "geminiStream")
check("the agent's program ends with 0", result.code == 0, result)
check("it printed what it meant to and nothing else", "odd" not in rows, rows)
for name in ("openaiChat", "openaiChatStream", "openaiResponses",
             "openaiResponsesStream", "anthropicMessage", "anthropicStream",
             "geminiGenerate", "geminiStream"):
    check(f"{name}: the SDK has the answer",
          rows.get(name, {}).get("text") == TEXT, rows.get(name))
check("usage reaches the agent",
      rows["openaiChat"].get("usage", {}).get("total_tokens") == 17
      and rows["anthropicStream"].get("usage", {}).get("output_tokens") == 6
      and rows["geminiGenerate"].get("usage", {}).get("totalTokenCount")
      == 17, rows)
check("usage that the agent did not ask for is left out of its stream",
      rows["openaiChatStream"].get("usage") is None
      and rows["openaiChatStream"].get("events") == 7,
      rows["openaiChatStream"])
check("usage that it asked for is in its stream",
      (rows["openaiChatStreamUsage"].get("usage") or {}).get("total_tokens")
      == 17, rows["openaiChatStreamUsage"])
check("embeddings", rows["openaiEmbeddings"].get("length") == 2, rows)
check("models", rows["openaiModels"].get("first") == "gpt-4o-mini", rows)
check("tokens are counted", rows["anthropicCount"].get("tokens") == 11, rows)
for name in ("openaiSocket", "zstd", "gzip"):
    check(f"{name} is served", rows[name].get("status") == 200, rows[name])

calls = case.provider.calls
check("each call reached the provider once", len(calls) == 15, len(calls))
check("with TLS 1.2 or later", {c.tls for c in calls} <= {"TLSv1.2",
                                                         "TLSv1.3"}, calls)
for call in calls:
    kind = {"anthropic": "anthropic", "gemini": "gemini"}.get(
        call.kind(), "openai")
    check(f"{call.method} {call.path}: the key, in its one field",
          call.key() == agent_case.KEYS[kind]
          and call.head.count(agent_case.KEYS[kind].encode()) == 1,
          call.head)
    check(f"{call.method} {call.path}: identity, and nothing of the client's",
          call.field("accept-encoding") == "identity"
          and call.field("content-encoding") is None
          and b"placeholder" not in call.head
          and b"no-key-here" not in call.head
          and b"stainless" not in call.head.lower()
          and b"127.0.0.1:4100" not in call.head, call.head)
asked = [c for c in calls if c.kind() == "chat" and c.streams()]
check("usage is asked for in every stream",
      all(c.json["stream_options"]["include_usage"] is True for c in asked),
      [c.json for c in asked])
check("nothing is stored at the provider",
      all(c.json.get("store") is False for c in calls
          if c.kind() == "responses"), [c.json for c in calls])

# ---- tools of the agent's own ----------------------------------------------
case.provider.mode = "tool"
rows, result = case.steps("openaiTool", "anthropicTool", "geminiTool")
for name in ("openaiTool", "anthropicTool", "geminiTool"):
    check(f"{name}: the model may ask for the agent's function",
          rows.get(name, {}).get("tool") == "look", rows)
case.provider.mode = "normal"

# ---- what is closed --------------------------------------------------------
before = len(case.provider.calls)
rows, result = case.steps(
    "openaiWrongModel", "openaiHostedTool", "openaiStored",
    "openaiRemoteImage", "anthropicHostedTool", "geminiHostedTool",
    "websocket")
for name, kind, status, code in (
        ("openaiWrongModel", "PermissionDeniedError", 403,
         "model_not_allowed"),
        ("openaiHostedTool", "BadRequestError", 400, "field_not_allowed"),
        ("openaiStored", "BadRequestError", 400, "field_not_allowed"),
        ("openaiRemoteImage", "BadRequestError", 400, "field_not_allowed"),
        ("anthropicHostedTool", "BadRequestError", 400,
         "field_not_allowed"),
        ("geminiHostedTool", "ApiError", 400, "field_not_allowed")):
    row = rows.get(name, {})
    check(f"{name} is refused as {kind} {status} with {code}",
          row.get("type") == kind and row.get("status") == status
          and code in row.get("message", ""), row)
check("a WebSocket is refused with its code",
      rows["websocket"].get("reason") == "upgrade_refused", rows)
check("nothing of that reached the provider",
      len(case.provider.calls) == before,
      [c.head for c in case.provider.calls[before:]])

# ---- errors of the provider -------------------------------------------------
for mode, step, kind, status in (
        ("status:429:7", "openaiChat", "RateLimitError", 429),
        ("status:429", "anthropicMessage", "RateLimitError", 429),
        ("status:429", "geminiGenerate", "ApiError", 429),
        ("status:500", "openaiChat", "InternalServerError", 500),
        ("redirect", "openaiChat", "InternalServerError", 502),
        ("gzip", "openaiChat", "InternalServerError", 502),
        ("raw:HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n"
         "\r\nabcd", "openaiChat", "InternalServerError", 502),
        ("raw:not HTTP at all\r\n\r\n", "openaiChat", "InternalServerError",
         502)):
    case.provider.mode = mode
    rows, result = case.steps(step)
    row = rows.get(step, {})
    check(f"{mode.split(chr(13))[0]}: {step} has {kind} {status}",
          row.get("type") == kind and row.get("status") == status, row)
    check(f"{mode.split(chr(13))[0]}: no word of the provider",
          "the key" not in result.out and not any(
              key in result.out for key in agent_case.KEYS.values()),
          result)
case.provider.mode = "cut"
rows, result = case.steps("openaiChatStream", "anthropicStream")
check("a stream that is cut is an error in both SDKs",
      not rows["openaiChatStream"].get("ok")
      and not rows["anthropicStream"].get("ok"), rows)
case.provider.mode = "normal"

# ---- a new key while the agent lives ----------------------------------------
before = len(case.provider.calls)
NEW = "sk-proj-rotatedWhileTheAgentLives0123456"
threading.Thread(target=lambda: (
    harness.wait_until(lambda: len(case.provider.calls) > before, 30),
    case.set_key("openai", NEW)), daemon=True).start()
rows, result = case.steps("openaiChat", "pause", "openaiChat")
seen = [call.key() for call in case.provider.calls[before:]]
check("auth set reaches the next call of a living run",
      seen == [agent_case.KEYS["openai"], NEW], (seen, result))

# ---- a key that is not there -----------------------------------------------
case.run("auth", "remove", "openai")
rows, result = case.steps("openaiChat")
check("no key: the SDK hears credential_unavailable",
      rows["openaiChat"].get("status") == 503
      and "credential_unavailable" in rows["openaiChat"]["message"], rows)

case.close()
harness.finish()
