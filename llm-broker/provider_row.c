/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of a provider's "paths". Called by provider_load.c. It must never
 * leave a row whose parts contradict each other: what a call may do follows
 * from the row alone.
 */
#include "llm-broker/provider_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/grant.h"

#define PROVIDER_ROW_TEXT_MAX 200U
#define PROVIDER_ROW_LIST_MAX 8U
#define PROVIDER_ROW_QUERY_MAX 16U
#define PROVIDER_ROW_OUTPUT_MAX 10000000

static const char *const provider_row_keys[] = {"method", "path", "model",
    "stream", "query", "query_required", "body", "force", "force_unless",
    "usage", "include_usage", "output_limit", "output_default", "choices",
    "chat", "content_types", NULL};

struct provider_row {
	struct provider *provider;
	const json_t *json;
	const char *path;
	struct json_fault *fault;
	struct provider_path *row;
};

void
provider_row_free(struct provider_path *path)
{
	size_t i;

	field_rule_free(&path->body);
	for (i = 0; i < path->query_count; i++)
		field_rule_free(&path->query[i].rule);
	free(path->query);
	path->query = NULL;
	path->query_count = 0;
}

static bool
provider_row_failed(const struct provider_row *load)
{
	return load->fault->text[0] != '\0';
}

/* The path is a literal but for one {model}. */
static void
provider_row_read_path(struct provider_row *load)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "-._~:/{}";
	struct provider_path *row = load->row;
	const char *mark;

	json_field_string(
	    load->json, load->path, "method", 8, &row->method, load->fault);
	json_field_string(load->json, load->path, "path", PROVIDER_ROW_TEXT_MAX,
	    &row->path, load->fault);
	if (provider_row_failed(load))
		return;
	if (strcmp(row->method, "GET") != 0 && strcmp(row->method, "POST") != 0)
		json_field_fault(
		    load->fault, "%s.method must be GET or POST", load->path);
	mark = strstr(row->path, "{model}");
	if (row->path[0] != '/' ||
	    strspn(row->path, safe) != strlen(row->path) ||
	    strstr(row->path, "//") != NULL ||
	    strstr(row->path, "/.") != NULL ||
	    (mark == NULL ? strpbrk(row->path, "{}") != NULL
			  : strpbrk(mark + 7, "{}") != NULL ||
				strcspn(row->path, "{}") !=
				    (size_t)(mark - row->path)))
		json_field_fault(load->fault,
		    "%s.path must be a plain path with at most one {model}",
		    load->path);
	row->model_in_path = mark != NULL;
}

static void
provider_row_read_model(struct provider_row *load)
{
	const char *text = NULL;

	json_field_string_opt(load->json, load->path, "model",
	    PROVIDER_ROW_TEXT_MAX, &text, load->fault);
	if (provider_row_failed(load))
		return;
	if (text != NULL && strncmp(text, "body:", 5) == 0 && text[5] != '\0')
		load->row->model_field = text + 5;
	else if (text != NULL && strcmp(text, "path:model") != 0)
		json_field_fault(load->fault,
		    "%s.model must be body:FIELD or path:model", load->path);
	if (load->row->model_in_path !=
	    (text != NULL && load->row->model_field == NULL))
		json_field_fault(load->fault,
		    "%s: {model} in the path and path:model belong together",
		    load->path);
}

static void
provider_row_read_stream(struct provider_row *load)
{
	struct provider_path *row = load->row;
	const char *text = "never";

	json_field_string_opt(load->json, load->path, "stream",
	    PROVIDER_ROW_TEXT_MAX, &text, load->fault);
	if (strcmp(text, "always") == 0) {
		row->stream = PROVIDER_STREAM_ALWAYS;
	} else if (strncmp(text, "body:", 5) == 0 && text[5] != '\0') {
		row->stream = PROVIDER_STREAM_BODY;
		row->stream_field = text + 5;
	} else if (strncmp(text, "query:", 6) == 0 && strchr(text, '=')) {
		row->stream = PROVIDER_STREAM_QUERY;
		row->stream_field = text + 6;
	} else if (strcmp(text, "never") != 0) {
		json_field_fault(load->fault,
		    "%s.stream must be never, always, body:FIELD or "
		    "query:NAME=VALUE",
		    load->path);
	}
}

static struct provider_query *
provider_row_find_query(const struct provider_row *load, const char *name)
{
	size_t i;

	for (i = 0; name != NULL && i < load->row->query_count; i++)
		if (load->row->query[i].name != NULL &&
		    strcmp(load->row->query[i].name, name) == 0)
			return &load->row->query[i];
	return NULL;
}

