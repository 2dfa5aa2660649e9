#!/usr/bin/env python3
"""The demo's session. Its internet is a real DNS server and real TLS
servers on loopback addresses; everything else is the product."""
import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import harness
import internet
import mcp_client
import registry_config
import test_ca

HOME = os.path.join(harness.SOURCE, "build", "demo")
FILES = os.path.join(HOME, "files")
SERVER = "npm:@modelcontextprotocol/server-everything@2026.8.31"
HOST, OTHER = "api.example.test", "other.example.test"
API, PLAIN, DNS = "127.0.0.11", "127.0.0.13", "127.0.0.10"
faults = []


def say(text):
    print("\n== " + text, flush=True)


def shown(name, ok, detail=""):
    print(f"   {'yes' if ok else 'NO '}  {name}"
          + (f": {detail}" if detail else ""), flush=True)
    if not ok:
        faults.append(name)


def agentnode(*words, quiet=False, timeout=900, **env):
    """Run the command line, its output shown unless quiet."""
    if not quiet:
        print("$ agentnode " + " ".join(words), flush=True)
    done = subprocess.run(
        [harness.AGENTNODE, *words], env=environment(**env),
        stdin=subprocess.DEVNULL, timeout=timeout,
        stdout=subprocess.PIPE if quiet else None, text=True)
    if done.returncode != 0 and not quiet:
        shown("agentnode " + " ".join(words), False,
              f"exit {done.returncode}")
        sys.exit(1)
    return done


def environment(**more):
    return dict({"PATH": os.environ["PATH"], "HOME": HOME,
                 "AGENTNODE_HOME": os.path.join(HOME, ".agentnode")}, **more)


def start_internet():
    """Two names, one of which will be allowed; a stand-in for a metadata
    service; a DNS server on port 53 of a loopback address."""
    folder = os.path.join(HOME, "ca")
    os.makedirs(folder, exist_ok=True)
    ca = test_ca.TestCA(folder)
    os.makedirs(FILES, exist_ok=True)
    with open(ca.root, "rb") as source, \
            open(os.path.join(FILES, "root.pem"), "wb") as copy:
        copy.write(source.read())
    zone = {HOST: [API], OTHER: [API]}
    return {"ca": ca, "dns": internet.DNSServer(zone, DNS, port=53),
            "api": internet.TLSServer(ca.leaf(HOST, OTHER), API, 443),
            "plain": internet.PlainServer(address=PLAIN, port=80)}


def configure():
    url, host, ranges, bundle = registry_config.settings()
    for key, value in (
            ("build.npm_registry", url), ("build.ca_bundle", bundle),
            ("egress.resolver", DNS + ":53"),
            ("egress.extra_ranges", json.dumps({host: ranges,
                                                HOST: [API + "/32"],
                                                OTHER: [API + "/32"]}))):
        agentnode("config", "set", key, value, quiet=True)


def host_resolver():
    """The registry's name is resolved by the machine's own resolver."""
    agentnode("config", "unset", "egress.resolver", quiet=True)


def probe():
    say("A task that means harm, as an ordinary program on the host")
    secret = os.path.join(HOME, ".aws")
    os.makedirs(secret, exist_ok=True)
    with open(os.path.join(secret, "credentials"), "w",
              encoding="ascii") as file:
        file.write("[default]\naws_secret_access_key = example\n")
    url = f"http://{PLAIN}/"
    scratch = os.path.join(HOME, "scratch")
    os.makedirs(scratch, exist_ok=True)
    host = json.loads(subprocess.run(
        [harness.AGENTNODE, "probe", "--on-host", "--url", url, "--raw", API,
         "--metadata", PLAIN, "--resolver", DNS], cwd=scratch, text=True,
        env=environment(AWS_SECRET_ACCESS_KEY="example"), check=True,
        capture_output=True).stdout)
    table(host)
    say("The same, sealed, nothing allowed")
    sealed = json.loads(agentnode(
        "probe", "--json", "--url", f"https://{HOST}/", quiet=True,
        AWS_SECRET_ACCESS_KEY="example").stdout)
    table(sealed)
    say(f"The same, sealed, {HOST} allowed")
    one = json.loads(agentnode(
        "probe", "--json", "--allow", HOST, "--url", f"https://{HOST}/",
        quiet=True, AWS_SECRET_ACCESS_KEY="example").stdout)
    table(one)
    say("What that shows")
    shown("the host gives the credentials away, the sandbox has none",
          host["credentials"].startswith("readable")
          and sealed["credentials"] == one["credentials"] == "no such file")
    shown("the secret in the environment stays outside",
          host["secret_in_env"] and not sealed["secret_in_env"]
          and not one["secret_in_env"])
    shown("nothing allowed: the URL is not reached",
          not sealed["network"].startswith("reached"), sealed["network"])
    shown("one host allowed: it is reached",
          one["network"].startswith("reached"), one["network"])
    shown("no resolver, no raw address, no metadata service",
          all(facts[key].startswith("failed") for facts in (sealed, one)
              for key in ("name_lookup", "raw_address", "metadata")))


