/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a registry serves of an MCP server: a small JSON file that pins the
 * package and the integrity of everything it brings along, and says what it
 * may reach (docs/trust-registry.md). The attestation is for the hash of
 * this file. Pure and fuzzed; used by registry.c, `install SLUG`, `mcp
 * install --export` and `trust sign index`.
 */
#ifndef SUPERVISOR_PACKAGE_REGISTRY_SERVER_H
#define SUPERVISOR_PACKAGE_REGISTRY_SERVER_H

#include <jansson.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/package/pin.h"

#define REGISTRY_SERVER_BYTES_MAX (1024U * 1024U)
#define REGISTRY_SERVER_PACKAGES_MAX 4096U
#define REGISTRY_SERVER_LIST_MAX 64U /* domains; tools */

struct registry_server {
	json_t *root; /* owned; NULL: empty */
	struct pin pin;
	/* Borrowed from root. */
	const json_t *dependencies, *allow;
	const json_t *tools; /* NULL: all */
};

/* Strict: every field, exact versions, canonical entries. version: the one
 * that index and attestation name; the file must say the same. On anything
 * but RESULT_OK server_r is empty and fault names the field. */
enum result registry_server_parse(const char *bytes, size_t len,
    const char *version, struct registry_server *server_r,
    struct json_fault *fault);
void registry_server_clear(struct registry_server *server);

/* Are the dependencies that were installed exactly those of the file, each
 * with its integrity? RESULT_MISMATCH: fault names one that is not. */
enum result registry_server_fits(const struct registry_server *server,
    const json_t *dependencies, struct json_fault *fault);

/* The file of an installed server's entry; caller owns the object. NULL
 * without memory. */
json_t *registry_server_make(const json_t *entry);

#endif
