/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker knows of each provider's key: whether llm-key has one,
 * and what to look for so that it does not get into a container. Filled
 * from `key_pattern`; used by call.c. Must never hold a key.
 */
#ifndef LLM_BROKER_KEY_TABLE_H
#define LLM_BROKER_KEY_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "llm-broker/provider.h"
#include "llm-broker/redact.h"

struct key_table; /* opaque */

/* One row per provider. keyless[i]: it takes no key, so none is looked
 * for. */
enum result key_table_new(const struct provider *const *providers,
    const bool *keyless, struct key_table **table_r);
void key_table_free(struct key_table **table);

/* A `key_pattern` message. The patterns of every key that was replaced are
 * kept as long as the table: a provider that knows it can still repeat it,
 * and a call that was sent with it can still be waited for. When no room is
 * left the provider has no key, as with every fault. */
void key_table_set(struct key_table *table, const char *provider,
    const char *status, const json_t *patterns, struct json_fault *fault);

/* llm-key is gone: no provider has a key. */
void key_table_clear(struct key_table *table);

/* May a call be sent up? Also while nothing was said of the key yet: llm-key
 * waits for it, and says what to look for before the response begins. */
bool key_table_may_call(
    const struct key_table *table, const struct provider *provider);

/* What to overwrite in responses of this provider, or NULL: that is not
 * known, and no response may be passed on. It lives as long as the table,
 * and grows. */
const struct redact_set *key_table_patterns_borrow(
    const struct key_table *table, const struct provider *provider);

#endif
