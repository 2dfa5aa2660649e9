# SPDX-License-Identifier: Apache-2.0
"""Small OCI archives of the tests' own, honest or hostile."""
import hashlib
import io
import json
import tarfile


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def write(path, name="localhost/agentnode-test:one", annotations=None,
          config=None, content=b"hello\n"):
    """Write an archive with one layer; returns the manifest's digest."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        info = tarfile.TarInfo("hello.txt")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    layer = layer.getvalue()
    inner = {"Env": ["PATH=/usr/bin:/bin"]}
    inner.update(config or {})
    image = json.dumps({
        "architecture": "amd64", "os": "linux", "config": inner,
        "rootfs": {"type": "layers",
                   "diff_ids": ["sha256:" + _digest(layer)]}}).encode()
    prefix = "application/vnd.oci.image."
    manifest = {"schemaVersion": 2, "mediaType": prefix + "manifest.v1+json",
                "config": {"mediaType": prefix + "config.v1+json",
                           "digest": "sha256:" + _digest(image),
                           "size": len(image)},
                "layers": [{"mediaType": prefix + "layer.v1.tar",
                            "digest": "sha256:" + _digest(layer),
                            "size": len(layer)}]}
    if annotations:
        manifest["annotations"] = annotations
    manifest = json.dumps(manifest).encode()
    index = json.dumps({"schemaVersion": 2, "manifests": [{
        "mediaType": prefix + "manifest.v1+json",
        "digest": "sha256:" + _digest(manifest), "size": len(manifest),
        "annotations": {"org.opencontainers.image.ref.name": name}}]})
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": index.encode()}
    for blob in (layer, image, manifest):
        files["blobs/sha256/" + _digest(blob)] = blob
    with tarfile.open(path, "w") as tar:
        for member, data in files.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return "sha256:" + _digest(manifest)
