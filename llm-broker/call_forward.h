/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical head that goes to llm-key: request line, Host, a handful of
 * fields the broker writes, and those few of the agent that the provider's
 * file lets pass with that value. No other byte of the agent's head goes
 * upstream; credentials of every spelling stay behind that way. Pure; used
 * by call_request.c.
 */
#ifndef LLM_BROKER_CALL_FORWARD_H
#define LLM_BROKER_CALL_FORWARD_H

#include "common/buffer.h"
#include "common/http_head.h"
#include "llm-broker/call_fault.h"
#include "llm-broker/call_target.h"

#define CALL_FORWARD_FIELDS_MAX 4096U

/* Append "name: value\r\n" for what passes or is set. head NULL: nothing of
 * an agent's (call_llm). A value that is not listed is refused by the name
 * of its header. */
void call_forward_fields(const struct http_head *head,
    const struct provider *provider, struct buffer *fields,
    struct call_fault *fault);

/* Append the whole head, as llm-broker/lane.h wants it. model: for {model}
 * of the path; has_body: also without one a POST would say so. */
enum result call_forward_head(const struct call_target *target,
    const char *model, const struct buffer *query, const struct buffer *fields,
    size_t body_len, struct buffer *out);

#endif
