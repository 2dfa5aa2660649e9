#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The image is hostile input (i01, i05, i09). Each attack is first shown to
work with a plain engine, then to be refused by name or to have no effect
with us; where another layer stands behind the check, the same attack meets
that layer with the check taken out. Everything in an engine store of the
test's own."""
import base64
import http.server
import json
import os
import shutil
import struct
import threading

import engine_case
import harness
import private_engine
from harness import check
from hostile_image import Entry, Image, Registry, program
from private_engine import plain, podman

private_engine.enter()
HOME = harness.folder()
HOST = harness.folder("agentnode-host-")
PROFILE = os.path.join(harness.BUILD, "share", "agentnode", "seccomp",
                       "agentnode.json")
TOOLS = os.path.join(harness.BUILD, "tests")
USER = "--user=1000:1000"
# One BPF instruction: allow whatever is asked.
ALLOW = base64.b64encode(struct.pack("=HBBI", 6, 0, 0, 0x7fff0000)).decode()


def agentnode(*words):
    return harness.agentnode(HOME, *words)


def pinned():
    return agentnode("config", "get", "sandbox.image").out.strip()


def start(image, *command, tool="run_sandbox", options=()):
    """(output, outcome) of one sandbox, through a tool of the tests."""
    real = engine_case.RUN_SANDBOX
    engine_case.RUN_SANDBOX = os.path.join(TOOLS, tool)
    try:
        return engine_case.run(*command, options=options, home=HOME,
                               image_name=image)
    finally:
        engine_case.RUN_SANDBOX = real


def shell(image, script, **more):
    return start(image, "/bin/sh", "-c", script, **more)


def refused_load(name, image, *words):
    """`sandbox load` refuses it by name and pins nothing."""
    before = pinned()
    done = agentnode("sandbox", "load", image.archive())
    said = done.err.count("\n") == 1 and all(w in done.err for w in words)
    check(f"{name}: load refuses it by name", done.code == 3 and said
          and "\x1b" not in done.err, done)
    check(f"{name}: nothing is pinned", pinned() == before, pinned())


def refused_start(name, image, *words):
    _, outcome = start(image, "/bin/true")
    check(f"{name}: a start refuses it", outcome.get("started") is False
          and outcome.get("code") == "image_refused"
          and all(word in outcome["detail"] for word in words), outcome)


def gone(image):
    podman("rmi", "--force", image.id)


# A clean one, pinned: what must still be pinned after every refusal.
clean = Image(annotations={"org.opencontainers.image.title": "clean"})
done = agentnode("sandbox", "load", clean.archive())
check("a clean image is loaded and pinned", done.code == 0
      and pinned() == f"localhost/agentnode-sandbox@{clean.digest}",
      (done, pinned()))
CLEAN = pinned()
out, outcome = shell(CLEAN, "echo up")
check("a clean image runs", out == "up\n" and outcome["code"] == "", outcome)


def annotation_filter():
    """run.oci.seccomp_bpf_data replaces the engine's seccomp profile."""
    image = Image(annotations={"run.oci.seccomp_bpf_data": ALLOW})
    hostile = image.load(podman)
    words = (USER, f"--security-opt=seccomp={PROFILE}")
    attack = ("/bin/sh", "-c", "unshare --user true && echo escaped")
    out = plain(*words, CLEAN, *attack)
    check("filter: our profile alone holds", "escaped" not in out, out)
    out = plain(*words, hostile, *attack)
    check("filter: without us the annotation takes it away",
          "escaped" in out, out)
    refused_load("filter", image, "annotation", "run.oci.seccomp_bpf_data")
    refused_start("filter", hostile, "run.oci.seccomp_bpf_data")
    out, outcome = start(hostile, *attack, tool="run_unchecked")
    check("filter: only the check keeps it from starting",
          outcome.get("started") is True, outcome)
    check("filter: the workload's own filter holds behind it",
          "escaped" not in out, out)
    gone(image)


