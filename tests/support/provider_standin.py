"""A provider of language models that is a real TLS server on loopback and
speaks the wire formats of the three providers. .mode says how it behaves,
.calls holds what it was asked:

    normal             a short answer
    echo:FORM          the key it was sent, in that form, in its answer
    status:N[:RETRY]   an error in the provider's own shape
    redirect, gzip, silent, no_usage, cut (stream ends in the middle),
    big:BYTES (a stream of that size), slow:MS (between events),
    tool (asks for the function it was offered), raw:TEXT (those bytes)

A message whose text is "mode=MODE" has that one call answered so."""
import base64
import json
import threading
import time

from internet import TLSServer

NAMES = ("api.openai.com", "api.anthropic.com",
         "generativelanguage.googleapis.com", "models.example.test")
WORDS = ["The ", "answer ", "is ", "forty", "-two", "."]


def forms(key):
    """{name: text}: the key as an answer may hold it."""
    raw = key.encode()
    b64 = [base64.b64encode(b"x" * n + raw + b"y").decode() for n in (0, 1, 2)]
    return {
        "raw": key,
        "percent": "".join("%%%02X" % b for b in raw),
        "percent_lower": "".join("%%%02x" % b for b in raw),
        "percent_some": "".join(
            "%%%02x" % b if n % 3 == 0 else chr(b)
            for n, b in enumerate(raw)),
        "base64": base64.b64encode(raw).decode(),
        "base64_off1": b64[1], "base64_off2": b64[2],
        "base64url": base64.urlsafe_b64encode(raw).decode(),
        "bearer64": base64.b64encode(b"Bearer " + raw).decode(),
        "json_u": "".join("\\u%04x" % b for b in raw),
        "json_upper": "".join("\\u%04X" % b for b in raw),
        "json_some": "".join("\\u%04x" % b if n % 2 else chr(b)
                             for n, b in enumerate(raw)),
        "json_twice": "".join("\\\\u%04x" % b for b in raw),
        "hex": raw.hex(), "hex_upper": raw.hex().upper(),
    }


