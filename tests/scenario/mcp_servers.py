"""Real MCP servers from npm, pinned, installed and run sealed: the official
TypeScript SDK's client and the Inspector's command line use them through
`agentnode mcp run`."""
import json
import os

import harness
import mcp_setup
from harness import check
from mcp_client import Client
from mcp_clients import inspector, sdk, text
from mcp_setup import run_words

DATA = "data:text/plain;base64,aGVsbG8gaGVsbG8="
# Every tool of server-everything that asks nothing of the client.
TOOLS = {
    "echo": {"message": "hello"},
    "get-annotated-message": {"messageType": "success",
                              "includeImage": True},
    "get-env": {},
    "get-resource-links": {"count": 3},
    "get-resource-reference": {"resourceType": "Text", "resourceId": 1},
    "get-structured-content": {"location": "Chicago"},
    "get-sum": {"a": 19, "b": 23},
    "get-tiny-image": {},
    "gzip-file-as-resource": {"name": "a.gz", "data": DATA,
                              "outputType": "resource"},
    "toggle-simulated-logging": {},
    "toggle-subscriber-updates": {},
}
LONG = "trigger-long-running-operation"
TASK = "simulate-research-query"


def everything(home):
    steps = [["tools"]] + [["call", name, args]
                           for name, args in TOOLS.items()]
    steps += [
        ["progress", LONG, {"duration": 2, "steps": 4}],
        ["cancel", LONG, {"duration": 30, "steps": 3}, 500],
        ["task", TASK, {"topic": "sandboxes"}],
        ["resources"], ["read", "demo://resource/dynamic/text/1"],
        ["subscribe", "demo://resource/dynamic/text/1"],
        ["templates"], ["prompts"], ["prompt", "simple-prompt", {}],
        ["complete", {"type": "ref/prompt", "name": "completable-prompt"},
         {"name": "department", "value": "E"}],
        ["level", "debug"], ["ping"]]
    out = sdk(home, "server-everything", steps)
    results = out["results"]
    names = {t["name"] for t in results[0].get("ok", {}).get("tools", [])}
    check("tools that need no client are listed",
          names == set(TOOLS) | {LONG, TASK}, names)
    for name, result in zip(TOOLS, results[1:]):
        ok = result.get("ok", {})
        check(f"tool {name} works", ok.get("content") and
              not ok.get("isError"), result)
    rest = results[1 + len(TOOLS):]
    check("echo and sum are right",
          text(results[1]["ok"]) == "Echo: hello" and
          "42" in text(results[7]["ok"]), (results[1], results[7]))
    env = json.loads(text(results[3]["ok"]))
    check("the environment is the sandbox's own",
          env["HOME"] == "/sandbox-home" and
          not any(k.startswith(("AGENTNODE", "SSL", "XDG")) for k in env),
          env)
    ok = rest[0].get("ok", {})
    check("progress notifications are delivered",
          len(ok.get("seen", [])) >= 3 and ok["seen"] == sorted(ok["seen"]),
          rest[0])
    check("a call is cancelled", rest[1].get("ok", {}).get("cancelled"),
          rest[1])
    check("a task is created, polled and answered",
          rest[2].get("ok", {}).get("seen", [""])[0] == "taskCreated" and
          rest[2]["ok"].get("result"), rest[2])
    for name, result in zip(
            ("resources are listed", "a resource is read",
             "a resource is subscribed", "templates are listed",
             "prompts are listed", "a prompt is got",
             "an argument is completed", "the log level is set",
             "ping is answered"), rest[3:]):
        check(name, "ok" in result, result)
    check("the server asked the client for nothing", out["asked"] == [],
          out["asked"])
    check("the client's end is quick", out.get("close_ms", 9999) < 4000,
          out.get("close_ms"))


def everything_inspector(home):
    listed, raw = inspector(home, "server-everything", "--method",
                            "tools/list")
    check("the Inspector lists the tools",
          {t["name"] for t in listed.get("tools", [])} >= set(TOOLS), raw)
    called, raw = inspector(home, "server-everything", "--method",
                            "tools/call", "--tool-name", "get-sum",
                            "--tool-arg", "a=2", "b=3")
    check("the Inspector calls a tool", "5" in text(called), raw)
    read, raw = inspector(home, "server-everything", "--method",
                          "resources/list")
    check("the Inspector lists resources", read.get("resources"), raw)
    got, raw = inspector(home, "server-everything", "--method",
                         "prompts/list")
    check("the Inspector lists prompts", got.get("prompts"), raw)


