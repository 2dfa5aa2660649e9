"""The internet of the tests: a real DNS server (UDP and TCP) and real TLS
servers on loopback addresses, each with a record of what it was asked."""
import socket
import socketserver
import ssl
import struct
import threading


class DNSServer:
    """Answers A and AAAA from a table {name: [address, ...]}; a value may be
    a callable(name, type) returning a list, or an int for that rcode, or
    None for silence. Keeps every query in .queries."""

    def __init__(self, zone, address="127.0.0.1", ttl=60, port=0):
        self.zone, self.ttl = zone, ttl
        self.queries = []
        for _ in range(20):
            self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.udp.bind((address, port))
            self.port = self.udp.getsockname()[1]
            self.tcp = socket.socket()
            try:
                self.tcp.bind((address, self.port))
                break
            except OSError:
                self.udp.close()
                self.tcp.close()
        self.tcp.listen(16)
        self.address = f"{address}:{self.port}"
        threading.Thread(target=self._serve_udp, daemon=True).start()
        threading.Thread(target=self._serve_tcp, daemon=True).start()

    def _serve_udp(self):
        while True:
            try:
                data, peer = self.udp.recvfrom(4096)
                answer = self.answer(data)
                if answer:
                    self.udp.sendto(answer, peer)
            except OSError:
                return

    def _serve_tcp(self):
        while True:
            try:
                conn, _ = self.tcp.accept()
                conn.settimeout(2)
                size = struct.unpack("!H", conn.recv(2))[0]
                answer = self.answer(conn.recv(size))
                if answer:
                    conn.sendall(struct.pack("!H", len(answer)) + answer)
                conn.close()
            except (OSError, struct.error):
                if self.tcp.fileno() < 0:
                    return

    def answer(self, data):
        ident = data[:2]
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1:at + 1 + data[at]].decode("latin1"))
            at += 1 + data[at]
        question = data[12:at + 5]
        kind = struct.unpack("!H", data[at + 1:at + 3])[0]
        name = ".".join(labels).lower()
        self.queries.append((name, {1: "A", 28: "AAAA"}.get(kind, kind)))
        found = self.zone.get(name, 3)
        if callable(found):
            found = found(name, kind)
        if found is None:
            return None
        if isinstance(found, int):
            return (ident + struct.pack("!HHHHH", 0x8180 | found, 1, 0, 0, 0)
                    + question)
        records = b""
        count = 0
        for address in found:
            v6 = ":" in address
            if (kind == 28) != v6 or kind not in (1, 28):
                continue
            raw = socket.inet_pton(
                socket.AF_INET6 if v6 else socket.AF_INET, address)
            records += (b"\xc0\x0c" + struct.pack(
                "!HHIH", kind, 1, self.ttl, len(raw)) + raw)
            count += 1
        return (ident + struct.pack("!HHHHH", 0x8180, 1, count, 0, 0)
                + question + records)

    def asked(self, name):
        return [q for q in self.queries if q[0] == name]

    def close(self):
        self.udp.close()
        self.tcp.close()


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        server = self.server
        try:
            self.request.settimeout(30)
            self.request.do_handshake()
            server.note(self.request)
            server.behaviour(self.request)
        except (OSError, ssl.SSLError, ValueError):
            pass
        finally:
            try:
                self.request.close()
            except OSError:
                pass


def serve_http(conn):
    """A tiny HTTP/1.1 server: GET / says hello, POST echoes the size."""
    data = b""
    while True:
        while b"\r\n\r\n" not in data:
            more = conn.recv(65536)
            if not more:
                return
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.split(b"\r\n")[1:]:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        while len(data) < length:
            more = conn.recv(65536)
            if not more:
                return
            data += more
        data = data[length:]
        body = b"hello from the test internet\n"
        if length:
            body = b"got %d bytes\n" % length
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
        if b"connection: close" in head.lower():
            return


def serve_echo(conn):
    """Sends back what comes, half-close kept."""
    while True:
        data = conn.recv(65536)
        if not data:
            return
        conn.sendall(data)


class TLSServer(socketserver.ThreadingTCPServer):
    """A real TLS server; .seen holds (sni, version) of each handshake,
    .named each name that any ClientHello brought, also where no handshake
    came of it, and .connections counts even those without one."""
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, pem, address="127.0.0.1", port=0,
                 behaviour=serve_http):
        self.behaviour = behaviour
        self.seen, self.named, self.connections = [], [], 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.context.sni_callback = self._sni
        super().__init__((address, port), _Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def get_request(self):
        conn, peer = super().get_request()
        self.connections += 1
        return self.context.wrap_socket(
            conn, server_side=True, do_handshake_on_connect=False), peer

    def _sni(self, sslsocket, name, _context):
        sslsocket.agentnode_sni = name
        self.named.append(name)

    def note(self, conn):
        self.seen.append((getattr(conn, "agentnode_sni", None),
                          conn.version()))

    def handle_error(self, request, client_address):
        pass

    def close(self):
        self.shutdown()
        self.server_close()


class PlainServer(socketserver.ThreadingTCPServer):
    """A plain TCP server: .received collects what came."""
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, behaviour=serve_http, address="127.0.0.1", port=0):
        self.behaviour, self.connections = behaviour, 0

        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                outer.connections += 1
                try:
                    self.request.settimeout(30)
                    outer.behaviour(self.request)
                except OSError:
                    pass

        super().__init__((address, port), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def close(self):
        self.shutdown()
        self.server_close()