def annotation_of_a_twin():
    """Two manifests for one content: the engine runs the digest of the first
    with the annotations of the one that came last."""
    twin = Image(annotations={"run.oci.seccomp_bpf_data": ALLOW}, twin=clean)
    _, outcome = start(CLEAN, "/bin/true")
    check("twin: the pinned image runs before", outcome.get("started"),
          outcome)
    done = agentnode("sandbox", "load", twin.archive())
    check("twin: load refuses it by name", done.code == 3
          and "run.oci.seccomp_bpf_data" in done.err and pinned() == CLEAN,
          done)
    out = plain(USER, f"--security-opt=seccomp={PROFILE}", CLEAN, "/bin/sh",
                "-c", "unshare --user true && echo escaped")
    check("twin: without us the pinned digest now has its annotation",
          "escaped" in out, out)
    refused_start("twin: the pinned digest", CLEAN,
                  "run.oci.seccomp_bpf_data")
    clean.load(podman)
    _, outcome = start(CLEAN, "/bin/true")
    check("twin: loaded again, the pinned image runs again",
          outcome.get("started"), outcome)


def annotations_by_name():
    for key in ("run.oci.hooks.stdout", "run.oci.handler",
                "run.oci.keep_original_groups", "org.systemd.property.Delegate",
                "io.podman.annotations.privileged",
                "org.opencontainers.image", "run.oci.\x1b[2J\n"):
        image = Image(annotations={key: "1"})
        shown = key.split("\x1b")[0]
        refused_load(f"annotation {shown}", image, "annotation", shown)
        gone(image)


def labels_of_ours():
    """A label that a container would inherit: gc would take it for one of a
    dead run, or another's container for one of ours."""
    name = f"somebodys-{os.getpid()}"
    for label in ("agentnode.tmp", "agentnode.run", "agentnode.owner"):
        image = Image(labels={label: "0" * 16})
        refused_load("label", image, f"the label {label}")
        hostile = image.load(podman)
        refused_start("label", hostile, f"the label {label}")
        podman("create", f"--name={name}", hostile, "/none")
        done = agentnode("sandbox", "gc")
        check(f"label: {label} makes nobody's container a leftover",
              done.code == 0 and name in podman(
                  "ps", "--all", "--format={{.Names}}").stdout, done)
        podman("rm", "--force", name)
        gone(image)


def volume():
    """VOLUME: disk that is writable and has no size, despite --read-only."""
    image = Image(config={"Volumes": {"/data": {}}})
    hostile = image.load(podman)
    script = "touch /data/x && echo writable"
    out = plain("--read-only", hostile, "/bin/sh", "-c", script)
    check("volume: without us it is writable", "writable" in out, out)
    refused_load("volume", image, "volumes")
    refused_start("volume", hostile, "volumes")
    out, outcome = shell(hostile, script, tool="run_unchecked")
    check("volume: the flag behind the check gives none",
          outcome.get("started") and "writable" not in out, (out, outcome))
    _, outcome = shell(hostile, script, tool="run_yielding")
    check("volume: without the flag too, init's report stops the start",
          outcome.get("code") == "walls_mismatch"
          and "/data" in outcome["detail"], outcome)
    gone(image)


def health(registry):
    """HEALTHCHECK runs outside init; ONBUILD waits for a build."""
    image = Image(docker=True, config={"Healthcheck": {
        "Test": ["CMD-SHELL", "echo ran >/tmp/health"]}})
    name = registry.push(image, "health")
    done = agentnode("sandbox", "pull", name)
    check("health check: pull refuses it by name", done.code == 3
          and "health check" in done.err and pinned() == CLEAN, done)
    refused_start("health check", name, "health check")
    made = podman("run", "--detach", *private_engine.PLAIN, name,
                  "/bin/sleep", "30").stdout.strip()
    podman("healthcheck", "run", made)
    done = podman("exec", made, "/bin/cat", "/tmp/health")
    podman("rm", "--force", "--time=0", made)
    check("health check: without us it runs", done.stdout == "ran\n", done)
    gone(image)
    for docker in (False, True):
        image = Image(docker=docker, config={"OnBuild": ["RUN true"]})
        done = agentnode("sandbox", "pull",
                         registry.push(image, f"onbuild{docker:d}"))
        check(f"build trigger: pull refuses it by name ({image.media})",
              done.code == 3 and "build trigger" in done.err
              and pinned() == CLEAN, done)
        gone(image)


