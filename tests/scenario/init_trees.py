#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files into and out of a container as tree streams: what is imported is
what is exported, and everything beyond a bound or outside the folder is
refused by name."""
import errno
import os

from harness import check, finish, folder
from init_sandbox import Run, make_image, tree, untree

make_image()
place = folder()
END = ("end", "", b"", 0)


def go(entries=None, data=None, words=("agentnode-probe", "--list"),
       options=(), exported="/sandbox-home"):
    """Run with an import into /sandbox-home and an export; returns both."""
    source = os.path.join(place, "in")
    target = os.path.join(place, "out")
    with open(source, "wb") as file:
        file.write(data if data is not None else tree(entries))
    open(target, "wb").close()
    run = Run(*words, options=("--import", f"/sandbox-home={source}",
                               "--export", f"{exported}={target}",
                               *options)).finish()
    with open(target, "rb") as file:
        return run, file.read()


ENTRIES = [("dir", "b", b"", 0o755), ("file", "b/1", b"one", 0o644),
           ("dir", "b/deep", b"", 0o755),
           ("file", "b/deep/run", b"#!", 0o755),
           ("link", "b/link", b"deep/run", 0o755),
           ("file", "c", b"x" * 200000, 0o644), ("file", "d", b"", 0o644)]
run, out = go([*ENTRIES, END])
check("same_out_as_in", untree(out) == [*ENTRIES, ("end", "", b"", 0o644)],
      run.events)
check("import_before_go", [e["event"] for e in run.events].index("imported")
      < [e["event"] for e in run.events].index("go"), run.events)

for name, entries, error in (
        ("absolute", [("file", "/x", b"", 0o644)], errno.EINVAL),
        ("dotdot", [("file", "../x", b"", 0o644)], errno.EINVAL),
        ("dotdot_inside", [("dir", "a", b"", 0o755),
                           ("file", "a/../../x", b"", 0o644)], errno.EINVAL),
        ("dot", [("file", "./x", b"", 0o644)], errno.EINVAL),
        ("empty_part", [("dir", "a", b"", 0o755),
                        ("file", "a//x", b"", 0o644)], errno.EINVAL),
        ("trailing_slash", [("dir", "a/", b"", 0o755)], errno.EINVAL),
        ("no_path", [("file", "", b"", 0o644)], errno.EINVAL),
        ("nul", [("file", "a\0b", b"", 0o644)], errno.EINVAL),
        ("parent_missing", [("file", "a/x", b"", 0o644)], errno.ENOENT),
        ("through_link", [("link", "l", b"/tmp", 0o755),
                          ("file", "l/x", b"", 0o644)], errno.ENOTDIR),
        ("through_link_up", [("link", "l", b"..", 0o755),
                             ("dir", "l/x", b"", 0o755)], errno.ENOTDIR),
        ("over_a_link", [("link", "l", b"/tmp/x", 0o755),
                         ("file", "l", b"", 0o644)], errno.EEXIST),
        ("twice", [("file", "a", b"", 0o644), ("file", "a", b"", 0o644)],
         errno.EEXIST),
        ("too_deep", [("dir", "/".join("a" * n), b"", 0o755)
                      for n in range(1, 66)], errno.EINVAL),
        ("long_name", [("file", "a" * 256, b"", 0o644)], errno.EINVAL)):
    run, out = go([*entries, END])
    check(f"import_{name}", run.one("imported").get("error") == error
          and not os.path.exists("/x"), run.events)

run, out = go(data=tree([("file", "a", b"abc", 0o644)]))
check("import_cut", run.one("imported").get("error") == errno.EPIPE,
      run.events)
run, out = go(data=b"PK\3\4" + b"\0" * 60)
check("import_other_format", run.one("imported").get("error")
      == errno.EINVAL, run.events)
run, out = go(data=tree([("file", "a" * 5000, b"", 0o644), END]))
check("import_path_too_long", run.one("imported").get("error")
      == errno.ENAMETOOLONG, run.events)
run, out = go([("file", "a", b"x" * 5000, 0o644), END],
              options=("--tree-bytes", "4999"))
check("import_bytes_bound", run.one("imported").get("error") == errno.EFBIG,
      run.events)
run, out = go([("file", "a", b"", 0o644), ("file", "b", b"", 0o644), END],
              options=("--tree-files", "1"))
check("import_files_bound", run.one("imported").get("error") == errno.EFBIG,
      run.events)
run, out = go([("file", "big", b"x" * (5 << 20), 0o644), END],
              options=("--tree-bytes", str(8 << 20)))
check("import_tmpfs_bound", run.one("imported").get("error")
      == errno.ENOSPC, run.events)
run, out = go([("file", "a", b"", 0o4777), END])
check("import_mode_cleaned", untree(out)[0][3] == 0o755, untree(out))

# What a workload wrote comes out, within the bounds.
run, out = go([END], words=("agentnode-probe", "--report", "--scratch",
                            "/sandbox-home"))
check("export_of_the_workloads_file",
      ("file", "result.json", b'{"answer": 42}', 0o644) in untree(out),
      run.events)
run, out = go([END], words=("agentnode-probe", "--report", "--scratch",
                            "/sandbox-home"), options=("--tree-bytes", "13"))
check("export_bytes_bound", run.one("exported").get("error") == errno.EFBIG,
      run.events)
run, out = go([END], exported="/nowhere")
check("export_missing_folder", run.one("exported").get("error")
      == errno.ENOENT, run.events)
finish()
