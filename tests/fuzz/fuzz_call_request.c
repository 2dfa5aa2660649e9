/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an agent against the shipped providers. Whole and in pieces they
 * come to the same end; what passes is a canonical head without credentials
 * and one JSON object.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/call_case.h"

#define FUZZ_CALL_REQUEST_GRANT                                           \
	"{\"providers\":[{\"name\":\"openai\"},{\"name\":\"anthropic\"}," \
	"{\"name\":\"gemini\"}],\"default\":{\"provider\":\"gemini\","    \
	"\"model\":\"gemini-2.5-flash\"},\"opt_in\":[\"stored\"],"        \
	"\"limits\":{\"body_bytes\":65536,\"decoded_bytes\":131072},"     \
	"\"ledger\":false}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct call_case fuzz_call_request_case;

static void
fuzz_call_request_head(const char *head, size_t len)
{
	static const char *const never[] = {"\nauthorization", "\nx-api-key",
	    "\napi-key", "\nx-goog-api-key", "\ncookie", "\nproxy-",
	    "\nconnection", "\ntransfer-encoding", "\nupgrade", "\nexpect",
	    "\r\n\r\n"};
	char *text = malloc(len + 1);
	size_t i;

	if (text == NULL || len < 2)
		abort();
	memcpy(text, head, len);
	text[len] = '\0';
	if (strlen(text) != len || strcmp(text + len - 2, "\r\n") != 0)
		abort();
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcasestr(text, never[i]) != NULL)
			abort();
	for (i = 0; i < len; i++)
		if ((text[i] < ' ' || text[i] > '~') && text[i] != '\r' &&
		    text[i] != '\n' && text[i] != '\t')
			abort();
	free(text);
}

static void
fuzz_call_request_passed(const struct call_request_result *result)
{
	json_t *body;

	fuzz_call_request_head(result->head, result->head_len);
	if (strlen(result->model) > GRANT_MODEL_MAX)
		abort();
	if (result->path->body == NULL) {
		if (result->body_len != 0)
			abort();
		return;
	}
	body = json_loadb(
	    result->body, result->body_len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(body))
		abort();
	if (result->path->model_field != NULL &&
	    strcmp(result->model, json_string_value(json_object_get(
				      body, result->path->model_field))) != 0)
		abort();
	json_decref(body);
}

static void
fuzz_call_request_refused(const struct call_request *request)
{
	const char *detail = call_request_detail(request);

	if (call_request_code(request) == CALL_OK || detail[0] == '\0' ||
	    call_request_http_status(request) < 400)
		abort();
	for (; *detail != '\0'; detail++)
		if (*detail < ' ' || *detail > '~')
			abort();
}

static void
fuzz_call_request_same(
    const struct call_request *a, const struct call_request *b)
{
	const struct call_request_result *one = call_request_result(a);
	const struct call_request_result *two = call_request_result(b);

	if (one->head_len != two->head_len || one->body_len != two->body_len ||
	    memcmp(one->head, two->head, one->head_len) != 0 ||
	    memcmp(one->body, two->body, one->body_len) != 0 ||
	    one->output_tokens != two->output_tokens ||
	    one->input_chars != two->input_chars)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum call_request_status whole, pieces;
	struct call_request *a, *b;
	size_t used_a, used_b;
	bool continued_a, continued_b;

	if (fuzz_call_request_case.grant == NULL)
		call_case_open(&fuzz_call_request_case,
		    AGENTNODE_SOURCE_DIR "/config/providers",
		    FUZZ_CALL_REQUEST_GRANT);
	whole = call_case_feed(&fuzz_call_request_case, (const char *)data,
	    size, SIZE_MAX, &a, &used_a, &continued_a);
	pieces = call_case_feed(&fuzz_call_request_case, (const char *)data,
	    size, 1 + size % 61, &b, &used_b, &continued_b);
	if (whole != pieces)
		abort();
	if (whole == CALL_REQUEST_DONE) {
		if (used_a != used_b || continued_a != continued_b)
			abort();
		fuzz_call_request_passed(call_request_result(a));
		fuzz_call_request_same(a, b);
	} else if (whole == CALL_REQUEST_REFUSED) {
		fuzz_call_request_refused(a);
		if (call_request_reusable(a) != call_request_reusable(b))
			abort();
	}
	call_request_free(&a);
	call_request_free(&b);
	return 0;
}
