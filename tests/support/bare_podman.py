# SPDX-License-Identifier: Apache-2.0
"""The words of a plain `podman run` that a container of ours is compared
with: the same runtime, no network, and what this machine's kernel needs."""
import json


def words(env, image, *command):
    """env's AGENTNODE_HOME knows the engine: something ran with it."""
    with open(f"{env['AGENTNODE_HOME']}/engine.json",
              encoding="utf-8") as known:
        memory = json.load(known)
    bare = ["podman", f"--runtime={memory['runtime']}", "run", "--rm",
            "--network=none", "--log-driver=none", "--ulimit=nofile=4096:4096",
            "--ulimit=nproc=4096:4096", image, *command]
    if memory["hide_unified"]:  # what this runtime needs here
        bare = ["unshare", "--mount", "--propagation=slave", "sh", "-c",
                "umount -l /sys/fs/cgroup/unified && exec \"$@\"", "sh", *bare]
    return bare
