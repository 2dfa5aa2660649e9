"""`agentnode mcp run` with servers made for it: what a client sees when a
server misbehaves, when a part of ours dies, when the lockfile is wrong; that
state is kept only when it should be; and that nothing is left behind."""
import json
import os
import signal
import subprocess
import threading
import time

import engine_case
import harness
import machine_pace
import mcp_setup
import schema_check
from harness import agentnode, check
from mcp_client import Client, Ended
from mcp_setup import run_words

SERVER = r"""
const fs = require('fs');
const lines = require('readline').createInterface({ input: process.stdin });
const say = (o) => process.stdout.write(JSON.stringify(o) + '\n');
const text = (t) => ({ content: [{ type: 'text', text: String(t) }] });
let stubborn = false;
const tools = {
  echo: (a) => a.text,
  die: (a) => process.exit(a.code),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  noise: () => { console.log('not json\n{"level":30}'); return 'ok'; },
  flood: (a) => { for (let i = 0; i < a.lines; i++)
    process.stdout.write('x'.repeat(2000) + '\n'); return 'ok'; },
  big: (a) => 'b'.repeat(a.bytes),
  never: () => undefined,
  shout: (a) => { console.error(a.text); return 'ok'; },
  write: (a) => { fs.writeFileSync(a.path, a.text); return 'ok'; },
  read: (a) => fs.readFileSync(a.path, 'utf8'),
  append: (a) => { fs.appendFileSync(a.path, a.text); return 'ok'; },
  info: () => JSON.stringify({ env: process.env, cwd: process.cwd(),
    args: process.argv.slice(2) }),
  stubborn: () => { stubborn = true; process.on('SIGTERM', () => {});
    for (let i = 0; i < 3; i++) require('child_process').spawn(
      process.execPath, ['-e', "process.on('SIGTERM',()=>{});for(;;);//" +
        process.argv[2]],
      { stdio: 'ignore' });
    return 'ok'; },
  ask: () => { say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
    say({ jsonrpc: '2.0', id: 'r', method: 'sampling/createMessage',
      params: {} }); return 'ok'; },
  twice: () => { say({ jsonrpc: '2.0', id: 999, result: {} }); return 'ok'; },
};
const refused = [];
lines.on('line', (line) => {
  const m = JSON.parse(line);
  if (m.error) refused.push(m.error.data && m.error.data.reason);
  if (m.method === 'initialize') {
    tools.seen = () => JSON.stringify(m.params.capabilities);
    tools.refused = () => JSON.stringify(refused);
    say({ jsonrpc: '2.0', id: m.id, result: { protocolVersion:
      m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'odd', version: '1' } } });
  } else if (m.method === 'tools/list') {
    say({ jsonrpc: '2.0', id: m.id, result: { tools: Object.keys(tools).map(
      (name) => ({ name, inputSchema: { type: 'object' } })) } });
  } else if (m.method === 'tools/call') {
    let result;
    try { result = tools[m.params.name](m.params.arguments || {}); }
    catch (e) { result = e; }
    if (result !== undefined)
      say({ jsonrpc: '2.0', id: m.id, result: text(result) });
  }
});
lines.on('close', () => { if (!stubborn) process.exit(0); });
"""
TOKEN = os.urandom(8).hex()  # in the command line of what runs inside
PACKAGE = json.dumps({"name": "odd", "version": "1.0.0",
                      "bin": {"odd": "server.js"}})


def start(home, slug="odd", *words, **options):
    if "--" not in words:
        words += ("--", TOKEN)
    client = Client(run_words(slug, *words),
                    env=harness.environment(home), **options)
    answer = client.initialize()
    if not answer or "result" not in answer:
        check(f"{slug} starts", False, (answer, client.text()))
    return client


def said(result):
    return (result or {}).get("content", [{}])[0].get("text")


def log_events(home, name, program="agentnode-gate"):
    path = os.path.join(home, ".agentnode", "log", program + ".jsonl")
    return [e for e in harness.json_lines(path) if e["event"] == name]


