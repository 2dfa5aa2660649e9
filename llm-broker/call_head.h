/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a parsed request head says about this hop: is it for the broker at
 * all, may the connection go on, how is the body coded. Nothing in here goes
 * upstream. Pure; used by call_request.c.
 */
#ifndef LLM_BROKER_CALL_HEAD_H
#define LLM_BROKER_CALL_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/http_head.h"
#include "llm-broker/body_decode.h"
#include "llm-broker/call_fault.h"

struct call_head {
	bool keep_alive;
	bool has_body; /* a length above 0, or chunks */
	enum body_decode_coding coding;
};

/* bad_request for a head that the strict parser refused. */
void call_head_refuse(enum http_head_status status, struct call_fault *fault);

/* port: the broker's; Host is 127.0.0.1 or localhost with it, or localhost
 * alone for the socket. *head_r is set as far as it was read. */
void call_head_judge(const struct http_head *head, uint16_t port,
    struct call_head *head_r, struct call_fault *fault);

#endif
