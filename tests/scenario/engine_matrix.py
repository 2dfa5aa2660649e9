#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every engine and wiring, one after the other: the selftest, an MCP
conversation through the egress proxy, an agent that asks a model. What came
out is the table in the README, which must say the same; --write puts it
there."""
import os
import sys

import engine_case
import harness
from dockerd import Dockerd, Member
from engine_row import Row, World

BEGIN, END = "<!-- engines: begin -->\n", "<!-- engines: end -->\n"
WHAT = ("selftest", "MCP", "agent")
README = os.path.join(harness.SOURCE, "README.md")


def table(rows):
    lines = ["| engine | wiring | " + " | ".join(WHAT) + " |",
             "|---|---|" + "---|" * len(WHAT)]
    for row in rows:
        words = ["yes" if row.results.get(what) else "no" for what in WHAT]
        lines.append(f"| {row.name} | {row.wiring} | "
                     + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


def show(rows):
    with open(README, encoding="utf-8") as file:
        text = file.read()
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    new = table(rows)
    print(new)
    if "--write" in sys.argv:
        with open(README, "w", encoding="utf-8") as file:
            file.write(head + BEGIN + new + END + tail)
    else:
        harness.check("the README's table says the same", old == new, old)


def root(name, wiring, sandbox, world):
    row = Row(name, {"image": engine_case.image(), **sandbox}, world)
    row.wiring = wiring
    return row


def user(name, wiring, sandbox, world, account):
    row = Row(name, {"image": account.image,
                     "overrides": ["no_cgroup_limits"], **sandbox}, world,
              user=account)
    row.wiring = wiring
    return row


def group(name, wiring, sandbox, world, account):
    row = Row(name, sandbox, world, user=account)
    row.wiring = wiring
    return row


def main():
    world = World()
    account = engine_case.User("agentnode-matrix")
    account.limit()
    docker, member = Dockerd(), Member("agentnode-member")
    rows = []
    try:
        for row in (
                lambda: root("Podman, root", "descriptors",
                             {"engine": "podman"}, world),
                lambda: root("Podman, root", "frames (mux)",
                             {"engine": "podman", "wiring": "mux"}, world),
                lambda: root("Docker, root", "volume",
                             {"engine": "docker", "image": docker.image,
                              "docker_socket": docker.socket}, world),
                lambda: root("Docker, root", "frames (mux)",
                             {"engine": "docker", "image": docker.image,
                              "docker_socket": docker.socket,
                              "wiring": "mux"}, world),
                lambda: group("Docker, docker group, no root", "frames (mux)",
                              {"engine": "docker", "image": docker.image,
                               "docker_socket": docker.socket}, world,
                              member),
                lambda: user("Podman, user", "descriptors",
                             {"engine": "podman"}, world, account),
                lambda: root("crun, root", "descriptors",
                             {"engine": "oci", "runtime": "crun"}, world),
                lambda: root("runc, root", "descriptors",
                             {"engine": "oci", "runtime": "runc"}, world),
                lambda: root("runsc, root", "frames (mux)",
                             {"engine": "oci", "runtime": "runsc"}, world),
                lambda: user("crun, user", "descriptors",
                             {"engine": "oci", "runtime": "crun"}, world,
                             account),
                lambda: user("runc, user", "descriptors",
                             {"engine": "oci", "runtime": "runc"}, world,
                             account)):
            row = row()
            rows.append(row)
            row.selftest()
            row.mcp()
            row.agent()
            row.end()
    finally:
        account.end()
        member.end()
        docker.end()
        world.close()
    show(rows)
    harness.finish()


main()