def basics(home):
    client = start(home, "odd", "--env", "COLOUR=blue", "--", "one", "t wo",
                   capabilities={"roots": {}, "sampling": {}})
    info = json.loads(said(client.call("info")))
    check("words behind -- arrive", info["args"] == ["one", "t wo"],
          info["args"])
    check("--env arrives, the host's environment does not",
          info["env"].get("COLOUR") == "blue" and
          not any(k.startswith(("AGENTNODE", "XDG", "SSL"))
                  for k in info["env"]), info["env"])
    check("the client's capabilities are gone",
          said(client.call("seen")) == "{}")
    check("noise does not reach the client",
          said(client.call("noise")) == "ok" and client.strange == [],
          client.strange)
    check("questions of the server do not either",
          said(client.call("ask")) == "ok" and client.asked == [],
          client.asked)
    check("the server is told", said(client.call("refused")) ==
          '["capability_off","capability_off"]')
    check("an answer nobody asked for is dropped",
          said(client.call("twice")) == "ok" and
          999 not in client.answers)
    check("the closed client ends it with 0", client.close() == 0,
          client.text())
    check("without --verbose nothing is on standard error",
          client.error_text == b"", client.text())


def loud(home):
    client = start(home, "odd", "--verbose")
    client.call("shout", text="seen \x1b[31m")
    harness.wait_until(lambda: b"seen" in client.error_text, 5)
    check("--verbose shows standard error, made safe",
          b"seen \\x1b[31m" in client.error_text, client.text())
    client.close()
    check("it is in the log as well", any(
        "seen" in e["text"] for e in log_events(home, "workload_stderr")))


def large(home):
    client = start(home)
    check("an answer of 8 MiB passes",
          len(said(client.call("big", 60, bytes=8 << 20)) or "") == 8 << 20)
    check("a flood of noise does not stop a call",
          said(client.call("flood", 60, lines=20000)) == "ok")
    check("and none of it is seen", client.strange == [])
    client.close()
    home_small = mcp_setup.home({"mcp": {"line_max": 65536}})
    os.symlink(os.path.join(home, ".agentnode", "agentnode.lock"),
               os.path.join(home_small, "lock"))
    lock = os.path.join(home, ".agentnode", "agentnode.lock")
    check("the other home consents", agentnode(
        home_small, "lock", "seal", "--lockfile", lock).code == 0)
    client = start(home_small, "odd", "--lockfile", lock)
    error = client.call("big", 60, bytes=200000)
    check("mcp.line_max is kept: an error for that call", error.get(
        "error", {}).get("data", {}).get("reason") == "line_too_long", error)
    check("and the next call works", said(client.call("echo", text="x")) ==
          "x")
    client.close()


def dying(home):
    client = start(home)
    other = client.post("tools/call", name="never", arguments={})
    error = client.call("die", code=7)
    check("a server that exits in a call: an error with its code",
          "server ended (exit 7)" in error["error"]["message"], error)
    check("the other call that waited is told too",
          "server ended" in client.wait(other)["error"]["message"])
    check("its exit code is passed on", client.exit_code() == 7,
          client.text())
    client = start(home)
    error = client.call("kill")
    check("a server that is killed: its signal",
          "server ended (signal 9)" in error["error"]["message"], error)
    check("as exit code", client.exit_code() == 128 + 9, client.text())


def ending(home):
    client = start(home)
    client.post("tools/call", name="never", arguments={})
    begin = time.monotonic()
    code = client.close()
    check("a client that leaves in a call ends it in order", code == 0,
          (code, client.text()))
    check("within the server's grace", time.monotonic() - begin < 6,
          time.monotonic() - begin)
    client = start(home)
    client.call("stubborn")
    begin = time.monotonic()
    code = client.close()
    check("a server that will not go is ended", code == 0,
          (code, client.text()))
    check("soon", time.monotonic() - begin < 8, time.monotonic() - begin)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        client = start(home)
        client.process.send_signal(getattr(signal, name))
        code = client.exit_code()
        check(f"{name} ends it", code not in ("timeout", 125), code)
    process = subprocess.Popen(
        run_words("odd"), env=harness.environment(home),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"nope"}\n')
    process.stdin.flush()
    try:
        code = process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        code = "timeout"
    check("a client that stops reading ends it", code != "timeout", code)


