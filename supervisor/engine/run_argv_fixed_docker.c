/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hardening flags for Docker that no field changes, one reason each
 * where it is not podman's (run_argv_fixed.c). Linked by run_argv.c.
 */
#include "supervisor/engine/run_argv.h"

const char *const run_argv_fixed_docker[] = {
    "--network=none",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    /* Its processes are its own by default, and no word says so. */
    "--ipc=private",
    "--cgroupns=private",
    "--hostname=sandbox",
    "--pull=never",
    /* The image's own variables reach init alone: a workload has those that
     * `go` brings. The caller's never leave the client. */
    "--no-healthcheck",
    "--init=false",
    /* The host's resolver and search domains would be copied otherwise. */
    "--dns=127.0.0.1",
    "--dns-search=.",
    "--log-driver=none",
    "--ulimit=core=0:0",
    "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
    "--shm-size=16m",
    "--workdir=/",
    "--restart=no",
    "--stop-timeout=0",
    "--stop-signal=SIGKILL",
    "--rm",
    NULL,
};
