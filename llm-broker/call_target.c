/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's router. Called by call_request.c once per head. It must never
 * decode a path before it is matched, nor send on a byte of the query that
 * the provider's file does not allow.
 */
#include "llm-broker/call_target.h"

#include <string.h>

#include "llm-broker/field_rule.h"

#define CALL_TARGET_CALL_LLM "/agentnode/call_llm"
#define CALL_TARGET_PAIRS_MAX 32U

/* "name=value" of a query. */
struct call_target_pair {
	struct http_text name, value;
};

static struct http_text
call_target_cut(struct http_text *rest, char mark)
{
	struct http_text first = *rest;
	const char *at =
	    rest->len == 0 ? NULL : memchr(rest->bytes, mark, rest->len);

	if (at == NULL) {
		rest->bytes += rest->len;
		rest->len = 0;
		return first;
	}
	first.len = (size_t)(at - rest->bytes);
	rest->bytes = at + 1;
	rest->len -= first.len + 1;
	return first;
}

static const struct provider *
call_target_find(const struct provider *const *providers, struct http_text name)
{
	for (; *providers != NULL; providers++)
		if (http_head_text_is(name, provider_name(*providers)))
			return *providers;
	return NULL;
}

/* The bytes of model names that stand in a path as they are. */
static bool
call_target_model_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') ||
	       (byte != '\0' && strchr("-._:@", byte) != NULL);
}

/* No segment of it may be empty or dots: upstream it is part of a path. */
static bool
call_target_segments(const char *model)
{
	size_t len;

	for (;; model += len + 1) {
		len = strcspn(model, "/");
		if (len == strspn(model, ".") && len <= 2)
			return false;
		if (model[len] == '\0')
			return true;
	}
}

/* %2F, %3A and %40 are the only escapes that clients need in a model. */
static bool
call_target_unescape(struct http_text raw, char model[GRANT_MODEL_MAX + 1])
{
	static const struct {
		const char *text;
		char byte;
	} known[] = {{"%2F", '/'}, {"%3A", ':'}, {"%40", '@'}};
	size_t i = 0, j, used = 0;

	while (i < raw.len && used < GRANT_MODEL_MAX) {
		if (call_target_model_byte(raw.bytes[i])) {
			model[used++] = raw.bytes[i++];
			continue;
		}
		for (j = 0; j < 3; j++) {
			struct http_text escape = {raw.bytes + i, 3};

			if (raw.len - i >= 3 &&
			    http_head_text_is_nocase(escape, known[j].text))
				break;
		}
		if (j == 3)
			return false;
		model[used++] = known[j].byte;
		i += 3;
	}
	model[used] = '\0';
	return i == raw.len && model[0] != '.' && call_target_segments(model);
}

void
call_target_model(const struct call_target *target, const struct grant *grant,
    const char *model, size_t len, struct call_fault *fault)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (model[i] <= ' ' || model[i] > '~')
			len = 0;
	if (!grant_model(grant, provider_name(target->provider), model, len))
		call_fault_set(fault, CALL_MODEL_NOT_ALLOWED, 0,
		    "the model is not one that was granted for %s",
		    provider_name(target->provider));
}

/* Does the other method have this path? */
static void
call_target_no_row(const struct call_target *target, struct http_text method,
    struct http_text path, struct call_fault *fault)
{
	static const struct http_text get = {"GET", 3}, post = {"POST", 4};
	struct http_text ignored;

	if (provider_route(target->provider,
		http_head_text_is(method, "GET") ? post : get, path,
		&ignored) != NULL)
		call_fault_set(fault, CALL_METHOD_REFUSED, 0,
		    "this path has another method");
	else
		call_fault_set(fault, CALL_PATH_NOT_ALLOWED, 0,
		    "%s has no such path here",
		    provider_name(target->provider));
}

static void
call_target_route(const struct http_head *head, struct http_text path,
    const struct provider *const *providers, const struct grant *grant,
    struct call_target *target_r, struct call_fault *fault)
{
	struct http_text rest = {path.bytes + 1, path.len - 1}, name, model;

