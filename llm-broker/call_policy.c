/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy on a body. Called by call_request.c with what the body decoder
 * gave. It must never judge one text and send another: what goes upstream is
 * what was parsed, with at most the fields of the provider's file in front.
 */
#include "llm-broker/call_policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/call_json.h"
#include "llm-broker/field_rule.h"

#define CALL_POLICY_CHOICES_MAX 1024
#define CALL_POLICY_TOKENS_MAX INT64_C(100000000)

static void
call_policy_model(const struct call_target *target, const struct grant *grant,
    const json_t *object, struct call_policy *policy, struct call_fault *fault)
{
	const char *field = target->path->model_field;
	const json_t *model;

	memcpy(policy->model, target->model, sizeof(policy->model));
	if (field == NULL)
		return;
	model = json_object_get(object, field);
	if (!json_is_string(model)) {
		call_fault_set(fault, CALL_MODEL_NOT_ALLOWED, 0,
		    "the body must name its model in %s", field);
		return;
	}
	call_target_model(target, grant, json_string_value(model),
	    json_string_length(model), fault);
	if (fault->code == CALL_OK)
		(void)snprintf(policy->model, sizeof(policy->model), "%s",
		    json_string_value(model));
}

static void
call_policy_fields(const struct call_target *target, const struct grant *grant,
    const json_t *object, struct call_policy *policy, struct call_fault *fault)
{
	struct field_rule_call call = {
	    grant_opt_ins(grant), policy->model, strlen(policy->model)};
	struct field_rule_fault why;

	if (policy->model[0] == '\0')
		call.model = NULL;
	if (field_rule_check(target->path->body, object, &call,
		&policy->input_chars, &why) != RESULT_OK)
		call_fault_set(fault, CALL_FIELD_NOT_ALLOWED, 0, "%s %s",
		    why.path, why.why);
	/* Where nothing is used, nothing is read: counting tokens is free. */
	if (target->path->usage == PROVIDER_USAGE_NONE)
		policy->input_chars = 0;
}

/* A whole number at a dotted path within bounds, or the standard. */
static uint64_t
call_policy_number(
    const json_t *object, const char *path, int64_t max, uint64_t standard)
{
	const json_t *value = call_json_at(object, path);
	json_int_t number;

	if (!json_is_integer(value))
		return standard;
	number = json_integer_value(value);
	if (number < 1)
		return standard;
	return (uint64_t)(number > max ? max : number);
}

/* The most tokens that the call can produce: the largest of the limits it
 * names, or the one that it is given, times the choices. True: it names
 * none. */
static bool
call_policy_output(const struct provider_path *path, const json_t *object,
    struct call_policy *policy)
{
	uint64_t limit = 0, named, choices = 1;
	bool unnamed;
	size_t i;

	for (i = 0; i < json_array_size(path->output_limit); i++) {
		named = call_policy_number(object,
		    json_string_value(json_array_get(path->output_limit, i)),
		    CALL_POLICY_TOKENS_MAX, 0);
		if (named > limit)
			limit = named;
	}
	unnamed = limit == 0;
	if (unnamed)
		limit = path->output_default;
	if (path->choices != NULL)
		choices = call_policy_number(
		    object, path->choices, CALL_POLICY_CHOICES_MAX, 1);
	policy->output_tokens = limit * choices;
	return unnamed && path->output_default > 0 &&
	       json_array_size(path->output_limit) > 0;
}

/* Does a streaming call lack the usage that we need? */
static bool
call_policy_wants_usage(const struct provider_path *path, const json_t *object,
    const struct call_policy *policy)
{
	return policy->stream && path->include_usage != NULL &&
	       !json_is_true(call_json_at(object, path->include_usage));
}

/* Put a value at a path of one or two names into extra, beside what object
 * has there. Takes the value. */
static void
call_policy_put(
    const json_t *object, json_t *extra, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	char field[64];
	json_t *part;

	if (dot == NULL) {
		(void)json_object_set_new(extra, path, value);
		return;
	}
	(void)snprintf(field, sizeof(field), "%.*s", (int)(dot - path), path);
	part = json_copy(json_object_get(object, field));
	if (!json_is_object(part)) {
		json_decref(part);
		part = json_object();
	}
	(void)json_object_set_new(part, dot + 1, value);
	(void)json_object_set_new(extra, field, part);
}

/* What is to be put in: the forced fields that are absent, the limit that
 * was reserved, and usage. */
static json_t *
call_policy_extra(const struct provider_path *path, const struct grant *grant,
    const json_t *object, bool limit, bool usage)
{
	json_t *extra = json_object(), *value;
	const char *name;

	if ((path->force_unless & grant_opt_ins(grant)) == 0)
		json_object_foreach(
		    (json_t *)(uintptr_t)path->force, name, value)
		{
			if (json_object_get(object, name) == NULL)
				(void)json_object_set(extra, name, value);
		}
	if (limit)
		call_policy_put(object, extra,
		    json_string_value(json_array_get(path->output_limit, 0)),
		    json_integer((json_int_t)path->output_default));
	if (usage)
		call_policy_put(
		    object, extra, path->include_usage, json_true());
	return extra;
}

