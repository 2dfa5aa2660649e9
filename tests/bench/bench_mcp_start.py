#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start to the first MCP answer: `agentnode mcp run` against bare `podman
run` of the same server, same image, same OCI runtime, in turns. Needs an
installed server (SLUG, default everything) in AGENTNODE_HOME. Prints the
medians and their difference; the aim is at most 40 ms added. A server that
may reach hosts gets the variables of the proxy, and Node loads an agent for
them at its start: for such a one there is a third side, bare with the same
variables (nobody listens there), which is like with like. As root; works in
a mount namespace of its own where cgroup2's hybrid mount is gone, so that
both sides use the same runtime."""
import json
import os
import statistics
import subprocess
import sys
import time

import harness
import mcp_client

ROUNDS = int(os.environ.get("ROUNDS", "15"))
SLUG = sys.argv[1] if len(sys.argv) > 1 else "everything"
UNIFIED = "/sys/fs/cgroup/unified"
PROXY = "http://127.0.0.1:3128"
# What a sandbox with hosts has in its environment.
VARIABLES = {"HTTPS_PROXY": PROXY, "HTTP_PROXY": PROXY, "ALL_PROXY": PROXY,
             "https_proxy": PROXY, "http_proxy": PROXY, "all_proxy": PROXY,
             "NO_PROXY": "127.0.0.1,localhost,::1",
             "no_proxy": "127.0.0.1,localhost,::1", "NODE_USE_ENV_PROXY": "1"}


def same_runtime():
    """Both sides in one view without the hybrid mount."""
    if os.path.ismount(UNIFIED) and "BENCH_INSIDE" not in os.environ:
        os.environ["BENCH_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable,
                              os.path.abspath(__file__), *sys.argv[1:]])
    if os.path.ismount(UNIFIED):
        subprocess.run(["umount", UNIFIED], check=True)


def entry():
    home = os.environ.get("AGENTNODE_HOME",
                          os.path.expanduser("~/.agentnode"))
    with open(os.path.join(home, "agentnode.lock"),
              encoding="utf-8") as file:
        return json.load(file)["packages"][SLUG]


def image():
    done = harness.run(harness.AGENTNODE, "config", "get", "sandbox.image",
                       env=dict(os.environ))
    return done.out.strip()


def first_answer(argv, **env):
    client = mcp_client.Client(argv, env=dict(os.environ, **env))
    answer = client.initialize()
    if not answer or "result" not in answer:
        print("no answer from", argv[:3], client.text())
        sys.exit(1)
    seconds = client.first_answer
    client.close()
    time.sleep(0.2)
    return seconds * 1000


def bare(server, variables):
    """The shell line a person would type, with the limits they would
    give."""
    words = ["podman", "run", "--rm", "-i", "--runtime", "/usr/bin/crun",
             "--network", "none", "--pull=never", "--ulimit",
             "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--read-only",
             "--cap-drop=ALL", "--security-opt=no-new-privileges",
             "--user", "1000:1000", "--pids-limit", "256", "--memory",
             "512m", "--memory-swap", "512m", "--cpus", "1",
             "-v", server["mcp_sandbox_volume"] + ":/pack:ro"]
    for name, value in variables.items():
        words += ["-e", f"{name}={value}"]
    return words + [image(), *server["mcp_preinstall_command"]]


def main():
    same_runtime()
    server = entry()
    sides = {"bare": bare(server, {})}
    if server.get("mcp_allowed_domains"):
        sides["bare_variables"] = bare(server, VARIABLES)
    sides["agentnode"] = [harness.AGENTNODE, "mcp", "run", SLUG]
    times = {name: [] for name in sides}
    for turn in range(ROUNDS + 1):
        for name, argv in sides.items():
            took = first_answer(argv)
            if turn > 0:  # the first warms up
                times[name].append(took)
    medians = {k: statistics.median(v) for k, v in times.items()}
    result = {"rounds": ROUNDS}
    for name, median in medians.items():
        result[name + "_ms"] = round(median, 1)
    for name, median in medians.items():
        if name != "agentnode":
            result["added_to_" + name + "_ms"] = round(
                medians["agentnode"] - median, 1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