class Call:
    """One request as it came."""

    def __init__(self, head, body, tls):
        lines = head.decode("latin1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:]]
        self.head, self.body, self.tls = head, body, tls
        self.path = self.target.partition("?")[0]
        try:
            self.json = json.loads(body) if body else {}
        except ValueError:
            self.json = {}

    def field(self, name):
        return next((value for key, value in self.fields
                     if key.lower() == name), None)

    def key(self):
        text = (self.field("authorization") or self.field("x-api-key")
                or self.field("x-goog-api-key") or "")
        return text.removeprefix("Bearer ")

    def kind(self):
        if "/messages" in self.path:
            return "anthropic"
        if ":" in self.path:
            return "gemini"
        if self.path.endswith("/responses"):
            return "responses"
        if self.path.endswith("/embeddings"):
            return "embeddings"
        return "chat" if self.path.endswith("/completions") else "models"

    def streams(self):
        return (self.json.get("stream") is True
                or "streamGenerateContent" in self.path)


def read_call(conn, data):
    """(call, what follows) or (None, b"")."""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        if not more:
            return None, b""
        data += more
    head, data = data.split(b"\r\n\r\n", 1)
    call = Call(head, b"", conn.version())
    length = int(call.field("content-length") or 0)
    while len(data) < length:
        more = conn.recv(65536)
        if not more:
            return None, b""
        data += more
    return Call(head, data[:length], conn.version()), data[length:]


def usage(kind, call):
    out = len(WORDS)
    if kind == "chat":
        return {"prompt_tokens": 11, "completion_tokens": out,
                "total_tokens": 11 + out}
    if kind == "gemini":
        return {"promptTokenCount": 11, "candidatesTokenCount": out,
                "totalTokenCount": 11 + out}
    return {"input_tokens": 11, "output_tokens": out}


def tool_of(kind, call):
    tools = call.json.get("tools") or [{}]
    if kind == "chat":
        return tools[0].get("function", {}).get("name", "none")
    if kind == "gemini":
        return tools[0].get("functionDeclarations", [{}])[0].get("name", "")
    return tools[0].get("name", "none")


def whole(kind, call, text, mode):
    """The answer that is no stream."""
    model = call.json.get("model", "gemini-2.5-flash")
    tool = mode == "tool"
    said = {} if mode == "no_usage" else {"usage": usage(kind, call)}
    if kind == "chat":
        message = {"role": "assistant", "content": text, "refusal": None}
        if tool:
            message["tool_calls"] = [{
                "id": "call_1", "type": "function", "function": {
                    "name": tool_of(kind, call), "arguments": '{"a":1}'}}]
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1,
                "model": model, "choices": [{
                    "index": 0, "message": message, "logprobs": None,
                    "finish_reason": "tool_calls" if tool else "stop"}],
                **said}
    if kind == "responses":
        return {"id": "resp_1", "object": "response", "created_at": 1,
                "status": "completed", "model": model, "error": None,
                "output": [{"type": "message", "id": "msg_1",
                            "status": "completed", "role": "assistant",
                            "content": [{"type": "output_text", "text": text,
                                         "annotations": []}]}], **said}
    if kind == "embeddings":
        return {"object": "list", "model": model, "data": [
            {"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
            "usage": {"prompt_tokens": 11, "total_tokens": 11}}
    if kind == "anthropic":
        if call.path.endswith("count_tokens"):
            return {"input_tokens": 11}
        block = {"type": "text", "text": text}
        if tool:
            block = {"type": "tool_use", "id": "toolu_1",
                     "name": tool_of(kind, call), "input": {"a": 1}}
        return {"id": "msg_1", "type": "message", "role": "assistant",
                "model": model, "content": [block],
                "stop_reason": "tool_use" if tool else "end_turn",
                "stop_sequence": None, **said}
    if kind == "gemini":
        if call.path.endswith(":countTokens"):
            return {"totalTokens": 11}
        part = {"text": text}
        if tool:
            part = {"functionCall": {"name": tool_of(kind, call),
                                     "args": {"a": 1}}}
        answer = {"candidates": [{"content": {"parts": [part],
                                              "role": "model"},
                                  "finishReason": "STOP", "index": 0}],
                  "modelVersion": model}
        if mode != "no_usage":
            answer["usageMetadata"] = usage(kind, call)
        return answer
    return {"object": "list", "data": [{"id": "gpt-4o-mini",
                                        "object": "model", "created": 1,
                                        "owned_by": "test"}]}


def event(name, data):
    line = f"event: {name}\n" if name else ""
    return (line + "data: " + (data if isinstance(data, str)
                               else json.dumps(data)) + "\n\n").encode()


def chat_events(call, words, mode):
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "created": 1, "model": call.json.get("model")}
    asked = (call.json.get("stream_options") or {}).get("include_usage")
    extra = {"usage": None} if asked else {}
    for word in words:
        yield event(None, {**base, "choices": [{
            "index": 0, "delta": {"content": word},
            "finish_reason": None}], **extra})
    yield event(None, {**base, "choices": [{
        "index": 0, "delta": {}, "finish_reason": "stop"}], **extra})
    if asked and mode != "no_usage":
        yield event(None, {**base, "choices": [],
                           "usage": usage("chat", call)})
    yield event(None, "[DONE]")


def responses_events(call, words, mode):
    yield event("response.created", {
        "type": "response.created", "sequence_number": 0,
        "response": {"id": "resp_1", "object": "response", "output": []}})
    for number, word in enumerate(words):
        yield event("response.output_text.delta", {
            "type": "response.output_text.delta", "item_id": "msg_1",
            "output_index": 0, "content_index": 0, "delta": word,
            "sequence_number": number + 1})
    yield event("response.completed", {
        "type": "response.completed", "sequence_number": 99,
        "response": whole("responses", call, "".join(WORDS), mode)})


def anthropic_events(call, words, mode):
    start = whole("anthropic", call, "", mode)
    start.update(content=[], stop_reason=None)
    if mode != "no_usage":
        start["usage"] = {"input_tokens": 11, "output_tokens": 1}
    yield event("message_start", {"type": "message_start", "message": start})
    yield event("content_block_start", {
        "type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}})
    for word in words:
        yield event("content_block_delta", {
            "type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": word}})
    yield event("content_block_stop", {"type": "content_block_stop",
                                       "index": 0})
    yield event("message_delta", {
        "type": "message_delta", "delta": {"stop_reason": "end_turn",
                                           "stop_sequence": None},
        **({} if mode == "no_usage"
           else {"usage": {"output_tokens": len(WORDS)}})})
    yield event("message_stop", {"type": "message_stop"})


def gemini_events(call, words, mode):
    words = list(words)
    for number, word in enumerate(words):
        part = whole("gemini", call, word, "no_usage")
        if number < len(words) - 1:
            del part["candidates"][0]["finishReason"]
        elif mode != "no_usage":
            part["usageMetadata"] = usage("gemini", call)
        yield event(None, part)


EVENTS = {"chat": chat_events, "responses": responses_events,
          "anthropic": anthropic_events, "gemini": gemini_events}


def error_body(kind, status, text):
    if kind == "anthropic":
        return {"type": "error", "error": {
            "type": {429: "rate_limit_error", 401: "authentication_error",
                     529: "overloaded_error"}.get(status, "api_error"),
            "message": text}}
    if kind == "gemini":
        return {"error": {"code": status, "message": text,
                          "status": "RESOURCE_EXHAUSTED"}}
    return {"error": {"message": text, "type": "rate_limit_error"
                      if status == 429 else "invalid_request_error",
                      "param": None, "code": None}}


class Provider:
    def __init__(self, pem, address="127.0.0.1", port=0):
        self.mode, self.calls, self.cancelled = "normal", [], 0
        self.open, self.open_peak = 0, 0
        self.lock = threading.Lock()
        self.server = TLSServer(pem, address, port, behaviour=self.serve)
        self.port = self.server.port

    def close(self):
        self.server.close()

    def serve(self, conn):
        conn.settimeout(120)
        data = b""
        while True:
            call, data = read_call(conn, data)
            if call is None:
                return
            self.calls.append(call)
            with self.lock:
                self.open += 1
                self.open_peak = max(self.open, self.open_peak)
            try:
                if not self.answer(conn, call):
                    return
            except OSError:
                self.cancelled += 1
                return
            finally:
                with self.lock:
                    self.open -= 1

    @staticmethod
    def send(conn, status, body, kind="application/json", extra=()):
        head = [f"HTTP/1.1 {status} X", "Content-Type: " + kind,
                f"Content-Length: {len(body)}", "Server: stand-in",
                "Set-Cookie: session=1", "x-request-id: req_1", *extra]
        conn.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        return True

    def asked(self, call):
        """A message "mode=..." says how this one call is answered."""
        text = call.body.decode("utf-8", "replace")
        at = text.find('"mode=')
        return self.mode if at < 0 else text[at + 6:text.index('"', at + 1)]

    def answer(self, conn, call):
        mode, _, value = self.asked(call).partition(":")
        kind = call.kind()
        if mode == "silent":
            time.sleep(60)
            return False
        if mode == "raw":
            conn.sendall(value.encode("latin1"))
            return False
        if mode == "redirect":
            return self.send(conn, 302, b"", extra=[
                "Location: https://elsewhere.example/" + call.key()])
        if mode == "status":
            status, _, retry = value.partition(":")
            text = json.dumps(error_body(kind, int(status),
                                         "the key " + call.key()))
            return self.send(conn, status, text.encode(), extra=[
                "Retry-After: " + retry] if retry else [])
        if mode == "gzip":
            import gzip
            body = gzip.compress(json.dumps(
                whole(kind, call, call.key(), "normal")).encode())
            return self.send(conn, 200, body,
                             extra=["Content-Encoding: gzip"])
        words = WORDS
        if mode == "echo":
            form = forms(call.key())[value]
            words = [form] if not call.streams() else self.pieces(form)
        if call.streams() and kind in EVENTS:
            return self.stream(conn, call, words, mode, value)
        text = "\0".join(words) if mode == "echo" else "".join(words)
        body = json.dumps(whole(kind, call, text, mode))
        if mode == "echo" and value.startswith("json"):
            # the form is JSON's own escape: it must stand unescaped
            body = body.replace(json.dumps(text), '"' + text + '"')
        return self.send(conn, 200, body.encode(), extra=[
            "x-echo: " + text] if mode == "echo" else [])

    @staticmethod
    def pieces(text):
        return [text]

    def stream(self, conn, call, words, mode, value):
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"
                     b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        if mode == "big":
            return self.big(conn, int(value))
        sent = 0
        for data in EVENTS[call.kind()](call, words, mode):
            if mode == "echo":
                if value.startswith("json"):
                    data = data.replace(json.dumps(words[0])[1:-1].encode(),
                                        words[0].encode())
                # chunk borders inside the key
                for at in range(0, len(data), 7):
                    self.chunk(conn, data[at:at + 7])
                continue
            self.chunk(conn, data)
            sent += 1
            if mode == "cut" and sent == 3:
                return False
            if mode == "slow":
                time.sleep(int(value) / 1000)
        conn.sendall(b"0\r\n\r\n")
        return True

    @staticmethod
    def chunk(conn, data):
        conn.sendall(b"%x\r\n" % len(data) + data + b"\r\n")

    def big(self, conn, size):
        data = event(None, {"choices": [{"index": 0, "delta": {
            "content": "x" * 16000}}]})
        sent = 0
        while sent < size:
            self.chunk(conn, data)
            sent += len(data)
        conn.sendall(b"0\r\n\r\n")
        return True
