/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a request goes: /<provider>/<path of the provider's file>?<query>,
 * or /agentnode/call_llm. One router for everything; what it does not know
 * is refused. Pure; used by call_request.c.
 */
#ifndef LLM_BROKER_CALL_TARGET_H
#define LLM_BROKER_CALL_TARGET_H

#include <stdbool.h>

#include "common/buffer.h"
#include "common/http_head.h"
#include "llm-broker/call_fault.h"
#include "llm-broker/grant.h"
#include "llm-broker/provider.h"

#define CALL_TARGET_QUERY_MAX 2048U

struct call_target {
	const struct provider *provider;  /* also when its path is refused */
	const struct provider_path *path; /* NULL: none, or call_llm */
	char model[GRANT_MODEL_MAX + 1];  /* of the path, decoded; "" */
	bool stream;                      /* as far as the query says so */
	bool is_call_llm;
};

/* query: an empty buffer of CALL_TARGET_QUERY_MAX; gets "?a=b&c=d", what of
 * the query goes upstream. */
void call_target_judge(const struct http_head *head,
    const struct provider *const *providers, const struct grant *grant,
    struct call_target *target_r, struct buffer *query,
    struct call_fault *fault);

/* Provider and row that call_llm stands for, with the host's model. */
void call_target_default(const struct provider *const *providers,
    const struct grant *grant, struct call_target *target,
    struct call_fault *fault);

/* model_not_allowed unless exactly this model was granted. */
void call_target_model(const struct call_target *target,
    const struct grant *grant, const char *model, size_t len,
    struct call_fault *fault);

#endif
