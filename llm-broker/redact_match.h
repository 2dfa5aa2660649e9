/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a key begin at this byte? One start at a time, through percent and
 * JSON escapes. Pure; used by redact.c and redact_set.c.
 */
#ifndef LLM_BROKER_REDACT_MATCH_H
#define LLM_BROKER_REDACT_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llm-broker/redact.h"

#define REDACT_MATCH_DEPTH 4U      /* escapes inside escapes */
#define REDACT_MATCH_CHAR_MAX 256U /* bytes that one byte of a key takes */

enum redact_match_verdict {
	REDACT_MATCH_NO,
	REDACT_MATCH_MORE, /* perhaps: the bytes end before it is known */
	REDACT_MATCH_YES
};

/* Mark where pattern i of set can begin. */
void redact_match_prepare(struct redact_set *set, size_t i);

/* What is looked at; last: nothing follows, so there is no MORE. */
struct redact_match {
	const struct redact_set *set;
	const char *bytes;
	size_t len;
	bool last;
};

/* *span_r: how many bytes the key takes. */
enum redact_match_verdict redact_match_at(
    const struct redact_match *match, size_t at, size_t *span_r);

/* From at on, the first byte a key can begin at; len: there is none. */
size_t redact_match_skip(const struct redact_match *match, size_t at);

#endif
