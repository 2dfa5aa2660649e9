"""The package registry of this machine as configuration: its address from
npm, what it resolves into now, and the CA bundle npm trusts. Nothing of it
is written down anywhere else."""
import os
import socket
import subprocess
import urllib.parse

import harness

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def registry():
    """npm's registry URL."""
    harness.need("npm")
    done = subprocess.run(["npm", "config", "get", "registry"], check=True,
                          capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def settings():
    """{key: value as `config set` takes it}."""
    url = registry()
    host = urllib.parse.urlsplit(url).hostname
    addresses = sorted({info[4][0] for info in socket.getaddrinfo(
        host, 443, type=socket.SOCK_STREAM)})
    ranges = [a + ("/128" if ":" in a else "/32") for a in addresses]
    bundle = os.environ.get("NODE_EXTRA_CA_CERTS") or BUNDLE
    return url, host, ranges, bundle
