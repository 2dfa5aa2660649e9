/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixed flags without those that keep an image from being obeyed,
 * --image-volume, --no-healthcheck and --unsetenv-all. Linked in place of
 * the real table by a test tool that shows that init's report still stops
 * the start; never installed.
 */
#include "supervisor/engine/run_argv.h"

const char *const run_argv_fixed[] = {
    "--network=none",
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--ipc=private",
    "--pid=private",
    "--uts=private",
    "--cgroupns=private",
    "--hostname=sandbox",
    "--pull=never",
    "--http-proxy=false",
    "--systemd=false",
    "--init=false",
    "--sdnotify=ignore",
    "--ulimit=core=0:0",
    "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
    "--shm-size=16m",
    "--umask=0022",
    "--workdir=/",
    "--restart=no",
    "--stop-timeout=0",
    "--stop-signal=SIGKILL",
    "--rm",
    NULL,
};