	name = call_target_cut(&rest, '/');
	target_r->provider = call_target_find(providers, name);
	if (target_r->provider == NULL) {
		call_fault_set(fault, CALL_PATH_NOT_ALLOWED, 0,
		    "no provider of that name is configured");
		return;
	}
	if (!grant_provider(grant, provider_name(target_r->provider))) {
		call_fault_set(fault, CALL_PROVIDER_NOT_ALLOWED, 0,
		    "%s was not granted", provider_name(target_r->provider));
		return;
	}
	path.bytes += 1 + name.len;
	path.len -= 1 + name.len;
	target_r->path =
	    provider_route(target_r->provider, head->method, path, &model);
	if (target_r->path == NULL) {
		call_target_no_row(target_r, head->method, path, fault);
		return;
	}
	if (!target_r->path->model_in_path)
		return;
	if (!call_target_unescape(model, target_r->model)) {
		target_r->model[0] = '\0';
		call_fault_set(fault, CALL_PATH_NOT_ALLOWED, 0,
		    "the model in the path has bytes that are not allowed");
		return;
	}
	call_target_model(
	    target_r, grant, target_r->model, strlen(target_r->model), fault);
}

/* Unreserved bytes and escapes of printable ones. */
static bool
call_target_query_fits(struct http_text text, bool escapes)
{
	size_t i;

	for (i = 0; i < text.len; i++) {
		if (call_target_model_byte(text.bytes[i]) ||
		    text.bytes[i] == '~')
			continue;
		if (!escapes || text.bytes[i] != '%' || text.len - i < 3 ||
		    text.bytes[i + 1] < '2' || text.bytes[i + 1] > '7' ||
		    strchr("0123456789abcdefABCDEF", text.bytes[i + 2]) == NULL)
			return false;
		i += 2;
	}
	return true;
}

static bool
call_target_dropped(const struct provider *provider, struct http_text name)
{
	const json_t *list = provider_part(provider, "drop_query");
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		if (http_head_text_is_nocase(
			name, json_string_value(json_array_get(list, i))))
			return true;
	return false;
}

static const struct provider_query *
call_target_query_find(const struct provider_path *path, struct http_text name)
{
	size_t i;

	for (i = 0; i < path->query_count; i++)
		if (http_head_text_is(name, path->query[i].name))
			return &path->query[i];
	return NULL;
}

/* Does the value fit the file's rule? */
static void
call_target_value(const struct provider_query *query,
    const struct call_target_pair *pair, struct call_fault *fault)
{
	static const struct field_rule_call call = {0, NULL, 0};
	struct field_rule_fault why;
	uint64_t ignored;
	json_t *value = json_stringn(pair->value.bytes, pair->value.len);

	if (value == NULL || field_rule_check(query->rule, value, &call,
				 &ignored, &why) != RESULT_OK)
		call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0,
		    "query parameter %s %s", query->name,
		    value == NULL ? "is malformed" : why.why);
	json_decref(value);
}

static void
call_target_pair_judge(struct call_target *target,
    const struct call_target_pair *pair, struct buffer *query,
    struct call_fault *fault)
{
	const struct provider_query *rule;
	const char *mark = query->len == 0 ? "?" : "&";

	if (!call_target_query_fits(pair->name, false) ||
	    !call_target_query_fits(pair->value, true)) {
		call_fault_set(fault, CALL_BAD_REQUEST, 0,
		    "the query has bytes that are not allowed");
		return;
	}
	if (call_target_dropped(target->provider, pair->name))
		return;
	rule = call_target_query_find(target->path, pair->name);
	if (rule == NULL) {
		call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0,
		    "query parameter %.*s is not allowed",
		    (int)(pair->name.len < 64 ? pair->name.len : 64),
		    pair->name.bytes);
		return;
	}
	call_target_value(rule, pair, fault);
	if (buffer_printf(query, "%s%s=%.*s", mark, rule->name,
		(int)pair->value.len, pair->value.bytes) != RESULT_OK)
		call_fault_set(
		    fault, CALL_TOO_LARGE, 0, "the query is too long");
}

