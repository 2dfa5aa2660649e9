"""What a hostile command in the native boundary tries; prints one line of
JSON: {name: outcome}. An outcome is the name of an errno, a text, or "WORKED".
Needs nothing but the standard library of the system's Python."""
import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
FACTS = json.loads(sys.argv[1])
OUT = {}


def say(name, call, *words):
    """The outcome of a call that must not work."""
    try:
        result = call(*words)
    except OSError as error:
        OUT[name] = errno.errorcode.get(error.errno, str(error.errno))
        return
    OUT[name] = "WORKED" if result is None else str(result)


def syscall(number, *words):
    ctypes.set_errno(0)
    if LIBC.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), "")


def libc(name, *words):
    ctypes.set_errno(0)
    if getattr(LIBC, name)(*words) < 0:
        raise OSError(ctypes.get_errno(), "")


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def write(path):
    with open(path, "ab"):
        pass


def dial(address):
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(2)
        end.connect(address)


def link_to(target, name):
    os.symlink(target, name)
    try:
        read(name)
    finally:
        os.unlink(name)


def program(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=20)
    return done.returncode


# Files of the host.
say("outside_absolute", read, FACTS["secret"])
OUT["outside_listing"] = str("secret" in os.listdir(
    os.path.dirname(FACTS["secret"])))
say("outside_dotdot", read, "../" * 20 + FACTS["secret"].lstrip("/"))
say("outside_by_link", link_to, FACTS["secret"], "link-out")
say("outside_by_host_link", read, "host-link")
say("outside_by_proc_root", read, "/proc/self/root" + FACTS["secret"])
say("outside_by_proc_cwd", read, "/proc/self/cwd/../../../../../.."
    + FACTS["secret"])
say("real_home", os.listdir, FACTS["home"])
say("agentnode_home", os.listdir, FACTS["agentnode"])
say("shadow", read, "/etc/shadow")
say("ssh_keys", os.listdir, "/etc/ssh")
say("machine_id", read, "/etc/machine-id")
say("sys", os.listdir, "/sys")
say("boot", os.listdir, "/boot")
say("write_usr", write, "/usr/native-attack")
say("write_etc", write, "/etc/native-attack")
say("write_root", write, "/native-attack")
say("write_hosts", write, "/etc/hosts")
say("unlink_hosts", os.unlink, "/etc/hosts")
say("core_pattern", write, "/proc/sys/kernel/core_pattern")
say("sysrq", write, "/proc/sysrq-trigger")
say("kcore", lambda: len(open("/proc/kcore", "rb").read(1)) or 1 / 0
    if os.path.getsize("/proc/kcore") else (_ for _ in ()).throw(
        OSError(errno.ENODATA, "")))
