/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the reference SDK to and from the shapes of the providers.
 * Called by call_request.c and call.c. It must never pass on a field of the
 * agent's other than role and content.
 */
#include "llm-broker/call_llm.h"

#include <stdlib.h>
#include <string.h>

#include "llm-broker/call_json.h"
#include "llm-broker/field_rule.h"

#define CALL_LLM_SYSTEM "system"

/* Whose role is it: one of the three, or a fault. */
static bool
call_llm_role_fits(const char *role)
{
	return role != NULL &&
	       (strcmp(role, CALL_LLM_SYSTEM) == 0 ||
		   strcmp(role, "user") == 0 || strcmp(role, "assistant") == 0);
}

static void
call_llm_check(const json_t *object, struct call_fault *fault)
{
	const json_t *list = json_object_get(object, "messages"), *message;
	size_t i;

	if (json_object_size(object) != 1 || json_array_size(list) == 0 ||
	    json_array_size(list) > CALL_LLM_MESSAGES_MAX)
		call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0,
		    "the body must be messages alone, 1 to %u of them",
		    CALL_LLM_MESSAGES_MAX);
	json_array_foreach(list, i, message)
	{
		if (json_object_size(message) != 2 ||
		    !json_is_string(json_object_get(message, "content")) ||
		    !call_llm_role_fits(
			json_string_value(json_object_get(message, "role"))))
			call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0,
			    "messages[%zu] must have content and a role of "
			    "system, user or assistant alone",
			    i);
	}
}

/* Before anything is made of them: more than the run may ever ask. */
static void
call_llm_measure(
    const json_t *messages, uint64_t most, struct call_fault *fault)
{
	const json_t *message;
	uint64_t count = 0;
	size_t i;

	json_array_foreach(messages, i, message)
	{
		count +=
		    field_rule_characters(json_object_get(message, "content"));
	}
	if (count > most)
		call_fault_set(
		    fault, CALL_BUDGET_EXCEEDED, 0, "input_chars of this run");
}

static bool
call_llm_is_system(const json_t *message)
{
	return strcmp(json_string_value(json_object_get(message, "role")),
		   CALL_LLM_SYSTEM) == 0;
}

/* What was joined, or NULL: not all of it is there. */
static json_t *
call_llm_joined(struct buffer *text, enum result result)
{
	json_t *joined = NULL;

	if (result == RESULT_OK)
		joined = json_stringn(
		    (const char *)buffer_bytes_borrow(text), text->len);
	buffer_free(text);
	return joined;
}

/* The system messages, one behind the other; *text_r NULL: none. False: out
 * of memory. */
static bool
call_llm_system(const json_t *messages, json_t **text_r)
{
	json_t *message, *content;
	enum result result = RESULT_OK;
	struct buffer text;
	bool is_first = true;
	size_t i;

	*text_r = NULL;
	buffer_init(&text, SIZE_MAX / 2);
	json_array_foreach(messages, i, message)
	{
		if (!call_llm_is_system(message) || result != RESULT_OK)
			continue;
		content = json_object_get(message, "content");
		if (!is_first)
			result = buffer_append_text(&text, "\n\n");
		if (result == RESULT_OK)
			result = buffer_append_text(
			    &text, json_string_value(content));
		is_first = false;
	}
	if (is_first)
		return true;
	*text_r = call_llm_joined(&text, result);
	return *text_r != NULL;
}

/* One message as Gemini's content. */
static json_t *
call_llm_gemini_content(const char *role, const json_t *text)
{
	return json_pack("{s:o*, s:[{s:O}]}", "role",
	    role == NULL ? NULL : json_string(role), "parts", "text", text);
}

static json_t *
call_llm_gemini(const json_t *messages)
{
	json_t *contents, *system, *message;
	const char *role;
	size_t i;

	if (!call_llm_system(messages, &system))
		return NULL;
	contents = json_array();
	json_array_foreach(messages, i, message)
	{
		if (call_llm_is_system(message))
			continue;
		role = json_string_value(json_object_get(message, "role"));
		(void)json_array_append_new(
		    contents, call_llm_gemini_content(
				  strcmp(role, "user") == 0 ? "user" : "model",
				  json_object_get(message, "content")));
	}
	message =
	    json_pack("{s:o, s:o*}", "contents", contents, "systemInstruction",
		system == NULL ? NULL : call_llm_gemini_content(NULL, system));
	json_decref(system);
	return message;
}

static json_t *
call_llm_anthropic(const json_t *messages)
{
	json_t *rest, *system, *message;
	size_t i;

	if (!call_llm_system(messages, &system))
		return NULL;
	rest = json_array();
	json_array_foreach(messages, i, message)
	{
		if (!call_llm_is_system(message))
			(void)json_array_append(rest, message);
	}
	return json_pack("{s:o, s:o*}", "messages", rest, "system", system);
}

/* Set a whole number at a path of one or two names. */
static void
call_llm_limit(json_t *object, const char *path, uint64_t value)
{
	const char *dot = strchr(path, '.');
	char field[64] = "";
	json_t *part = object;

	if (dot != NULL && (size_t)(dot - path) < sizeof(field)) {
		memcpy(field, path, (size_t)(dot - path));
		part = json_object();
		(void)json_object_set_new(object, field, part);
		path = dot + 1;
	}
	(void)json_object_set_new(part, path, json_integer((json_int_t)value));
}