def process_settings():
    """What an image says about its process is not obeyed."""
    with open(os.path.join(TOOLS, "preload_mark.so"), "rb") as file:
        library = file.read()
    image = Image([Entry("evil.so", library), Entry("evil")], config={
        "Entrypoint": ["/bin/sh", "-c", "echo entrypoint; exec \"$@\"", "-"],
        "Cmd": ["guest"], "User": "0:0", "WorkingDir": "/evil",
        "StopSignal": "SIGCONT",
        "Env": ["LD_PRELOAD=/evil.so", "PATH=/evil:/bin", "HOME=/evil",
                "FROM_THE_IMAGE=1", "HTTPS_PROXY=http://evil:1",
                "PYTHONPATH=/evil", "container=evil"]},
        labels={"io.containers.capabilities": "NET_RAW,CHOWN",
                "io.containers.autoupdate": "registry"})
    hostile = image.load(podman)
    out = plain(hostile, "/bin/sh", "-c", "env; id -u; pwd; cat "
                "/proc/self/status")
    for word in ("entrypoint", "preloaded", "FROM_THE_IMAGE", "\n0\n",
                 "\n/evil\n"):
        check(f"process: without us {word.strip()} is obeyed", word in out,
              out)
    done = agentnode("sandbox", "load", image.archive(), "--no-pin")
    check("process: it cannot be refused", done.code == 0, done)
    out, outcome = shell(hostile, "env; id -u; pwd; cat /proc/self/status")
    check("process: it runs", outcome.get("started") and "PATH=" in out,
          (out, outcome))
    for word in ("entrypoint", "preloaded", "LD_PRELOAD", "FROM_THE_IMAGE",
                 "evil", "PYTHONPATH", "PROXY"):
        check(f"process: {word} does not arrive", word not in out, out)
    check("process: own uid, no capability by a label", "\n0\n" not in out
          and "CapEff:\t0000000000000000" in out
          and "CapBnd:\t0000000000000000" in out, out)
    shown = json.loads(agentnode("audit", "show", "--json", "--last",
                                 "3").out)
    check("process: it is the run of who started it",
          '"package": "test"' in json.dumps(shown), shown)
    _, outcome = shell(hostile, "true", tool="run_yielding")
    check("process: without the flag, init's report stops the start",
          outcome.get("code") == "walls_mismatch"
          and "variable" in outcome["detail"], outcome)
    out, outcome = start(hostile, "/bin/sleep", "600",
                         options=["--stop", "500"])
    check("process: its stop signal keeps nobody alive",
          outcome.get("signal") == 9 and outcome["removed"], outcome)
    gone(image)


def fill_host():
    shutil.rmtree(HOST)
    os.mkdir(HOST, 0o755)
    for name in ("passwd", "hosts", "null", "secret"):
        with open(os.path.join(HOST, name), "w", encoding="ascii") as file:
            file.write("canary\n")


def host_faults():
    """What is not as fill_host left it. Only files are read: a device that
    an attack left would never end."""
    names = sorted(os.listdir(HOST))
    faults = [] if names == ["hosts", "null", "passwd", "secret"] else names
    for name in names:
        path = os.path.join(HOST, name)
        if os.path.isfile(path) and not os.path.islink(path) \
                and engine_case.text(path) != "canary\n":
            faults.append(name)
    return faults


def links_to_the_host():
    """A link where the runtime makes something, to a host directory."""
    fill_host()
    image = Image([Entry("dev", link=HOST)], without=("dev",))
    hostile = image.load(podman)
    plain(hostile, "/bin/true")
    check("/dev link: without us the runtime writes on the host",
          host_faults(), os.listdir(HOST))
    fill_host()
    refused_load("/dev link", image, "/dev as a link", "directory")
    refused_start("/dev link", hostile, "/dev as a link")
    check("/dev link: the host is untouched", not host_faults(),
          host_faults())
    start(hostile, "/bin/true", tool="run_unchecked")
    check("/dev link: only the check keeps the host untouched",
          host_faults(), os.listdir(HOST))
    gone(image)
    fill_host()
    for path, target, without in (
            ("etc", HOST, ("etc",)), ("proc", HOST, ("proc",)),
            ("sys", HOST, ("sys",)), ("run", HOST, ("run",)),
            ("tmp", HOST, ("tmp",)), ("tmp", "etc", ("tmp",)),
            ("run/agentnode", HOST, ("run/agentnode",)),
            ("sandbox-home", "/usr/bin", ("sandbox-home",)),
            ("pack", "usr/bin", ("pack",)),
            ("etc/passwd", f"{HOST}/passwd", ("etc/passwd",)),
            ("etc/passwd", "../" * 8 + HOST[1:] + "/passwd",
             ("etc/passwd",)),
            ("etc/hosts", f"{HOST}/hosts", ())):
        image = Image([Entry(path, link=target)], without=without)
        refused_start(f"/{path} link to {target[:12]}", image.load(podman),
                      f"/{path} as a link")
        gone(image)
    check("links: the host is untouched", not host_faults(), host_faults())
    # A resolver file may be a link: it is resolved inside.
    image = Image([Entry("etc/resolv.conf", link=f"{HOST}/secret"),
                   Entry("etc/mtab", link=f"{HOST}/secret")])
    out, outcome = shell(image.load(podman),
                         "cat /etc/resolv.conf /etc/mtab; echo end")
    check("resolv.conf link: no file of the host behind it",
          "end" in out and "canary" not in out, (out, outcome))
    check("resolv.conf link: the host is untouched", not host_faults(),
          host_faults())
    gone(image)


