#!/usr/bin/env python3
"""The egress proxy against the same hop without policy (tests/bench/hop.c),
squid, tinyproxy, nginx stream and haproxy (spliced), all in one run on one
core each, in a network namespace of its own whose congestion control is reno
on every side (bbr paces loopback).

usage: bench_proxy.py [--rounds N] [--seconds S] [--only NAME,...]

Needs root, and the Debian packages squid, tinyproxy, nginx-light,
libnginx-mod-stream and haproxy. What ours does more than they: policy,
address judgement, SNI equality, one log line per connection, confinement.
Medians of the rounds; ratios are ours to theirs."""
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
import internet  # noqa: E402

UP, UP_PORT, PORT = "127.0.0.41", 18443, 13128
NAME = "api.example.test"


class Peer(bench_peers.Peer):
    direct = False  # hello without a CONNECT before it
    connect = True
    port = PORT

    def __init__(self, folder, dns):
        super().__init__(folder)
        self.dns = dns

    def authority(self):
        return f"{UP}:{UP_PORT}"


class Ours(Peer):
    name = "agentnode"

    def start(self):
        self.spawn(os.path.join(BUILD, "tests", "drive_proxy"),
                   f"127.0.0.1:{PORT}", "--allow", f"{NAME}:{UP_PORT}",
                   "--extra-range", f"{NAME}={UP}/32", "--resolver",
                   self.dns.address, "--limit", "max_tunnels=20000",
                   "--direct", f"{NAME}:{UP_PORT}=127.0.0.1:{PORT + 1}",
                   "--log", os.path.join(self.folder, "ours.log"))
        self.process.stdout.readline()

    def pids(self):
        return super().pids()[1:]

    def authority(self):
        return f"{NAME}:{UP_PORT}"


class OursDirect(Ours):
    name, direct, connect, port = "agentnode direct", True, False, PORT + 1

    def authority(self):
        return f"direct:{NAME}"


class Hop(Peer):
    """Accepts, dials, splices; nothing else."""
    name, direct, connect = "hop", True, False

    def authority(self):
        return f"direct:{NAME}"

    def start(self):
        self.spawn(os.path.join(BUILD, "tests", "hop"),
                   f"127.0.0.1:{PORT}", f"{UP}:{UP_PORT}")


class Squid(Peer):
    name = "squid"

    def start(self):
        config = self.file("squid.conf", f"""
http_port 127.0.0.1:{PORT}
acl all_ports port 1-65535
http_access allow all_ports
cache deny all
access_log none
cache_log /dev/null
cache_store_log none
pid_filename none
max_filedescriptors 18000
workers 1
shutdown_lifetime 0 seconds
coredump_dir {self.folder}
pinger_enable off
""")
        self.spawn("squid", "-N", "-f", config)


class Tinyproxy(Peer):
    name = "tinyproxy"

    def start(self):
        config = self.file("tinyproxy.conf", f"""
Port {PORT}
Listen 127.0.0.1
Timeout 600
MaxClients 6000
Allow 127.0.0.1
LogLevel Critical
LogFile "{self.folder}/tinyproxy.log"
""")
        self.spawn("tinyproxy", "-d", "-c", config)


class Nginx(Peer):
    name, direct, connect = "nginx stream", True, False

    def authority(self):
        return f"direct:{NAME}"

    def start(self):
        config = self.file("nginx.conf", f"""
load_module modules/ngx_stream_module.so;
daemon off; master_process off; worker_processes 1;
pid {self.folder}/nginx.pid;
error_log /dev/null;
events {{ worker_connections 18000; }}
stream {{
  server {{ listen 127.0.0.1:{PORT} backlog=4096; ssl_preread on;
            proxy_pass {UP}:{UP_PORT}; tcp_nodelay on; }}
}}
""")
        self.spawn("nginx", "-c", config, "-p", "/usr/share/nginx/")


class Haproxy(Peer):
    name, direct, connect = "haproxy spliced", True, False

    def authority(self):
        return f"direct:{NAME}"

    def start(self):
        config = self.file("haproxy.cfg", f"""
global
  nbthread 1
  maxconn 8100
  maxpipes 512
defaults
  mode tcp
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  option splice-request
  option splice-response
listen l
  bind 127.0.0.1:{PORT} backlog 4096
  server s {UP}:{UP_PORT}
""")
        self.spawn("haproxy", "-db", "-f", config)


