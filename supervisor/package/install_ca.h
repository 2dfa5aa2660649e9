/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA bundle of the host configuration as a tree stream that a build
 * sandbox gets into a tmpfs. Used by install_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_CA_H
#define SUPERVISOR_PACKAGE_INSTALL_CA_H

#include <stdint.h>

#include "supervisor/package/install_fault.h"

#define INSTALL_CA_FOLDER "/ca"
#define INSTALL_CA_FILE INSTALL_CA_FOLDER "/bundle.pem"
#define INSTALL_CA_MAX (4U << 20)

/* A memfd at offset 0 with the one file; caller closes. */
enum result install_ca_stream(
    const char *path, int *fd_r, struct install_fault *fault);

#endif
