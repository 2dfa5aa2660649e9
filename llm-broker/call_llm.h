/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /agentnode/call_llm of the reference SDK: {"messages":[{"role",
 * "content"}..]} becomes a chat request of the host's default provider and
 * model, which is then judged like any other; the provider's answer becomes
 * {"ok":true,"completion":{"role","content"}}. Pure. call_request.c uses the
 * first, call.c the second.
 */
#ifndef LLM_BROKER_CALL_LLM_H
#define LLM_BROKER_CALL_LLM_H

#include <stddef.h>

#include "common/buffer.h"
#include "common/result.h"
#include "llm-broker/call_fault.h"
#include "llm-broker/call_target.h"
#include "llm-broker/provider.h"

#define CALL_LLM_MESSAGES_MAX 256U

/* Replace the agent's bytes in body by the provider's request. target has
 * the default provider, its chat row and the model. input_chars is the run's
 * limit: with more nothing is composed. */
void call_llm_compose(const struct call_target *target, uint64_t input_chars,
    struct buffer *body, struct call_fault *fault);

/* One whole JSON answer with status 200 to the agent's JSON, appended to
 * out. RESULT_BAD: it has no text (tell upstream_bad). */
enum result call_llm_answer(enum provider_usage format, const char *bytes,
    size_t len, struct buffer *out);

#endif
