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


def _sdk(what, process_env, steps, **where):
    plan = {"sdk": npm_cache.ensure(npm_cache.SDK), "steps": steps, **where}
    result = harness.run(npm_cache.node(), SDK_CLIENT, json.dumps(plan),
                         env=process_env, timeout=300)
    try:
        out = json.loads(result.out)
    except ValueError:
        out = {}
    check(f"the SDK connects to {what}", "results" in out and
          "fatal" not in out, result)
    check(f"the SDK's transport saw nothing odd from {what}",
          out.get("errors") == [], out.get("errors"))
    return out


def sdk(home, slug, steps, words=()):
    """What the SDK's client saw of an installed server."""
    env = harness.environment(home)
    return _sdk(slug, env, steps, command=harness.AGENTNODE,
                args=run_words(slug, *words)[1:], env=env)


def sdk_http(url, steps):
    """What it saw of an MCP endpoint over HTTP."""
    return _sdk(url, harness.environment(harness.folder()), steps, url=url)


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