def filesystem(home):
    folder = mcp_setup.package({"notes.txt": "first\n",
                                "deep/er/b.txt": "second\n"}, "files")
    mcp_setup.install(home, mcp_setup.FILESYSTEM, "--files", folder, "--",
                      "/files")
    out = sdk(home, "server-filesystem", [
        ["tools"],
        ["call", "list_allowed_directories", {}],
        ["call", "read_text_file", {"path": "/files/notes.txt"}],
        ["call", "read_text_file", {"path": "/files/deep/er/b.txt"}],
        ["call", "list_directory", {"path": "/files"}],
        ["call", "write_file", {"path": "/files/new.txt",
                                "content": "third"}],
        ["call", "read_text_file", {"path": "/files/new.txt"}],
        ["call", "read_text_file", {"path": "/etc/passwd"}],
        ["call", "search_files", {"path": "/files", "pattern": "**/*.txt"}]])
    results = [r.get("ok", r) for r in out["results"]]
    check("filesystem: the folder is /files", "/files" in text(results[1]),
          results[1])
    check("filesystem: files are read", text(results[2]) == "first\n" and
          text(results[3]) == "second\n", results[2:4])
    check("filesystem: they are listed", "notes.txt" in text(results[4]),
          results[4])
    check("filesystem: and may be written to", text(results[6]) == "third",
          results[5:7])
    check("filesystem: outside is refused", results[7].get("isError"),
          results[7])
    check("filesystem: search", "b.txt" in text(results[8]), results[8])
    check("the host's folder is untouched",
          sorted(os.listdir(folder)) == ["deep", "notes.txt"])
    listed, raw = inspector(home, "server-filesystem", "--method",
                            "tools/call", "--tool-name", "read_text_file",
                            "--tool-arg", "path=/files/notes.txt")
    check("filesystem: the Inspector reads", text(listed) == "first\n", raw)


def memory(home):
    mcp_setup.install(home, mcp_setup.MEMORY, "--state", "1m", "--env",
                      "MEMORY_FILE_PATH=/state/memory.jsonl")
    entity = {"name": "Ada", "entityType": "person",
              "observations": ["writes programs"]}
    out = sdk(home, "server-memory", [
        ["tools"], ["call", "create_entities", {"entities": [entity]}],
        ["call", "read_graph", {}]])
    check("memory: an entity is made",
          "Ada" in json.dumps(out["results"][1:]), out["results"][1:])
    out = sdk(home, "server-memory", [
        ["call", "search_nodes", {"query": "Ada"}],
        ["call", "add_observations", {"observations": [
            {"entityName": "Ada", "contents": ["likes engines"]}]}]])
    check("memory: it is there in the next run",
          "writes programs" in json.dumps(out["results"][0]),
          out["results"])
    graph, raw = inspector(home, "server-memory", "--method", "tools/call",
                           "--tool-name", "read_graph")
    check("memory: and in the one after, for the Inspector",
          "likes engines" in json.dumps(graph), raw)


def client(home):
    """What a client does that no tool shows."""
    server = Client(run_words("server-everything"),
                    env=harness.environment(home),
                    capabilities={"roots": {"listChanged": True}})
    answer = server.initialize()
    check("initialize is answered", answer and "result" in answer, answer)
    print(f"# first answer after {server.first_answer * 1000:.0f} ms")
    server.note("notifications/roots/list_changed")
    listed = server.ask("tools/list")["result"]["tools"]
    check("a server that asks for roots has no roots tool",
          "get-roots-list" not in {t["name"] for t in listed})
    refused = server.ask("sampling/createMessage")
    check("a method that is not a client's is refused",
          refused["error"]["data"]["reason"] == "method_not_allowed",
          refused)
    check("closing ends it with the server's code",
          server.close() == 0, server.text())


home = mcp_setup.home(registry=True)
try:
    mcp_setup.install(home, mcp_setup.EVERYTHING)
    for part in (client, everything, everything_inspector, filesystem,
                 memory):
        print(f"# {part.__name__}", flush=True)
        part(home)
finally:
    mcp_setup.forget(home)
left = [name for name in mcp_setup.engine_case.podman(
    "ps", "-a", "--format", "{{.Names}}").stdout.split()
    if name.startswith("agentnode-mcp-server-")]
check("no container is left", left == [], left)
harness.finish()
