/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each provider's format keeps what is counted: tokens, text, ends.
 * One table; pure. Used by usage_scan.c. A new format is rows, not code.
 */
#ifndef LLM_BROKER_USAGE_RULE_H
#define LLM_BROKER_USAGE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llm-broker/provider.h"

enum usage_rule_kind {
	USAGE_RULE_NONE,
	/* registers, in this order; the last number that was said holds */
	USAGE_RULE_INPUT,
	USAGE_RULE_INPUT_MORE,  /* to be added to INPUT */
	USAGE_RULE_INPUT_CACHE, /* the same, and cached */
	USAGE_RULE_CACHED,      /* cached, and in INPUT already */
	USAGE_RULE_OUTPUT,
	USAGE_RULE_OUTPUT_MORE, /* to be added to OUTPUT */
	USAGE_RULE_REGISTERS,   /* how many there are, and NONE */
	/* not numbers */
	USAGE_RULE_TEXT,   /* every string below: the agent got it */
	USAGE_RULE_WHOLE,  /* the same, in a copy of the whole at the end */
	USAGE_RULE_PART,   /* new, or a copy: usage_rule_is_copy */
	USAGE_RULE_CHOICE, /* an element: this event carries an answer */
	USAGE_RULE_TYPE,   /* names the event */
	USAGE_RULE_FINISH  /* its being there ends the answer */
};

/* Whose structure stands there: names and numbers count where it is the
 * model's, a tool's arguments that came as an object. */
enum usage_rule_own {
	USAGE_RULE_THEIRS, /* the provider's format */
	USAGE_RULE_ROOT,   /* the value that the model wrote */
	USAGE_RULE_INSIDE  /* a part of it */
};

/* The step of a key; JSON_WALK_OTHER for one in no rule. */
uint8_t usage_rule_key(const char *key, size_t len);

/* What stands at this path. */
enum usage_rule_kind usage_rule_find(enum provider_usage format,
    const uint8_t *path, size_t depth, enum usage_rule_own *own_r);

/* Does an event of this type have a PART of what came before it? */
bool usage_rule_is_copy(
    enum provider_usage format, const char *type, size_t len);

/* Does an event of this type end the answer? */
bool usage_rule_is_last(
    enum provider_usage format, const char *type, size_t len);

#endif
