/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of error words and where the three shapes keep theirs. Called by
 * call_relay.c with a bounded body. Must never return a byte of the body.
 */
#include "llm-broker/error_word.h"

#include <jansson.h>
#include <string.h>

#include "common/json_field.h"

/* More telling ones first: a body often has a code and a type. */
static const char *const error_word_list[] = {"context_length_exceeded",
    "string_above_max_length", "model_not_found", "insufficient_quota",
    "rate_limit_exceeded", "tokens_exceeded", "invalid_image",
    "image_too_large", "unsupported_parameter", "unsupported_value",
    "missing_required_parameter", "invalid_value", "invalid_type",
    "invalid_json", "invalid_prompt", "content_filter",
    "content_policy_violation", "invalid_api_key", "account_deactivated",
    "billing_hard_limit_reached", "billing_not_active",
    "unsupported_country_region_territory", "request_too_large",
    "rate_limit_error", "overloaded_error", "api_error", "timeout_error",
    "authentication_error", "permission_error", "billing_error",
    "not_found_error", "invalid_request_error", "server_error", "tokens",
    "requests", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "PERMISSION_DENIED",
    "UNAUTHENTICATED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL",
    "UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "OUT_OF_RANGE",
    "CANCELLED", NULL};

static const char *const error_word_fields[] = {"code", "type", "status", NULL};

static bool
error_word_is(const json_t *error, const char *word)
{
	for (size_t i = 0; error_word_fields[i] != NULL; i++) {
		const char *text = json_string_value(
		    json_object_get(error, error_word_fields[i]));

		if (text != NULL && strcmp(text, word) == 0)
			return true;
	}
	return false;
}

const char *
error_word_find(const char *body, size_t len)
{
	struct json_fault fault = {""};
	json_t *value = NULL;
	const json_t *error;
	const char *found = "";

	if (json_field_parse(body, len, &value, &fault) != RESULT_OK)
		return found;
	/* Gemini's streams answer with a list of one. */
	error = json_is_array(value) ? json_array_get(value, 0) : value;
	error = json_object_get(error, "error");
	for (size_t i = 0; error_word_list[i] != NULL && found[0] == '\0'; i++)
		if (error_word_is(error, error_word_list[i]))
			found = error_word_list[i];
	json_decref(value);
	return found;
}
