/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patterns of a key, as llm-key makes them; and base64 by hand. Used by
 * tests of the redactor and of what links it.
 */
#ifndef TESTS_SUPPORT_REDACT_KEY_H
#define TESTS_SUPPORT_REDACT_KEY_H

#include <stddef.h>

#include "llm-broker/redact.h"

#define REDACT_KEY "sk-agentnode-test-4Zq8w1Xy7Rb3/Kd5+Nf9_j2T"

/* raw, hex, three alignments of base64. */
void redact_key_set(const char *key, struct redact_set *set_r);
/* One more key. */
void redact_key_more(const char *key, struct redact_set *set);

/* out_r: 4 * (len / 3 + 1) + 1 bytes; padded with '='. */
void redact_key_base64(const char *bytes, size_t len, char *out_r);

#endif
