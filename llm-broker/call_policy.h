/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges the JSON body of a call that has a row: model, fields and values,
 * what it may produce; and puts in what the file forces. The body stays
 * byte for byte what the agent sent, but for that. Pure; used by
 * call_request.c.
 */
#ifndef LLM_BROKER_CALL_POLICY_H
#define LLM_BROKER_CALL_POLICY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "llm-broker/call_fault.h"
#include "llm-broker/call_target.h"

#define CALL_POLICY_SPLICE_MAX 1024U /* bytes that are put into a body */

struct call_policy {
	char model[GRANT_MODEL_MAX + 1]; /* "" when the path has none */
	bool stream, usage_added;
	uint64_t input_chars, output_tokens;
	json_t *judged; /* what was parsed, or NULL; to be let go of when
			 * nobody waits any more */
};

/* body holds the decoded bytes and has room for CALL_POLICY_SPLICE_MAX more.
 * Nothing of *policy_r counts when a fault is set. */
void call_policy_judge(const struct call_target *target,
    const struct grant *grant, struct buffer *body,
    struct call_policy *policy_r, struct call_fault *fault);

/* The same for a row without a body. */
void call_policy_bare(
    const struct call_target *target, struct call_policy *policy_r);

#endif
