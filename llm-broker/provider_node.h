/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How provider_load.c leaves a provider for provider.c. Texts are borrowed
 * from the object that both keep. Nobody else includes this.
 */
#ifndef LLM_BROKER_PROVIDER_NODE_H
#define LLM_BROKER_PROVIDER_NODE_H

#include "llm-broker/field_rule.h"
#include "llm-broker/provider.h"

struct provider {
	json_t *object; /* owned reference */
	const char *name, *host, *prefix;
	uint16_t port;
	enum provider_errors errors;
	struct field_rule_book *book;
	struct provider_path *paths;
	size_t path_count;
};

/* One row of "paths"; path is its place for faults. */
void provider_row_load(struct provider *provider, const json_t *row,
    const char *path, struct provider_path *path_r, struct json_fault *fault);
void provider_row_free(struct provider_path *path);

/* Is name a header that no file may set or pass: framing, credentials, and
 * what the broker writes itself? */
bool provider_load_reserved(const char *name);

#endif
