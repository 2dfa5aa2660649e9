/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deny codes: each has a text, a sentence with a remedy, a status and a
 * reply without foreign bytes, and stands in docs/egress-policy.md as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "egress-proxy/deny.h"

#define PAGE AGENTNODE_SOURCE_DIR "/docs/egress-policy.md"

static void
b121_every_code_has_a_sentence(void **state)
{
	int i, j;

	(void)state;
	for (i = DENY_NONE; i < DENY_CODE_COUNT; i++) {
		const char *text = deny_text((enum deny_code)i);
		const char *sentence = deny_sentence((enum deny_code)i);

		assert_true(strlen(text) > 3);
		assert_true(sentence[strlen(sentence) - 1] == '.');
		if (i != DENY_NONE) {
			assert_true(deny_status((enum deny_code)i) >= 400);
			/* The fault, and behind the semicolon the remedy. */
			assert_non_null(strstr(sentence, "; "));
		}
		for (j = 0; j < i; j++)
			assert_string_not_equal(
			    text, deny_text((enum deny_code)j));
	}
}

static void
impossible_code_is_refused(void **state)
{
	(void)state;
	assert_string_equal(
	    deny_text((enum deny_code)99), "policy_unavailable");
	assert_int_equal(deny_status((enum deny_code) - 1), 503);
}

static void
b072_replies_are_fixed(void **state)
{
	struct buffer reply;
	const char *text, *body;
	size_t length;
	int i;

	(void)state;
	for (i = DENY_BAD_REQUEST; i < DENY_CODE_COUNT; i++) {
		buffer_init(&reply, 2048);
		assert_int_equal(
		    deny_reply((enum deny_code)i, 0, &reply), RESULT_OK);
		assert_int_equal(buffer_append(&reply, "", 1), RESULT_OK);
		text = (const char *)buffer_bytes_borrow(&reply);
		assert_int_equal(strncmp(text, "HTTP/1.1 4", 10) == 0 ||
				     strncmp(text, "HTTP/1.1 5", 10) == 0,
		    1);
		assert_non_null(strstr(text, "X-AgentNode-Reason: "));
		assert_non_null(strstr(text, "Connection: close\r\n"));
		assert_null(strstr(text, "Refused\r\n"));
		body = strstr(text, "\r\n\r\n");
		assert_non_null(body);
		assert_int_equal(sscanf(strstr(text, "Content-Length: "),
				     "Content-Length: %zu", &length),
		    1);
		assert_int_equal(strlen(body + 4), length);
		assert_non_null(strstr(body, deny_sentence((enum deny_code)i)));
		buffer_free(&reply);
	}
}

static void
b056_status_can_be_more_precise(void **state)
{
	struct buffer reply;

	(void)state;
	buffer_init(&reply, 2048);
	assert_int_equal(deny_reply(DENY_BAD_REQUEST, 505, &reply), RESULT_OK);
	assert_memory_equal(buffer_bytes_borrow(&reply),
	    "HTTP/1.1 505 HTTP Version Not Supported\r\n", 41);
	buffer_free(&reply);
	buffer_init(&reply, 10);
	assert_int_equal(
	    deny_reply(DENY_BAD_REQUEST, 0, &reply), RESULT_TOO_LONG);
	assert_int_equal(reply.len, 0);
	buffer_free(&reply);
}

/* The whole page as one text. */
static char *
read_page(void)
{
	FILE *file = fopen(PAGE, "r");
	char *page = calloc(1, 1 << 17);

	assert_non_null(file);
	assert_non_null(page);
	assert_true(fread(page, 1, (1 << 17) - 1, file) > 1000);
	fclose(file);
	return page;
}

static void
page_has_every_code(void **state)
{
	char *page = read_page(), row[1024];
	int i;

	(void)state;
	for (i = DENY_BAD_REQUEST; i < DENY_CODE_COUNT; i++) {
		snprintf(row, sizeof(row), "| `%s` | %u | %s |",
		    deny_text((enum deny_code)i),
		    deny_status((enum deny_code)i),
		    deny_sentence((enum deny_code)i));
		if (strstr(page, row) == NULL)
			fail_msg("%s has no row: %s", PAGE, row);
	}
	free(page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(b056_status_can_be_more_precise),
	    cmocka_unit_test(b072_replies_are_fixed),
	    cmocka_unit_test(b121_every_code_has_a_sentence),
	    cmocka_unit_test(impossible_code_is_refused),
	    cmocka_unit_test(page_has_every_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
