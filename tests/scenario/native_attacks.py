#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published weaknesses of sandboxes made of the operating system's parts,
each tried from inside a native sandbox that may write a workspace: files,
services, descriptors, processes, namespaces, set-user-id programs, protected
paths. As root with a workspace of an ordinary user's, and with its own."""
import json
import os
import shutil
import socket
import subprocess

import harness
from harness import check

RUN = os.path.join(harness.BUILD, "tests", "run_sandbox")
INSIDE = os.path.join(harness.SOURCE, "tests", "support", "native_inside.py")
PYTHON = "/usr/bin/python3"
harness.need(PYTHON, "git")

# What is not reached is not there, or refused.
HIDDEN, READ_ONLY, REFUSED = "ENOENT", "EROFS", "EPERM"
EXPECTED = {
    "outside_absolute": HIDDEN, "outside_listing": "False",
    "outside_dotdot": HIDDEN, "outside_by_link": HIDDEN,
    "outside_by_host_link": HIDDEN, "outside_by_proc_root": HIDDEN,
    "outside_by_proc_cwd": HIDDEN, "real_home": HIDDEN,
    "agentnode_home": HIDDEN, "shadow": HIDDEN, "ssh_keys": HIDDEN,
    "machine_id": HIDDEN, "sys": HIDDEN, "boot": HIDDEN,
    "write_usr": (READ_ONLY, "EACCES"), "write_etc": (READ_ONLY, "EACCES"),
    "write_root": (READ_ONLY, "EACCES"), "write_hosts": (READ_ONLY, "EACCES"),
    "unlink_hosts": ("EBUSY", READ_ONLY, "EACCES"),
    "core_pattern": (READ_ONLY, "EACCES"), "sysrq": (READ_ONLY, "EACCES", HIDDEN),
    "kcore": ("ENODATA", HIDDEN), "device_memory": HIDDEN,
    "device_disk": HIDDEN, "device_kvm": HIDDEN, "device_fuse": HIDDEN,
    "make_device": ("EACCES", REFUSED),
    "docker_socket": HIDDEN, "docker_socket_var": HIDDEN,
    "podman_socket": HIDDEN, "dbus_system": HIDDEN,
    "systemd_private": HIDDEN, "x11_socket": HIDDEN, "path_socket": HIDDEN,
    "abstract_socket": "ECONNREFUSED", "abstract_x11": "ECONNREFUSED",
    "loopback_service": "ECONNREFUSED", "session_variables": "",
    "secret_variable": "", "descriptors": "0,1,2",
    "terminal": (HIDDEN, "ENXIO"), "tiocsti": REFUSED, "session": "True",
    "init_root": HIDDEN, "init_fd": HIDDEN, "init_memory": HIDDEN,
    "kill_init": (REFUSED,), "kill_everything_up": "ESRCH",
    "ptrace_sibling": REFUSED, "read_sibling": REFUSED,
    "host_processes": "False",
    "userns": REFUSED, "userns_mount": REFUSED, "mount_tmpfs": REFUSED,
    "mount_remount": REFUSED, "umount_proc_sys": REFUSED,
    "umount_protected": REFUSED, "pivot": REFUSED, "chroot": REFUSED,
    "io_uring": REFUSED, "perf": REFUSED, "bpf": REFUSED, "keyctl": REFUSED,
    "add_key": REFUSED, "file_handle": REFUSED,
    "suid_su": "1", "make_suid": REFUSED, "make_sgid": REFUSED,
    "open_suid": REFUSED, "become_root": ("EINVAL", REFUSED),
    "give_away": ("EINVAL", REFUSED), "suid_made": "",
    "hook": READ_ONLY, "git_config": READ_ONLY, "absent_envrc": (READ_ONLY, "EACCES"),
    "absent_vscode": READ_ONLY, "rename_git": "EBUSY",
    "absent_refs": "EEXIST", "remove_refs": ("EBUSY", "EOVERFLOW"),
    "absent_commondir": (READ_ONLY, "EACCES"),
    "rename_hooks": "EBUSY", "remove_hooks": "EBUSY",
    "rename_over_config": ("EBUSY", "EXDEV"), "link_config": "EXDEV",
    "truncate_config": READ_ONLY, "chmod_config": READ_ONLY,
    "rename_workspace": ("EBUSY", "EXDEV", READ_ONLY, "EACCES"),
    "foreign_file": ("EACCES", REFUSED),
    "control_write": "WORKED", "control_exec": "7", "control_git": "0",
    "control_time": "True",
}

HOME = harness.folder()
PLACE = harness.folder("native-host-")
os.chmod(PLACE, 0o755)
SECRET = os.path.join(PLACE, "secret")
with open(SECRET, "w", encoding="ascii") as file:
    file.write("the host's")
ABSTRACT = "agentnode-native-" + str(os.getpid())
listeners = []
for address in ("\0" + ABSTRACT, os.path.join(PLACE, "socket")):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(8)
    listeners.append(listener)
