/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/call_request: what the providers' own SDKs send passes, byte
 * for byte but for what is put in; nothing of their credentials goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/call_case.h"

#define TEST_CALL_SDK_FOLDER \
	AGENTNODE_SOURCE_DIR "/tests/fuzz/corpus/call_request"

static struct call_case test_call_sdk_case;
static char test_call_sdk_bytes[1 << 16];

static size_t
test_call_sdk_read(const char *name)
{
	char path[512];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", TEST_CALL_SDK_FOLDER, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	len = read(fd, test_call_sdk_bytes, sizeof(test_call_sdk_bytes));
	close(fd);
	assert_true(len > 0 && (size_t)len < sizeof(test_call_sdk_bytes));
	return (size_t)len;
}

/* The agent's body is the end of the upstream's, but for a splice. */
static void
test_call_sdk_body(const char *name, const char *bytes, size_t len,
    const struct call_request_result *result)
{
	const char *body = (const char *)memmem(bytes, len, "\r\n\r\n", 4) + 4;
	size_t body_len = len - (size_t)(body - bytes);

	if (body_len == 0) {
		assert_int_equal(result->body_len, 0);
		return;
	}
	if (result->body_len < body_len ||
	    memcmp(result->body + result->body_len - body_len + 1, body + 1,
		body_len - 1) != 0)
		fail_msg("%s: the body was changed", name);
	assert_int_equal(result->body[0], '{');
}

static void
test_call_sdk_head(const char *name, const struct call_request_result *result)
{
	char head[CALL_REQUEST_HEAD_MAX + 1], length[64];

	assert_true(result->head_len < sizeof(head));
	memcpy(head, result->head, result->head_len);
	head[result->head_len] = '\0';
	if (strcasestr(head, "no-key-here") != NULL ||
	    strcasestr(head, "authorization") != NULL ||
	    strcasestr(head, "stainless") != NULL ||
	    strcasestr(head, "google-genai") != NULL)
		fail_msg("%s: %s", name, head);
	assert_non_null(strstr(head, "\r\nAccept-Encoding: identity\r\n"));
	assert_string_equal(head + result->head_len - 2, "\r\n");
	assert_null(strstr(head, "\r\n\r\n"));
	(void)snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n",
	    result->body_len);
	if (result->body_len > 0)
		assert_non_null(strstr(head, length));
}

static void
test_call_sdk_file(const char *name)
{
	size_t len = test_call_sdk_read(name), used, piece;
	const struct call_request_result *result;
	struct call_request *request;
	bool continued;

	for (piece = 1; piece <= len; piece = piece < 8 ? piece + 1 : len + 1) {
		if (call_case_feed(&test_call_sdk_case, test_call_sdk_bytes,
			len, piece, &request, &used,
			&continued) != CALL_REQUEST_DONE)
			fail_msg("%s: %u %s", name, call_request_code(request),
			    call_request_detail(request));
		assert_int_equal(used, len);
		result = call_request_result(request);
		test_call_sdk_body(name, test_call_sdk_bytes, len, result);
		test_call_sdk_head(name, result);
		assert_int_equal(
		    result->stream, strstr(name, "stream") != NULL);
		assert_true(result->keep_alive);
		call_request_free(&request);
	}
}

static void
test_call_sdk_requests(void **state)
{
	DIR *dir = opendir(TEST_CALL_SDK_FOLDER);
	struct dirent *entry;
	size_t count = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "sdk_", 4) != 0)
			continue;
		test_call_sdk_file(entry->d_name);
		count++;
	}
	closedir(dir);
	assert_int_equal(count, 26);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_call_sdk_requests),
	};
	int failed;

	call_case_open(&test_call_sdk_case,
	    AGENTNODE_SOURCE_DIR "/config/providers", CALL_CASE_GRANT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	call_case_close(&test_call_sdk_case);
	return failed;
}