def deaf(home):
    """A gate that does nothing any more, and one that is never done with
    reading, hold up nobody who wants an end."""
    client = start(home)
    gate = engine_case.children(client.process.pid)["agentnode-gate"]
    os.kill(gate, signal.SIGSTOP)
    with open("/dev/zero", "rb") as zero, open("/dev/full", "wb") as full:
        busy = subprocess.Popen(
            run_words("odd"), env=harness.environment(home), stdin=zero,
            stdout=full, stderr=subprocess.PIPE, text=True)
    engine_case.wait(20, lambda: "agentnode-gate" in engine_case.children(
        busy.pid))
    time.sleep(1)
    for process in (client.process, busy):
        process.terminate()
    code = client.exit_code()
    check("a gate that is stopped does not keep its run",
          code not in (0, "timeout") and "close_timeout" in client.text(),
          (code, client.text()))
    try:
        err = busy.communicate(timeout=15)[1]
    except subprocess.TimeoutExpired:
        busy.kill()
        err = busy.communicate()[1] + " (timeout)"
    check("nor does endless input", "timeout)" not in err, err)


def parts_die(home):
    for name in ("agentnode-gate", "agentnode-ledge"):
        client = start(home)
        client.call("stubborn")
        inside = running()
        pid = engine_case.children(client.process.pid).get(name[:15])
        if not check(f"{name} is there", pid, engine_case.children(
                client.process.pid)):
            continue
        deadline = machine_pace.Deadline(1)
        os.kill(pid, signal.SIGKILL)
        check(f"{name} killed: the server is dead within 1 s",
              deadline.wait(lambda: not running() & inside), deadline)
        code = client.exit_code()
        check(f"{name} killed: a code and a sentence",
              code not in (0, "timeout") and
              client.text().startswith("agentnode: "),
              (code, client.text()))
    client = start(home)
    client.call("stubborn")
    inside = running()
    deadline = machine_pace.Deadline(1)
    client.process.kill()
    check("the supervisor killed: the server is dead within 1 s",
          deadline.wait(lambda: not running() & inside), deadline)
    client.exit_code()


def running():
    """Host pids of the test server's processes, wherever they are."""
    found = set()
    for entry in os.listdir("/proc"):
        words = engine_case.text(f"/proc/{entry}/cmdline").split("\0") \
            if entry.isdigit() else [""]
        if words[0].rpartition("/")[2] == "node" and \
                TOKEN in " ".join(words):
            found.add(int(entry))
    return found


def allowlist(home):
    mcp_setup.install(home, mcp_setup.package(
        {"package.json": PACKAGE, "server.js": SERVER}), "--name", "narrow",
        "--tool", "echo", "--tool", "read")
    client = start(home, "narrow")
    names = [t["name"] for t in client.ask("tools/list")["result"]["tools"]]
    check("only the allowed tools are listed", names == ["echo", "read"],
          names)
    error = client.call("write", path="/tmp/x", text="y")
    check("another one is refused with the remedy",
          "--tool write" in error["error"]["message"], error)
    client.close()
    result = agentnode(home, "mcp", "tools", "narrow", "--json")
    fault = schema_check.check_text(result.out, harness.SOURCE, "mcp-tools")
    check("mcp tools --json fits its schema", fault == "", fault)
    listed = result.json()
    marks = {t["name"]: t["allowed"] for t in listed["tools"]}
    check("mcp tools marks them", marks["echo"] is True and
          marks["write"] is False, marks)


