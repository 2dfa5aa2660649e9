"""Two clients that are not ours, on an installed server: the official
TypeScript SDK's, and the Inspector's command line."""
import json
import os

import harness
import npm_cache
from harness import check
from mcp_setup import run_words

SDK_CLIENT = os.path.join(harness.SOURCE, "tests", "support",
                          "sdk_client.mjs")


def sdk(home, slug, steps, words=()):
    """What the SDK's client saw."""
    env = harness.environment(home)
    plan = {"sdk": npm_cache.ensure(npm_cache.SDK),
            "command": harness.AGENTNODE,
            "args": run_words(slug, *words)[1:], "env": env, "steps": steps}
    result = harness.run(npm_cache.node(), SDK_CLIENT, json.dumps(plan),
                         env=env, timeout=300)
    try:
        out = json.loads(result.out)
    except ValueError:
        out = {}
    check(f"the SDK connects to {slug}", "results" in out and
          "fatal" not in out, result)
    check(f"the SDK's transport saw nothing odd from {slug}",
          out.get("errors") == [], out.get("errors"))
    return out


def inspector(home, slug, *words, run=()):
    """The Inspector's command line; its JSON."""
    folder = npm_cache.ensure(npm_cache.INSPECTOR)
    env = harness.environment(home)
    result = harness.run(
        npm_cache.node(),
        os.path.join(folder, "node_modules/@modelcontextprotocol/inspector",
                     "clients/launcher/build/index.js"),
        "--cli", *run_words(slug, *run), "-e",
        "AGENTNODE_HOME=" + env["AGENTNODE_HOME"], *words, env=env,
        timeout=120)
    try:
        return json.loads(result.out), result
    except ValueError:
        return {}, result


def text(result):
    """The first text of a tool's result."""
    content = (result or {}).get("content") or [{}]
    return content[0].get("text", "")