static json_t *
call_llm_request(const struct call_target *target, const json_t *messages)
{
	const struct provider_path *path = target->path;
	const char *limit =
	    json_string_value(json_array_get(path->output_limit, 0));
	json_t *object = NULL;

	switch (path->usage) {
	case PROVIDER_USAGE_ANTHROPIC:
		object = call_llm_anthropic(messages);
		break;
	case PROVIDER_USAGE_GEMINI:
		object = call_llm_gemini(messages);
		break;
	case PROVIDER_USAGE_OPENAI_CHAT:
		object = json_pack("{s:O}", "messages", messages);
		break;
	case PROVIDER_USAGE_NONE:
	case PROVIDER_USAGE_OPENAI_RESPONSES:
	case PROVIDER_USAGE_OPENAI_EMBEDDINGS:
		return NULL;
	}
	if (object != NULL && path->model_field != NULL)
		(void)json_object_set_new(
		    object, path->model_field, json_string(target->model));
	if (object != NULL && limit != NULL && path->output_default > 0)
		call_llm_limit(object, limit, path->output_default);
	return object;
}

/* As jansson's memory is let go of: it may be wiped. */
static void
call_llm_release(char *dump)
{
	json_malloc_t ignored;
	json_free_t release;

	json_get_alloc_funcs(&ignored, &release);
	release(dump);
}

void
call_llm_compose(const struct call_target *target, uint64_t input_chars,
    struct buffer *body, struct call_fault *fault)
{
	char detail[128] = "", *text = NULL;
	json_t *object, *request = NULL;

	if (call_json_parse((const char *)buffer_bytes_borrow(body), body->len,
		&object, detail, sizeof(detail)) != RESULT_OK) {
		call_fault_set(fault, CALL_BAD_REQUEST, 0, "%s", detail);
		return;
	}
	call_llm_check(object, fault);
	if (fault->code == CALL_OK)
		call_llm_measure(
		    json_object_get(object, "messages"), input_chars, fault);
	if (fault->code == CALL_OK)
		request = call_llm_request(
		    target, json_object_get(object, "messages"));
	if (request != NULL)
		text = json_dumps(request, JSON_COMPACT);
	buffer_clear(body);
	if (text == NULL || buffer_append_text(body, text) != RESULT_OK)
		call_fault_set(
		    fault, CALL_TOO_LARGE, 0, "the messages do not fit");
	call_llm_release(text);
	json_decref(request);
	json_decref(object);
}

/* Append the texts of a list of parts; those that are thoughts are not
 * the answer. */
static json_t *
call_llm_join(const json_t *parts)
{
	enum result result = RESULT_OK;
	struct buffer text;
	json_t *part;
	const char *piece;
	size_t i;

	buffer_init(&text, SIZE_MAX / 2);
	json_array_foreach(parts, i, part)
	{
		piece = json_string_value(json_object_get(part, "text"));
		if (piece != NULL && result == RESULT_OK &&
		    !json_is_true(json_object_get(part, "thought")))
			result = buffer_append_text(&text, piece);
	}
	return call_llm_joined(&text, result);
}

/* The text of an answer as a JSON text; NULL: there is none. */
static json_t *
call_llm_text(enum provider_usage format, const json_t *answer)
{
	const json_t *first, *parts;

	switch (format) {
	case PROVIDER_USAGE_OPENAI_CHAT:
		first = json_array_get(json_object_get(answer, "choices"), 0);
		first = json_object_get(
		    json_object_get(first, "message"), "content");
		return json_is_string(first)
			   ? json_incref((json_t *)(uintptr_t)first)
			   : NULL;
	case PROVIDER_USAGE_ANTHROPIC:
		parts = json_object_get(answer, "content");
		return json_is_array(parts) ? call_llm_join(parts) : NULL;
	case PROVIDER_USAGE_GEMINI:
		first =
		    json_array_get(json_object_get(answer, "candidates"), 0);
		parts =
		    json_object_get(json_object_get(first, "content"), "parts");
		return json_is_array(parts) ? call_llm_join(parts) : NULL;
	case PROVIDER_USAGE_NONE:
	case PROVIDER_USAGE_OPENAI_RESPONSES:
	case PROVIDER_USAGE_OPENAI_EMBEDDINGS:
		break;
	}
	return NULL;
}

enum result
call_llm_answer(enum provider_usage format, const char *bytes, size_t len,
    struct buffer *out)
{
	char detail[128];
	json_t *answer, *text, *reply = NULL;
	char *dump = NULL;
	enum result result;

	result = call_json_parse(bytes, len, &answer, detail, sizeof(detail));
	if (result != RESULT_OK)
		return result == RESULT_NO_MEMORY ? result : RESULT_BAD;
	text = call_llm_text(format, answer);
	if (text != NULL)
		reply = json_pack("{s:b, s:{s:s, s:o}}", "ok", 1, "completion",
		    "role", "assistant", "content", text);
	if (reply != NULL)
		dump = json_dumps(reply, JSON_COMPACT);
	result = dump == NULL ? RESULT_BAD : buffer_append_text(out, dump);
	call_llm_release(dump);
	json_decref(reply);
	json_decref(answer);
	return result;
}
