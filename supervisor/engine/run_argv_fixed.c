/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hardening flags that no field changes, one reason each. Linked by
 * run_argv.c; a test that needs a layer gone links a table of its own in
 * place of this file.
 */
#include "supervisor/engine/run_argv.h"

const char *const run_argv_fixed[] = {
    /* No interface but lo, no route, no resolver, no port 53. */
    "--network=none",
    /* The image cannot be written; the implicit unsized, executable tmpfs
     * on /run and /var/tmp are not made. */
    "--read-only",
    "--read-only-tmpfs=false",
    /* No capability in any set, none to be gained by exec. */
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    /* Own IPC objects, processes, host name and cgroup view. */
    "--ipc=private",
    "--pid=private",
    "--uts=private",
    "--cgroupns=private",
    "--hostname=sandbox",
    /* Nothing is fetched at a start: what runs is what was pinned. */
    "--pull=never",
    /* No variable of the image, the engine or the caller. */
    "--unsetenv-all",
    "--http-proxy=false",
    /* What an image may ask for is not given. */
    "--image-volume=ignore",
    "--no-healthcheck",
    "--systemd=false",
    "--init=false",
    "--sdnotify=ignore",
    /* No core file, whatever the host's pattern is. */
    "--ulimit=core=0:0",
    /* Ports from 0 in this namespace: direct mode listens on 443. */
    "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
    /* Bounded like every other tmpfs, and counted as memory. */
    "--shm-size=16m",
    "--umask=0022",
    "--workdir=/",
    "--restart=no",
    "--stop-timeout=0",
    "--stop-signal=SIGKILL",
    "--rm",
    NULL,
};