def links_behind_the_check():
    """With the check taken out, init's report finds misplaced mounts."""
    for path, target in (("tmp", "etc"), ("run/agentnode", "/usr/bin"),
                         ("sandbox-home", "/etc")):
        image = Image([Entry(path, link=target)], without=(path,))
        hostile = image.load(podman)
        _, outcome = start(hostile, "/bin/true", tool="run_unchecked")
        check(f"/{path} link: without the check, init's report stops it",
              outcome.get("code") == "walls_mismatch", outcome)
        gone(image)


def special_files():
    """A FIFO that the engine reads for ever; a device; setuid; a file
    capability."""
    image = Image([Entry("etc/passwd", kind="fifo")], without=("etc/passwd",))
    hostile = image.load(podman)
    done = harness.run("podman", "run", "--name=agentnode-fifo",
                       *private_engine.PLAIN, hostile, "/bin/true", timeout=4)
    check("FIFO: without us the engine hangs", done.code == "timeout", done)
    podman("rm", "--force", "--time=0", "agentnode-fifo")
    _, outcome = start(hostile, "/bin/true")
    check("FIFO: refused at once", outcome.get("code") == "image_refused"
          and "special file" in outcome["detail"]
          and outcome["end_ms"] < 4000, outcome)
    gone(image)
    image = Image([Entry("device", kind=(10, 229), mode=0o666),
                   Entry("root-id", program("id"), mode=0o4755),
                   Entry("root-cat", program("cat"), capability=1)])
    hostile = image.load(podman)
    # The shell ends where a redirection fails, so the device comes last.
    script = ("/root-id -u; /root-cat /proc/self/status || "
              "/bin/cat /proc/self/status; : </device && echo device-opened")
    out = plain(USER, "--device-cgroup-rule=c 10:229 rmw", hostile, "/bin/sh",
                "-c", script)
    check("device: without its wall it opens", "device-opened" in out, out)
    check("setuid: without us it is root", "\n0\n" in "\n" + out, out)
    check("file capability: without us it is there",
          "CapEff:\t0000000000000002" in out, out)
    out, outcome = shell(hostile, script)
    check("setuid and friends run", outcome.get("started")
          and "CapEff" in out, (out, outcome))
    check("device: it does not open", "device-opened" not in out, out)
    check("setuid: nobody becomes root", "\n0\n" not in "\n" + out, out)
    check("file capability: none arrives",
          "CapEff:\t0000000000000000" in out
          and "CapBnd:\t0000000000000000" in out, out)
    gone(image)


