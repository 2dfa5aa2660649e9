# SPDX-License-Identifier: Apache-2.0
"""A registry for scenarios, signed by openssl instead of the program under
test: keys, attestations, indexes, right ones and wrong ones."""
import base64
import copy
import hashlib
import json
import os
import subprocess
import tarfile
import time

import harness

DOMAINS = {"attestation": b"agentnode attestation v1\n",
           "artifact": b"agentnode artifact v1\n",
           "index": b"agentnode index v1\n"}
DAY = 86400


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"),
                      ensure_ascii=False).encode()


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ",
                         time.gmtime(time.time() + seconds))


class Key:
    def __init__(self, path):
        self.path = path
        if not os.path.exists(path):
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519",
                            "-out", path], check=True, capture_output=True)
            os.chmod(path, 0o600)
        der = subprocess.run(
            ["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"],
            check=True, capture_output=True).stdout
        self.hex = der[-32:].hex()
        self.base64 = base64.b64encode(der[-32:]).decode()

    def sign(self, kind, data):
        message = self.path + ".message"
        with open(message, "wb") as file:
            file.write(DOMAINS[kind] + data)
        return subprocess.run(
            ["openssl", "pkeyutl", "-sign", "-inkey", self.path, "-rawin",
             "-in", message], check=True, capture_output=True).stdout.hex()


def pack(folder, target):
    """A tar.gz of a folder; returns its hash."""
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder, arcname=os.path.basename(folder))
    os.chmod(target, 0o644)
    return file_hash(target)


def file_hash(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.sha256(file.read()).hexdigest()


class Registry:
    """A folder whose index can be made as anybody would like it."""

    def __init__(self, folder, registry, publisher):
        self.folder = folder
        self.registry, self.publisher = registry, publisher
        self.serial, self.packages = 0, {}

    def attest(self, slug, version, hash_, tier="trusted", key=None,
               issued=0, expires=30 * DAY, publisher="acme-tools"):
        key = key or self.registry
        said = {"slug": slug, "version": version, "artifact_hash": hash_,
                "tier": tier, "publisher": publisher,
                "publisher_key": self.publisher.hex, "issued": utc(issued),
                "expires": utc(expires), "registry_key": key.hex}
        return {**said, "signature": key.sign("attestation",
                                              canonical(said))}

    def signatures(self, slug, version, hash_, key=None):
        key = key or self.publisher
        said = {"slug": slug, "version": version, "artifact_hash": hash_}
        return {"publisher": {"key": key.hex, "signature": key.sign(
            "artifact", canonical(said))}}

    def add(self, slug, version, name, **attest):
        path = os.path.join(self.folder, name)
        hash_ = file_hash(path)
        row = {"file": name, "artifact_hash": hash_,
               "size": os.path.getsize(path),
               "attestation": self.attest(slug, version, hash_, **attest),
               "signatures": self.signatures(slug, version, hash_)}
        one = self.packages.setdefault(slug, {"versions": {}})
        one["latest"] = version
        one["versions"][version] = row
        return row

    def write(self, change=None, key=None, serial=None, issued=0,
              expires=30 * DAY):
        """Sign and write; change(packages) makes this one index other."""
        packages = copy.deepcopy(self.packages)
        if change is not None:
            change(packages)
        self.serial = serial or self.serial + 1
        data = json.dumps({
            "format": 1, "serial": self.serial, "issued": utc(issued),
            "expires": utc(expires), "packages": packages}).encode()
        key = key or self.registry
        self.put("index.json.sig",
                 f"{key.hex} {key.sign('index', data)}\n".encode())
        self.put("index.json", data)

    def put(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def get(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()


def text_pack(parent, slug, version, publisher="acme-tools"):
    """A tool pack in Python without dependencies."""
    path = os.path.join(parent, f"{slug}-{version}")
    os.makedirs(path)
    for name, text in (("agentnode.yaml", f"""manifest_version: "0.3"
package_id: {slug}
package_type: toolpack
name: Word count
summary: Counts the words of a text, nothing else
publisher: {publisher}
version: {version}
runtime: python
capabilities:
  tools:
    - name: count
      entrypoint: words:count
      action_type: compute
      input_schema:
        type: object
        properties: {{text: {{type: string}}}}
        required: [text]
"""), ("words.py", "def count(text):\n    return {'words': "
               "len(text.split())}\n")):
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(text)
    for place, _, names in os.walk(path):
        os.chmod(place, 0o755)
        for name in names:
            os.chmod(os.path.join(place, name), 0o644)
    return path


def home_with(registry):
    """Pins its key and names its folder."""
    return {"trust": {"registry_keys": {"corp": registry.registry.hex}},
            "registry": {"path": registry.folder}}


def need():
    harness.need("openssl")


def configure(home, **parts):
    """Set whole sections of a home's config.json."""
    path = os.path.join(home, ".agentnode", "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config.update(parts)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