static void
provider_row_read_required(struct provider_row *load)
{
	const json_t *list = NULL;
	struct provider_query *query;
	size_t i;

	if (json_object_get(load->json, "query_required") == NULL)
		return;
	json_field_array(load->json, load->path, "query_required",
	    PROVIDER_ROW_QUERY_MAX, &list, load->fault);
	for (i = 0; i < json_array_size(list); i++) {
		query = provider_row_find_query(
		    load, json_string_value(json_array_get(list, i)));
		if (query == NULL)
			json_field_fault(load->fault,
			    "%s.query_required[%zu] is not in query",
			    load->path, i);
		else
			query->required = true;
	}
}

static void
provider_row_read_query(struct provider_row *load)
{
	const json_t *object = NULL;
	struct provider_query *query;
	char place[JSON_FIELD_FAULT_MAX];
	const char *name;
	json_t *rule;

	if (json_object_get(load->json, "query") != NULL)
		json_field_object(
		    load->json, load->path, "query", &object, load->fault);
	if (json_object_size(object) > PROVIDER_ROW_QUERY_MAX)
		json_field_fault(
		    load->fault, "%s.query has too many names", load->path);
	query = calloc(PROVIDER_ROW_QUERY_MAX, sizeof(*query));
	if (query == NULL)
		json_field_fault(load->fault, "no memory for %s", load->path);
	load->row->query = query;
	if (query == NULL || provider_row_failed(load))
		return;
	json_object_foreach((json_t *)(uintptr_t)object, name, rule)
	{
		(void)snprintf(
		    place, sizeof(place), "%s.query.%s", load->path, name);
		query->name = name;
		load->row->query_count++;
		(void)field_rule_load(rule, place, load->provider->book,
		    &query->rule, load->fault);
		query++;
	}
	provider_row_read_required(load);
}

static void
provider_row_read_body(struct provider_row *load)
{
	const json_t *rule = json_object_get(load->json, "body");
	bool post;

	if (provider_row_failed(load))
		return;
	post = strcmp(load->row->method, "POST") == 0;
	if (post != (rule != NULL && !json_is_null(rule))) {
		json_field_fault(load->fault,
		    "%s.body must be there for POST, and for POST alone",
		    load->path);
		return;
	}
	if (post) {
		char place[JSON_FIELD_FAULT_MAX];

		(void)snprintf(place, sizeof(place), "%s.body", load->path);
		(void)field_rule_load(rule, place, load->provider->book,
		    &load->row->body, load->fault);
	}
}

static void
provider_row_read_force(struct provider_row *load)
{
	static const struct {
		const char *name;
		enum grant_opt_in bit;
	} known[] = {{"remote_urls", GRANT_REMOTE_URLS},
	    {"provider_tools", GRANT_PROVIDER_TOOLS}, {"stored", GRANT_STORED}};
	const char *unless = NULL;
	size_t i;

	if (json_object_get(load->json, "force") != NULL)
		json_field_object(load->json, load->path, "force",
		    &load->row->force, load->fault);
	json_field_string_opt(load->json, load->path, "force_unless",
	    PROVIDER_ROW_TEXT_MAX, &unless, load->fault);
	if (provider_row_failed(load) || unless == NULL)
		return;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(unless, known[i].name) == 0)
			load->row->force_unless = (unsigned)known[i].bit;
	if (load->row->force_unless == 0)
		json_field_fault(
		    load->fault, "%s.force_unless is no opt-in", load->path);
}

static void
provider_row_read_usage(struct provider_row *load)
{
	static const char *const names[] = {
	    [PROVIDER_USAGE_NONE] = "none",
	    [PROVIDER_USAGE_OPENAI_CHAT] = "openai_chat",
	    [PROVIDER_USAGE_OPENAI_RESPONSES] = "openai_responses",
	    [PROVIDER_USAGE_OPENAI_EMBEDDINGS] = "openai_embeddings",
	    [PROVIDER_USAGE_ANTHROPIC] = "anthropic",
	    [PROVIDER_USAGE_GEMINI] = "gemini",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);
	const char *text = NULL;
	size_t i;

	json_field_string(load->json, load->path, "usage",
	    PROVIDER_ROW_TEXT_MAX, &text, load->fault);
	for (i = 0; text != NULL && i < count; i++)
		if (strcmp(text, names[i]) == 0)
			break;
	if (text == NULL || i == count)
		json_field_fault(
		    load->fault, "%s.usage is not known", load->path);
	else
		load->row->usage = (enum provider_usage)i;
}

