# SPDX-License-Identifier: Apache-2.0
"""An MCP client as a program: ask_server.py COMMAND... starts the command,
says hello, calls the tool `walls`, prints its text and leaves as a client
does. Exit 0 only when everything went well."""
import sys

from mcp_client import Client, Ended

client = Client(sys.argv[1:], stderr=None)
try:
    answer = client.initialize(20)
    result = client.call("walls", 20) if answer and "result" in answer else {}
    print((result.get("content") or [{}])[0].get("text"), flush=True)
except (Ended, AttributeError) as error:
    print(repr(error), file=sys.stderr)
    result = {}
code = client.close(20)
sys.exit(code if isinstance(code, int) and code else
         0 if result.get("content") else 1)
