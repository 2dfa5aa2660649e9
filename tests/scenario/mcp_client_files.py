"""`mcp config` and `mcp import` as a client's user meets them: what is
printed is what the client reads, fits its schema, starts the server, and
holds no value of an environment variable."""
import json
import os
import re

import harness
import mcp_setup
import schema_check
from harness import agentnode, check
from mcp_client import Client

CLIENTS = {"claude-desktop": "mcpServers", "claude-code": "mcpServers",
           "cursor": "mcpServers", "vscode": "servers"}
SERVER = r"""
require('readline').createInterface({ input: process.stdin }).on('line', (l) => {
  const m = JSON.parse(l);
  if (m.method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0',
    id: m.id, result: { protocolVersion: m.params.protocolVersion,
      capabilities: {}, serverInfo: { name: process.argv[2],
        version: process.env.SETTING } } }));
}).on('close', () => process.exit(0));
"""
SECRET = "s3cret-value-of-a-key"
FILE = """{ // what a person wrote
  "mcpServers": {
    "good": {"command": "npx", "args": ["-y", "@a/b@1.2.3", "/usr", "x y"],
             "env": {"API_KEY": "%s"}},
    "float": {"command": "npx", "args": ["b"]},
    "python": {"command": "uvx", "args": ["--from", "c==2.0.0", "c-run"]},
    "remote": {"url": "https://example.test/mcp"},
    "docker": {"command": "docker", "args": ["run", "x"]},
  },
}""" % SECRET


def snippet(home, client, *words):
    return agentnode(home, "mcp", "config", "named", "--client", client,
                     *words)


def toml_server(text):
    """command and args of the one table of a codex snippet."""
    values = dict(re.findall(r"^(command|args) = (.*)$", text, re.MULTILINE))
    return {key: json.loads(value) for key, value in values.items()}


def starts(home, name, server):
    """The client's side of a snippet: started elsewhere, without us."""
    env = {"PATH": os.environ["PATH"], "HOME": home,
           **server.get("env", {})}
    client = Client([server["command"], *server["args"]], env=env, cwd="/")
    answer = client.initialize() or {}
    info = answer.get("result", {}).get("serverInfo", {})
    check(f"{name}: what the snippet says starts the server",
          info == {"name": "the word", "version": "on"},
          (answer, client.text()))
    check(f"{name}: and ends with it", client.close() == 0, client.text())


def configs(home):
    words = ("--env", "SETTING=on", "--", "the word")
    for client, key in CLIENTS.items():
        result = snippet(home, client, *words)
        if not check(f"{client}: JSON", result.code == 0 and
                     list(result.json()) == [key], result):
            continue
        server = result.json()[key]["named"]
        check(f"{client}: absolute paths", os.path.isabs(server["command"])
              and os.path.isabs(server["args"][
                  server["args"].index("--lockfile") + 1]), server)
        check(f"{client}: type as it wants it", (server.get("type") ==
              "stdio") == (client in ("claude-code", "vscode")), server)
    starts(home, "vscode", server)
    result = snippet(home, "codex", *words)
    check("codex: TOML", result.code == 0 and
          result.out.startswith("[mcp_servers.named]\n"), result)
    starts(home, "codex", {**toml_server(result.out),
                           "env": server.get("env", {})})
    for name, words, code in (
            ("no client", ("mcp", "config", "named"), 2),
            ("another client", ("mcp", "config", "named", "--client", "x"),
             2),
            ("no slug", ("mcp", "config", "--client", "codex"), 2),
            ("unknown slug", ("mcp", "config", "none", "--client", "codex"),
             1)):
        result = agentnode(home, *words)
        check(f"config with {name}: exit {code}", result.code == code and
              result.out == "" and result.err.count("\n") == 1, result)


def imports(home):
    path = os.path.join(home, "client.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FILE)
    result = agentnode(home, "mcp", "import", path, "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE, "mcp-import")
    check("import --json fits its schema", fault == "", fault)
    rows = {row["name"]: row for row in result.json()["servers"]}
    check("import: the status of each", {
        name: row["status"] for name, row in rows.items()} == {
            "good": "ready", "float": "pin", "python": "ready",
            "remote": "refused", "docker": "refused"}, rows)
    check("import: a folder becomes --files, words are quoted",
          rows["good"]["command"] == "agentnode mcp install npm:@a/b@1.2.3"
          " --name good --files /usr -- /files 'x y'", rows["good"])
    check("import: pip's form", rows["python"]["command"] ==
          "agentnode mcp install pypi:c==2.0.0 --name python",
          rows["python"])
    check("import: something is left to do: exit 1", result.code == 1)
    text = agentnode(home, "mcp", "import", path)
    check("import: variables are named, their values are not",
          "API_KEY" in text.out and SECRET not in text.out + result.out,
          text)
    again = agentnode(home, "mcp", "config", "named", "--client", "cursor")
    with open(path, "w", encoding="utf-8") as file:
        file.write(again.out)
    result = agentnode(home, "mcp", "import", path)
    check("import: what we printed is known as ours",
          result.code == 0 and "already" in result.out, result)
    for name, text in (("empty", ""), ("cut", "{\"mcpServers\":"),
                       ("no servers", "{}"), ("a list", "[]"),
                       ("binary", "\x00\x01"), ("bad TOML", "[x\n"),
                       ("twice", '{"mcpServers":{"a":1,"a":2}}')):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        result = agentnode(home, "mcp", "import", path)
        check(f"import of {name}: exit 5, one sentence",
              result.code == 5 and result.err.count("\n") == 1 and
              path in result.err and result.out == "", result)
    result = agentnode(home, "mcp", "import", "/nonexistent")
    check("import of no file: exit 5", result.code == 5, result)


def lists(home):
    for words in (("mcp", "list"), ("mcp", "tools", "named")):
        result = agentnode(home, *words, "--json")
        if words[1] == "tools":  # this server knows no tools
            check("mcp tools of a server without them: list_failed",
                  result.code == 1 and "list_failed" in result.err, result)
            continue
        fault = schema_check.check_text(
            result.out, harness.SOURCE, "mcp-list")
        check("mcp list --json fits its schema", fault == "", fault)


home = mcp_setup.home({"mcp": {"start_timeout_s": 5}})
try:
    mcp_setup.install(home, mcp_setup.package({
        "package.json": json.dumps({"name": "named", "version": "1.0.0",
                                    "bin": "server.js"}),
        "server.js": SERVER}), "--name", "named")
    for part in (configs, imports, lists):
        print(f"# {part.__name__}", flush=True)
        part(home)
finally:
    mcp_setup.forget(home)
harness.finish()
