"""What every scenario shares: where the build is, private folders, bounded
commands, named checks. A scenario calls check() for each thing it shows and
ends with finish(); a part of the machine that is missing fails by name."""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ.get("AGENTNODE_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("AGENTNODE_BUILD_DIR") or os.path.join(
    SOURCE, "build", "release")
AGENTNODE = os.path.join(BUILD, "bin", "agentnode")
LIBEXEC = os.path.join(BUILD, "libexec", "agentnode")

_faults = []
_count = 0
_folders = []
_sweeper = None
_volumes = set()
_SEALED = re.compile(rb"^sealing .* as (agentnode-pack-\S+)\s", re.MULTILINE)


def check(name, ok, detail=""):
    """Record one named result; returns ok."""
    global _count
    _count += 1
    if ok:
        print(f"ok {_count} - {name}", flush=True)
    else:
        _faults.append(name)
        print(f"not ok {_count} - {name}: {str(detail)[:2000]}", flush=True)
    return bool(ok)


def finish():
    """Print the sum and exit; a scenario without a check has failed."""
    print(f"1..{_count}")
    if _count == 0:
        print("no check was made")
        sys.exit(1)
    if _faults:
        print(f"{len(_faults)} of {_count} failed: {', '.join(_faults[:20])}")
    sys.exit(1 if _faults else 0)


def need(*programs):
    """Fail by name when a program is not on this machine."""
    for program in programs:
        if shutil.which(program) is None and not os.path.exists(program):
            print(f"missing part: {program} (deploy/packages.txt lists it)")
            sys.exit(1)


def swept(path):
    """path is removed when this process is gone, also when it is killed, and
    processes that name it with it (sweep.py)."""
    global _sweeper
    if os.environ.get("AGENTNODE_KEEP"):
        return path
    if _sweeper is None:
        _sweeper = subprocess.Popen(
            [sys.executable, "-I", "-S", os.path.join(
                os.path.dirname(os.path.abspath(__file__)), "sweep.py")],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
            env={})
    _sweeper.stdin.write(path.encode() + b"\n")
    _sweeper.stdin.flush()
    return path


def folder(prefix="agentnode-"):
    """A private folder that is removed at exit."""
    path = tempfile.mkdtemp(prefix=prefix)
    _folders.append(path)
    return swept(path)


@atexit.register
def _clean():
    if os.environ.get("AGENTNODE_KEEP"):
        return
    if _volumes:  # of every installation, also one that another replaced
        subprocess.run(["podman", "volume", "rm", *sorted(_volumes)],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
    for path in _folders:
        shutil.rmtree(path, ignore_errors=True)


def environment(home, **more):
    """An environment for agentnode with its own home."""
    env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8",
           "AGENTNODE_HOME": os.path.join(home, ".agentnode")}
    for name in ("XDG_RUNTIME_DIR",):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update({k: str(v) for k, v in more.items()})
    return env


def sealed(said):
    """Volumes that an installation says it makes are removed at exit."""
    _volumes.update(name.decode() for name in _SEALED.findall(said))


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err = code, out, err
        self.seconds = seconds

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return (f"exit {self.code} in {self.seconds:.2f}s\n"
                f"out: {self.out[-1500:]}\nerr: {self.err[-1500:]}")


def run(*argv, env=None, timeout=60, stdin=None, cwd=None):
    """Run a command to its end; a time-out is exit code 'timeout'."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [str(a) for a in argv], env=env, cwd=cwd,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True)
    try:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = process.communicate(data, timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code = "timeout"
    sealed(err)
    return Result(code, out.decode("utf-8", "replace"),
                  err.decode("utf-8", "replace"),
                  time.monotonic() - begin)


def agentnode(home, *argv, timeout=60, stdin=None, cwd=None, **env):
    """Run the command line with its own home."""
    return run(AGENTNODE, *argv, env=environment(home, **env),
               timeout=timeout, stdin=stdin, cwd=cwd)


def agentnode_into(path, home, *argv, timeout=60, **env):
    """The same with standard output into a file, which may be /dev/full, or
    (None) into a pipe whose reader has left."""
    if path is None:
        read, path = os.pipe()
        os.close(read)
    with open(path, "wb") as out:
        done = subprocess.run(
            [AGENTNODE, *argv], env=environment(home, **env), stdout=out,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            timeout=timeout, check=False)
    return Result(done.returncode, "", done.stderr.decode("utf-8", "replace"),
                  0)


def is_lost(result):
    """Whether it says that what it had to say did not arrive."""
    return (result.code == 70 and "could not be written: No space left on "
            "device" in result.err)


def wait_until(condition, seconds, step=0.01):
    """Poll until condition() is true; its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


def free_port(address="127.0.0.1"):
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def json_lines(path):
    """The JSON objects of a log file; a broken line is an error."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
