#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""agentnode-probe opening URLs: plain and TLS, directly and through a
proxy, and what it says when it is refused."""
import json
import os
import socket
import ssl
import subprocess
import threading

from harness import LIBEXEC, check, finish, folder, need

PROBE = os.path.join(LIBEXEC, "agentnode-probe")
need(PROBE, "openssl")
place = folder()
KEY, CERT = os.path.join(place, "key"), os.path.join(place, "cert")
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-keyout", KEY, "-out",
                CERT, "-subj", "/CN=localhost", "-days", "1"], check=True,
               capture_output=True)


def serve(answer):
    """A server on loopback that calls answer(connection); its port."""
    server = socket.create_server(("127.0.0.1", 0))

    def loop():
        while True:
            connection, _ = server.accept()
            threading.Thread(target=run, args=(connection,),
                             daemon=True).start()

    def run(connection):
        try:
            answer(connection)
        except OSError:
            pass
        connection.close()

    threading.Thread(target=loop, daemon=True).start()
    return server.getsockname()[1]


def head(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(4096)
        if not part:
            break
        data += part
    return data.decode("latin-1")


def http(connection):
    requests.append(head(connection))
    connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")


names = []
requests = []
VERSIONS = {"13": ssl.TLSVersion.TLSv1_3, "12": ssl.TLSVersion.TLSv1_2}


def tls(version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERT, KEY)
    context.minimum_version = context.maximum_version = VERSIONS[version]
    context.sni_callback = lambda _s, name, _c: names.append(name)

    def answer(connection):
        # The probe leaves after the first record.
        with context.wrap_socket(connection, server_side=True):
            pass
    return answer


def proxy(target, status=b"200 OK", more=b""):
    """CONNECT to target whatever was asked."""
    def answer(connection):
        requests.append(head(connection))
        connection.sendall(b"HTTP/1.1 " + status + b"\r\n" + more + b"\r\n")
        if not status.startswith(b"200"):
            return
        with socket.create_connection(("127.0.0.1", target)) as far:
            far.sendall(connection.recv(4096))
            connection.sendall(far.recv(4096))
    return answer


def network(url, **variables):
    done = subprocess.run([PROBE, "--report", "--url", url, "--scratch",
                           place, "--processes-max", "2"], env=variables,
                          capture_output=True, text=True, timeout=60,
                          check=True)
    return json.loads(done.stdout)["network"]


port = serve(http)
check("plain", network(f"http://127.0.0.1:{port}/x")
      == "reached, status 204", requests)
check("plain_through_proxy",
      network("http://a.test/x", HTTP_PROXY=f"http://127.0.0.1:{port}")
      == "reached, status 204"
      and requests[-1].startswith("GET http://a.test:80/x HTTP/1.1\r\n"),
      requests)
for version in VERSIONS:
    port = serve(tls(version))
    check(f"tls{version}", network(f"https://localhost:{port}/")
          == "reached, TLS answered" and names[-1] == "localhost", names)
    near = serve(proxy(port))
    check(f"tls{version}_through_proxy",
          network("https://api.example.test/",
                  HTTPS_PROXY=f"http://127.0.0.1:{near}")
          == "reached, TLS answered" and names[-1] == "api.example.test"
          and requests[-1].startswith(
              "CONNECT api.example.test:443 HTTP/1.1\r\n"), requests)
near = serve(proxy(0, b"403 Forbidden",
                   b"X-AgentNode-Reason: host_not_allowed\r\n"))
check("refusal_by_name", network(
    "https://a.test/", HTTPS_PROXY=f"http://127.0.0.1:{near}")
      == "refused by the proxy, status 403 (host_not_allowed)")
port = serve(lambda connection: (head(connection), connection.sendall(
    b"HTTP/1.1 403 No\r\nX-AgentNode-Reason: ip_blocked\r\n\r\n")))
check("a server's own word is no refusal of the proxy's",
      network(f"http://127.0.0.1:{port}/x") == "reached, status 403")
near = serve(lambda connection: head(connection))
check("proxy_that_hangs_up", network(
    "https://a.test/", HTTPS_PROXY=f"http://127.0.0.1:{near}")
      == "failed: the proxy did not answer")
port = serve(http)
check("no_tls_there", network(f"https://127.0.0.1:{port}/")
      == "failed: no TLS answer")
with socket.socket() as unused:
    unused.bind(("127.0.0.1", 0))
    port = unused.getsockname()[1]
check("refused", network(f"https://127.0.0.1:{port}/") == "refused")
check("unknown_name", network("https://no-such-name.test/")
      == "failed: the name does not resolve")
check("no_url", network("ftp://a.test/") == "failed: not an http(s) URL")
finish()
