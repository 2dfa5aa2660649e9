/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of agentnode.lock to a checked JSON tree: duplicate keys,
 * unknown keys, versions, depth and types are refused with their place.
 * Hashes are another matter (lockfile_hash.h). Pure and fuzzed.
 */
#ifndef SUPERVISOR_PACKAGE_LOCKFILE_PARSE_H
#define SUPERVISOR_PACKAGE_LOCKFILE_PARSE_H

#include <jansson.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"

#define LOCKFILE_PARSE_MAX (16U * 1024U * 1024U)
#define LOCKFILE_PARSE_PACKAGES_MAX 4096U
#define LOCKFILE_PARSE_VERSION "0.1"

/* file names the file in faults. Caller owns *root_r. */
enum result lockfile_parse(const char *file, const char *bytes, size_t len,
    json_t **root_r, struct json_fault *fault);

/* A file without packages, unsealed; NULL without memory. */
json_t *lockfile_parse_empty(void);

#endif
