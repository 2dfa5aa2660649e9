#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets of tool packs: env_requirements, by name, consented to, read back
by the tool and by nobody else; what may be left out; a network that is open
or unknown is refused."""
import os
import secrets

import harness
import pack_runs
from harness import check

CODE = """
import os


def tell(name):
    return os.environ.get(name, "(unset)")
"""
WANTS = [{"name": "WEATHER_API_KEY", "required": True},
         {"name": "NICE_TO_HAVE", "required": False}]
OPEN = {"network_level": "restricted",
        "allowed_domains": ["api.example.com"]}

case = pack_runs.PackCase()


def told(name, **env):
    report, result = case.report("keeper", {"name": name}, **env)
    return report.get("result"), result


def refused(name, code, *words, **env):
    before = len(case.audit("launch"))
    result = case.tool("keeper", {"name": "WEATHER_API_KEY"}, *words, **env)
    check(f"{name}: {code}", result.code == 125
          and f"{code}: " in result.err and result.out == "", result)
    check(f"{name}: nothing started", len(case.audit("launch")) == before)


def consents():
    value = secrets.token_hex(16)
    refused("nobody consented", "credentials_consent_missing",
            WEATHER_API_KEY=value)
    said, result = case.report("keeper", {"name": "WEATHER_API_KEY"},
                               "--consent-once", WEATHER_API_KEY=value)
    check("this run", said.get("result") == value, result)
    refused("the next one", "credentials_consent_missing",
            WEATHER_API_KEY=value)
    result = case.run("consent", "add", "keeper", "--yes", "--for", "30d")
    check("consent add", result.code == 0 and "api.example.com" in result.err
          and "NICE_TO_HAVE" in result.err, result)
    facts = case.run("explain", "keeper", "--json").json()
    check("explain has it", facts["secrets_consent"] == "good"
          and facts["secrets"] == ["WEATHER_API_KEY", "NICE_TO_HAVE"]
          and facts["guard"][0]["tool"] == "tell", facts)


def given():
    value = secrets.token_hex(16)
    said, result = told("WEATHER_API_KEY", WEATHER_API_KEY=value)
    check("the tool reads it", said == value, result)
    said, result = told("NICE_TO_HAVE", WEATHER_API_KEY=value)
    check("what is not required may be unset", said == "(unset)", result)
    said, result = told("NICE_TO_HAVE", WEATHER_API_KEY=value,
                        NICE_TO_HAVE="")
    check("or empty", said == "(unset)", result)
    said, result = told("HOME", WEATHER_API_KEY=value)
    check("nothing else of ours is there", said == "/sandbox-home", result)
    launch = case.audit("launch")[-1]
    check("the record has the name and the tier",
          launch["secrets"] == ["WEATHER_API_KEY"]
          and launch["tier"] == "unverified"
          and launch["egress"] == ["api.example.com:443"], launch)
    refused("not set", "credentials_missing")
    refused("empty", "credentials_empty", WEATHER_API_KEY="")
    left = []
    for folder, _, names in os.walk(os.path.join(case.home, ".agentnode")):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                if value.encode() in file.read():
                    left.append(path)
    check("no file of ours has it", not left, left)


def networks():
    value = secrets.token_hex(16)
    case.run("config", "set", "packs.unrestricted_network", "keeper")
    case.change("keeper", permissions={"network_level": "unrestricted"})
    refused("an open network", "credentials_network", "--consent-once",
            WEATHER_API_KEY=value)
    case.change("keeper", permissions={"network_level": "none"})
    refused("another list of hosts", "credentials_consent_missing",
            WEATHER_API_KEY=value)
    case.change("keeper", env_requirements=[{"name": "LD_PRELOAD"}])
    refused("a name of the sandbox's own", "not_runnable",
            "--consent-once", WEATHER_API_KEY=value)


def main():
    case.put("keeper", {"keeper.py": CODE}, [
        {"name": "tell", "capability_id": "tell",
         "description": "Tells a variable.", "action_type": "read",
         "entrypoint": "keeper:tell",
         "input_schema": {"type": "object", "properties": {
             "name": {"type": "string", "maxLength": 99}}}}])
    try:
        case.change("keeper", env_requirements=WANTS, permissions=OPEN)
        consents()
        given()
        networks()
    finally:
        case.close()
    harness.finish()


main()
