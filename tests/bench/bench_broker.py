#!/usr/bin/env python3
"""The real, confined broker and llm-key (and the ledger, which keeps their
budgets) against nginx as a reverse proxy and the Portkey gateway: the same
calls to the same TLS upstream (upstream_llm.c), which refuses those without
the key. All in one run, in a network namespace of its own whose congestion
control is reno; a peer with all its processes has one core, the upstream and
the callers the other one.

usage: bench_broker.py [--rounds N] [--seconds S] [--only NAME,...]
                       [--measures one,sixteen,sixtyfour,streams,held]
                       [--free] [--first]

--free pins nothing. --first puts the run before everything else that the
machine does (the autogroup's nice value): for a machine that is not idle.

Needs root, the Debian package nginx-light, npm and (the first time) the
network: Node and Portkey come pinned from npm; Portkey's streams fail with
the @hono/node-server it would get today, so that is pinned, too. What ours
does more than nginx: it judges every field of the body and the head, reserves
a budget and settles it on disk, reads the usage out of the answer, looks for
the key in it, and logs a line per call (up to 1,000 a second). nginx logs
nothing here. Medians of the rounds; ratios are ours to theirs."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("AGENTNODE_BUILD_DIR",
                       os.path.join(SOURCE, "build", "release"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import bench_peers  # noqa: E402
import npm_cache  # noqa: E402
import test_ca  # noqa: E402

TOOLS = os.path.join(BUILD, "tests")
UP, UP_PORT, HOST = "127.0.0.41", 18443, "api.openai.com"
KEY = "sk-bench-4Zq8w1Xy7Rb3Kd5Nf9Pj2Tm6Vh0Lc"
PORTKEY = ({"@portkey-ai/gateway": "1.15.2"}, {"@hono/node-server": "1.13.8"})
LEDGER_UID = 1879048191
ANSWER = 800  # characters of an answer that is no stream
# load mode, calls at one time, the upstream's stream: events, microseconds
# between them, characters of one
MEASURES = {"one": ("calls", 1, (1, 0, 40)),
            "sixteen": ("calls", 16, (1, 0, 40)),
            "sixtyfour": ("calls", 64, (1, 0, 40)),
            "streams": ("streams", 200, (40, 25000, 40)),
            "held": ("hold", 1000, (1000000, 1000000, 40))}


class Peer(bench_peers.Peer):
    path = "/openai/v1/chat/completions"

    def __init__(self, folder, ca, is_stream):
        super().__init__(folder)
        self.ca, self.is_stream = ca, is_stream

    def load_options(self):
        return []


class Direct(Peer):
    """The callers speak TLS themselves."""
    name, path = "direct", "/v1/chat/completions"

    def start(self):
        pass

    def listening(self):
        pass

    def pids(self):
        return []

    def address(self):
        return f"{UP}:{UP_PORT}"

    def load_options(self):
        return ["tls", self.ca.root, "host", HOST,
                "field", f"Authorization: Bearer {KEY}"]


class Ours(Peer):
    name = "agentnode"
    ledger = True

    def start(self):
        key = os.path.join(self.folder, "key")
        with open(key, "w", encoding="ascii") as file:
            file.write(KEY)
        more = []
        if self.ledger:
            folder = tempfile.mkdtemp(dir=self.folder)
            os.chown(folder, LEDGER_UID, LEDGER_UID)
            more = ["--ledger", folder]
        fd = os.open(key, os.O_RDONLY)
        self.spawn(os.path.join(TOOLS, "drive_broker"), self.address(),
                   "--provider", os.path.join(SOURCE, "config", "providers",
                                              "openai.json"),
                   "--key-fd", str(fd), "--host", f"{HOST}:{UP_PORT}",
                   "--ca", self.ca.root, "--address", f"{HOST}={UP}",
                   "--log", os.path.join(self.folder, "ours.log"), *more,
                   pass_fds=[fd])
        os.close(fd)
        if not self.process.stdout.readline().startswith(b"ready"):
            raise RuntimeError("drive_broker is not ready")

    def pids(self):
        return super().pids()[1:]


class OursNoLedger(Ours):
    """Which part of it is the ledger's?"""
    name, ledger = "agentnode no ledger", False


class Nginx(Peer):
    name = "nginx"

    def start(self):
        buffering = "proxy_buffering off;" if self.is_stream else ""
        config = self.file("nginx.conf", f"""
daemon off; master_process off; worker_processes 1;
pid {self.folder}/nginx.pid;
error_log /dev/null;
events {{ worker_connections 16000; }}
http {{
  access_log off;
  client_body_temp_path {self.folder}/body;
  proxy_temp_path {self.folder}/proxy;
  upstream provider {{ server {UP}:{UP_PORT}; keepalive 1024;
                       keepalive_requests 1000000000; }}
  server {{ listen {self.address()} backlog=4096;
            keepalive_requests 1000000000;
    location /openai/ {{
      proxy_pass https://provider/;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host {HOST}:{UP_PORT};
      proxy_set_header Authorization "Bearer {KEY}";
      proxy_ssl_verify on;
      proxy_ssl_trusted_certificate {self.ca.root};
      proxy_ssl_server_name on;
      proxy_ssl_name {HOST};
      {buffering} }} }}
}}
""")
        self.spawn("nginx", "-c", config, "-p", self.folder)


