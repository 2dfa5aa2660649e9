#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Start to the first MCP answer: `agentnode mcp run` against bare `podman
run` of the same server, same image, same OCI runtime, in turns. Needs an
installed server (SLUG, default everything) in AGENTNODE_HOME. Prints the
medians and their difference; the aim is at most 40 ms added. As root; works
in a mount namespace of its own where cgroup2's hybrid mount is gone, so
that both sides use the same runtime."""
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


def main():
    same_runtime()
    server = entry()
    # The shell line a person would type, with the limits they would give.
    bare = ["podman", "run", "--rm", "-i", "--runtime", "/usr/bin/crun",
            "--network", "none", "--pull=never", "--ulimit",
            "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--read-only",
            "--cap-drop=ALL", "--security-opt=no-new-privileges",
            "--user", "1000:1000", "--pids-limit", "256", "--memory",
            "512m", "--memory-swap", "512m", "--cpus", "1",
            "-v", server["mcp_sandbox_volume"] + ":/pack:ro", image(),
            *server["mcp_preinstall_command"]]
    ours = [harness.AGENTNODE, "mcp", "run", SLUG]
    first_answer(ours)
    first_answer(bare)
    times = {"bare": [], "agentnode": []}
    for _ in range(ROUNDS):
        times["bare"].append(first_answer(bare))
        times["agentnode"].append(first_answer(ours))
    medians = {k: statistics.median(v) for k, v in times.items()}
    print(json.dumps({
        "rounds": ROUNDS, "bare_ms": round(medians["bare"], 1),
        "agentnode_ms": round(medians["agentnode"], 1),
        "added_ms": round(medians["agentnode"] - medians["bare"], 1),
        "ratio": round(medians["agentnode"] / medians["bare"], 3)}))


if __name__ == "__main__":
    main()
