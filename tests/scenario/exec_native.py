#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode exec --boundary native`: the modes, what a workspace keeps, what
is said of a refusal, and the question on the terminal: once, always, no."""
import os
import shutil
import subprocess

import exec_case
import harness
import terminal_child
from harness import check

case = exec_case.ExecCase()
closed = harness.free_port()
done = harness.agentnode(case.home, "config", "set", "egress.resolver",
                         f"127.0.0.1:{closed}")
check("names are asked of a closed port", done.code == 0, done)
subprocess.run(["git", "init", "-q", case.place], check=True)
case.path("a.txt", "mine\n")
case.path("in.txt", "handed\n")
NATIVE = ("--boundary", "native")
WRITE = (*NATIVE, "--mode", "workspace-write")


def on_disk(name):
    path = os.path.join(case.place, name)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- modes -------------------------------------------------------------------

result = case.shell(f"pwd; cat in.txt; cat {case.place}/a.txt; id -u",
                    options=(*NATIVE, "--input", "in.txt"))
check("without a mode there is the scratch directory alone",
      result["stdout"].startswith("/sandbox-home\nhanded\n")
      and "mine" not in result["stdout"]
      and result["native"]["workspace"] == ""
      and result["native"]["mode"] == "read-only", result)
# A home and a state below /usr, in a mount namespace of the test's own.
done = harness.run(
    "unshare", "-m", "sh", "-ec", """
        mount -t tmpfs ours /usr/local
        mkdir -p $HOME/.ssh $AGENTNODE_HOME
        echo below-the-home >$HOME/.ssh/id; chmod -R 755 $HOME
        echo below-the-state >$AGENTNODE_HOME/key
        mkdir /usr/local/bin; echo program >/usr/local/bin/a
        exec "$@" """,
    "sh", harness.AGENTNODE, "exec", *NATIVE, "--", "sh", "-c",
    "cat /usr/local/bin/a; ls -a /usr/local/home /usr/local/home/u; "
    "cat /usr/local/home/u/.ssh/id /usr/local/state/*",
    env=harness.environment(case.home, HOME="/usr/local/home/u",
                            AGENTNODE_HOME="/usr/local/state"))
check("a home and a state below /usr are not seen",
      done.out.startswith("program\n/usr/local/home:\n.\n..\nu\n\n"
                          "/usr/local/home/u:\n.\n..\n")
      and "below-" not in done.out, done)
result = case.shell("pwd; cat a.txt; echo x >a.txt; echo r >$HOME/result",
                    options=(*NATIVE, "--mode", "read-only"))
check("read-only shows the workspace and writes nothing in it",
      result["stdout"] == f"{case.place}\nmine\n" and on_disk("a.txt")
      == "mine\n" and case.files(result)["result"]["text"] == "r\n", result)
check("the refusal has its code and the flag that would allow it", [
    (one["code"], one["flag"], one["known_by"]) for one in result["denied"]]
      == [("path_read_only", "--mode workspace-write", "output")],
      result["denied"])
result = case.shell(
    "echo new >made; echo x >>a.txt; echo evil >.git/hooks/post-commit; "
    "echo evil >>.git/config; echo evil >.envrc; mv .git old; "
    "echo x >sealed.txt; cat $HOME/in.txt",
    options=(*WRITE, "--protect", "sealed.txt", "--input", "in.txt"))
check("workspace-write writes there, but not what runs code on the host",
      on_disk("made") == "new\n" and on_disk("a.txt") == "mine\nx\n"
      and on_disk(".git/hooks/post-commit") is None
      and "evil" not in on_disk(".git/config")
      and on_disk(".envrc") is None and on_disk("sealed.txt") is None
      and os.path.isdir(os.path.join(case.place, ".git")), result)
check("inputs are in its HOME", result["stdout"] == "handed\n", result)
check("what it wrote in the workspace is no result", result["files"] == [],
      result)
check("each refused path is said", {one["code"] for one in result["denied"]}
      == {"path_protected"}, result["denied"])
check("what it made is the workspace's owner's", os.stat(
    os.path.join(case.place, "made")).st_uid == os.stat(case.place).st_uid)
more = harness.folder()
result = case.shell(f"echo x >{more}/f; echo x >/etc/agentnode-test; "
                    f"cat {case.home}/.agentnode/config.json",
                    options=(*WRITE, "--writable", more))
check("--writable is one more, and nothing else is",
      os.path.exists(f"{more}/f") and not os.path.exists(
          "/etc/agentnode-test") and "sandbox.image" not in result["stdout"],
      result)
result = case.run("true", options=(*NATIVE, "--mode", "danger-full-access",
                                   "--i-know"))
check("danger-full-access says that it is none", result["rc"] == 0
      and not result["is_boundary"] and result["note"].startswith("danger")
      and result["i_know"] == [{"option": "--mode", "name":
                                "danger-full-access", "why": "full_access"}],
      result)
for place, word in (("/", "/"), (case.home, "home"), ("/usr", "/usr")):
    done = case.call("true", options=(*WRITE, "--workspace", place),
                     HOME=case.home)
    check(f"{word} is no workspace", done.code == 125
          and "view_refused" in done.err, done)
launch = [row for row in harness.agentnode(
    case.home, "audit", "show", "--json").json()["records"]
    if row["event"] == "launch"]
check("the launch records say mode and workspace", any(
    row["fields"].get("workspace") == case.place
    and row["fields"].get("mode") == "workspace-write" for row in launch),
    launch[-1])

# --- hosts -------------------------------------------------------------------

case.path("reach.py", '''
import re, socket, sys
s = socket.create_connection(("127.0.0.1", 3128), 20)
name = sys.argv[1]
s.sendall(f"CONNECT {name}:443 HTTP/1.1\\r\\nHost: {name}:443\\r\\n\\r\\n"
          .encode())
print("SAID", re.search(rb"X-AgentNode-Reason: (\\S+)", s.recv(4096))
      .group(1).decode())
''')
REACH = ("python3", "reach.py")
result = case.run(*REACH, "api.example.com", options=(
    *NATIVE, "--mode", "read-only", "--allow", "other.example.com"))
check("a refused host has its code and the flag", result["stdout"]
      == "SAID host_not_allowed\n" and [
          (one["kind"], one["target"], one["code"], one["flag"])
          for one in result["denied"]] == [
              ("host", "api.example.com:443", "host_not_allowed",
               "--allow api.example.com:443")], result)
result = case.run(*REACH, "api.example.com", options=(
    "--allow", "other.example.com", "--input", "reach.py"))
check("so it has in a container", [
    (one["target"], one["flag"]) for one in result["denied"]] == [
        ("api.example.com:443", "--allow api.example.com:443")], result)
result = case.run(*REACH, "api.example.com", options=(
    *NATIVE, "--mode", "read-only", "--approval", "on-request"))
check("with nobody to ask the denial is the answer", result["rc"] == 0
      and result["denied"][0]["code"] == "host_not_allowed", result)


def terminal(*options, name="api.example.com"):
    return terminal_child.Terminal(
        [harness.AGENTNODE, "exec", *NATIVE, "--mode", "read-only",
         "--workspace", case.place, "--approval", "on-request", *options,
         "--", *REACH, name], harness.environment(case.home))


for answer, name in ((b"n\n", "no"), (b"\n", "nothing")):
    person = terminal()
    check(f"{name}: the host is asked about", person.expect(
        b"api.example.com:443"), person.shown)
    person.type(answer)
    person.process.wait(timeout=30)
    person.look(0.2)
    check(f"{name}: the denial stands", person.shown.count(b"SAID ") == 1
          and b"SAID host_not_allowed" in person.shown, person.shown)
person = terminal()
person.expect(b"api.example.com:443")
person.type(b"o\n")
person.process.wait(timeout=60)
person.look(0.2)
check("once: it is run again and the list lets it pass",
      b"SAID lookup_failed" in person.shown, person.shown)
check("once: nothing is kept", not os.path.exists(
    os.path.join(case.home, ".agentnode", "grants.json")))
person = terminal()
person.expect(b"api.example.com:443")
person.type(b"a\n")
person.process.wait(timeout=60)
person.look(0.2)
check("always: it is run again", b"SAID lookup_failed" in person.shown,
      person.shown)
result = case.run(*REACH, "api.example.com", options=(
    *NATIVE, "--mode", "read-only"))
check("always: it holds for the next one in this workspace",
      result["stdout"] == "SAID lookup_failed\n", result)
elsewhere = harness.folder()
shutil.copy(os.path.join(case.place, "reach.py"), elsewhere)
result = case.run(*REACH, "api.example.com", options=(
    *NATIVE, "--mode", "read-only", "--workspace", elsewhere,
    "--allow", "other.example.com"))
check("always: and for no other", result["stdout"]
      == "SAID host_not_allowed\n", result)
check("no placeholder is left in the workspace", sorted(
    os.listdir(case.place)) == [".git", "a.txt", "in.txt", "made",
                                "reach.py"], os.listdir(case.place))
check("nothing is left", harness.wait_until(lambda: not case.left(), 5),
      case.left())
harness.finish()
