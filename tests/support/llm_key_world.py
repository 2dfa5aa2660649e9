"""Providers for agentnode-llm-key: real TLS servers on loopback that behave
well or badly, a resolver that knows them, and one process to reach them."""
import datetime
import os
import socket
import ssl
import subprocess
import threading

import harness
import internet
import llm_key_client
import test_ca

KEY = "sk-test-Qz7Lw2Vx9Rk4Tn8Bm1Hc6Jd3Fg5Sp0Yu_aE"
SECOND_KEY = "sk-next-vU3nQ8wZ5kX1rT7yM4pL9sD2fG6hJ0cBaE-x"
HOST = "api.example.test"
LOOPBACK = ["127.0.0.1/32"]
AUTHORIZATION = {"header": "Authorization", "format": "Bearer {key}"}


def provider(name, port, host=HOST, **more):
    entry = {"name": name, "host": host, "port": port, "key": AUTHORIZATION,
             "cidrs": LOOPBACK}
    entry.update(more)
    return {k: v for k, v in entry.items() if v != ()}


def authority(port, host=HOST):
    return f"{host}:{port}"


def read_request(conn, data=b""):
    """(head, body, what is behind) of one request, or None."""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        if not more:
            return None
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    while len(rest) < length:
        more = conn.recv(65536)
        if not more:
            return None
        rest += more
    return head, rest[:length], rest[length:]


def answer(body=b"fine\n", status=b"200 OK", extra=b""):
    return (b"HTTP/1.1 " + status + b"\r\n" + extra
            + b"Content-Length: %d\r\n\r\n" % len(body) + body)


class Provider(internet.TLSServer):
    """Keeps every head it was sent in .heads; answers answer() unless
    behaviour(conn, head, body) is given: then what that returns is sent, and
    the connection is closed when it returns None."""

    def __init__(self, pem, reply=None, port=0):
        self.heads, self.bodies, self.reused = [], [], []
        self.reply = reply or (lambda conn, head, body: answer())
        super().__init__(pem, behaviour=self._serve, port=port)

    def _serve(self, conn):
        self.reused.append(conn.session_reused)
        rest = b""
        while True:
            request = read_request(conn, rest)
            if request is None:
                return
            head, body, rest = request
            self.heads.append(head)
            self.bodies.append(body)
            said = self.reply(conn, head, body)
            if said is None:
                return
            conn.sendall(said)

    def field(self, name, index=-1):
        """Values of a field of a head, in order."""
        return [line.split(b": ", 1)[1].decode()
                for line in self.heads[index].split(b"\r\n")[1:]
                if line.split(b":")[0].lower() == name.lower().encode()]


class Authority(test_ca.TestCA):
    """Certificates that are wrong in one way each."""

    def dated(self, name, start, end):
        """A leaf with these days from now as its validity."""
        base = os.path.join(self.folder, f"dated{start}_{end}_{name}")
        now = datetime.datetime.now(datetime.timezone.utc)

        def moment(days):
            return (now + datetime.timedelta(days)).strftime("%Y%m%d%H%M%SZ")
        folder = base + ".ca"
        os.mkdir(folder)
        for file, text in (("index", ""), ("serial", "1000\n")):
            with open(os.path.join(folder, file), "w",
                      encoding="ascii") as out:
                out.write(text)
        with open(os.path.join(folder, "conf"), "w",
                  encoding="ascii") as out:
            out.write(f"""[ca]\ndefault_ca=d\n[d]\ndatabase={folder}/index
serial={folder}/serial\nnew_certs_dir={folder}\ndefault_md=sha256
policy=p\nx509_extensions=e\n[p]\ncommonName=supplied
[e]\nsubjectAltName=DNS:{name}\n""")
        self._openssl("req", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-subj",
                      f"/CN={name}", "-keyout", base + ".key", "-out",
                      base + ".csr")
        self._openssl("ca", "-batch", "-config", folder + "/conf", "-cert",
                      self.root, "-keyfile", self.root_key, "-in",
                      base + ".csr", "-out", base + ".crt", "-startdate",
                      moment(start), "-enddate", moment(end), "-notext")
        return self._join(base)

    def self_signed(self, name):
        base = os.path.join(self.folder, "self_" + name)
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                      "-subj", f"/CN={name}", "-addext",
                      f"subjectAltName=DNS:{name}", "-keyout", base + ".key",
                      "-out", base + ".crt")
        return self._join(base)

    @staticmethod
    def _join(base):
        with open(base + ".pem", "w", encoding="ascii") as out:
            for part in (".crt", ".key"):
                with open(base + part, encoding="ascii") as file:
                    out.write(file.read())
        return base + ".pem"


class World:
    """One certificate authority, one resolver, one llm-key."""

    def __init__(self, **zone):
        self.ca = Authority(harness.folder())
        self.zone = {HOST: ["127.0.0.1"], **zone}
        self.dns = internet.DNSServer(self.zone)
        self.pem = self.ca.leaf(HOST)
        self.key = None

    def start(self, providers, broker=True, keys=True, **options):
        self.key = llm_key_client.KeyProcess(
            providers, [self.ca.root], self.dns.address, **options)
        if broker:
            self.key.add_broker()
        for entry in providers if keys else ():
            if entry["key"]:
                self.key.give_key(entry["name"], KEY)
                if broker:
                    self.key.patterns()
        return self.key

    def code(self):
        """The code of the last call in the log."""
        harness.wait_until(lambda: self.calls(), 5)
        return self.calls()[-1]["code"]

    def calls(self):
        return [line for line in self.key.lines()
                if line["event"] == "upstream_call"]


class CorporateProxy(internet.PlainServer):
    """Answers CONNECT with this status and tunnels; .asked has the heads."""

    def __init__(self, status=b"200 Connection established", behind=b""):
        self.asked = []
        self.status, self.behind = status, behind
        super().__init__(behaviour=self._serve)

    def _serve(self, conn):
        data = b""
        while b"\r\n\r\n" not in data:
            more = conn.recv(65536)
            if not more:
                return
            data += more
        self.asked.append(data.decode())
        conn.sendall(b"HTTP/1.1 " + self.status + b"\r\n\r\n" + self.behind)
        if not self.status.startswith(b"200"):
            return
        target = data.split(b" ")[1].decode().rsplit(":", 1)
        there = socket.create_connection((target[0].strip("[]"),
                                          int(target[1])))

        def back():
            try:
                while more := there.recv(65536):
                    conn.sendall(more)
                conn.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        threading.Thread(target=back, daemon=True).start()
        while more := conn.recv(65536):
            there.sendall(more)


def old_tls(pem, port=0):
    """A server that speaks TLS 1.1 and nothing else."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", pem,
         "-key", pem, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-quiet"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    harness.wait_until(lambda: _answers(port), 5)
    return process, port


def _answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def tls12(server):
    """Make a Provider speak TLS 1.2 only."""
    server.context.maximum_version = ssl.TLSVersion.TLSv1_2
    return server