def keeping(home):
    files = mcp_setup.package({"a/b.txt": "inside"}, "files")
    package = mcp_setup.package(
        {"package.json": PACKAGE, "server.js": SERVER})
    mcp_setup.install(home, package, "--name", "keeper", "--state", "1m",
                      "--files", files)
    note = "/state/sub.txt"
    client = start(home, "keeper")
    info = json.loads(said(client.call("info")))
    check("a server with state lives in it", info["cwd"] == "/state" and
          info["env"]["HOME"] == "/state", info)
    check("files are there", said(client.call(
        "read", path="/files/a/b.txt")) == "inside")
    client.call("write", path=note, text="one")
    client.close()
    client = start(home, "keeper")
    check("state is kept", said(client.call("read", path=note)) == "one")
    check("what was written to the files is not kept",
          said(client.call("append", path="/files/a/b.txt", text="!")) ==
          "ok")
    second = Client(run_words("keeper"), env=harness.environment(home))
    try:
        second.initialize(20)
    except Ended:
        pass
    check("a second run at the same time is refused",
          second.exit_code() == 125 and "another run" in second.text(),
          second.text())
    client.call("write", path=note, text="two")
    client.process.kill()
    client.exit_code()
    client = start(home, "keeper")
    check("after a crash the state before it is there",
          said(client.call("read", path=note)) == "one")
    check("the host's files are untouched",
          open(os.path.join(files, "a/b.txt")).read() == "inside")
    client.call("write", path=note, text="three")
    client.call("die", code=3)
    check("a server that exits in order by itself: its code",
          client.exit_code() == 3, client.text())
    client = start(home, "keeper")
    check("and its state is kept",
          said(client.call("read", path=note)) == "three")
    client.call("write", path="/state/huge", text="x")
    client.close()
    os.chmod(files, 0o755)
    with open(os.path.join(files, "huge"), "wb") as file:
        file.truncate(80 << 20)
    os.chmod(file.name, 0o644)
    result = agentnode(home, "mcp", "run", "keeper")
    check("files that are too large are refused with the reason",
          result.code == 125 and "files_failed" in result.err, result)
    os.remove(file.name)
    os.symlink("/etc/passwd", os.path.join(files, "link"))
    result = agentnode(home, "mcp", "run", "keeper")
    check("a link that leads out is refused", result.code == 125 and
          "link" in result.err, result)