class Portkey(Peer):
    name, path = "portkey", "/v1/chat/completions"

    def start(self):
        self.spawn(npm_cache.node(), os.path.join(
            npm_cache.ensure(*PORTKEY), "node_modules", "@portkey-ai",
            "gateway", "build", "start-server.js"), "--headless",
            f"--port={self.port}", stdout=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"],
                 "NODE_EXTRA_CA_CERTS": self.ca.root,
                 "TRUSTED_CUSTOM_HOSTS": UP})

    def load_options(self):
        return ["field", "x-portkey-provider: openai", "field",
                f"x-portkey-custom-host: https://{UP}:{UP_PORT}/v1",
                "field", f"Authorization: Bearer {KEY}"]


PEERS = [Direct, Ours, OursNoLedger, Nginx, Portkey]


def start_upstream(ca, stream):
    pin = ["taskset", "-c", "1"] if Peer.core else []
    upstream = subprocess.Popen(
        [*pin, os.path.join(TOOLS, "upstream_llm"), f"{UP}:{UP_PORT}",
         os.path.join(ca.folder, HOST + ".pem"), KEY, str(ANSWER),
         *map(str, stream)], stdout=subprocess.PIPE)
    upstream.stdout.readline()
    return upstream


def start_load(peer, mode, slots, seconds):
    pin = ["taskset", "-c", "1"] if Peer.core else []
    spread = {"streams": 1000, "hold": 3000}.get(mode, 0)
    return subprocess.Popen(
        [*pin, os.path.join(TOOLS, "load_llm"), peer.address(), peer.path,
         mode, str(slots), str(seconds), "spread", str(spread),
         *peer.load_options()], stdout=subprocess.PIPE)


def measure(kind, folder, ca, name, seconds):
    mode, slots, stream = MEASURES[name]
    upstream = start_upstream(ca, stream)
    peer = kind(folder, ca, mode != "calls")
    try:
        peer.start()
        peer.listening()
        time.sleep(0.3)
        pids = peer.pids()
        cpu = bench_peers.cpu_seconds(pids)
        load = start_load(peer, mode, slots, seconds)
        result = {}
        if mode == "hold":
            if not load.stdout.readline().startswith(b"held"):
                raise RuntimeError(f"{kind.name}: {slots} are not held")
            time.sleep(seconds / 2)
            result["kb"] = bench_peers.memory_kb(peer.pids())
        said = load.stdout.read().splitlines()
        load.wait()
        if not said or load.returncode != 0:
            raise RuntimeError(f"{kind.name} {name}: the load ended with "
                               f"{load.returncode}: {said}")
        result.update(json.loads(said[-1]))
        result["cpu_s"] = bench_peers.cpu_seconds(pids) - cpu
        return result
    finally:
        peer.stop()
        upstream.kill()
        upstream.wait()


def figures(name, kind, result):
    """What is compared, out of one result."""
    if name == "held":
        return {"rss_mb": result.get("kb", float("nan")) / 1024}
    out = {"failed": result["failed"]}
    if name == "streams":
        out.update({"first_event_ms": result["first_p50_us"] / 1e3,
                    "first_event_p99_ms": result["first_p99_us"] / 1e3,
                    "event_delay_us": result["delay_p50_us"],
                    "event_delay_p99_us": result["delay_p99_us"],
                    "jitter_us": result["jitter_p50_us"],
                    "jitter_p99_us": result["jitter_p99_us"],
                    "events": result["events"]})
        done = result["events"]
    else:
        out.update({"per_second": result["per_second"],
                    "p50_us": result["took_p50_us"],
                    "p99_us": result["took_p99_us"]})
        done = result["calls"]
    if kind is not Direct:
        out["cpu_us_each"] = result["cpu_s"] / max(done, 1) * 1e6
    return out


def added(table):
    """What each peer adds to a call alone, beside direct."""
    for key in ("p50_us", "p99_us"):
        medians = table.medians("one", key)
        if Direct.name not in medians:
            continue
        print(f"\none: added {key}")
        for peer, value in medians.items():
            if peer != Direct.name:
                print(f"  {peer:20} {value - medians[Direct.name]:12.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--measures", default=",".join(MEASURES))
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--first", action="store_true")
    options = parser.parse_args()
    if shutil.which("nginx") is None:
        sys.exit("missing: nginx")
    if not options.only or Portkey.name in options.only.split(","):
        npm_cache.node()
        npm_cache.ensure(*PORTKEY)
    if options.first:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write("-15")
    bench_peers.own_namespace()
    if options.free:
        Peer.core = ""
    folder = tempfile.mkdtemp(prefix="bench-broker-")
    os.chmod(folder, 0o755)
    ca = test_ca.TestCA(folder)
    ca.leaf(HOST, UP)
    table = bench_peers.Table()
    for name in options.measures.split(","):
        for _ in range(options.rounds):
            for kind in PEERS:
                if options.only and kind.name not in options.only.split(","):
                    continue
                if name == "held" and kind is Direct:
                    continue
                table.add(name, kind.name, figures(
                    name, kind,
                    measure(kind, folder, ca, name, options.seconds)))
    shutil.rmtree(folder)
    added(table)
    table.report(Ours.name)


main()
