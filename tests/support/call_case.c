/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See call_case.h. Called by tests/unit/test_call_*.c and the fuzzer.
 */
#include "tests/support/call_case.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llm-broker/provider_file.h"

static void
call_case_fail(const char *what, const struct json_fault *fault)
{
	fprintf(stderr, "call_case: %s: %s\n", what, fault->text);
	abort();
}

void
call_case_open(
    struct call_case *call_case, const char *folder, const char *grant)
{
	static const char *const names[] = {
	    "openai.json", "anthropic.json", "gemini.json"};
	struct json_fault fault = {""};
	json_t *object;
	size_t i;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(call_case, 0, sizeof(*call_case));
	for (i = 0; i < 3; i++) {
		if (provider_file_load(fd, names[i], &call_case->providers[i],
			&object, &fault) != RESULT_OK)
			call_case_fail(names[i], &fault);
		json_decref(object);
	}
	(void)close(fd);
	if (json_field_parse(grant, strlen(grant), &object, &fault) !=
		RESULT_OK ||
	    grant_load(object, "grant", &call_case->grant, &fault) != RESULT_OK)
		call_case_fail("grant", &fault);
	json_decref(object);
}

void
call_case_close(struct call_case *call_case)
{
	size_t i;

	for (i = 0; i < 3; i++)
		provider_free(&call_case->providers[i]);
	grant_free(&call_case->grant);
}

enum call_request_status
call_case_feed(const struct call_case *call_case, const char *bytes, size_t len,
    size_t piece, struct call_request **request_r, size_t *used_r,
    bool *continued_r)
{
	const struct call_request_options options = {
	    (const struct provider *const *)call_case->providers,
	    call_case->grant, CALL_CASE_PORT};
	enum call_request_status status = CALL_REQUEST_MORE;
	size_t used;

	*used_r = 0;
	*continued_r = false;
	if (call_request_new(&options, request_r) != RESULT_OK)
		abort();
	while (*used_r < len && (status == CALL_REQUEST_MORE ||
				    status == CALL_REQUEST_CONTINUE)) {
		size_t count = len - *used_r < piece ? len - *used_r : piece;

		status = call_request_feed(
		    *request_r, bytes + *used_r, count, &used);
		if (used > count ||
		    (status == CALL_REQUEST_MORE && used != count))
			abort();
		if (status == CALL_REQUEST_CONTINUE && *continued_r)
			abort();
		*continued_r = *continued_r || status == CALL_REQUEST_CONTINUE;
		*used_r += used;
	}
	return status;
}