PEERS = [Ours, OursDirect, Hop, Squid, Tinyproxy, Nginx, Haproxy]
# measure: (load mode or None for the kind's own, slots, upstream mode)
MEASURES = {"rate": (None, 32, "byte"), "one": ("down", 1, "source"),
            "many": ("down", 32, "source"), "up": ("up", 1, "sink"),
            "many_up": ("up", 32, "sink"),
            "held": ("hold", 5000, "hold"), "held_more": ("hold", 8000, "hold")}
HOLDING = 90  # seconds in which all of them must be open


def measure(kind, folder, dns, name, seconds):
    mode, slots, upstream_mode = MEASURES[name]
    mode = mode or ("direct" if kind.direct else "connect")
    tools = os.path.join(BUILD, "tests")
    upstream = subprocess.Popen(
        ["taskset", "-c", "1", os.path.join(tools, "load_upstream"),
         f"{UP}:{UP_PORT}", upstream_mode], stdout=subprocess.PIPE)
    upstream.stdout.readline()
    peer = kind(folder, dns)
    peer.start()
    try:
        peer.listening()
        time.sleep(0.2)
        pids = peer.pids()
        cpu, memory = bench_peers.cpu_seconds(pids), bench_peers.memory_kb(pids)
        load = subprocess.Popen(
            ["taskset", "-c", "1", os.path.join(tools, "load_proxy"),
             peer.address(), peer.authority(), mode, str(slots),
             str(HOLDING if mode == "hold" else seconds)],
            stdout=subprocess.PIPE)
        if mode == "hold":
            held = load.stdout.readline().startswith(b"held")
            each = (bench_peers.memory_kb(peer.pids()) - memory) / slots
            load.kill()
            load.wait()
            return {"kb_per_tunnel": each if held else float("nan")}
        said = load.stdout.read().splitlines()
        load.wait()
        if not said or load.returncode != 0:
            raise RuntimeError(f"{kind.name} {name}: the load ended with "
                               f"{load.returncode}: {said}")
        result = json.loads(said[-1])
        result["cpu_s"] = bench_peers.cpu_seconds(pids) - cpu
        return result
    finally:
        peer.stop()
        upstream.kill()
        upstream.wait()


def figures(name, result):
    """What is compared, out of one result."""
    if name == "rate":
        done = max(result["done"], 1)
        return {"connections_per_s": result["per_second"],
                "cpu_us_each": result["cpu_s"] / done * 1e6,
                "per_core_s": done / result["cpu_s"],
                "failed": result["failed"]}
    if name.startswith("held"):
        return result
    gigabytes = max(result["bytes"] / 1e9, 1e-9)
    out = {"gb_per_s": result["gb_per_second"],
           "cpu_ms_per_gb": result["cpu_s"] / gigabytes * 1e3}
    if name.startswith("many"):
        out["fairness"] = result["fairness"]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--measures", default=",".join(MEASURES))
    options = parser.parse_args()
    missing = [p for p in ("squid", "tinyproxy", "nginx", "haproxy")
               if shutil.which(p) is None]
    if missing:
        sys.exit("missing: " + ", ".join(missing))
    bench_peers.own_namespace()
    folder = tempfile.mkdtemp(prefix="bench-proxy-")
    os.chmod(folder, 0o777)
    dns = internet.DNSServer({NAME: [UP]}, ttl=300)
    table = bench_peers.Table()
    for name in options.measures.split(","):
        for _ in range(options.rounds):
            for kind in PEERS:
                if options.only and kind.name not in options.only:
                    continue
                if kind is OursDirect and name not in ("rate",):
                    continue
                if kind is Tinyproxy and name.startswith("held"):
                    continue  # a process or thread each
                result = measure(kind, folder, dns, name, options.seconds)
                table.add(name, kind.name, figures(name, result))
    shutil.rmtree(folder)
    table.report(Ours.name)


main()
