#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the check of a sealed volume adds to a start: 500 MiB in 30,000 files
(FILES, MIB) against a volume of one file, in turns, from the start of the
process to its end (the workload is /bin/true). Sides: small (one file,
remembered), fast (the big one, remembered; the aim is at most 20 ms more than
small), full (the big one, its content read, in the page cache), cold (its
content read from disk: its pages are dropped; where /proc/sys/vm/drop_caches
may be written, inodes and names too, and it is said). Medians and, for a
machine that does other things as well, the best of each side; "waited" is how
long a start stood still for the check when all else was ready. As root or a
user with an engine. ROUNDS turns."""
import datetime
import json
import os
import re
import statistics
import time

import engine_case
import harness

ROUNDS = int(os.environ.get("ROUNDS", "15"))
COLD = max(1, int(os.environ.get("COLD", "3")))
FILES = int(os.environ.get("FILES", "30000"))
MIB = int(os.environ.get("MIB", "500"))
PER_FOLDER = 30
DROP = "/proc/sys/vm/drop_caches"
ZERO = "sha256:" + "0" * 64


def fill(place, files, size):
    block = os.urandom(size)
    os.chmod(place, 0o755)
    for number in range(files):
        folder = os.path.join(place, "lib%03d" % (number // 3000),
                              "mod%05d" % (number // PER_FOLDER))
        if number % PER_FOLDER == 0:
            os.makedirs(folder, mode=0o755, exist_ok=True)
        path = os.path.join(folder, "file%02d.js" % (number % PER_FOLDER))
        with open(path, "wb") as file:
            file.write(number.to_bytes(8, "big") + block[8:])
        os.chmod(path, 0o644)


def volume(kind, files, size):
    name = f"agentnode-bench-{kind}-{os.getpid()}"
    engine_case.podman("volume", "create", name)
    place = json.loads(engine_case.podman(
        "volume", "inspect", name).stdout)[0]["Mountpoint"]
    fill(place, files, size)
    return name, place


def waited(log):
    """Milliseconds for which everything but the volume was ready: what the
    check, beside the container's start, still held up."""
    times = {}
    for line in log.splitlines():
        record = json.loads(line) if line.startswith("{") else {}
        if record.get("event") == "sandbox_state":
            times[record["to"]] = datetime.datetime.fromisoformat(
                record["ts"].rstrip("Z"))
    if "import" not in times:
        return None
    return (times["import"] - times["checks"]).total_seconds() * 1000


def start(home, name, digest):
    """(milliseconds of the whole run, how it was looked at, for how long,
    how long the start waited for it; the outcome)."""
    begin = time.monotonic()
    case = engine_case.Case("/bin/true", home=home, options=[
        "--mount", f"{name}:/pack:{digest}"])
    _, outcome = case.finish(600)
    took = (time.monotonic() - begin) * 1000
    looked = re.findall(r'"how":"([a-z_]+)".*?"ms":([0-9]+)', case.log())
    if digest != ZERO and not outcome.get("started"):
        raise RuntimeError(f"{name} does not start: {outcome}")
    return took, looked, waited(case.log()), outcome


def digest_of(home, name):
    outcome = start(home, name, ZERO)[3]
    return outcome["detail"].split("has hash ")[1].split(",")[0]


def drop(place):
    """Returns what was dropped."""
    for folder, _, files in os.walk(place):
        for name in files:
            fd = os.open(os.path.join(folder, name), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
    try:
        with open(DROP, "w", encoding="ascii") as file:
            file.write("3")
    except OSError:
        return "pages"
    return "pages, inodes, names"


def full_home():
    home = harness.folder()
    os.makedirs(os.path.join(home, ".agentnode"), mode=0o700)
    done = harness.agentnode(home, "config", "set", "sandbox.volume_check",
                             "full")
    if done.code != 0:
        raise RuntimeError(str(done))
    return home


def warm(home, name, digest):
    """Until it is remembered: the engine changes the folder once."""
    for _ in range(6):
        looked = start(home, name, digest)[1]
        if looked[0][0] == "fingerprint":
            return
        time.sleep(2.2)
    raise RuntimeError(f"{name} is not remembered: {looked}")


def measure(fast_home, homes, names, digests):
    times, looks, waits = {}, {}, {}
    for turn in range(ROUNDS + 1):
        for side in ("small", "fast", "full"):
            kind = "small" if side == "small" else "big"
            took, looked, wait, _ = start(homes.get(side, fast_home), names[kind],
                                    digests[kind])
            if turn > 0:  # the first warms up
                times.setdefault(side, []).append(took)
                looks.setdefault(side, []).append(int(looked[0][1]))
                waits.setdefault(side, []).append(wait)
    return times, looks, waits


def main():
    harness.need("podman")
    fast_home, slow_home = harness.folder(), full_home()
    small, big = volume("small", 1, 100), volume(
        "big", FILES, MIB * 1024 * 1024 // FILES)
    names = {"small": small[0], "big": big[0]}
    try:
        os.sync()
        digests = {kind: digest_of(fast_home, name)
                   for kind, name in names.items()}
        time.sleep(2.2)
        for kind, name in names.items():
            warm(fast_home, name, digests[kind])
        times, looks, waits = measure(
            fast_home, {"full": slow_home}, names, digests)
        cold, dropped = [], ""
        for _ in range(COLD):
            dropped = drop(big[1])
            cold.append(start(slow_home, names["big"], digests["big"])[0])
    finally:
        for name in names.values():
            engine_case.podman("volume", "rm", "--force", name)
    median = {side: statistics.median(row) for side, row in times.items()}
    result = {"rounds": ROUNDS, "files": FILES, "mib": MIB}
    for side, value in median.items():
        result[side + "_start_ms"] = round(value, 1)
        result[side + "_best_ms"] = round(min(times[side]), 1)
        result[side + "_look_ms"] = statistics.median(looks[side])
        result[side + "_look_best_ms"] = min(looks[side])
        result[side + "_waited_ms"] = round(
            statistics.median(waits[side]), 1)
        result[side + "_waited_most_ms"] = round(max(waits[side]), 1)
    result["cold_start_ms"] = round(statistics.median(cold), 1)
    result["cold_dropped"] = dropped
    result["fast_added_ms"] = round(median["fast"] - median["small"], 1)
    result["full_added_ms"] = round(median["full"] - median["small"], 1)
    result["fast_added_best_ms"] = round(
        min(times["fast"]) - min(times["small"]), 1)
    result["fast_to_small"] = round(median["fast"] / median["small"], 3)
    result["cold_to_small"] = round(
        statistics.median(cold) / median["small"], 2)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
