#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agentnode exec` in a container: what goes in, what the command finds,
what comes out, and every way it ends."""
import os
import signal
import subprocess
import time

import exec_case
import harness
from harness import check

case = exec_case.ExecCase()
SECRET = "exec-run-secret-7f3a"

# --- what it finds -----------------------------------------------------------

case.path("in.txt", "hello\n")
case.path("keep.txt", "as it was\n")
result = case.shell(
    "pwd; cat in.txt; env | sort >&2; printf 42 >out.txt; echo more >>in.txt;"
    " exit 3", options=("--input", "in.txt", "--input", "keep.txt"),
    AWS_SECRET_ACCESS_KEY=SECRET, OTHER=SECRET)
check("the exit code is the command's own",
      result["rc"] == 3 and result["exit_code"] == 3 and not result["ok"]
      and result["code"] == "" and result["signal"] is None, result)
check("it stands in its scratch directory, with the input",
      result["stdout"] == "/work\nhello\n", result)
names = {line.partition("=")[0]: line.partition("=")[2]
         for line in result["stderr"].splitlines()}
check("the environment is made from nothing",
      set(names) <= {"HOME", "TMPDIR", "PATH", "LANG", "PWD", "SHLVL", "_",
                     "OLDPWD"} and SECRET not in str(result), names)
check("HOME and TMPDIR are the scratch directory",
      names["HOME"] == names["TMPDIR"] == "/work"
      and names["LANG"] == "C.UTF-8", names)
files = case.files(result)
check("a file that it wrote comes back as text", files["out.txt"] == {
    "name": "out.txt", "text": "42", "bytes": 2, "truncated": False,
    "escaped": False, "input": False}, files)
check("a changed input comes back and says so",
      files["in.txt"]["text"] == "hello\nmore\n" and files["in.txt"]["input"],
      files)
check("an unchanged input does not", set(files) == {"out.txt", "in.txt"},
      files)
check("the input on the host is as it was", open(
    os.path.join(case.place, "in.txt"), encoding="utf-8").read() == "hello\n")
result = case.shell("printf 'hellO\\n' >in.txt", options=("--input", "in.txt"))
check("one changed byte of the same length is a change",
      case.files(result)["in.txt"]["text"] == "hellO\n", result)
result = case.run("python3", "-c", "import socket\n"
                  "print([n for _, n in socket.if_nameindex()])\n"
                  "socket.create_connection(('1.1.1.1', 443), 3)")
check("there is no network", "['lo']" in result["stdout"]
      and "Error" in result["stderr"] and result["rc"] == 1, result)
result = case.shell("printf '#!/bin/sh\\necho ran' >x; chmod +x x; ./x; id -u;"
                    "touch /usr/x; touch /sandbox-home/y && ls /home /root")
check("its own programs run there, and nothing else can be written",
      result["stdout"].startswith("ran\n") and "/usr/x" in result["stderr"]
      and "\n0\n" not in result["stdout"], result)

# --- text --------------------------------------------------------------------

result = case.shell(r"printf 'a\377b\0c\\d'; printf '\303\244\n' >&2; "
                    r"printf '\377\376' >bin; printf x >'n\m'; touch empty; "
                    r'printf y >"$(printf "\377")"')
check("bytes that are no UTF-8 are marked and can be undone",
      result["stdout"] == r"a\xffb\x00c\\d" and result["stdout_escaped"]
      and result["stdout_bytes"] == 7, result)
check("UTF-8 stays as it is", result["stderr"] == "ä\n"
      and not result["stderr_escaped"], result)
files = case.files(result)
check("so do files", files["bin"]["text"] == r"\xff\xfe"
      and files["bin"]["escaped"] and files["empty"]["bytes"] == 0, files)
check("so are names, where a backslash is always doubled",
      r"n\\m" in files and r"\xff" in files, files)
result = case.shell("yes ä | head -c 100001; head -c 70000 /dev/zero >&2; "
                    "yes x | head -c 20000 >big", options=("--max-output",
                                                           "1k"))
check("an output is cut at a character, counted, and said",
      result["stdout_bytes"] == 100001 and result["stdout_truncated"]
      and 1021 <= len(result["stdout"].encode()) <= 1024
      and not result["stdout_escaped"], result)
check("both are", result["stderr_bytes"] == 70000
      and result["stderr_truncated"], result)
big = case.files(result)["big"]
check("so is a file", big["bytes"] == 20000 and len(big["text"]) == 1024
      and big["truncated"], big)
done = case.call("sh", "-c", "printf 'a\\tb\\n'; echo e >&2; echo r >f; "
                 "mkdir d; exit 7")
check("for a person: outputs apart, then how it ended and what it left",
      done.code == 7 and done.out == "a\tb\n" and done.err.startswith("e\n")
      and "exit 7" in done.err and "file f, 2 bytes:\nr\n" in done.err
      and "skipped: 1 directory" in done.err, done)

# --- how it ends -------------------------------------------------------------

begin = time.monotonic()
result = case.shell(
    "trap '' TERM INT HUP; (trap '' TERM; setsid sleep 600) & "
    "setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' & "
    "echo so far >part; echo out; while :; do sleep 1; done",
    options=("--timeout", "700ms"))
check("at the time limit everything dies, whatever it ignores",
      result["rc"] == 124 and result["timed_out"]
      and result["exit_code"] is None and result["duration_ms"] < 3000,
      result)
check("what it had written by then is here", result["stdout"] == "out\n"
      and case.files(result)["part"]["text"] == "so far\n"
      and result["files_complete"], result)
result = case.shell("setsid sleep 600 >/dev/null 2>&1 & sleep 600 & echo bye")
check("a background child does not outlive it, nor hold the result",
      result["rc"] == 0 and result["stdout"] == "bye\n"
      and result["duration_ms"] < 5000, result)
result = case.shell("kill -SEGV $$")
check("a signal is a signal", result["rc"] == 139
      and result["signal"] == signal.SIGSEGV and result["exit_code"] is None
      and not result["ok"], result)
result = case.run("/no/such/program")
check("a program that is not there never started",
      result["rc"] == 125 and not result["started"]
      and result["code"] == "exec_failed", result)
done = case.call("/no/such/program")
check("the code is on standard error", done.code == 125
      and done.err.startswith("agentnode: exec_failed: "), done)
process = subprocess.Popen(
    [harness.AGENTNODE, "exec", "--timeout", "60s", "--", "sleep", "60"],
    env=harness.environment(case.home), stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
check("it runs", harness.wait_until(case.containers, 20) != [])
time.sleep(0.5)
process.send_signal(signal.SIGTERM)
out, err = process.communicate(timeout=20)
check("a signal to us ends it", process.returncode in (125, 137)
      and b"stopped" in err, (process.returncode, err))

# --- what does not arrive -----------------------------------------------------

for words in (["exec", "--", "echo", "hi"], ["exec", "--json", "--", "true"],
              ["exec", "--", "seq", "9999"]):
    result = harness.agentnode_into("/dev/full", case.home, *words)
    check(f"{words} onto a full disk", harness.is_lost(result)
          and result.err.count("could not be written") == 1, result)
    result = harness.agentnode_into(None, case.home, *words)
    check(f"{words}, and the reader left: the command's own code",
          result.code == 0 and "written" not in result.err, result)

# --- policy: nothing is cut ---------------------------------------------------

only = os.path.join(case.place, "only")
os.mkdir(only)
with open(os.path.join(only, "at-the-end"), "w", encoding="utf-8") as file:
    file.write("#!/bin/sh\nawk '/Max file size/ {print $4, $5}' "
               "/proc/self/limits\necho ${#PATH}\n")
os.chmod(file.name, 0o755)
long = ":".join([f"/nonexistent/{'x' * 80}"] * 300
                + [os.environ["PATH"], only])
with open("/proc/self/limits", encoding="utf-8") as file:
    limit = [line.split()[3:5] for line in file if "Max file size" in line][0]
result = case.run("at-the-end", options=("--boundary", "policy"), PATH=long)
check("policy: a long PATH is there to its end, and a file may be as large "
      "as the caller's", result["stdout"]
      == f"{' '.join(limit)}\n{len(long)}\n", str(result)[:900])
longer = long + ":" + "y" * 8192
done = case.call("true", options=("--boundary", "policy"), PATH=longer)
check("policy: one that does not fit is refused, by its name",
      done.code == 125 and "bad_args: PATH is longer than 32762" in done.err,
      done)
done = case.call("/bin/true", PATH=longer, options=(
    "--boundary", "policy", "--env", "PATH=/usr/bin"))
check("policy: and not asked for where another one is named",
      done.code == 0, done)

# --- what is left ------------------------------------------------------------

check("no container is left", harness.wait_until(
    lambda: not case.containers(), 10), case.containers())
check("no process and no scratch directory is left", harness.wait_until(
    lambda: not case.left(), 5), case.left())
listed = harness.agentnode(case.home, "runs", "list", "--json").json()
rows = [row for row in listed["runs"] if row["kind"] == "exec"]
check("runs list has them, with their ends", len(rows) >= 10 and all(
    row["status"] != "running" for row in rows), listed)
shown = harness.agentnode(case.home, "runs", "show", result["run"])
check("runs show has one", shown.code == 0 and result["run"] in shown.out,
      shown)
chain = harness.agentnode(case.home, "audit", "show", "--json")
launch = [row for row in chain.json()["records"]
          if row["event"] == "launch"][0]
check("the launch record says the boundary and what it was told to do",
      launch["fields"]["boundary"] == "container"
      and launch["fields"]["command"] == "sh"
      and launch["fields"]["inputs"] == 2, launch)
check("no secret is anywhere in the home", subprocess.run(
    ["grep", "-r", SECRET, case.home], stdout=subprocess.DEVNULL,
    check=False).returncode == 1)
check("the chain is whole", harness.agentnode(
    case.home, "audit", "verify").code == 0)
harness.finish()