/* Does the client's query, as it goes upstream, hold this text whole? */
static bool
call_target_query_has(const struct buffer *query, const char *text)
{
	struct http_text rest = {
	    (const char *)buffer_bytes_borrow(query), query->len};

	if (rest.len > 0)
		(void)call_target_cut(&rest, '?');
	while (rest.len > 0)
		if (http_head_text_is(call_target_cut(&rest, '&'), text))
			return true;
	return false;
}

/* Each name once, none missing. */
static void
call_target_names(const struct provider_path *path,
    const struct call_target_pair *pairs, size_t count,
    struct call_fault *fault)
{
	size_t i, j;

	for (i = 0; i < count; i++)
		for (j = 0; j < i; j++)
			if (pairs[i].name.len == pairs[j].name.len &&
			    memcmp(pairs[i].name.bytes, pairs[j].name.bytes,
				pairs[i].name.len) == 0)
				call_fault_set(fault, CALL_BAD_REQUEST, 0,
				    "a query parameter is there twice");
	for (i = 0; i < path->query_count; i++) {
		for (j = 0; j < count; j++)
			if (http_head_text_is(
				pairs[j].name, path->query[i].name))
				break;
		if (j == count && path->query[i].required)
			call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0,
			    "query parameter %s is missing",
			    path->query[i].name);
	}
}

static void
call_target_query(struct http_text text, struct call_target *target,
    struct buffer *query, struct call_fault *fault)
{
	struct call_target_pair pairs[CALL_TARGET_PAIRS_MAX];
	size_t i, count = 0;

	while (text.len > 0) {
		if (count == CALL_TARGET_PAIRS_MAX) {
			call_fault_set(fault, CALL_TOO_LARGE, 0,
			    "the query has too many parameters");
			return;
		}
		pairs[count].value = call_target_cut(&text, '&');
		pairs[count].name = call_target_cut(&pairs[count].value, '=');
		count +=
		    pairs[count].name.len > 0 || pairs[count].value.len > 0;
	}
	call_target_names(target->path, pairs, count, fault);
	for (i = 0; i < count && fault->code == CALL_OK; i++)
		call_target_pair_judge(target, &pairs[i], query, fault);
	target->stream =
	    target->path->stream == PROVIDER_STREAM_ALWAYS ||
	    (target->path->stream == PROVIDER_STREAM_QUERY &&
		call_target_query_has(query, target->path->stream_field));
}

void
call_target_default(const struct provider *const *providers,
    const struct grant *grant, struct call_target *target,
    struct call_fault *fault)
{
	const char *name = grant_default_provider(grant);
	const char *model = grant_default_model(grant);

	for (; name != NULL && *providers != NULL; providers++)
		if (strcmp(name, provider_name(*providers)) == 0)
			target->provider = *providers;
	if (target->provider != NULL)
		target->path = provider_chat_path(target->provider);
	if (target->path == NULL) {
		call_fault_set(fault, CALL_PROVIDER_NOT_ALLOWED, 0,
		    "no default provider was granted");
		return;
	}
	call_target_model(target, grant, model, strlen(model), fault);
	memcpy(target->model, model, strlen(model) + 1);
}

void
call_target_judge(const struct http_head *head,
    const struct provider *const *providers, const struct grant *grant,
    struct call_target *target_r, struct buffer *query,
    struct call_fault *fault)
{
	struct http_text text = head->target, path;
	bool asked = memchr(text.bytes, '?', text.len) != NULL;

	memset(target_r, 0, sizeof(*target_r));
	if (memchr(text.bytes, '#', text.len) != NULL) {
		call_fault_set(
		    fault, CALL_BAD_REQUEST, 0, "the target has a fragment");
		return;
	}
	path = call_target_cut(&text, '?');
	target_r->is_call_llm = http_head_text_is(path, CALL_TARGET_CALL_LLM);
	if (!target_r->is_call_llm)
		call_target_route(
		    head, path, providers, grant, target_r, fault);
	else if (!http_head_text_is(head->method, "POST"))
		call_fault_set(fault, CALL_METHOD_REFUSED, 0,
		    "call_llm is asked with POST");
	else if (asked)
		call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0,
		    "call_llm takes no query");
	else
		call_target_default(providers, grant, target_r, fault);
	if (fault->code == CALL_OK && !target_r->is_call_llm)
		call_target_query(text, target_r, query, fault);
}