class Liar(http.server.BaseHTTPRequestHandler):
    """A registry that answers every question with one image."""
    image = None

    def do_GET(self):  # the name is the base class's
        parts = self.path.split("/")
        body, media = b"{}", "application/json"
        if "manifests" in parts:
            body, media = self.image.manifest, self.image.media
        elif "blobs" in parts:
            body = self.image.blobs.get(parts[-1], b"")
        self.send_response(200)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def digests(registry):
    """i09: what runs is what was pinned."""
    one, two = Image([Entry("one")]), Image([Entry("two")])
    first, second = registry.push(one, "one"), registry.push(two, "two")
    repository, digest = first.split("@")
    for name in (repository, f"{repository}:latest", "one",
                 f"{repository}@sha256:abc", f"{repository}@{digest.upper()}",
                 f"oci:{HOME}@{digest}", f"docker://{repository}@{digest}",
                 f"-q{repository}@{digest}"):
        done = agentnode("sandbox", "pull", "--", name)
        check(f"pull {name[:40]}: a name without a digest is refused",
              done.code == 2 and "NAME@sha256" in done.err, done)
    done = agentnode("sandbox", "pull", f"{repository}@sha256:" + "0" * 64)
    check("a digest the registry does not have", done.code not in (0, 2)
          and done.err and pinned() == CLEAN, done)
    crossed = f"{repository}@{second.split('@')[1]}"
    done = agentnode("sandbox", "pull", crossed)
    check("a digest of another repository is refused",
          done.code not in (0, 2) and pinned() == CLEAN, done)
    done = agentnode("sandbox", "pull", first)
    check("the right one is pulled and pinned", done.code == 0
          and pinned() == first, done)
    out, outcome = shell(f"{repository}@{two.digest}", "ls /")
    check("a digest that is not here does not run",
          outcome.get("code") == "image_missing", outcome)
    out, outcome = shell(f"127.0.0.1:1/other@{one.digest}", "ls /")
    check("under another name, a digest means the same content or nothing",
          "one\n" in out or outcome.get("started") is False, (out, outcome))
    gone(one)
    hostile = Image(annotations={"run.oci.seccomp_bpf_data": ALLOW})
    registry.push(hostile, "list")
    listed = registry.push_list([hostile], "list")
    done = agentnode("sandbox", "pull", listed)
    check("an annotation inside a list of platforms is refused",
          done.code == 3 and "run.oci.seccomp_bpf_data" in done.err, done)
    gone(hostile)
    agentnode("config", "set", "sandbox.image", CLEAN)


def liar():
    """A registry that sends other bytes than the digest says."""
    wanted, Liar.image = Image([Entry("wanted")]), Image([Entry("other")])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    name = f"127.0.0.1:{server.server_port}/x"
    done = podman("pull", "--tls-verify=false", "--quiet", f"{name}:latest")
    check("liar: a tag is whatever the registry says",
          done.stdout.strip() == Liar.image.id, done)
    gone(Liar.image)
    registries = os.path.join(HOME, ".config/containers/registries.conf")
    with open(registries, "a", encoding="ascii") as file:
        file.write(f'[[registry]]\nlocation = "127.0.0.1:'
                   f'{server.server_port}"\ninsecure = true\n')
    done = agentnode("sandbox", "pull", f"{name}@{wanted.digest}")
    check("liar: a digest is only its own content",
          done.code not in (0, 2) and pinned() == CLEAN, done)
    server.shutdown()


def archives():
    image = Image([Entry("archived")])
    path = image.archive()
    done = agentnode("sandbox", "load", path, "--digest",
                     "sha256:" + "0" * 64)
    check("archive: another digest is an integrity failure", done.code == 6
          and image.digest in done.err and pinned() == CLEAN, done)
    done = agentnode("sandbox", "load", path, "--digest", image.digest)
    check("archive: its own digest is pinned", done.code == 0
          and image.digest in pinned(), done)
    agentnode("config", "set", "sandbox.image", CLEAN)
    gone(image)
    with open(path, "rb") as file:
        data = file.read()
    at = data.index(b'"Cmd"')
    with open(path, "wb") as file:
        file.write(data[:at] + b'"Cmx"' + data[at + 5:])
    for what, make in (("changed", None), ("cut", data[:len(data) // 2]),
                       ("not an archive", b"#!/bin/sh\n")):
        if make is not None:
            with open(path, "wb") as file:
                file.write(make)
        done = agentnode("sandbox", "load", path)
        check(f"archive: {what}: refused in one sentence",
              done.code not in (0, "timeout") and done.err.count("\n") == 1
              and pinned() == CLEAN, done)


REGISTRY = Registry()
REGISTRY.insecure(HOME)
try:
    annotation_filter()
    annotation_of_a_twin()
    annotations_by_name()
    labels_of_ours()
    volume()
    health(REGISTRY)
    process_settings()
    links_to_the_host()
    links_behind_the_check()
    special_files()
    digests(REGISTRY)
    liar()
    archives()
finally:
    REGISTRY.end()
harness.finish()
