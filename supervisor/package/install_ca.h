/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CA bundle of the host configuration as a tree stream that a build
 * sandbox gets into a tmpfs. Used by install_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_CA_H
#define SUPERVISOR_PACKAGE_INSTALL_CA_H

#include <stddef.h>
#include <stdint.h>

#include "supervisor/package/install_fault.h"

#define INSTALL_CA_FOLDER "/ca"
#define INSTALL_CA_FILE INSTALL_CA_FOLDER "/bundle.pem"
#define INSTALL_CA_MAX (4U << 20)

/* A tree stream of one file: a memfd at offset 0; caller closes. */
enum result install_ca_file(
    const char *name, const char *bytes, size_t len, int *fd_r);
/* The same of a bundle of certificates, read from path. */
enum result install_ca_stream(
    const char *path, int *fd_r, struct install_fault *fault);

#endif
