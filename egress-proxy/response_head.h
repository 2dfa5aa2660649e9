/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a plain HTTP response, written anew for the client:
 * hop-by-hop fields and those that its Connection names removed, one
 * Connection: close. Pure; used by exchange.c.
 */
#ifndef EGRESS_PROXY_RESPONSE_HEAD_H
#define EGRESS_PROXY_RESPONSE_HEAD_H

#include "common/buffer.h"
#include "common/http_head.h"
#include "common/result.h"

/* A final response; interim ones (1xx) are dropped by the caller. chunked:
 * the body goes out in chunks, which is stated; otherwise its length or the
 * end of the connection ends it. RESULT_TOO_LONG when out cannot hold it. */
enum result response_head_rewrite(
    const struct http_head *head, bool chunked, struct buffer *out);

#endif
