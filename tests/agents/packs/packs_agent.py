# SPDX-License-Identifier: Apache-2.0
"""Calls what its input lists and returns what it heard."""
import http.client
import json
import threading
import time


def one(ctx, slug, tool=None, arguments=None):
    begin = time.monotonic()
    try:
        heard = dict(ctx.run_tool(slug, tool, **(arguments or {})))
    except RuntimeError as error:
        heard = {"refused": getattr(error, "code", ""), "text": str(error)}
    heard["seconds"] = time.monotonic() - begin
    return heard


def listed():
    """tools/list of every package, as an MCP client asks."""
    connection = http.client.HTTPConnection("127.0.0.1", 4101)
    connection.request("POST", "/mcp", json.dumps({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list"}), {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream"})
    return json.loads(connection.getresponse().read())


def at_once(ctx, calls):
    out = [None] * len(calls)

    def go(index):
        out[index] = one(ctx, *calls[index])
    threads = [threading.Thread(target=go, args=(i,))
               for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def run(ctx, calls=(), together=(), tools=False):
    return {"calls": [one(ctx, *call) for call in calls],
            "together": at_once(ctx, together),
            "tools": listed() if tools else None}