/* A list of texts; the faults name the row. */
static void
provider_row_read_texts(struct provider_row *load, const char *key,
    size_t least, const json_t **list_r)
{
	const char *text;
	size_t i;

	if (json_object_get(load->json, key) == NULL && least == 0)
		return;
	json_field_array(load->json, load->path, key, PROVIDER_ROW_LIST_MAX,
	    list_r, load->fault);
	if (json_array_size(*list_r) < least)
		json_field_fault(
		    load->fault, "%s.%s is empty", load->path, key);
	for (i = 0; i < json_array_size(*list_r); i++) {
		text = json_string_value(json_array_get(*list_r, i));
		if (text == NULL || text[0] == '\0' ||
		    strlen(text) > PROVIDER_ROW_TEXT_MAX)
			json_field_fault(load->fault,
			    "%s.%s[%zu] must be a text", load->path, key, i);
	}
}

static void
provider_row_read_output(struct provider_row *load)
{
	struct provider_path *row = load->row;
	int64_t standard = 0;

	json_field_string_opt(load->json, load->path, "include_usage",
	    PROVIDER_ROW_TEXT_MAX, &row->include_usage, load->fault);
	json_field_string_opt(load->json, load->path, "choices",
	    PROVIDER_ROW_TEXT_MAX, &row->choices, load->fault);
	json_field_int_opt(load->json, load->path, "output_default", 0,
	    PROVIDER_ROW_OUTPUT_MAX, &standard, load->fault);
	row->output_default = (uint64_t)standard;
	provider_row_read_texts(load, "output_limit", 0, &row->output_limit);
	provider_row_read_texts(load, "content_types", 1, &row->content_types);
	if (json_object_get(load->json, "chat") != NULL)
		json_field_bool(
		    load->json, load->path, "chat", &row->chat, load->fault);
}

/* The first limit is put into bodies that name none. */
static bool
provider_row_limit_fits(const struct provider_path *row)
{
	const char *name =
	    json_string_value(json_array_get(row->output_limit, 0));
	const char *dot = name == NULL ? NULL : strchr(name, '.');

	return name == NULL || row->output_default == 0 ||
	       (name[0] != '\0' && strlen(name) < 64 &&
		   (dot == NULL || (dot != name && dot[1] != '\0' &&
				       strchr(dot + 1, '.') == NULL)));
}

/* What the parts say together. */
static void
provider_row_check(struct provider_row *load)
{
	const struct provider_path *row = load->row;
	const char *dot =
	    row->include_usage == NULL ? NULL : strchr(row->include_usage, '.');

	if (row->include_usage != NULL &&
	    (row->stream != PROVIDER_STREAM_BODY || dot == NULL ||
		dot == row->include_usage || dot[1] == '\0' ||
		strchr(dot + 1, '.') != NULL))
		json_field_fault(load->fault,
		    "%s.include_usage must be FIELD.FIELD of a body that "
		    "chooses to stream",
		    load->path);
	if (!provider_row_limit_fits(row))
		json_field_fault(load->fault,
		    "%s.output_limit[0] must be FIELD or FIELD.FIELD",
		    load->path);
	if (row->chat && (row->usage == PROVIDER_USAGE_NONE ||
			     row->usage == PROVIDER_USAGE_OPENAI_EMBEDDINGS ||
			     row->usage == PROVIDER_USAGE_OPENAI_RESPONSES))
		json_field_fault(load->fault,
		    "%s.chat needs a usage of openai_chat, anthropic or gemini",
		    load->path);
	if (row->body == NULL &&
	    (row->force != NULL || row->model_field != NULL ||
		row->stream == PROVIDER_STREAM_BODY || row->chat))
		json_field_fault(load->fault,
		    "%s speaks of a body that it does not have", load->path);
}

void
provider_row_load(struct provider *provider, const json_t *row,
    const char *path, struct provider_path *path_r, struct json_fault *fault)
{
	struct provider_row load = {provider, row, path, fault, path_r};

	json_field_only(row, path, provider_row_keys, fault);
	provider_row_read_path(&load);
	provider_row_read_model(&load);
	provider_row_read_stream(&load);
	provider_row_read_query(&load);
	provider_row_read_body(&load);
	provider_row_read_force(&load);
	provider_row_read_usage(&load);
	provider_row_read_output(&load);
	if (fault->text[0] == '\0')
		provider_row_check(&load);
}
