# SPDX-License-Identifier: Apache-2.0
"""Small OCI images written byte by byte: a base of a few programs of this
machine, and whatever a hostile publisher would add to layer, configuration
or manifest. As an archive for `sandbox load`, or pushed to a registry."""
import hashlib
import http.client
import io
import json
import os
import shutil
import subprocess
import tarfile

import harness

PROGRAMS = ("sh", "cat", "ls", "id", "env", "touch", "sleep", "true",
            "unshare", "head", "stat", "mkdir", "ln", "readlink")
FOLDERS = (("tmp", 0o1777), ("usr/bin", 0o755), ("proc", 0o755),
           ("sys", 0o755), ("dev", 0o755), ("etc", 0o755), ("run", 0o755),
           ("run/agentnode", 0o1777), ("sandbox-home", 0o1777),
           ("pack", 0o755))
LINKS = (("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"))
OCI = "application/vnd.oci.image."
DOCKER = "application/vnd.docker.distribution.manifest.v2+json"


def _libraries(program):
    """Loader and libraries, as ldd names them."""
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True,
                          check=False)
    return {word for line in done.stdout.splitlines()
            for word in line.split() if word.startswith("/")}


def _host_files():
    """{path in the image: file of this machine}"""
    files = {}
    for name in PROGRAMS:
        path = shutil.which(name)
        if path is None:
            print(f"missing part: {name}")
            raise SystemExit(1)
        files[f"usr/bin/{name}"] = os.path.realpath(path)
        for library in _libraries(path):
            place = library.lstrip("/")
            if not place.startswith("usr/"):
                place = "usr/" + place
            files[place] = os.path.realpath(library)
    return files


class Entry:
    """One member of a layer. data: a file; link: a symbolic link; kind:
    "fifo" or the numbers of a character device; else a directory."""

    def __init__(self, path, data=None, link=None, mode=0o755, uid=0,
                 capability=None, kind=None):
        self.path, self.data, self.link, self.kind = path, data, link, kind
        self.mode, self.uid, self.capability = mode, uid, capability

    def add(self, tar):
        info = tarfile.TarInfo(self.path)
        info.mode, info.uid, info.gid = self.mode, self.uid, self.uid
        data = None
        if self.link is not None:
            info.type, info.linkname = tarfile.SYMTYPE, self.link
        elif self.kind == "fifo":
            info.type = tarfile.FIFOTYPE
        elif self.kind is not None:
            info.type = tarfile.CHRTYPE
            info.devmajor, info.devminor = self.kind
        elif self.data is None:
            info.type = tarfile.DIRTYPE
        else:
            info.size, data = len(self.data), io.BytesIO(self.data)
        if self.capability is not None:
            # Version 2, effective, one permitted capability.
            value = (0x02000001).to_bytes(4, "little") + (
                1 << self.capability).to_bytes(4, "little") + bytes(12)
            info.pax_headers = {"SCHILY.xattr.security.capability":
                                value.decode("latin-1")}
        tar.addfile(info, data)


def layer(entries):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w",
                      format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
            entry.add(tar)
    return stream.getvalue()


def program(name):
    """The bytes of a program of this machine."""
    with open(os.path.realpath(shutil.which(name)), "rb") as file:
        return file.read()


_base = None
_number = 0


def base_entries(without=()):
    """The entries every image begins with."""
    global _base
    if _base is None:
        _base = [Entry(path, mode=mode) for path, mode in FOLDERS]
        _base += [Entry(path, link=target) for path, target in LINKS]
        for path, source in sorted(_host_files().items()):
            with open(source, "rb") as file:
                _base.append(Entry(path, file.read()))
        _base.append(Entry("etc/passwd", b"root:x:0:0:root:/:/bin/sh\n",
                           mode=0o644))
        _base.append(Entry("etc/group", b"root:x:0:\n", mode=0o644))
    return [one for one in _base
            if not any(one.path == w or one.path.startswith(w + "/")
                       for w in without)]


