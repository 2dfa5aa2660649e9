/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root file systems of the engine `oci`: each pinned image unpacked
 * once, in AGENTNODE_HOME/roots/<digest>/root, checked layer by layer
 * against the digest, owned by us, written by nobody else. A root appears
 * under its name when all of it is on the disk. Used by engine_oci.c and gc.
 */
#ifndef SUPERVISOR_ENGINE_OCI_ROOT_H
#define SUPERVISOR_ENGINE_OCI_ROOT_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_host.h"

struct config; /* supervisor/policy/config.h */

/* The root of image (NAME@sha256:...), unpacked first when it is not there.
 * What is there must be what was left there: RESULT_MISMATCH when its top
 * is another directory or was changed since. detail_r is a sentence. */
enum result oci_root_open(const struct config *config,
    const struct engine_host *host, const char *image, int *root_fd_r,
    char *detail_r, size_t detail_size);

/* Remove what somebody who was killed left half unpacked; rows of report
 * as in engine_gc.h. */
void oci_root_gc(json_t *report);

#endif