def table(facts):
    for key, value in facts.items():
        print(f"   {key:16} {value}")


def install():
    say(f"Install {SERVER}, pinned and sealed, {HOST} declared")
    host_resolver()
    agentnode("mcp", "install", SERVER, "--name", "everything", "--allow",
              HOST, "--files", FILES)
    configure()
    agentnode("mcp", "list")


def fetch(client, host):
    """The server's own fetch tool on a URL; (text, error)."""
    result = client.call("gzip-file-as-resource", name="x.gz",
                         data=f"https://{host}/", outputType="resource")
    content = (result or {}).get("content") or [{}]
    blob = content[0].get("resource", {}).get("blob")
    if blob:
        return gzip.decompress(base64.b64decode(blob)).decode(), ""
    return "", json.dumps(result)[:300]


def session(net):
    say("An MCP client talks to the server in its sandbox")
    client = mcp_client.Client(
        [harness.AGENTNODE, "mcp", "run", "--env",
         "NODE_EXTRA_CA_CERTS=/files/root.pem", "everything"],
        env=environment())
    answer = client.initialize()
    shown("initialize", answer and "result" in answer,
          f"first answer after {client.first_answer * 1000:.0f} ms")
    tools = client.ask("tools/list")["result"]["tools"]
    shown("tools/list", len(tools) > 5, f"{len(tools)} tools")
    text = json.dumps(client.call("echo", message="from the sandbox"))
    shown("tools/call echo", "from the sandbox" in text)
    text, error = fetch(client, HOST)
    shown(f"the server fetches https://{HOST}/", "hello" in text,
          text.strip() or error)
    before = len(net["dns"].asked(OTHER))
    text, error = fetch(client, OTHER)
    shown(f"it cannot fetch https://{OTHER}/", text == "", error)
    shown("and nobody was asked for that name",
          len(net["dns"].asked(OTHER)) == before)
    return client


def last_refusal():
    done = agentnode("logs", "agentnode-egress-proxy", "--last", "40",
                     quiet=True)
    lines = [line for line in done.stdout.splitlines() if OTHER in line]
    print("   the proxy's line: " + (lines[-1][:400] if lines else "none"))
    shown("the refusal has its line with its code",
          lines and "host_not_allowed" in lines[-1])


def inside_pids():
    """Processes with the container's host name in their namespace."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
                if "/libpod-" in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return set(found)


def dead_mans_switch(client):
    say("kill -9 of the supervisor")
    inside = inside_pids()
    begin = time.monotonic()
    os.kill(client.process.pid, signal.SIGKILL)
    gone = harness.wait_until(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside),
        5, 0.001)
    took = (time.monotonic() - begin) * 1000
    shown("everything in the sandbox is dead", inside and gone,
          f"{len(inside)} processes in {took:.0f} ms")
    client.process.wait()


def main():
    os.makedirs(HOME, mode=0o700, exist_ok=True)
    say("The sandbox image, from Debian packages and npm's own Node")
    host_resolver()
    agentnode("sandbox", "build")
    agentnode("sandbox", "doctor")
    agentnode("sandbox", "status")
    net = start_internet()
    configure()
    probe()
    install()
    client = session(net)
    last_refusal()
    dead_mans_switch(client)
    agentnode("audit", "verify")
    say("done" if not faults else "not shown: " + ", ".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