loopback = socket.socket()
loopback.bind(("127.0.0.1", 0))
loopback.listen(8)


def workspace(owner):
    """A repository of owner's, with a file of root's in it."""
    folder = os.path.join(PLACE, f"work-{owner}")
    os.mkdir(folder)
    shutil.copy(INSIDE, folder)
    os.symlink(SECRET, os.path.join(folder, "host-link"))
    subprocess.run(["git", "init", "-q", folder], check=True)
    for root, folders, files in os.walk(folder):
        for name in ["", *folders, *files]:
            os.chown(os.path.join(root, name), owner, owner,
                     follow_symlinks=False)
    # Another's: root's in a user's workspace, a user's in root's.
    path = os.path.join(folder, "roots-file")
    with open(path, "w", encoding="ascii"):
        pass
    os.chown(path, 0 if owner else 12345, 0 if owner else 12345)
    return folder


def run(folder, *argv, mode="workspace-write"):
    return harness.run(RUN, "--native", mode, "--workspace", folder,
                       "--outcome", os.path.join(HOME, "outcome"), "--",
                       *argv, timeout=60, env=harness.environment(
                           HOME, NATIVE_SECRET="sk-hidden",
                           DISPLAY=":0", SSH_AUTH_SOCK="/run/agent"))


def outcome():
    with open(os.path.join(HOME, "outcome"), encoding="utf-8") as file:
        return json.load(file)


facts = {"secret": SECRET, "home": os.path.expanduser("~"),
         "agentnode": HOME, "socket": os.path.join(PLACE, "socket"),
         "abstract": ABSTRACT, "port": loopback.getsockname()[1],
         "supervisor": os.getpid()}
owners = (54321, 0) if os.geteuid() == 0 else (os.geteuid(),)
for owner in owners:
    folder = workspace(owner)
    done = run(folder, PYTHON, "native_inside.py", json.dumps(facts))
    try:
        got = json.loads(done.out)
    except ValueError:
        got = {}
    whose = "a user's" if owner else "root's"
    check(f"in {whose} workspace every attempt was made",
          set(got) == set(EXPECTED) and outcome()["code"] == "",
          (set(EXPECTED) ^ set(got), done, outcome()))
    for name, want in EXPECTED.items():
        wanted = want if isinstance(want, tuple) else (want,)
        check(f"{name} in {whose} workspace", got.get(name) in wanted,
              f"{got.get(name)} instead of {want}")
    made = os.stat(os.path.join(folder, "made-inside"))
    check(f"what it makes in {whose} workspace is the owner's",
          (made.st_uid, made.st_gid) == (owner, owner), made)
    left = [name for name in (".envrc", ".vscode")
            if os.path.exists(os.path.join(folder, name))]
    check(f"no placeholder is left in {whose} workspace", not left, left)

# A workspace that is a link, or becomes one.
alias = os.path.join(PLACE, "alias")
os.symlink(folder, alias)
done = run(alias, "/bin/true")
check("a workspace that is a link is refused", done.code == 70, done)

done = run(folder, "/bin/sh", "-c", "echo x > readonly-attempt",
           mode="read-only")
check("read-only: the workspace is not written", done.code == 2 and
      not os.path.exists(os.path.join(folder, "readonly-attempt")), done)
done = run(folder, "/bin/cat", "host-link", mode="read-only")
check("read-only: a link out of it leads nowhere", done.code == 1 and
      "the host's" not in done.out, done)

# The network: none, or egress-proxy's listeners inside, as in a container.
REACH = """
import socket
for address, ask in ((("127.0.0.1", 3128), b"CONNECT other.example:443 "
                      b"HTTP/1.1\\r\\nHost: other.example:443\\r\\n"
                      b"\\r\\n"), (("api.example.com", 443), b"hello")):
    try:
        with socket.create_connection(address, 5) as end:
            end.sendall(ask)
            print("reached", end.recv(400).split(b"\\r\\n\\r\\n")[0])
    except OSError as error:
        print("refused", type(error).__name__)
"""


def reach(*options):
    return harness.run(
        RUN, "--native", "read-only", *options, "--outcome",
        os.path.join(HOME, "outcome"), "--", PYTHON, "-c",
        REACH, timeout=60,
        env=harness.environment(HOME))


done = reach()
check("without --allow there is no way out", done.out.splitlines() ==
      ["refused ConnectionRefusedError", "refused gaierror"], done)
done = reach("--allow", "api.example.com:443")
lines = done.out.splitlines()
check("with --allow a host that is not named is refused by the proxy",
      len(lines) == 2 and "403" in lines[0] and "not_allowed" in
      lines[0].lower().replace("-", "_"), (done, outcome()))
check("and a named one has its own listener inside",
      lines[1:] in (["reached b''"], ["refused ConnectionResetError"]), lines)
harness.finish()
