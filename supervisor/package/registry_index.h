/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a registry, index.json, and the signatures beside it,
 * index.json.sig (docs/trust-registry.md). The bytes of the index are parsed
 * only after a signature over them was verified. Pure and fuzzed; used by
 * registry.c and `trust sign index`.
 */
#ifndef SUPERVISOR_PACKAGE_REGISTRY_INDEX_H
#define SUPERVISOR_PACKAGE_REGISTRY_INDEX_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/json_field.h"

#define REGISTRY_INDEX_FILE "index.json"
#define REGISTRY_INDEX_MARKS "index.json.sig"
#define REGISTRY_INDEX_MAX (16U * 1024U * 1024U)
#define REGISTRY_INDEX_PACKAGES_MAX 4096U
#define REGISTRY_INDEX_VERSIONS_MAX 256U
#define REGISTRY_INDEX_PATH_MAX 255U
#define REGISTRY_INDEX_SERIAL_MAX INT64_C(9007199254740991)
#define REGISTRY_INDEX_LIFE_MAX_S (INT64_C(400) * 86400)
#define REGISTRY_ARTIFACT_MAX (INT64_C(512) << 20)
/* One line of the signature file: key, space, signature, line feed. */
#define REGISTRY_MARK_LINE 194U
#define REGISTRY_MARKS_MAX 8U

enum registry_code {
	REGISTRY_OK = 0,
	REGISTRY_UNSET,      /* registry.path is not set */
	REGISTRY_UNREADABLE, /* no folder, index or signature file */
	REGISTRY_MARKS,      /* the signature file has another form */
	REGISTRY_KEY,        /* signed by none of trust.registry_keys */
	REGISTRY_SIGNATURE,  /* no signature of a pinned key holds */
	REGISTRY_SYNTAX,
	REGISTRY_DUPLICATE,
	REGISTRY_FIELD, /* unknown, missing, or of another form */
	REGISTRY_TIME,
	REGISTRY_FUTURE,
	REGISTRY_EXPIRED,
	REGISTRY_ROLLBACK, /* older than one that was seen */
	REGISTRY_FORK,     /* as old as one seen, and another */
	REGISTRY_STATE,    /* what was seen cannot be read or kept */
	REGISTRY_PACKAGE,  /* no such package */
	REGISTRY_VERSION,  /* no such version, or not any more */
	REGISTRY_FILE,     /* no plain file, or of another size */
	REGISTRY_HASH,     /* its bytes are others */
	REGISTRY_KIND,     /* of a kind that is none */
	REGISTRY_SERVER,   /* the file of an MCP server has another form */
	REGISTRY_CODE_COUNT
};

/* "" for OK, else "registry_rollback" and the like; never NULL. */
const char *registry_index_code_text(enum registry_code code);

struct registry_index {
	json_t *root; /* owned; NULL: empty */
	int64_t serial;
	time_t issued, expires;
};

/* What the file of a version is. */
enum registry_kind {
	REGISTRY_PACKAGE_FILE = 0, /* an archive with a manifest; no "kind" */
	REGISTRY_MCP,              /* "mcp": registry_server.h */
};

/* "package", "mcp"; never NULL. */
const char *registry_index_kind_text(enum registry_kind kind);

/* One version of a package; all borrowed from the index. */
struct registry_row {
	const char *slug, *version, *file, *artifact_hash;
	int64_t size;
	enum registry_kind kind;
	const json_t *attestation, *signatures; /* NULL: none */
};

/* Form and bounds of everything but the attestations and signatures, which
 * trust_prove judges one by one. */
enum registry_code registry_index_parse(const char *bytes, size_t len,
    struct registry_index *index_r, struct json_fault *fault);
void registry_index_clear(struct registry_index *index);

/* In force at this time? */
enum registry_code registry_index_current(
    const struct registry_index *index, time_t now, struct json_fault *fault);

/* version NULL: the package's latest. */
enum registry_code registry_index_find(const struct registry_index *index,
    const char *slug, const char *version, struct registry_row *row_r,
    struct json_fault *fault);

struct registry_mark {
	char key[65], signature[129];
};
/* The lines of a signature file. */
enum registry_code registry_index_marks(const char *bytes, size_t len,
    struct registry_mark marks_r[REGISTRY_MARKS_MAX], size_t *count_r,
    struct json_fault *fault);

#endif
