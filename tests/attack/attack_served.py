# SPDX-License-Identifier: Apache-2.0
"""The broker's table from inside a sandbox: an agent of a real run sends
every request of it, by the loopback port and through init's relay, to the
real broker and llm-key in front of a provider that is played here. Judges
what was refused by its code, and what was not by what the provider saw."""
import base64
import json
import os
import shutil
import sys

import agent_case
import attack_broker
import engine_row
import harness

HERE = os.path.dirname(os.path.abspath(__file__))
MANIFEST = """manifest_version: "0.3"
package_id: calls-agent
package_type: agent
name: Calling agent
summary: Sends to the broker what it should not
publisher: agentnode-tests
version: 1.0.0
agent:
  command: [python3, /pack/inside_calls.py]
  goal: call
  llm_access: {enabled: true}
  limits: {max_runtime_seconds: 300}
"""
# For the honest call after a descriptor was handed to the relay: much for a
# slow machine, and far less than what the close of that would take.
SECONDS = 20
# Of a request, never to be in the answer to it.
LEAKS = ("sk-mine", "sk-secret", "\x1b")
WORLDS = []


def world():
    """One for a run."""
    if not WORLDS:
        WORLDS.append(engine_row.World())
    return WORLDS[0]


def forget():
    while WORLDS:
        WORLDS.pop().close()


class Home(engine_row.Row):
    """All three providers, as the table's grant has them."""

    def __init__(self, engine, weak):
        self.weak = weak
        super().__init__(engine.name, engine.sandbox(), world())
        for name, key in agent_case.KEYS.items():
            path = os.path.join(self.home, "credentials",
                                "agentnode." + name)
            with open(path, "w", encoding="ascii") as out:
                out.write(key)
            os.chmod(path, 0o600)

    def _config(self, sandbox):
        config = super()._config(sandbox)
        upstream = config["llm"]["upstream"]
        upstream.update({name: upstream["openai"]
                         for name in agent_case.KEYS})
        models = ["gpt-4o-mini", "text-embedding-3-small",
                  "claude-sonnet-4-5", "gemini-2.5-flash",
                  "gemini-embedding-001"]
        if self.weak:
            models += ["gpt-4o", "gpt-4o-mini-2024-07-18"]
        config["agent_sandbox"]["llm"] = {
            "max_calls": 1000, "max_input_chars": 10 ** 8,
            "max_output_chars": 10 ** 8, "allowed_models": models}
        return config


def upstream(call, port):
    """What went up, as the table's rows have it: without the key that
    llm-key adds, and from the provider's own port."""
    keys = agent_case.KEYS.values()
    lines = [line for number, line in enumerate(call.head.decode(
        "latin1").split("\r\n")) if number == 0
        or not any(key in line for key in keys)]
    return ("\r\n".join(lines) + "\r\n\r\n").replace(
        f":{port}\r\n", "\r\n") + call.body.decode("latin1")


def play(home, rows):
    """(what was answered: [dict], what the provider saw: [text])."""
    source = os.path.join(harness.folder(), "calls")
    os.mkdir(source)
    os.chmod(os.path.dirname(source), 0o755)
    shutil.copy(os.path.join(HERE, "inside_calls.py"), source)
    with open(os.path.join(source, "agentnode.yaml"), "w",
              encoding="ascii") as out:
        out.write(MANIFEST)
    with open(os.path.join(source, "rows.json"), "w",
              encoding="ascii") as out:
        json.dump([{"name": row.name, "data": base64.b64encode(
            row.data).decode()} for row in rows], out)
    provider = home.world.provider
    before = len(provider.calls)
    done = home.run("install", source, "--json", timeout=300)
    if done.code == 0:
        done = home.run("agent", "run", "calls-agent", timeout=330)
    answers = []
    for line in done.out.splitlines():
        try:
            answers.append(json.loads(line))
        except ValueError:
            continue
    if done.code != 0 or not answers:
        print(f"{home.name}: the agent: {done}"[:2000], file=sys.stderr)
    home.run("remove", "calls-agent")
    return answers, [upstream(call, provider.port)
                     for call in provider.calls[before:]]


def judge(tally, row, way, answer, up):
    """One row. up: what went up for it; None: nothing."""
    seen = (answer, (up or "")[:300])
    name = f"{row.name} by the {way}"
    for item in row.items:
        if row.code:
            tally.attack(item, name, answer["status"] == 200
                         or up is not None or any(
                             mark in answer["body"] for mark in LEAKS),
                         answer["code"], row.code, seen)
        elif row.has or row.lacks:
            tally.attack(item, name, up is None or (row.has or "") not in up
                         or bool(row.lacks and row.lacks.lower()
                                 in up.lower()), answer["code"], seen=seen)


def run(tally, engine, weak=False):
    """weak: models an attacker would like on the host's list."""
    rows = attack_broker.rows(tally)
    items = {item for row in rows for item in row.items}
    answers, calls = play(Home(engine, weak), rows)
    told = {(one["way"], one["name"]): one for one in answers}
    left = list(calls)
    for way in ("port", "socket"):
        for row in rows:
            answer = told.get((way, row.name))
            if answer is None:
                tally.control(row.items, f"{row.name} by the {way}", False,
                              "not tried")
                continue
            # In order, one at a time: whatever was served has its call.
            served = answer["status"] == 200
            judge(tally, row, way, answer,
                  left.pop(0) if served and left else None)
        honest = told.get((way, "honest"), {})
        tally.control(items | {68}, f"an honest call by the {way}",
                      honest.get("status") == 200, honest)
    handed = told.get(("port", "handed"), {})
    if left and handed.get("status") == 200:
        left.pop(0)
    if tally.wants(68):
        tally.attack(68, "the broker waits for a descriptor that blocks, "
                     "handed to the relay", handed.get("status") != 200
                     or handed["seconds"] > SECONDS, seen=handed)
    for item in items:
        tally.attack(item, "a call upstream that no request was served by",
                     left, seen=left[:2])
