# SPDX-License-Identifier: Apache-2.0
"""A package registry of the tests' own: npm and PyPI over TLS on loopback,
with good packages and packages that are wrong in one way each."""
import base64
import hashlib
import http.server
import io
import json
import os
import ssl
import tarfile
import threading
import time
import zipfile

NAME = "registry.example.test"

SERVER_JS = b"""#!/usr/bin/env node
console.log("hello " + require("dep-a").word + " " + process.argv.slice(2));
"""


def tgz(files):
    """A package as npm packs it: {name: bytes, or (kind, target)}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
        for name, body in files.items():
            info = tarfile.TarInfo("package/" + name)
            info.mode = 0o644
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


def wheel(name, version, files, scripts):
    """A wheel; scripts: {command: "module:function"}."""
    out = io.BytesIO()
    info = "%s-%s.dist-info/" % (name.replace("-", "_"), version)
    files = dict(files)
    files[info + "METADATA"] = (
        "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: test\n"
                             "Root-Is-Purelib: true\nTag: py3-none-any\n")
    files[info + "entry_points.txt"] = "[console_scripts]\n" + "".join(
        "%s = %s\n" % item for item in scripts.items())
    files[info + "RECORD"] = "".join(
        "%s,,\n" % path for path in files) + info + "RECORD,,\n"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return out.getvalue()


class Registry:
    """npm under /npm/, PyPI under /simple/. .asked is every path."""

    def __init__(self, pem, address="127.0.0.21"):
        self.npm, self.files, self.pypi = {}, {}, {}
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.serve(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self.server.socket = context.wrap_socket(
            self.server.socket, server_side=True,
            do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.base = "https://%s:%d" % (NAME, self.port)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()
        self.add_all()

    def serve(self, request):
        path = request.path.split("?")[0]
        self.asked.append(path)
        body = self.answer(path.replace("%2f", "/").replace("%2F", "/"))
        if body == "stall":
            time.sleep(600)
            return
        request.send_response(404 if body is None else 200)
        body = body or b"{}"
        kind = "text/html" if path.startswith("/simple/") else \
            "application/json"
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def answer(self, path):
        if path in self.files:
            return self.files[path]
        if path.startswith("/npm/"):
            found = self.npm.get(path[5:])
            return json.dumps(found).encode() if isinstance(found, dict) \
                else found
        if path.startswith("/simple/"):
            return self.pypi.get(path[8:].strip("/"))
        return None

    def add_npm(self, name, version, files=None, manifest=None, served=None,
                dist=None):
        manifest = dict(manifest or {}, name=name, version=version)
        files = dict(files or {})
        files["package.json"] = json.dumps(manifest).encode()
        data = tgz(files)
        path = "/npm/%s/-/%s-%s.tgz" % (name, name.split("/")[-1], version)
        self.files[path] = data if served is None else served
        whole = {"tarball": self.base + path, "integrity": "sha512-" +
                 base64.b64encode(hashlib.sha512(data).digest()).decode(),
                 "shasum": hashlib.sha1(data).hexdigest()}
        whole.update(dist or {})
        manifest["dist"] = {k: v for k, v in whole.items() if v is not None}
        self.npm[name] = {"name": name, "dist-tags": {"latest": version},
                          "versions": {version: manifest}}

    def add_pypi(self, name, filename, data, digest=None):
        self.files["/files/" + filename] = data
        digest = digest or hashlib.sha256(data).hexdigest()
        self.pypi[name] = (
            "<html><body><a href='%s/files/%s#sha256=%s'>%s</a></body></html>"
            % (self.base, filename, digest, filename)).encode()

    def add_all(self):
        bin_js = {"bin": {"good-server": "server.js"},
                  "dependencies": {"dep-a": "^1.0.0"}}
        self.add_npm("dep-a", "1.2.3", {
            "index.js": b"exports.word = 'from dep';"})
        self.add_npm("good-server", "1.0.0", {"server.js": SERVER_JS}, bin_js)
        self.add_npm("@scope/tools", "2.0.0-rc.1", {"s.js": SERVER_JS},
                     {"bin": "s.js", "dependencies": {"dep-a": "1.2.3"}})
        self.add_npm("two-bins", "1.0.0", {"a.js": SERVER_JS, "b.js": b""},
                     {"bin": {"zz": "a.js", "two-bins-mcp": "b.js"}})
        self.add_npm("no-bin", "1.0.0", {"a.js": b""})
        self.add_npm("lost-bin", "1.0.0", {}, {"bin": "missing.js"})
        self.add_npm("leaving-bin", "1.0.0", {}, {"bin": "../dep-a/x.js"})
        self.add_npm("bad-integrity", "1.0.0", {"a.js": b"x"},
                     {"bin": "a.js"}, served=tgz({"package.json": b"{}"}))
        self.add_npm("weak-integrity", "1.0.0", {"a.js": b"x"},
                     {"bin": "a.js"}, dist={"integrity": None})
        self.add_npm("hooked", "1.0.0", {
            "a.js": b"", "hook.js": b"require('fs').writeFileSync("
            b"'/build/node_modules/hooked/ran', 'yes')"},
            {"bin": "a.js", "scripts": {"postinstall": "node hook.js"}})
        self.add_npm("shouts", "1.0.0", {
            "a.js": b"", "hook.js": b"for (let i = 0; i < 200000; i++) "
            b"console.log('\\x1b[2J\\x9b\\u202e' + i); process.exitCode = 9"},
            {"bin": "a.js", "scripts": {"postinstall": "node hook.js"}})
        self.add_npm("phone-home", "1.0.0", {
            "a.js": b"", "hook.js": b"require('https').get("
            b"'https://elsewhere.example.test/', () => process.exit(0))"
            b".on('error', () => process.exit(9))"},
            {"bin": "a.js", "scripts": {"postinstall": "node hook.js"}})
        self.add_npm("huge", "1.0.0", {"a.js": b"", "noise": os.urandom(40 << 20)},
                     {"bin": "a.js"})
        self.npm["stalls"] = "stall"
        self.npm["noise"] = b"\x00\x01{not json \x1b[31m"
        module = {"plain_mcp/__init__.py":
                  "def main():\n    print('hello from python')\n"}
        self.add_pypi("plain-mcp", "plain_mcp-1.0.0-py3-none-any.whl",
                      wheel("plain-mcp", "1.0.0", module,
                            {"plain-mcp": "plain_mcp:main"}))
        self.add_pypi("bad-wheel", "bad_wheel-1.0.0-py3-none-any.whl",
                      wheel("bad-wheel", "1.0.0", {}, {}), "0" * 64)
        self.add_pypi("no-command", "no_command-1.0.0-py3-none-any.whl",
                      wheel("no-command", "1.0.0", module, {}))
        self.add_pypi("source-only", "source-only-1.0.0.tar.gz",
                      tgz({"setup.py": b"raise SystemExit(1)"}))


def configure(home, registry, net_dns, ca, image, **more):
    """config.json of an AGENTNODE_HOME that installs from the registry."""
    folder = os.path.join(home, ".agentnode")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    build = {"npm_registry": registry.base + "/npm/",
             "pypi_index": registry.base + "/simple/", "ca_bundle": ca}
    build.update(more)
    with open(os.path.join(folder, "config.json"), "w",
              encoding="ascii") as file:
        json.dump({"sandbox": {"image": image}, "build": build, "egress": {
            "resolver": net_dns, "extra_ranges": {NAME: ["127.0.0.21/32"]}}},
            file)
    os.chmod(os.path.join(folder, "config.json"), 0o600)
