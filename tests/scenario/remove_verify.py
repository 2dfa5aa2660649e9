#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed: list, info and verify tell it, in the form of their
schemas; a changed volume is exit 6, a missing one exit 1; remove takes entry,
volume and saved state, after its record, and nothing of a living run or of
anybody else."""
import json
import os

import engine_case
import harness
import mcp_setup
import schema_check
from harness import agentnode, check
from mcp_client import Client

SERVER = r"""
const fs = require('fs');
const lines = require('readline').createInterface({ input: process.stdin });
const say = (o) => process.stdout.write(JSON.stringify(o) + '\n');
lines.on('line', (line) => {
  const m = JSON.parse(line);
  if (m.method === 'initialize')
    say({ jsonrpc: '2.0', id: m.id, result: { protocolVersion:
      m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'keeper', version: '1' } } });
  else if (m.method === 'tools/list')
    say({ jsonrpc: '2.0', id: m.id, result: { tools: [
      { name: 'keep', inputSchema: { type: 'object' } }] } });
  else if (m.method === 'tools/call') {
    fs.writeFileSync('/state/kept', 'x'.repeat(5000));
    say({ jsonrpc: '2.0', id: m.id, result: { content: [] } });
  }
});
lines.on('close', () => process.exit(0));
"""
PACKAGE = json.dumps({"name": "keeper", "version": "1.2.3",
                      "bin": {"keeper": "server.js"}})
FOREIGN = f"agentnode-test-foreign-{os.getpid()}"


def fits(home, schema, *argv, code=0):
    """The answer of a command that must fit its schema."""
    result = agentnode(home, *argv, "--json", timeout=120)
    fault = schema_check.check_text(result.out, harness.SOURCE, schema)
    check(" ".join(argv) + f": exit {code}, fits its schema",
          result.code == code and fault == "", (fault, result))
    try:
        return result.json()
    except ValueError:
        return {}


def statuses(home, *argv, code):
    answer = fits(home, "verify", "verify", *argv, code=code)
    return {row["package"]: row["status"]
            for row in answer.get("packages", [])}


def volume_exists(name):
    return engine_case.podman("volume", "exists", name).returncode == 0


def state_files(home):
    folder = os.path.join(home, ".agentnode", "state")
    return sorted(name for name in os.listdir(folder)
                  if not name.endswith(".lock")) \
        if os.path.exists(folder) else []


def look(home):
    rows = {row["package"]: row for row in
            fits(home, "list", "list")["packages"]}
    check("list has both", sorted(rows) == ["keeper", "other"], rows)
    check("they can run", all(r["runnable"] and r["tier"] == "unverified"
                              for r in rows.values()), rows)
    text = agentnode(home, "list")
    check("list as text", text.code == 0
          and len(text.out.splitlines()) == 2 and "keeper" in text.out, text)
    info = fits(home, "info", "info", "keeper")
    check("info knows the volume", info.get("volume_there")
          and info["state"] == {"size": 1 << 20}
          and info["allow"] == ["a.example.com:443"]
          and info["run"] is None and info["saved_bytes"] is None, info)
    text = agentnode(home, "info", "keeper")
    check("info as text", text.code == 0 and "a.example.com" in text.out
          and info["hash"] in text.out, text)
    check("verify: both", statuses(home, code=0) == {
        "keeper": "verified", "other": "verified"})
    check("verify: one", statuses(home, "other", code=0) == {
        "other": "verified"})
    for words in (["info", "nothing-here"], ["verify", "nothing-here"],
                  ["remove", "nothing-here"]):
        result = agentnode(home, *words)
        check(" ".join(words) + ": exit 1, one sentence", result.code == 1
              and result.err.count("\n") == 1, result)
    for words in (["list", "x"], ["info"], ["info", "a", "b"], ["remove"],
                  ["verify", "a", "b"], ["remove", "--what", "keeper"]):
        check(" ".join(words) + ": exit 2",
              agentnode(home, *words).code == 2)


def living(home):
    client = Client(mcp_setup.run_words("keeper"),
                    env=harness.environment(home))
    check("the server runs", "result" in (client.initialize() or {}),
          client.text())
    client.call("keep")
    run = fits(home, "info", "info", "keeper").get("run")
    check("info names the run", bool(run), run)
    result = agentnode(home, "remove", "keeper")
    check("a running package is refused with its run", result.code == 1
          and run and run in result.err and result.err.count("\n") == 1,
          result)
    check("nothing was removed", statuses(home, code=0)["keeper"]
          == "verified" and client.call("keep") is not None)
    check("the other one is not running",
          fits(home, "info", "info", "other").get("run") is None)
    client.process.stdin.close()
    client.process.wait(30)
    info = fits(home, "info", "info", "keeper")
    check("the state was saved", (info.get("saved_bytes") or 0) > 5000
          and info["run"] is None, info)


def tampered(home):
    entry = mcp_setup.lock(home)["packages"]["keeper"]
    path = os.path.join(entry["volume_host_path"], "more.js")
    with open(path, "w", encoding="utf-8") as file:
        file.write("//")
    check("verify: a file more", statuses(home, code=6) == {
        "keeper": "changed", "other": "verified"})
    os.unlink(path)
    check("verify: as it was", statuses(home, "keeper", code=0) == {
        "keeper": "verified"})
    other = mcp_setup.lock(home)["packages"]["other"]["mcp_sandbox_volume"]
    engine_case.podman("volume", "rm", other)
    check("verify: a volume that is gone", statuses(home, code=1) == {
        "keeper": "verified", "other": "missing"})
    check("info: a volume that is gone", not fits(
        home, "info", "info", "other").get("volume_there"))
    answer = fits(home, "remove", "remove", "other")
    check("it can be removed all the same",
          answer.get("ok") and "other" not in
          mcp_setup.lock(home)["packages"], answer)


def remove(home, folder):
    volume = mcp_setup.lock(home)["packages"]["keeper"]["mcp_sandbox_volume"]
    path = mcp_setup.lock(home)["packages"]["keeper"]["volume_host_path"]
    answer = fits(home, "remove", "remove", "keeper", "--keep-state")
    check("removed but for its state", answer.get("volume") == volume
          and answer["saved_bytes"] == 0 and not volume_exists(volume)
          and not os.path.exists(path)
          and state_files(home) == ["keeper.tree"],
          (answer, state_files(home)))
    check("the lockfile verifies",
          agentnode(home, "lock", "verify").code == 0)
    mcp_setup.install(home, folder, "--state", "1m")
    answer = fits(home, "remove", "remove", "keeper")
    check("removed with its state", answer.get("saved_bytes", 0) > 5000
          and not volume_exists(volume) and state_files(home) == [],
          (answer, state_files(home)))
    check("a second time it is not there",
          agentnode(home, "remove", "keeper").code == 1)
    check("list is empty", fits(home, "list", "list")["packages"] == [])
    check("nothing to verify", statuses(home, code=0) == {})


def foreign(home, folder):
    """A lockfile that names somebody else's volume."""
    mcp_setup.install(home, folder)
    engine_case.podman("volume", "create", FOREIGN)
    lock = mcp_setup.lock(home)
    entry = lock["packages"]["keeper"]
    own = entry["mcp_sandbox_volume"]
    entry["mcp_sandbox_volume"] = FOREIGN
    file = os.path.join(home, ".agentnode", "agentnode.lock")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(lock, out)
    for words in (["list"], ["info", "keeper"], ["verify"],
                  ["remove", "keeper"]):
        check("a lockfile whose seal is broken: " + words[0] + " is exit 6",
              agentnode(home, *words).code == 6)
    agentnode(home, "lock", "seal", "--force")
    check("verify: a volume elsewhere than recorded",
          statuses(home, code=6) == {"keeper": "changed"})
    result = agentnode(home, "remove", "keeper")
    check("a volume of somebody else stays", result.code == 0
          and volume_exists(FOREIGN) and FOREIGN in result.err, result)
    engine_case.podman("volume", "rm", FOREIGN, own)