/* Is one of extra's fields there already? Then no splice will do. */
static bool
call_policy_overlaps(const json_t *object, const json_t *extra)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)extra, name, value)
	{
		if (json_object_get(object, name) != NULL)
			return true;
	}
	return false;
}

/* Behind the first '{', as it is, ended by a comma. */
static enum result
call_policy_splice(
    const json_t *object, const json_t *extra, struct buffer *body)
{
	char text[CALL_POLICY_SPLICE_MAX];
	size_t len = json_dumpb(extra, text, sizeof(text), JSON_COMPACT);
	char *brace;

	if (len < 2 || len > sizeof(text))
		return RESULT_TOO_LONG;
	/* {"a":b} -> "a":b, */
	memmove(text, text + 1, len - 1);
	len -= 2;
	if (json_object_size(object) > 0)
		text[len++] = ',';
	if (buffer_append(body, text, len) != RESULT_OK)
		return RESULT_TOO_LONG;
	brace = memchr(body->data + body->start, '{', body->len);
	if (brace == NULL)
		return RESULT_INTERNAL;
	brace++;
	memmove(brace + len, brace,
	    body->len - len -
		(size_t)(brace - (char *)(body->data + body->start)));
	memcpy(brace, text, len);
	return RESULT_OK;
}

/* The whole body anew: the agent set a field that we must change. */
static enum result
call_policy_rewrite(json_t *object, json_t *extra, struct buffer *body)
{
	enum result result = RESULT_NO_MEMORY;
	char *text;

	if (json_object_update(object, extra) != 0)
		return RESULT_NO_MEMORY;
	text = json_dumps(object, JSON_COMPACT);
	if (text != NULL) {
		buffer_clear(body);
		result = buffer_append_text(body, text);
	}
	free(text);
	return result;
}

static void
call_policy_complete(const struct call_target *target,
    const struct grant *grant, json_t *object, struct buffer *body,
    struct call_policy *policy, struct call_fault *fault)
{
	bool limit = call_policy_output(target->path, object, policy);
	json_t *extra;
	enum result result = RESULT_OK;

	policy->usage_added =
	    call_policy_wants_usage(target->path, object, policy);
	extra = call_policy_extra(
	    target->path, grant, object, limit, policy->usage_added);
	if (extra == NULL)
		result = RESULT_NO_MEMORY;
	else if (call_policy_overlaps(object, extra))
		result = call_policy_rewrite(object, extra, body);
	else if (json_object_size(extra) > 0)
		result = call_policy_splice(object, extra, body);
	if (result != RESULT_OK)
		call_fault_set(fault, CALL_TOO_LARGE, 0,
		    "the body does not fit with what is added to it");
	json_decref(extra);
}

static void
call_policy_object(const struct call_target *target, const struct grant *grant,
    json_t *object, struct buffer *body, struct call_policy *policy,
    struct call_fault *fault)
{
	const struct provider_path *path = target->path;

	call_policy_model(target, grant, object, policy, fault);
	if (fault->code == CALL_OK)
		call_policy_fields(target, grant, object, policy, fault);
	if (fault->code != CALL_OK)
		return;
	policy->stream = target->stream;
	if (path->stream == PROVIDER_STREAM_BODY)
		policy->stream =
		    json_is_true(json_object_get(object, path->stream_field));
	call_policy_complete(target, grant, object, body, policy, fault);
}

void
call_policy_judge(const struct call_target *target, const struct grant *grant,
    struct buffer *body, struct call_policy *policy_r, struct call_fault *fault)
{
	char detail[128] = "";
	json_t *object;
	enum result result;

	memset(policy_r, 0, sizeof(*policy_r));
	result = call_json_parse((const char *)buffer_bytes_borrow(body),
	    body->len, &object, detail, sizeof(detail));
	if (result == RESULT_OK)
		call_policy_object(
		    target, grant, object, body, policy_r, fault);
	else if (result == RESULT_NO_MEMORY)
		call_fault_set(
		    fault, CALL_POLICY_UNAVAILABLE, 0, "out of memory");
	else
		call_fault_set(fault,
		    result == RESULT_TOO_LONG ? CALL_TOO_LARGE
					      : CALL_BAD_REQUEST,
		    0, "%s", detail);
	policy_r->judged = object;
}

void
call_policy_bare(const struct call_target *target, struct call_policy *policy_r)
{
	memset(policy_r, 0, sizeof(*policy_r));
	memcpy(policy_r->model, target->model, sizeof(policy_r->model));
	policy_r->stream = target->stream;
}
