/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes upstream of a head. Called by call_request.c. It must never copy
 * a field that the provider's file does not name, nor a value that it does
 * not list.
 */
#include "llm-broker/call_forward.h"

#include <string.h>

#define CALL_FORWARD_AGENT "agentnode-llm-broker/1"

static bool
call_forward_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool
call_forward_listed(const json_t *values, struct http_text word)
{
	size_t i;

	for (i = 0; i < json_array_size(values); i++)
		if (http_head_text_is(
			word, json_string_value(json_array_get(values, i))))
			return true;
	return false;
}

/* Every word of a list, or the whole value. */
static bool
call_forward_value_fits(const json_t *entry, struct http_text value)
{
	const json_t *values = json_object_get(entry, "values");
	const char *at = value.bytes, *end = at + value.len, *comma;
	struct http_text word;

	if (!json_is_true(json_object_get(entry, "list")))
		return call_forward_listed(values, value);
	for (; at <= end; at = comma + 1) {
		comma = memchr(at, ',', (size_t)(end - at));
		if (comma == NULL)
			comma = end;
		word.bytes = at;
		word.len = (size_t)(comma - at);
		while (word.len > 0 && call_forward_blank(*word.bytes)) {
			word.bytes++;
			word.len--;
		}
		while (word.len > 0 &&
		       call_forward_blank(word.bytes[word.len - 1]))
			word.len--;
		if (!call_forward_listed(values, word))
			return false;
	}
	return true;
}

static void
call_forward_append(struct buffer *fields, const char *name,
    struct http_text value, struct call_fault *fault)
{
	if (buffer_printf(fields, "%s: %.*s\r\n", name, (int)value.len,
		value.bytes) != RESULT_OK)
		call_fault_set(
		    fault, CALL_HEADER_NOT_ALLOWED, 0, "%s is too long", name);
}

/* All fields of that name; how many there were. */
static size_t
call_forward_pass(const struct http_head *head, const json_t *entry,
    struct buffer *fields, struct call_fault *fault)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	bool list = json_is_true(json_object_get(entry, "list"));
	size_t i, count = 0;

	for (i = 0; i < head->field_count; i++) {
		if (!http_head_text_is_nocase(head->fields[i].name, name))
			continue;
		if (++count > 1 && !list)
			call_fault_set(
			    fault, CALL_BAD_REQUEST, 0, "%s is repeated", name);
		if (!call_forward_value_fits(entry, head->fields[i].value))
			call_fault_set(fault, CALL_HEADER_NOT_ALLOWED, 0,
			    "%s has a value that is not allowed here", name);
		else
			call_forward_append(
			    fields, name, head->fields[i].value, fault);
	}
	return count;
}

void
call_forward_fields(const struct http_head *head,
    const struct provider *provider, struct buffer *fields,
    struct call_fault *fault)
{
	const json_t *pass = provider_part(provider, "pass_headers"), *entry;
	const json_t *set = provider_part(provider, "set_headers");
	const char *name, *passed;
	struct http_text text;
	json_t *value;
	size_t i;

	for (i = 0; head != NULL && i < json_array_size(pass); i++)
		(void)call_forward_pass(
		    head, json_array_get(pass, i), fields, fault);
	json_object_foreach((json_t *)(uintptr_t)set, name, value)
	{
		passed = NULL;
		for (i = 0; i < json_array_size(pass); i++) {
			entry =
			    json_object_get(json_array_get(pass, i), "name");
			if (strcmp(json_string_value(entry), name) == 0)
				passed = name;
		}
		if (passed != NULL && head != NULL &&
		    http_head_find(head, name) != NULL)
			continue;
		text.bytes = json_string_value(value);
		text.len = json_string_length(value);
		call_forward_append(fields, name, text, fault);
	}
}

/* The model as it stands in a path: call_target.c took these apart. */
static enum result
call_forward_model(const char *model, struct buffer *out)
{
	enum result result = RESULT_OK;

	for (; *model != '\0' && result == RESULT_OK; model++)
		result = *model == '/' ? buffer_append_text(out, "%2F")
				       : buffer_append(out, model, 1);
	return result;
}

static enum result
call_forward_line(const struct call_target *target, const char *model,
    const struct buffer *query, struct buffer *out)
{
	const struct provider_path *path = target->path;
	const char *mark =
	    path->model_in_path ? strstr(path->path, "{model}") : NULL;
	enum result result;

	result = buffer_append_text(out, path->method);
	if (result == RESULT_OK)
		result = buffer_append_text(out, " ");
	if (result == RESULT_OK)
		result =
		    buffer_append_text(out, provider_prefix(target->provider));
	if (result == RESULT_OK)
		result = buffer_append(out, path->path,
		    mark == NULL ? strlen(path->path)
				 : (size_t)(mark - path->path));
	if (result == RESULT_OK && mark != NULL)
		result = call_forward_model(model, out);
	if (result == RESULT_OK && mark != NULL)
		result = buffer_append_text(out, mark + strlen("{model}"));
	if (result == RESULT_OK)
		result =
		    buffer_append(out, buffer_bytes_borrow(query), query->len);
	if (result == RESULT_OK)
		result = buffer_append_text(out, " HTTP/1.1\r\n");
	return result;
}

static enum result
call_forward_host(const struct provider *provider, struct buffer *out)
{
	const char *host = provider_host(provider);
	bool literal = strchr(host, ':') != NULL;
	enum result result =
	    buffer_append_text(out, literal ? "Host: [" : "Host: ");

	if (result == RESULT_OK)
		result = buffer_append_text(out, host);
	if (result == RESULT_OK && literal)
		result = buffer_append_text(out, "]");
	if (result == RESULT_OK && provider_port(provider) != 443)
		result = buffer_printf(
		    out, ":%u", (unsigned)provider_port(provider));
	return result != RESULT_OK ? result : buffer_append_text(out, "\r\n");
}

enum result
call_forward_head(const struct call_target *target, const char *model,
    const struct buffer *query, const struct buffer *fields, size_t body_len,
    struct buffer *out)
{
	enum result result;

	result = call_forward_line(target, model, query, out);
	if (result == RESULT_OK)
		result = call_forward_host(target->provider, out);
	if (result == RESULT_OK)
		result = buffer_append_text(out,
		    "User-Agent: " CALL_FORWARD_AGENT "\r\n"
		    "Accept: application/json, text/event-stream\r\n"
		    "Accept-Encoding: identity\r\n");
	if (result == RESULT_OK && target->path->body != NULL)
		result =
		    buffer_append_text(out, "Content-Type: application/json\r\n"
					    "Content-Length: ");
	if (result == RESULT_OK && target->path->body != NULL)
		result = buffer_append_number(out, body_len);
	if (result == RESULT_OK && target->path->body != NULL)
		result = buffer_append_text(out, "\r\n");
	if (result == RESULT_OK)
		result = buffer_append(
		    out, buffer_bytes_borrow(fields), fields->len);
	return result;
}
