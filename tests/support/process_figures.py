# SPDX-License-Identifier: Apache-2.0
"""What processes hold, out of /proc: memory, descriptors, children that
nobody reaped; of one process or of everything below one."""
import os
import re

import engine_case


def memory_kb(pid):
    match = re.search(r"VmRSS:\s+(\d+)", engine_case.text(
        f"/proc/{pid}/status"))
    return int(match[1]) if match else 0


def files(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def stat(pid):
    """(name, state, parent) or None."""
    text = engine_case.text(f"/proc/{pid}/stat")
    fields = text.rpartition(")")[2].split()
    if len(fields) < 2:
        return None
    return text.partition("(")[2].rpartition(")")[0], fields[0], int(fields[1])


def below(root):
    """{pid: (name, state)} of root and everything below it."""
    rows = {int(pid): stat(pid) for pid in os.listdir("/proc")
            if pid.isdigit()}
    found, grown = {root}, True
    while grown:
        more = {pid for pid, row in rows.items()
                if row and row[2] in found} - found
        found |= more
        grown = bool(more)
    return {pid: rows[pid][:2] for pid in found if rows.get(pid)}


def zombies(root):
    return sorted(pid for pid, row in below(root).items() if row[1] == "Z")


def only_child(root):
    return next(pid for pid in below(root) if pid != root)