def wrong(home):
    lock_path = os.path.join(home, ".agentnode", "agentnode.lock")
    good = open(lock_path, encoding="utf-8").read()
    empty = mcp_setup.home()

    def refused(name, code, word, *words, at=home):
        result = agentnode(at, "mcp", "run", *words)
        check(f"{name}: {code}, {word}", result.code == code and
              word in result.err and result.out == "" and
              result.err.count("\n") == 1, result)

    refused("no slug", 2, "mcp run")
    refused("two slugs", 2, "mcp run", "odd", "odd")
    refused("unknown slug", 125, "not_installed", "nothing")
    refused("no lockfile", 125, "bad_lockfile", "odd", at=empty)
    refused("an --allow that is none", 125, "egress", "odd", "--allow",
            "https://x")
    refused("an --env that is none", 125, "bad_spec", "odd", "--env", "X")
    refused("an --env of the proxy", 125, "bad_spec", "odd", "--env",
            "HTTPS_PROXY=http://x")
    with open(lock_path, "w", encoding="utf-8") as file:
        file.write(good.replace('"/pack/server.js"', '"/pack/other.js"', 1))
    refused("a changed lockfile", 125, "integrity_lockfile", "odd")
    with open(lock_path, "w", encoding="utf-8") as file:
        file.write(good[:len(good) // 2])
    refused("a cut lockfile", 125, "bad_lockfile", "odd")
    with open(lock_path, "w", encoding="utf-8") as file:
        file.write(good)
    agentnode(home, "config", "set", "trust.minimum_trust_level", "trusted")
    refused("a minimum trust level", 125, "trust_too_low", "odd")
    shown = agentnode(home, "audit", "show", "--json", "--last", "500")
    codes = [one["fields"]["code"] for one in json.loads(shown.out)["records"]
             if one["event"] == "refusal"]
    check("decisions on trust and integrity are in the chain",
          codes[-3:] == ["integrity_lockfile", "bad_lockfile",
                         "trust_too_low"], codes)
    rows = json.loads(agentnode(home, "runs", "list", "--json").out)["runs"]
    last = rows[-3:]
    check("each is a refused run in the list",
          [(row["code"], row["status"], row["package"]) for row in last]
          == [(code, "refused", "odd") for code in codes[-3:]], last)
    shown = agentnode(home, "runs", "show", last[-1]["run"])
    check("and can be shown", shown.code == 0 and json.loads(shown.out)["end"]
          ["fields"]["code"] == "trust_too_low", shown)
    agentnode(home, "config", "unset", "trust.minimum_trust_level")
    image = agentnode(home, "config", "get", "sandbox.image").out.strip()
    agentnode(home, "config", "unset", "sandbox.image")
    refused("no image", 125, "image_missing", "odd")
    agentnode(home, "config", "set", "sandbox.image",
              "localhost/nothing@sha256:" + "0" * 64)
    refused("an image that is not here", 125, "sha256:000000", "odd")
    agentnode(home, "config", "set", "sandbox.image", image)
    entry = json.loads(good)["packages"]["odd"]
    path = os.path.join(entry["volume_host_path"], "server.js")
    before = open(path, encoding="utf-8").read()
    with open(path, "a", encoding="utf-8") as file:
        file.write("// changed\n")
    refused("a changed volume", 125, "integrity", "odd")
    with open(path, "w", encoding="utf-8") as file:
        file.write(before)


def lost(home):
    """A list that cannot be written is not a list."""
    for words in (["mcp", "tools", "odd"], ["mcp", "tools", "odd", "--json"]):
        result = harness.agentnode_into("/dev/full", home, *words)
        check(f"{words} onto a full disk", harness.is_lost(result), result)
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            run_words("odd"), env=harness.environment(home), timeout=30,
            input='{"jsonrpc":"2.0","id":1,"method":"nope"}\n',
            stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    check("nor is an answer of mcp run", harness.is_lost(harness.Result(
        process.returncode, "", process.stderr, 0)), process)


def silent(home):
    """A server that never answers initialize."""
    quick = mcp_setup.home({"mcp": {"start_timeout_s": 3}})
    mcp_setup.install(quick, mcp_setup.package({
        "package.json": PACKAGE,
        "server.js": "setInterval(() => {}, 1000);\n"}), "--name", "silent")
    client = Client(run_words("silent"), env=harness.environment(quick))
    answer = client.initialize(30)
    check("a server that never answers initialize: an error",
          answer and answer["error"]["data"]["reason"] == "timeout", answer)
    client.close()
    result = agentnode(quick, "mcp", "tools", "silent")
    check("mcp tools too", result.code == 1 and "list_failed" in result.err
          and result.out == "", result)
    mcp_setup.forget(quick)


def listing(home):
    result = agentnode(home, "mcp", "list")
    check("mcp list", result.code == 0 and "odd" in result.out, result)
    result = agentnode(home, "mcp", "tools", "odd")
    check("mcp tools", result.code == 0 and "echo\n" in result.out, result)


def at_once(home):
    """Eight runs of one server side by side."""
    clients = [None] * 8

    def one(index):
        clients[index] = start(home)
        clients[index].seen = said(clients[index].call(
            "echo", 60, text=f"number {index}"))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("eight runs side by side", all(
        c and c.seen == f"number {i}" for i, c in enumerate(clients)))
    check("all end in order", [c.close() for c in clients if c] == [0] * 8)


home = mcp_setup.home()
try:
    mcp_setup.install(home, mcp_setup.package(
        {"package.json": PACKAGE, "server.js": SERVER}), "--name", "odd")
    for part in (basics, loud, large, dying, ending, deaf, parts_die, allowlist,
                 keeping, wrong, silent, lost, listing,
                 at_once):
        print(f"# {part.__name__}", flush=True)
        part(home)
    left = engine_case.podman("ps", "-a", "--format",
                              "{{.Names}}").stdout.split()
    left = [name for name in left if name.startswith((
        "agentnode-mcp-odd-", "agentnode-mcp-narrow-",
        "agentnode-mcp-keeper-", "agentnode-mcp-silent-"))]
    check("no container is left", left == [], left)
    check("no server process is left", running() == set(), running())
finally:
    mcp_setup.forget(home)
harness.finish()
