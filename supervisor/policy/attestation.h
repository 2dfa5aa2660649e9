/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attestations: a registry's word that an artifact is of a tier, and the
 * publisher's signature beside it (docs/trust-registry.md). Reads their JSON
 * and compares what they say with what they are used for. Pure and fuzzed;
 * the signatures themselves are trust.c's.
 */
#ifndef SUPERVISOR_POLICY_ATTESTATION_H
#define SUPERVISOR_POLICY_ATTESTATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/json_field.h"
#include "supervisor/policy/tier.h"

#define ATTESTATION_BYTES_MAX 8192U
#define ATTESTATION_SLUG_MAX 60U
#define ATTESTATION_VERSION_MAX 128U
#define ATTESTATION_HASH_LEN 71U /* "sha256:" and 64 hex digits */
#define ATTESTATION_KEY_LEN 64U  /* hex of an Ed25519 public key */
#define ATTESTATION_SIGNATURE_LEN 128U
/* Clocks differ: this far ahead is not the future. */
#define ATTESTATION_SKEW_S 300
/* From issued to expires at most. */
#define ATTESTATION_LIFE_MAX_S (INT64_C(1100) * 86400)

/* Why a tier is not given; the words are attestation_code_text's. */
enum attestation_code {
	ATTESTATION_OK = 0,
	ATTESTATION_SYNTAX,    /* no JSON, too long, too deep */
	ATTESTATION_DUPLICATE, /* a key twice */
	ATTESTATION_FIELD,     /* unknown, missing, or of another form */
	ATTESTATION_TIER,      /* a word that is no tier */
	ATTESTATION_TIME,      /* no time, or expires before it begins */
	ATTESTATION_OTHER_SLUG,
	ATTESTATION_OTHER_VERSION,
	ATTESTATION_OTHER_HASH,
	ATTESTATION_OTHER_PUBLISHER,
	ATTESTATION_FUTURE,
	ATTESTATION_EXPIRED,
	ATTESTATION_KEY_UNKNOWN, /* not pinned, or not any more */
	ATTESTATION_KEY_REVOKED,
	ATTESTATION_SIGNATURE, /* the registry's does not hold */
	ATTESTATION_PUBLISHER_REVOKED,
	ATTESTATION_PUBLISHER_MISSING, /* no signature of the publisher */
	ATTESTATION_PUBLISHER_FIELD,   /* one of another form */
	ATTESTATION_PUBLISHER_KEY,     /* one by another key */
	ATTESTATION_PUBLISHER_SIGNATURE,
	ATTESTATION_UNBOUND, /* not what was installed on this host */
	ATTESTATION_CODE_COUNT
};

/* "" for OK, else "trust_expired" and the like; never NULL. */
const char *attestation_code_text(enum attestation_code code);

struct attestation {
	char slug[ATTESTATION_SLUG_MAX + 1];
	char version[ATTESTATION_VERSION_MAX + 1];
	char artifact_hash[ATTESTATION_HASH_LEN + 1];
	char publisher[ATTESTATION_SLUG_MAX + 1];
	char publisher_key[ATTESTATION_KEY_LEN + 1];
	char registry_key[ATTESTATION_KEY_LEN + 1];
	char signature[ATTESTATION_SIGNATURE_LEN + 1];
	enum tier tier;
	time_t issued, expires;
	int64_t serial; /* 0: none */
};

/* The forms of a version and of "sha256:...", as lockfiles have them. */
bool attestation_is_version(const char *text);
bool attestation_is_hash(const char *text);

/* Every form below leaves a sentence in fault when it is not OK. */
enum attestation_code attestation_read(const json_t *object,
    struct attestation *attestation_r, struct json_fault *fault);
/* The same from bytes, which must be one JSON object without duplicates;
 * *object_r (may be NULL) is the caller's, and set when OK. */
enum attestation_code attestation_parse(const char *bytes, size_t len,
    struct attestation *attestation_r, json_t **object_r,
    struct json_fault *fault);

/* Is it for this package, and in force now? hash is "sha256:...". */
enum attestation_code attestation_fits(const struct attestation *attestation,
    const char *slug, const char *version, const char *hash, time_t now,
    struct json_fault *fault);

/* {"publisher": {"key": HEX, "signature": HEX}}, as `_signatures` has it;
 * both texts are borrowed from object. */
enum attestation_code attestation_publisher(const json_t *object,
    const char **key_r, const char **signature_r, struct json_fault *fault);

#endif
