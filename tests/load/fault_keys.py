# SPDX-License-Identifier: Apache-2.0
"""The short stories around keys: broker, llm-key and ledger alone, with a
provider beside them; and the keyring helper, which stores one."""
import os
import shutil
import subprocess
import sys

import agent_case
import fault_agent
import fault_world
import harness
import keyring_session
import test_ca
from harness import check

HOST, UP = "api.openai.com", "127.0.0.51"
LEDGER_UID = 1879048191
KEY = agent_case.KEYS["openai"]


def leaked(path, out, err):
    found = [f"a key is in {name}" for name in fault_agent.homes(
        path, KEY.encode())]
    return found + (["a key was printed"] if KEY in out + err else [])


class Broker(fault_world.Story):
    name = "broker"

    def __init__(self, image=None):
        super().__init__(image)
        os.chmod(self.home, 0o755)
        # Where no search for leaked keys goes: the key has to be somewhere.
        place = harness.folder()
        os.chmod(place, 0o755)
        ca = test_ca.TestCA(place)
        self.ca, self.key = ca.root, os.path.join(place, "key")
        with open(self.key, "w", encoding="ascii") as file:
            file.write(KEY)
        self.up_port = harness.free_port(UP)
        self.upstream = subprocess.Popen(
            [os.path.join(harness.BUILD, "tests", "upstream_llm"),
             f"{UP}:{self.up_port}", ca.leaf(HOST, UP), KEY, "50", "3", "0",
             "40"], stdout=subprocess.PIPE)
        self.upstream.stdout.readline()

    def words(self):
        port = harness.free_port()
        ledger = os.path.join(self.home, "ledger")
        shutil.rmtree(ledger, ignore_errors=True)
        os.mkdir(ledger, 0o700)
        os.chown(ledger, LEDGER_UID, LEDGER_UID)
        return [sys.executable, os.path.join(
            fault_world.HERE, "ask_broker.py"), str(port), self.key,
            os.path.join(harness.BUILD, "tests", "drive_broker"),
            f"127.0.0.1:{port}", "--provider", os.path.join(
                harness.SOURCE, "config", "providers", "openai.json"),
            "--host", f"{HOST}:{self.up_port}", "--ca", self.ca,
            "--address", f"{HOST}={UP}", "--ledger", ledger, "--log",
            os.path.join(self.home, "log.jsonl")]

    def launches(self):
        return -1  # drive_broker is no run: there is no record of one

    def faults(self, out, err):
        rows = self.reports(out)
        found = [wall for row in rows for wall in row["open"]]
        return (found + leaked(self.home, out, err),
                any(row["tunnel"] for row in rows))

    def close(self):
        self.upstream.kill()
        self.upstream.wait()
        super().close()


class Keyring(fault_world.Story):
    name = "keyring"

    def __init__(self, image=None):
        super().__init__(image)
        self.session = keyring_session.Session()
        check("keyring: it starts", self.session.start())
        self.env = harness.environment(self.home, **self.session.agent())
        self.key = os.path.join(harness.folder(), "key")
        with open(self.key, "w", encoding="ascii") as file:
            file.write(KEY + "\n")

    def words(self):
        return ["sh", "-c", '"$1" auth set openai --from-fd 0 <"$2" && '
                '"$1" auth list --json', "sh", harness.AGENTNODE, self.key]

    def faults(self, out, err):
        return leaked(self.home, out, err), False

    def complete(self, out):
        """What it says is stored must be."""
        stored = self.session.tool("search", "--all", "--unlock", "provider",
                                   "openai")
        return '"openai"' in out and KEY in stored.out + stored.err

    def close(self):
        self.session.close()
        super().close()
