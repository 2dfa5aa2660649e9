"""What scenarios of agents share: a home with image, stand-in provider and
keychain configured, keys stored in the real Secret Service, agents
installed."""
import json
import os
import shutil

import engine_case
import harness
import keyring_session
import mcp_setup
import npm_cache
import provider_standin
from harness import check
from internet import DNSServer
from test_ca import TestCA

AGENTS = os.path.join(harness.SOURCE, "tests", "agents")
SDKS = {"openai": "7.59.0", "@anthropic-ai/sdk": "1.14.0",
        "@google/genai": "3.3.0"}
KEYS = {"openai": "sk-proj-Zq7vTr4mQk9wLx2cNb8dKf5hJ3gH1aS6",
        "anthropic": "sk-ant-api03-pL8mKq2wXz7vBn4tRc9yDf6gHj",
        "gemini": "AIzaSyD4fGh7jKl2mNbVcXz9qWeRtYuIoP1aS"}


class AgentCase:
    def __init__(self, extra=None, keys=("openai", "anthropic", "gemini")):
        self.folder = harness.folder()
        self.ca = TestCA(self.folder)
        pem = self.ca.leaf(*provider_standin.NAMES)
        self.provider = provider_standin.Provider(pem)
        self.dns = DNSServer({name: ["127.0.0.1"]
                              for name in provider_standin.NAMES})
        self.session = keyring_session.Session()
        check("the keychain starts", self.session.start())
        place = {"port": self.provider.port, "cidrs": ["127.0.0.1/32"],
                 "ca": self.ca.root}
        config = {"agent_sandbox": {"enabled": True},
                  "egress": {"resolver": self.dns.address},
                  "llm": {"upstream": {name: place for name in KEYS}}}
        for part, value in (extra or {}).items():
            config.setdefault(part, {}).update(value)
        self.home = mcp_setup.home(config)
        for name in keys:
            self.set_key(name, KEYS[name])

    def set_key(self, provider, key):
        result = self.run("auth", "set", provider, "--from-fd", "0",
                          stdin=key + "\n")
        return check(f"the key of {provider} is stored", result.code == 0,
                     result)

    def run(self, *argv, timeout=60, stdin=None, **env):
        return harness.agentnode(self.home, *argv, timeout=timeout,
                                 stdin=stdin, **{**self.session.agent(),
                                                 **env})

    def install(self, name, with_sdks=False):
        """An agent of tests/agents, with the SDKs beside it if asked."""
        source = os.path.join(AGENTS, name)
        path = os.path.join(harness.folder(), name)
        shutil.copytree(source, path)
        if with_sdks:
            shutil.copytree(
                os.path.join(npm_cache.ensure(SDKS), "node_modules"),
                os.path.join(path, "node_modules"), symlinks=True,
                ignore=shutil.ignore_patterns(".bin", "*.map", "*.d.ts",
                                              "*.d.mts", "*.cts"))
        result = self.run("install", path, "--json", timeout=300)
        if not check(f"the agent {name} is installed", result.code == 0,
                     result):
            self.close()
            harness.finish()
        return result.json()

    def agent(self, slug, given=None, *words, timeout=120, **env):
        more = [] if given is None else ["--input", json.dumps(given)]
        return self.run("agent", "run", slug, *more, *words, timeout=timeout,
                        **env)

    def steps(self, *names, timeout=120, **env):
        """The SDK agent: {step: what it printed}."""
        result = self.agent("sdk-agent", {"steps": list(names)},
                            timeout=timeout, **env)
        rows = {}
        for line in result.out.splitlines():
            try:
                row = json.loads(line)
                rows[row["step"]] = row
            except (ValueError, KeyError, TypeError):
                rows.setdefault("odd", []).append(line)
        return rows, result

    def log(self, name):
        path = os.path.join(self.home, ".agentnode", "log", name + ".jsonl")
        return harness.json_lines(path) if os.path.exists(path) else []

    def close(self):
        self.provider.close()
        self.dns.close()
        self.session.close()
        try:
            packages = mcp_setup.lock(self.home)["packages"]
        except OSError:
            packages = {}
        for entry in packages.values():
            engine_case.podman("volume", "rm", "-f",
                               entry.get("sandbox_volume")
                               or entry["mcp_sandbox_volume"])
