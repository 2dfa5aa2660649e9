"""Starts the real, confined proxy through drive_proxy, with the test
internet of this project: names, addresses and servers the vectors use."""
import os
import signal
import subprocess
import time

import harness
import internet
import test_ca

DRIVE = os.path.join(harness.BUILD, "tests", "drive_proxy")
ALLOW = ["api.example.test:443", "*.wild.example:443",
         "private.example.test:443", "mixed.example.test:443",
         "mapped.example.test:443", "nat64.example.test:443",
         "metadata.example.test:443", "zero.example.test:443",
         "missing.example.test:443", "http://plain.example.test:80"]
DENY = ["denied.wild.example:443"]
# The test internet lives on loopback; only these names may resolve there.
RANGES = {"api.example.test": "127.0.0.11/32",
          "a.wild.example": "127.0.0.12/32",
          "plain.example.test": "127.0.0.13/32"}
ZONE = {"api.example.test": ["127.0.0.11"],
        "a.wild.example": ["127.0.0.12"],
        "plain.example.test": ["127.0.0.13"],
        "private.example.test": ["10.0.0.7"],
        "mixed.example.test": ["93.184.215.14", "127.0.0.1"],
        "mapped.example.test": ["::ffff:10.0.0.7"],
        "nat64.example.test": ["64:ff9b::a00:7"],
        "metadata.example.test": ["169.254.169.254"],
        "zero.example.test": ["0.0.0.0"],
        "missing.example.test": 3}


class TestInternet:
    """DNS, two TLS servers on port 443 and a plain one on port 80."""

    def __init__(self):
        folder = harness.folder()
        self.ca = test_ca.TestCA(folder)
        self.dns = internet.DNSServer(dict(ZONE))
        self.api = internet.TLSServer(
            self.ca.leaf("api.example.test"), "127.0.0.11", 443)
        self.wild = internet.TLSServer(
            self.ca.leaf("*.wild.example"), "127.0.0.12", 443)
        self.plain = internet.PlainServer(address="127.0.0.13", port=80)


class Drive:
    """One drive_proxy process; .address is where its listener is."""

    def __init__(self, *options, allow=(), deny=(), ranges=None,
                 resolver=None, direct=(), address="127.0.0.1",
                 stdin=False, prefix=()):
        self.port = harness.free_port(address)
        self.address = (address, self.port)
        self.log = os.path.join(harness.folder(), "proxy.jsonl")
        argv = [*prefix, DRIVE, f"{address}:{self.port}", "--log", self.log]
        for entry in allow:
            argv += ["--allow", entry]
        for entry in deny:
            argv += ["--deny", entry]
        for name, cidr in (ranges or {}).items():
            argv += ["--extra-range", f"{name}={cidr}"]
        for entry in direct:
            argv += ["--direct", entry]
        if resolver:
            argv += ["--resolver", resolver]
        argv += list(options)
        self.process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL)
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready"):
            raise RuntimeError("drive_proxy did not start: "
                               + self.process.stderr.read().decode())

    def lines(self):
        return harness.json_lines(self.log)

    def codes(self):
        """Codes of the connections so far, in order of their end."""
        return [line["code"] for line in self.lines() if "code" in line]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        time.sleep(0.05)
        return self.process.returncode


def standard(net, *options, **more):
    return Drive(*options, allow=ALLOW, deny=DENY, ranges=RANGES,
                 resolver=net.dns.address, **more)
