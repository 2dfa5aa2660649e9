/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A registry: a folder (or mounted share) with a signed index and the files
 * it names (docs/trust-registry.md). `install SLUG[@VERSION]` takes packages
 * from it, `info` says what it has. Nothing of the folder is believed but
 * what a pinned key signed.
 */
#ifndef SUPERVISOR_PACKAGE_REGISTRY_H
#define SUPERVISOR_PACKAGE_REGISTRY_H

#include <jansson.h>
#include <time.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/package/registry_index.h"
#include "supervisor/package/registry_server.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/trust.h"

struct registry {
	int folder; /* owned; -1 */
	struct registry_index index;
};

/* Open registry.path: signature, form, time and serial of its index are
 * right, and its serial is noted as seen. Close in any case. */
enum registry_code registry_open(const struct config *config, time_t now,
    struct registry *registry_r, struct json_fault *fault);
void registry_close(struct registry *registry);

/* A package as `install` gets it. */
struct registry_item {
	char slug[61], version[129];
	char artifact_hash[72]; /* "sha256:..." */
	int fd; /* owned: a sealed memfd with exactly these bytes,
		 * offset 0 */
	/* Of an MCP server what the file says; else empty. */
	struct registry_server server;
	json_t *attestation;        /* owned; NULL: unverified */
	json_t *signatures;         /* owned; NULL */
	struct trust_verdict trust; /* proven, not yet bound (trust.h) */
	char code[TRUST_CODE_MAX];  /* why not: registry_..., trust_... */
};

/* name is SLUG or SLUG@VERSION. Everything is judged before a byte of the
 * artifact is copied. On anything but RESULT_OK item_r->code and fault say
 * why. registry_item_clear in any case. */
enum result registry_resolve(const struct config *config, const char *name,
    time_t now, struct registry_item *item_r, struct json_fault *fault);
void registry_item_clear(struct registry_item *item);

/* "SLUG[@VERSION]" and no path? Then install means a registry's package. */
bool registry_is_name(const char *text);

/* The attestation and signatures into a new entry, and the tier as its
 * trust_level: what install does before trust_bound_add and lockfile_put. */
enum result registry_item_mark(const struct registry_item *item, json_t *entry);

/* For `info`: {"package","path","serial","expires","latest","versions":
 * [{"version","kind","artifact_hash","tier","code","detail","expires"}]}, where
 * code is "" or why that version is refused. Caller owns it. On anything but
 * RESULT_OK code_r and fault say why. */
enum result registry_facts(const struct config *config, const char *slug,
    time_t now, json_t **facts_r, char code_r[TRUST_CODE_MAX],
    struct json_fault *fault);

#endif
