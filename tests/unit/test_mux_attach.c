/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker's daemon may answer to the request to attach: the one head
 * after which a connection is the container's, and all others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "supervisor/gate/mux_attach.h"

#define TEST_LINE "HTTP/1.1 101 UPGRADED\r\n"
#define TEST_TYPE "Content-Type: application/vnd.docker.raw-stream\r\n"
#define TEST_UPGRADE "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
#define TEST_GOOD TEST_LINE TEST_TYPE TEST_UPGRADE

static void
test_mux_attach_cut(void **state)
{
	unsigned status;

	(void)state;
	for (size_t len = 0; len < sizeof(TEST_GOOD) - 1; len++)
		assert_int_equal(
		    mux_attach_read(TEST_GOOD, len, &status), MUX_ATTACH_MORE);
	assert_int_equal(
	    mux_attach_read(TEST_GOOD, sizeof(TEST_GOOD) - 1, &status),
	    MUX_ATTACH_DONE);
	assert_int_equal(status, 101);
}

static void
test_mux_attach_others(void **state)
{
	static const struct {
		const char *bytes;
		enum mux_attach_answer want;
		unsigned status;
	} rows[] = {
	    {"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
		MUX_ATTACH_REFUSED, 404},
	    {"HTTP/1.1 200 OK\r\n" TEST_TYPE "\r\n", MUX_ATTACH_REFUSED, 200},
	    {"HTTP/1.1 100 Continue\r\n\r\n", MUX_ATTACH_REFUSED, 100},
	    /* A container that speaks before it was started. */
	    {TEST_GOOD "\1", MUX_ATTACH_BAD, 101},
	    {TEST_LINE TEST_TYPE "\r\n", MUX_ATTACH_BAD, 101},
	    {TEST_LINE "Upgrade: h2c\r\n\r\n", MUX_ATTACH_BAD, 101},
	    {"\1\0\0\0\0\0\0\5hello", MUX_ATTACH_BAD, 0},
	    {"HTTP/1.1 101 UPGRADED\n\n", MUX_ATTACH_BAD, 0},
	};
	unsigned status;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len =
		    rows[i].bytes[0] == '\1' ? 13 : strlen(rows[i].bytes);

		assert_int_equal(
		    mux_attach_read(rows[i].bytes, len, &status), rows[i].want);
		assert_int_equal(status, rows[i].status);
	}
}

static void
test_mux_attach_endless(void **state)
{
	static char bytes[MUX_ATTACH_HEAD_MAX];
	unsigned status;

	(void)state;
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, TEST_LINE "X: ", sizeof(TEST_LINE "X: ") - 1);
	assert_int_equal(mux_attach_read(bytes, sizeof(bytes) - 1, &status),
	    MUX_ATTACH_MORE);
	assert_int_equal(
	    mux_attach_read(bytes, sizeof(bytes), &status), MUX_ATTACH_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mux_attach_cut),
	    cmocka_unit_test(test_mux_attach_others),
	    cmocka_unit_test(test_mux_attach_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