def shared(home, folder):
    """Two homes with the same package have one volume: the last one to go
    takes it along."""
    second = mcp_setup.home()
    mcp_setup.install(home, folder)
    mcp_setup.install(second, folder)
    volume = mcp_setup.lock(home)["packages"]["keeper"]["mcp_sandbox_volume"]
    check("the same volume", mcp_setup.lock(second)["packages"]["keeper"]
          ["mcp_sandbox_volume"] == volume)
    result = agentnode(home, "remove", "keeper", "--json")
    check("it stays while another lockfile names it", result.code == 0
          and result.json()["volume"] == "" and volume_exists(volume)
          and os.path.join(second, ".agentnode") in result.err
          and result.err.count("\n") == 1, result)
    check("which still verifies",
          statuses(second, code=0) == {"keeper": "verified"})
    mcp_setup.install(home, folder)
    os.rename(os.path.join(home, ".agentnode", "agentnode.lock"),
              os.path.join(home, "elsewhere.lock"))
    answer = fits(second, "remove", "remove", "keeper")
    check("not for a lockfile that is gone", answer.get("volume") == volume
          and not volume_exists(volume), answer)
    os.rename(os.path.join(home, "elsewhere.lock"),
              os.path.join(home, ".agentnode", "agentnode.lock"))
    check("the other says so", statuses(home, code=1)
          == {"keeper": "missing"})
    mcp_setup.install(home, folder)
    mcp_setup.install(second, folder)
    file = os.path.join(second, ".agentnode", "agentnode.lock")
    with open(file, encoding="utf-8") as before:
        text = before.read()
    with open(file, "w", encoding="utf-8") as cut:
        cut.write(text[:len(text) // 2])
    result = agentnode(home, "remove", "keeper")
    check("it stays for one that cannot be read", result.code == 0
          and volume_exists(volume), result)
    with open(file, "w", encoding="utf-8") as cut:
        cut.write(text)
    answer = fits(second, "remove", "remove", "keeper")
    check("the last one takes it along", answer.get("volume") == volume
          and not volume_exists(volume), answer)
    mcp_setup.forget(second)


def records(home):
    found = agentnode(home, "audit", "show", "--json").json()["records"]
    gone = [r["fields"] for r in found if r["event"] == "uninstall"]
    check("each removal is recorded, no refused one", [
        (f["package"], f["keep_state"]) for f in gone] == [
        ("other", False), ("keeper", True), ("keeper", False),
        ("keeper", False)], gone)
    check("the chain verifies", agentnode(home, "audit", "verify").code == 0)


def main():
    harness.need("podman")
    home = mcp_setup.home()
    check("list without lockfile: exit 5", agentnode(
        home, "list", cwd=home).code == 5)
    folder = mcp_setup.package({"server.js": SERVER,
                                "package.json": PACKAGE}, "keeper")
    mcp_setup.install(home, folder, "--state", "1m", "--allow",
                      "a.example.com")
    mcp_setup.install(home, folder, "--name", "other")
    try:
        look(home)
        living(home)
        tampered(home)
        remove(home, folder)
        foreign(home, folder)
        records(home)
        shared(home, folder)
    finally:
        mcp_setup.forget(home)
        engine_case.podman("volume", "rm", "-f", FOREIGN)
    harness.finish()


if __name__ == "__main__":
    main()
