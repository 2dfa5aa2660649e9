/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effective LLM policy of one sandbox as the supervisor computed it: the
 * minimum of the manifest's llm_access, the host's agent_sandbox.llm and the
 * team policy. Default deny: what is not named is refused. The limits of a
 * run that cost money are also in the ledger (budget.h); those that concern
 * one call or this process are here.
 *
 * {"providers":[{"name":"openai","models":["gpt-4o-mini"]}],   no "models": any
 *  "default":{"provider":"openai","model":"gpt-4o-mini"},      for call_llm
 *  "opt_in":["remote_urls","provider_tools","stored"],         host's, else []
 *  "limits":{"requests":20,"concurrent":4,"input_chars":24000,
 *            "output_chars":24000,"body_bytes":8388608,
 *            "decoded_bytes":16777216,"response_bytes":1073741824,
 *            "first_byte_ms":60000,"idle_ms":120000,"total_ms":600000},
 *  "prices":[{"provider":"openai","model":"gpt-4o-mini",
 *             "input_microusd_per_million":150000,
 *             "output_microusd_per_million":600000}],
 *  "ledger":true}                          false: no budget is in the ledger
 *
 * Only providers and ledger must be there. A limit that is missing is the
 * one shown above, never none.
 */
#ifndef LLM_BROKER_GRANT_H
#define LLM_BROKER_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define GRANT_PROVIDERS_MAX 16U
#define GRANT_MODELS_MAX 64U
#define GRANT_MODEL_MAX 200U

enum grant_opt_in {
	GRANT_REMOTE_URLS = 1,    /* the provider may fetch URLs */
	GRANT_PROVIDER_TOOLS = 2, /* web search, code, MCP at the provider */
	GRANT_STORED = 4          /* stored and background responses */
};

struct grant_limits {
	uint64_t requests;     /* per run */
	uint64_t concurrent;   /* calls at one time */
	uint64_t input_chars;  /* characters of text per run */
	uint64_t output_chars; /* per run */
	uint64_t body_bytes, decoded_bytes, response_bytes; /* per call */
	uint64_t first_byte_ms, idle_ms, total_ms;          /* per call */
};

struct grant; /* opaque; immutable once loaded */

enum result grant_load(const json_t *object, const char *path,
    struct grant **grant_r, struct json_fault *fault);
void grant_free(struct grant **grant);
/* Does b allow nothing that a does not? For a replacement. */
bool grant_covers(const struct grant *a, const struct grant *b);

bool grant_provider(const struct grant *grant, const char *provider);
/* Exact; no alias, prefix, suffix or case is looked through. */
bool grant_model(const struct grant *grant, const char *provider,
    const char *model, size_t len);
bool grant_opt_in(const struct grant *grant, enum grant_opt_in what);
unsigned grant_opt_ins(const struct grant *grant); /* all bits */
const struct grant_limits *grant_limits_borrow(const struct grant *grant);
/* NULL: no default was granted; call_llm is refused. */
const char *grant_default_provider(const struct grant *grant);
const char *grant_default_model(const struct grant *grant);
bool grant_uses_ledger(const struct grant *grant);
/* Micro-dollars for these tokens; -1 when the price is unknown. */
int64_t grant_cost(const struct grant *grant, const char *provider,
    const char *model, uint64_t input_tokens, uint64_t output_tokens);

#endif
