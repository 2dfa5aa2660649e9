#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sandbox.engine: auto takes podman where it works, else docker, and says
why; what was found is remembered and found anew when it no longer holds; an
engine that was asked for by name is never replaced; and what was sealed in
one engine is not found in the other. Docker's images: by digest of a
registry, by the daemon's own id where they were loaded."""
import json
import os
import shutil
import subprocess

import engine_case
import harness
from dockerd import Dockerd
from harness import check

daemon = Dockerd()
BY_DIGEST = engine_case.image()
# In a mount namespace of its own podman is a program that fails.
BROKEN = ["unshare", "--mount", "sh", "-c",
          'mount --bind /bin/false "$(command -v podman)"; exec "$@"', "sh"]


def run(home, *words, without_podman=False):
    before = BROKEN if without_podman else []
    return harness.run(*before, harness.AGENTNODE, *words,
                       env=harness.environment(home), timeout=120)


def status(home, **more):
    done = run(home, "sandbox", "status", "--json", **more)
    return json.loads(done.out)


def doctor(home, **more):
    done = run(home, "sandbox", "doctor", "--quick", "--json", **more)
    return {one["check"]: one for one in done.json()["checks"]}


def auto_takes_podman():
    home = daemon.home(engine="auto", image=BY_DIGEST)
    done = run(home, "exec", "--", "/bin/true")
    check("auto starts a sandbox", done.code == 0, done)
    check("with podman where that works",
          status(home)["engine"] == "podman", status(home))
    row = doctor(home)["engine_choice"]
    check("doctor says why docker was not taken", row["ok"] and
          "podman is taken; docker answers, but is not taken: podman comes "
          "first" in row["detail"], row)


def auto_falls_to_docker():
    home = daemon.home(engine="auto")
    done = run(home, "exec", "--", "/bin/true", without_podman=True)
    check("without a podman that works auto takes docker", done.code == 0,
          done)
    found = status(home, without_podman=True)
    check("and remembers it", found["engine"] == "docker" and found["ok"],
          found)
    row = doctor(home, without_podman=True)["engine_choice"]
    check("doctor says why podman was not taken", row["ok"] and
          "podman is not taken: " in row["detail"] and
          "docker is taken" in row["detail"], row)
    record = run(home, "audit", "show", "--json", without_podman=True).out
    check("the launch record names the engine", '"docker"' in record,
          record[-600:])


def an_id_is_docker_s():
    home = daemon.home(engine="auto")
    done = run(home, "exec", "--", "/bin/true")
    check("an image that docker alone has leads auto to docker",
          done.code == 0 and status(home)["engine"] == "docker", done)
    home = daemon.home(engine="podman")
    done = run(home, "exec", "--", "/bin/true")
    check("podman asked for by name is not replaced",
          done.code == 125 and "NAME@sha256" in done.err, done)


def a_dead_daemon():
    home = daemon.home(engine="docker")
    done = run(home, "exec", "--", "/bin/true")
    check("docker asked for by name", done.code == 0, done)
    daemon.stop()
    done = run(home, "exec", "--", "/bin/true")
    check("its daemon dead: refused, and nothing else is taken",
          done.code == 125 and "engine_failed" in done.err, done)
    home = daemon.home(engine="auto", image=BY_DIGEST)
    done = run(home, "exec", "--", "/bin/true")
    row = doctor(home)["engine_choice"]
    check("auto goes to podman, and doctor says it", done.code == 0 and
          "podman is taken; docker is not taken: " in row["detail"],
          (done, row))
    done = run(home, "exec", "--", "/bin/true", without_podman=True)
    check("neither works: refused, with why for each", done.code == 125 and
          "podman was not taken" in done.err and "docker" in done.err, done)
    daemon.start()


def remembered_docker_dies():
    home = daemon.home(engine="auto", image=daemon.image)
    run(home, "exec", "--", "/bin/true")
    daemon.stop()
    done = run(home, "exec", "--", "/bin/true")
    check("a remembered docker that died is not believed", done.code == 125
          and "docker" in done.err, done)
    daemon.start()
    done = run(home, "exec", "--", "/bin/true")
    check("and is found again", done.code == 0, done)


def loaded_images():
    """`sandbox load` pins by the daemon's id what no registry named."""
    home = daemon.home(image=BY_DIGEST)
    folder = harness.folder()
    small = os.path.join(folder, "root")
    os.makedirs(os.path.join(small, "bin"))
    static = os.path.join(harness.LIBEXEC, "agentnode-probe")
    shutil.copy(static, os.path.join(small, "bin", "true"))
    tar = subprocess.run(["tar", "-C", small, "-c", "."],
                         stdout=subprocess.PIPE, check=True).stdout
    made = subprocess.run(
        [daemon.client, "import", "--message=t", "-", "loaded:1"], input=tar,
        stdout=subprocess.PIPE, check=True,
        env={"DOCKER_HOST": "unix://" + daemon.socket})
    image = made.stdout.decode().strip()
    archive = os.path.join(folder, "image.tar")
    daemon("save", "--output", archive, "loaded:1", check=True)
    daemon("rmi", "loaded:1", check=True)
    done = run(home, "sandbox", "load", archive)
    check("a loaded image is pinned by the daemon's id", done.code == 0 and
          done.out.strip() == image, (image, done))
    check("and may be used", run(home, "sandbox", "doctor", "--quick",
                                 "--json").json()["checks"] is not None and
          doctor(home)["image"]["ok"], doctor(home)["image"])
    other = run(home, "sandbox", "load", archive, "--digest",
                "sha256:" + "0" * 64)
    check("another one than was asked for is not pinned", other.code == 6,
          other)
    missing = daemon.home(image="sha256:" + "0" * 64)
    done = run(missing, "exec", "--", "/bin/true")
    check("an id that is not there is refused", done.code == 125 and
          "image_missing" in done.err, done)
    daemon("rmi", "--force", image)


def hostile_images():
    for change, words in (("VOLUME /data", "volumes"),
                          ("HEALTHCHECK CMD /bin/true", "a health check"),
                          ("ONBUILD RUN /bin/true", "build triggers")):
        name = daemon("create", daemon.image, "/none").stdout.strip()
        image = daemon("commit", "--change", change, name).stdout.strip()
        daemon("rm", "--force", "--volumes", name)
        done = run(daemon.home(image=image), "exec", "--", "/bin/true")
        check(f"an image with {words} is refused", done.code == 125 and
              "image_refused" in done.err and words in done.err, done)
        daemon("rmi", "--force", image)


try:
    auto_takes_podman()
    auto_falls_to_docker()
    an_id_is_docker_s()
    a_dead_daemon()
    remembered_docker_dies()
    loaded_images()
    hostile_images()
finally:
    daemon.end()
harness.finish()
