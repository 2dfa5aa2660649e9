/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A provider's own word for what went wrong ("rate_limit_exceeded"), taken
 * from its error body when it is one that is known to be harmless: such
 * bodies repeat keys and requests, so nothing else of them is passed on.
 * Pure. Used by call_relay.c.
 */
#ifndef LLM_BROKER_ERROR_WORD_H
#define LLM_BROKER_ERROR_WORD_H

#include <stddef.h>

/* One of the list, static; "" when there is none. */
const char *error_word_find(const char *body, size_t len);

#endif
