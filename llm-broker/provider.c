/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loaded provider: its facts and its router. Called by call_target.c for
 * every call. It must never match a path that is not spelled exactly as in
 * the file: nothing is decoded, folded or completed here.
 */
#include "llm-broker/provider_node.h"

#include <stdlib.h>
#include <string.h>

#define PROVIDER_MODEL_MARK "{model}"

void
provider_free(struct provider **provider)
{
	size_t i;

	if (*provider == NULL)
		return;
	for (i = 0; i < (*provider)->path_count; i++)
		provider_row_free(&(*provider)->paths[i]);
	free((*provider)->paths);
	field_rule_book_free(&(*provider)->book);
	json_decref((*provider)->object);
	free(*provider);
	*provider = NULL;
}

const char *
provider_name(const struct provider *provider)
{
	return provider->name;
}

const char *
provider_host(const struct provider *provider)
{
	return provider->host;
}

uint16_t
provider_port(const struct provider *provider)
{
	return provider->port;
}

const char *
provider_prefix(const struct provider *provider)
{
	return provider->prefix;
}

enum provider_errors
provider_error_shape(const struct provider *provider)
{
	return provider->errors;
}

const json_t *
provider_part(const struct provider *provider, const char *name)
{
	return json_object_get(provider->object, name);
}

/* Does path match the pattern? A model is one segment, not empty. */
static bool
provider_match(
    const char *pattern, struct http_text path, struct http_text *model_r)
{
	const char *mark = strstr(pattern, PROVIDER_MODEL_MARK), *behind;
	size_t before, after;

	if (mark == NULL)
		return http_head_text_is(path, pattern);
	before = (size_t)(mark - pattern);
	behind = mark + strlen(PROVIDER_MODEL_MARK);
	after = strlen(behind);
	if (path.len <= before + after ||
	    memcmp(path.bytes, pattern, before) != 0 ||
	    memcmp(path.bytes + path.len - after, behind, after) != 0)
		return false;
	model_r->bytes = path.bytes + before;
	model_r->len = path.len - before - after;
	return memchr(model_r->bytes, '/', model_r->len) == NULL;
}

const struct provider_path *
provider_route(const struct provider *provider, struct http_text method,
    struct http_text path, struct http_text *model_r)
{
	const struct provider_path *row;
	size_t i;

	for (i = 0; i < provider->path_count; i++) {
		row = &provider->paths[i];
		model_r->bytes = NULL;
		model_r->len = 0;
		if (http_head_text_is(method, row->method) &&
		    provider_match(row->path, path, model_r))
			return row;
	}
	return NULL;
}

const struct provider_path *
provider_chat_path(const struct provider *provider)
{
	size_t i;

	for (i = 0; i < provider->path_count; i++)
		if (provider->paths[i].chat)
			return &provider->paths[i];
	return NULL;
}
