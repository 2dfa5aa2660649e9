/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See call_case.h. Called by tests/unit/test_call_*.c and the fuzzer.
 */
#include "tests/support/call_case.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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

void
call_case_write(
    struct buffer *out, const char *line, const char *headers, const char *body)
{
	enum result result;

	result = buffer_printf(out, "%s HTTP/1.1\r\n%s", line,
	    strstr(headers, "\nHost:") == NULL ? "Host: 127.0.0.1:4100\r\n"
					       : "");
	if (result == RESULT_OK && body != NULL)
		result =
		    buffer_printf(out, "Content-Length: %zu\r\n", strlen(body));
	if (result == RESULT_OK)
		result = buffer_printf(
		    out, "%s\r\n%s", headers, body == NULL ? "" : body);
	if (result != RESULT_OK)
		abort();
}

static void
call_case_passed(
    const struct call_request_result *result, const struct call_case_row *row)
{
	char *upstream = malloc(result->head_len + result->body_len + 1);

	assert_non_null(upstream);
	memcpy(upstream, result->head, result->head_len);
	memcpy(upstream + result->head_len, result->body, result->body_len);
	upstream[result->head_len + result->body_len] = '\0';
	if (row->has != NULL && strstr(upstream, row->has) == NULL)
		fail_msg("%s: %s lacks %s", row->name, upstream, row->has);
	if (row->lacks != NULL && strcasestr(upstream, row->lacks) != NULL)
		fail_msg("%s: %s has %s", row->name, upstream, row->lacks);
	free(upstream);
}

static void
call_case_refused(
    const struct call_request *request, const struct call_case_row *row)
{
	const char *detail = call_request_detail(request);
	size_t i;

	assert_int_equal(call_request_code(request), row->code);
	assert_int_equal(call_request_http_status(request),
	    row->status != 0 ? row->status : call_code_status(row->code));
	if (row->has != NULL && strstr(detail, row->has) == NULL)
		fail_msg("%s: %s lacks %s", row->name, detail, row->has);
	for (i = 0; detail[i] != '\0'; i++)
		assert_in_range(detail[i], ' ', '~');
}

void
call_case_check(
    const struct call_case *call_case, const struct call_case_row *row)
{
	enum call_request_status status;
	struct call_request *request;
	struct buffer bytes;
	size_t used, piece;
	bool continued;

	buffer_init(&bytes, 1 << 20);
	call_case_write(&bytes, row->line, row->headers, row->body);
	for (piece = 1; piece <= bytes.len;
	     piece = piece == 1 ? bytes.len : bytes.len + 1) {
		status = call_case_feed(call_case,
		    (const char *)buffer_bytes_borrow(&bytes), bytes.len, piece,
		    &request, &used, &continued);
		if (status == CALL_REQUEST_MORE)
			fail_msg("%s: not decided", row->name);
		if ((status == CALL_REQUEST_DONE) != (row->code == CALL_OK))
			fail_msg("%s: %s %s", row->name,
			    call_code_text(call_request_code(request)),
			    call_request_detail(request));
		if (status == CALL_REQUEST_DONE)
			call_case_passed(call_request_result(request), row);
		else
			call_case_refused(request, row);
		call_request_free(&request);
	}
	buffer_free(&bytes);
}
