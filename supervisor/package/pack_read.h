/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a folder or archive with a manifest is, by way of agentnode-unpack:
 * manifest, all faults and warnings, dependencies. Used by `validate` and
 * install_pack.c. The supervisor reads no byte of the package.
 */
#ifndef SUPERVISOR_PACKAGE_PACK_READ_H
#define SUPERVISOR_PACKAGE_PACK_READ_H

#include <jansson.h>

#include "supervisor/package/install_fault.h"
#include "supervisor/package/manifest_report.h"

struct config; /* supervisor/policy/config.h */

struct pack_read {
	json_t *manifest;     /* owned; NULL when there is none to read */
	json_t *dependencies; /* owned; NULL as above; pack_judge.h */
	struct manifest_report report;
	int strip; /* folders in front of the package's files: 0 or 1 */
};

/* RESULT_OK also when the package has faults. Anything else (an unsafe or
 * unreadable tree): fault says why. pack_read_clear in any case. */
enum result pack_read_folder(const struct config *config, const char *path,
    struct pack_read *read_r, struct install_fault *fault);
/* A regular file at offset 0; borrowed. */
enum result pack_read_archive(const struct config *config, int fd,
    struct pack_read *read_r, struct install_fault *fault);
void pack_read_clear(struct pack_read *read);

#endif