class Image:
    """blobs, manifest and digest of one image."""

    def __init__(self, entries=(), config=None, annotations=None,
                 without=(), labels=None, docker=False, twin=None,
                 again=False):
        """twin: an image whose content this one shares; else its content
        is its own. again: the last layer comes twice."""
        global _number
        _number += 1
        self.number = _number if twin is None else twin.number
        self.blobs, self.docker = {}, docker
        layers = [layer(base_entries(without))]
        if entries:
            layers.append(layer(entries))
        if again:
            layers.append(layers[-1])
        settings = {"Cmd": ["/bin/sh"], **(config or {})}
        if labels:
            settings["Labels"] = labels
        body = {"author": f"test {self.number}", "architecture": "amd64" if os.uname().machine == "x86_64"
                else "arm64", "os": "linux", "config": settings,
                "rootfs": {"type": "layers", "diff_ids": [
                    "sha256:" + hashlib.sha256(one).hexdigest()
                    for one in layers]}}
        kinds = {False: (OCI + "manifest.v1+json", OCI + "config.v1+json",
                         OCI + "layer.v1.tar"),
                 True: (DOCKER, "application/vnd.docker.container.image."
                        "v1+json",
                        "application/vnd.docker.image.rootfs.diff.tar")}[
                            docker]
        self.media = kinds[0]
        manifest = {"schemaVersion": 2, "mediaType": kinds[0],
                    "config": self._blob(json.dumps(body).encode(), kinds[1]),
                    "layers": [self._blob(one, kinds[2]) for one in layers]}
        if annotations:
            manifest["annotations"] = annotations
        self.id = manifest["config"]["digest"].split(":")[1]
        self.manifest = json.dumps(manifest).encode()
        self.descriptor = self._blob(self.manifest, kinds[0])
        self.digest = self.descriptor["digest"]

    def _blob(self, data, media):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": media, "digest": digest, "size": len(data)}

    def archive(self):
        """Path of an OCI archive."""
        path = os.path.join(harness.folder(), "image.oci.tar")
        index = json.dumps({"schemaVersion": 2,
                            "manifests": [self.descriptor]}).encode()
        members = [("oci-layout", b'{"imageLayoutVersion":"1.0.0"}'),
                   ("index.json", index)]
        members += [("blobs/sha256/" + digest.split(":")[1], data)
                    for digest, data in self.blobs.items()]
        with open(path, "wb") as file:
            file.write(layer([Entry(name, data, mode=0o644)
                              for name, data in members]))
        return path

    def load(self, engine, name="localhost/agentnode-sandbox"):
        """Into an engine's store without us; NAME@DIGEST."""
        done = engine("load", "--quiet", "--input", self.archive())
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        engine("tag", self.id, name + ":" + self.id[:12])
        return f"{name}@{self.digest}"


class Registry:
    """Debian's registry on a loopback port, storing in memory."""

    def __init__(self):
        harness.need("docker-registry")
        self.port = harness.free_port()
        self.home = harness.folder()
        config = os.path.join(self.home, "config.yml")
        with open(config, "w", encoding="ascii") as file:
            file.write("version: 0.1\nlog: {level: error}\n"
                       "storage: {inmemory: {}}\n"
                       f"http: {{addr: '127.0.0.1:{self.port}'}}\n")
        self.process = subprocess.Popen(
            ["docker-registry", "serve", config], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        if not harness.wait_until(self._answers, 20, 0.05):
            raise RuntimeError("docker-registry does not answer")

    def _call(self, method, path, body=None, media=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {"Content-Type": media} if media else {}
        link.request(method, path, body, headers)
        answer = link.getresponse()
        answer.read()
        if answer.status >= 400:
            raise OSError(f"{method} {path}: {answer.status}")
        return answer

    def _answers(self):
        try:
            return self._call("GET", "/v2/").status == 200
        except OSError:
            return False

    def push(self, image, name, tag="latest"):
        """NAME@DIGEST as a client would pull it."""
        for digest, data in image.blobs.items():
            begun = self._call("POST", f"/v2/{name}/blobs/uploads/")
            place = begun.getheader("Location").split("/v2/", 1)[1]
            joint = "&" if "?" in place else "?"
            self._call("PUT", f"/v2/{place}{joint}digest={digest}", data,
                       "application/octet-stream")
        self._call("PUT", f"/v2/{name}/manifests/{tag}", image.manifest,
                   image.media)
        return f"127.0.0.1:{self.port}/{name}@{image.digest}"

    def push_list(self, images, name, annotations=None):
        """An index of images already pushed under name; NAME@DIGEST."""
        body = {"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                "manifests": [{**one.descriptor, "platform": {
                    "os": "linux", "architecture": "amd64"}}
                    for one in images]}
        if annotations:
            body["annotations"] = annotations
        data = json.dumps(body).encode()
        self._call("PUT", f"/v2/{name}/manifests/list", data,
                   OCI + "index.v1+json")
        return (f"127.0.0.1:{self.port}/{name}@sha256:"
                + hashlib.sha256(data).hexdigest())

    def insecure(self, home):
        """Let an engine with this HOME use it without TLS."""
        folder = os.path.join(home, ".config", "containers")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "registries.conf"), "w",
                  encoding="ascii") as file:
            file.write(f'[[registry]]\nlocation = "127.0.0.1:{self.port}"\n'
                       "insecure = true\n")

    def end(self):
        self.process.kill()
        self.process.wait()
