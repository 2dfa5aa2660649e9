/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a provider key in what goes into a container, without knowing the
 * key: llm-key hands over, per form of the key, its first few bytes (which
 * providers make public, "sk-a"), its length and a salted SHA-256 of the
 * whole. Pure and streaming: only a suffix that may be the beginning of a
 * key is held back. What is found is overwritten with as many '*' as it
 * took, so that lengths and JSON stay what they were.
 *
 * Seen through: percent encoding, JSON escapes (\u0073, any depth of
 * backslashes), each byte on its own; base64 in three alignments, standard
 * and URL alphabet; hex. A hostile provider can encode in other ways
 * endlessly; docs/llm.md says so.
 * Used by call.c on response bodies (after the chunked coding) and on
 * response fields. Must never hold a key.
 */
#ifndef LLM_BROKER_REDACT_H
#define LLM_BROKER_REDACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/json_field.h"
#include "common/result.h"

#define REDACT_PATTERNS_MAX 16U /* of one key */
#define REDACT_SET_MAX 64U      /* of all keys of a run: a bit each */
#define REDACT_AHEAD 4U         /* bytes looked at before one is tried */
#define REDACT_PREFIX_MAX 8U
#define REDACT_SALT_LEN 16U
#define REDACT_DIGEST_LEN 32U
#define REDACT_LENGTH_MIN 12U   /* shorter texts are no pattern */
#define REDACT_LENGTH_MAX 4096U /* bytes of the form */

enum redact_form {
	REDACT_RAW,    /* through percent and JSON escapes too */
	REDACT_BASE64, /* '+' and '-', '/' and '_' are one; no '=' */
	REDACT_HEX     /* either case */
};

/* One pattern; as JSON in `key_pattern`:
 * {"form":"raw"|"base64"|"hex","prefix":"736b2d","length":51,
 *  "salt":"<32 hex>","digest":"<64 hex>"}; prefix as hex.
 * digest = SHA-256(salt || text), text in the form's one spelling (base64:
 * standard alphabet; hex: lower case). */
struct redact_pattern {
	enum redact_form form;
	uint8_t prefix[REDACT_PREFIX_MAX];
	size_t prefix_len, length;
	uint8_t salt[REDACT_SALT_LEN], digest[REDACT_DIGEST_LEN];
};

/* All zero: empty. Patterns are added, never taken away. */
struct redact_set {
	struct redact_pattern patterns[REDACT_SET_MAX];
	size_t count;
	/* Of redact_match.c: which of them can have a byte as their first,
	 * second, ... when it stands there as it is; which begin with a sign
	 * of an escape. */
	uint64_t may[REDACT_AHEAD][256], signs;
};

/* One more; one that is there already is not added again. RESULT_TOO_LONG:
 * there is no room. */
enum result redact_set_add(
    struct redact_set *set, const struct redact_pattern *pattern);
/* Strict, at most REDACT_PATTERNS_MAX; the fault names the pattern and
 * field, and then nothing was added. */
void redact_set_read(const json_t *patterns, const char *path,
    struct redact_set *set, struct json_fault *fault);

struct redact; /* state of one stream; opaque */

/* set is borrowed; what is added to it is looked for from then on. */
enum result redact_new(const struct redact_set *set, struct redact **redact_r);
void redact_free(struct redact **redact);

/* Append to out what may go on; the rest is held until more comes.
 * RESULT_TOO_LONG when out is full: nothing is taken (a bound of the
 * caller's: out has room for len + REDACT_HELD_MAX bytes). */
#define REDACT_HELD_MAX (8U * REDACT_LENGTH_MAX)
enum result redact_feed(
    struct redact *redact, const char *bytes, size_t len, struct buffer *out);
/* No more comes: let go of what is held. */
enum result redact_finish(struct redact *redact, struct buffer *out);
/* How many keys were overwritten so far. */
uint64_t redact_count(const struct redact *redact);

/* A whole text at once, in place; true when something was overwritten. */
bool redact_text(const struct redact_set *set, char *text, size_t len);

#endif
