/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a provider's file: refused with a fault, or a provider whose
 * router and rules can be used.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/field_rule.h"
#include "llm-broker/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_provider_load_use(const struct provider *provider)
{
	static const char *const paths[] = {"/v1/chat/completions",
	    "/v1/models/a", "/v1beta/models/m:generateContent", "/", ""};
	const struct field_rule_call call = {7, "m", 1};
	const struct provider_path *row;
	struct http_text method = {"POST", 4}, path, model;
	struct field_rule_fault why;
	uint64_t characters;
	json_t *value;
	size_t i;

	value = json_pack("{s:s,s:[{s:s,s:[{s:s}]}]}", "model", "m", "messages",
	    "role", "user", "content", "type", "text");
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		path.bytes = paths[i];
		path.len = strlen(paths[i]);
		row = provider_route(provider, method, path, &model);
		if (row == NULL)
			continue;
		if (row->body == NULL || row->content_types == NULL)
			abort();
		if (field_rule_check(row->body, value, &call, &characters,
			&why) != RESULT_OK &&
		    (why.path[0] == '\0' || why.why[0] == '\0'))
			abort();
	}
	(void)provider_chat_path(provider);
	json_decref(value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_fault fault = {""};
	struct provider *provider;
	json_t *object;

	if (json_field_parse((const char *)data, size, &object, &fault) !=
	    RESULT_OK)
		return 0;
	fault.text[0] = '\0';
	if (provider_load(object, "provider", &provider, &fault) == RESULT_OK) {
		fuzz_provider_load_use(provider);
		provider_free(&provider);
	} else if (provider != NULL || fault.text[0] == '\0') {
		abort();
	}
	json_decref(object);
	return 0;
}