say("device_memory", read, "/dev/mem")
say("device_disk", os.stat, "/dev/vda")
say("device_kvm", read, "/dev/kvm")
say("device_fuse", read, "/dev/fuse")
say("make_device", os.mknod, "disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))

# Services of the host.
for name, path in (("docker_socket", "/run/docker.sock"),
                   ("docker_socket_var", "/var/run/docker.sock"),
                   ("podman_socket", "/run/podman/podman.sock"),
                   ("dbus_system", "/run/dbus/system_bus_socket"),
                   ("systemd_private", "/run/systemd/private"),
                   ("x11_socket", "/tmp/.X11-unix/X0"),
                   ("path_socket", FACTS["socket"]),
                   ("abstract_socket", "\0" + FACTS["abstract"]),
                   ("abstract_x11", "\0/tmp/.X11-unix/X0")):
    say(name, dial, path)
say("loopback_service", socket.create_connection,
    ("127.0.0.1", FACTS["port"]), 2)
OUT["session_variables"] = ",".join(sorted(
    name for name in os.environ
    if name in ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "XAUTHORITY",
                "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "DOCKER_HOST")))
OUT["secret_variable"] = os.environ.get("NATIVE_SECRET", "")

# Descriptors and the terminal.
OUT["descriptors"] = ",".join(sorted(
    name for name in os.listdir("/proc/self/fd") if int(name) < 64
    and os.path.exists(f"/proc/self/fd/{name}")
    and "/proc/" not in os.readlink(f"/proc/self/fd/{name}")))
say("terminal", os.open, "/dev/tty", os.O_RDWR)
say("tiocsti", fcntl.ioctl, 0, 0x5412, b"x")
OUT["session"] = str(os.getsid(0) == os.getpid() or os.getsid(0) > 1)

# Processes.
say("init_root", os.listdir, "/proc/1/root")
say("init_fd", os.listdir, "/proc/1/fd")
say("init_memory", read, "/proc/1/mem")
say("kill_init", os.kill, 1, signal.SIGKILL)
say("kill_everything_up", os.kill, FACTS["supervisor"], 0)
sibling = subprocess.Popen(["sleep", "30"])
say("ptrace_sibling", libc, "ptrace", 16, sibling.pid, 0, 0)
say("read_sibling", libc, "process_vm_readv", sibling.pid, 0, 0, 0, 0, 0)
sibling.kill()
sibling.wait()
OUT["host_processes"] = str(sum(
    name.isdigit() for name in os.listdir("/proc")) > 8)

# Namespaces, mounts, kernel interfaces.
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x20000
say("userns", libc, "unshare", CLONE_NEWUSER)
say("userns_mount", libc, "unshare", CLONE_NEWUSER | CLONE_NEWNS)
say("mount_tmpfs", libc, "mount", b"none", b"/tmp", b"tmpfs", 0, None)
say("mount_remount", libc, "mount", b"none", b"/usr", None, 32 | 4096, None)
say("umount_proc_sys", libc, "umount2", b"/proc/sys", 2)
say("umount_protected", libc, "umount2", b".git/hooks", 2)
say("pivot", syscall, 155, b"/tmp", b"/tmp")
say("chroot", os.chroot, "/tmp")
say("io_uring", syscall, 425, 1, 0)
say("perf", syscall, 298, 0, 0, -1, -1, 0)
say("bpf", syscall, 321, 0, 0, 0)
say("keyctl", syscall, 250, 0, -3, 1)
say("add_key", syscall, 248, b"user", b"native", b"x", 1, -3)
say("file_handle", syscall, 304, -100, 0, 0)

# Set-user-id, both ways.
say("suid_su", program, "/usr/bin/su", "-c", "true")
with open("tool", "w", encoding="ascii") as file:
    file.write("#!/bin/sh\n")
say("make_suid", os.chmod, "tool", 0o4755)
say("make_sgid", os.chmod, "tool", 0o2755)
say("open_suid", os.open, "tool2", os.O_CREAT | os.O_WRONLY, 0o4755)
say("become_root", os.setuid, 0)
say("give_away", os.chown, "tool", 0, 0)
OUT["suid_made"] = ",".join(
    name for name in os.listdir(".")
    if not os.path.islink(name)
    and os.lstat(name).st_mode & (stat.S_ISUID | stat.S_ISGID))

# Protected paths.
say("hook", write, ".git/hooks/pre-commit")
say("git_config", write, ".git/config")
say("absent_envrc", write, ".envrc")
say("absent_vscode", write, ".vscode/tasks.json")
# The workspace as a repository of another kind, beside a .git that is broken.
say("absent_refs", os.mkdir, "refs")
say("remove_refs", os.unlink, "refs")
say("absent_commondir", write, "commondir")
say("rename_git", os.rename, ".git", "git-gone")
say("rename_hooks", os.rename, ".git/hooks", ".git/gone")
say("remove_hooks", os.rmdir, ".git/hooks")
with open("other", "w", encoding="ascii") as file:
    file.write("x")
say("rename_over_config", os.rename, "other", ".git/config")
say("link_config", os.link, ".git/config", "config-link")
say("truncate_config", os.truncate, ".git/config", 0)
say("chmod_config", os.chmod, ".git/config", 0o777)
say("rename_workspace", os.rename, os.getcwd(), os.getcwd() + "-gone")
say("foreign_file", write, "roots-file")

# What must work.
say("control_write", write, "made-inside")
say("control_exec", program, "/bin/sh", "-c",
    "printf '#!/bin/sh\\nexit 7\\n' > run.sh; chmod 755 run.sh; ./run.sh")
say("control_git", program, "git", "status")
OUT["control_time"] = str(time.time() > 0)
print(json.dumps(OUT))
