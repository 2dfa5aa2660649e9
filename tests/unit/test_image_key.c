/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an image store keeps things: vectors of RFC 4648, a whole path, and
 * what does not fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/engine/image_key.h"

static void
test_image_key_vectors(void **state)
{
	static const struct {
		const char *key, *coded;
	} rows[] = {
	    {"", ""},
	    {"f", "Zg=="},
	    {"fo", "Zm8="},
	    {"foo", "Zm9v"},
	    {"foob", "Zm9vYg=="},
	    {"fooba", "Zm9vYmE="},
	    {"foobar", "Zm9vYmFy"},
	    {"\xff\xfe\xfb", "//77"},
	    {"manifest-sha256:00", "bWFuaWZlc3Qtc2hhMjU2OjAw"},
	};
	static const char head[] = "/s/overlay-images/1d/=";
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(image_key_path("/s", "overlay", "1d",
				     rows[i].key, path, sizeof(path)),
		    RESULT_OK);
		assert_memory_equal(path, head, sizeof(head) - 1);
		assert_string_equal(path + sizeof(head) - 1, rows[i].coded);
	}
}

static void
test_image_key_limits(void **state)
{
	char key[IMAGE_KEY_MAX + 1], path[512];

	(void)state;
	memset(key, 'k', sizeof(key));
	key[IMAGE_KEY_MAX] = '\0';
	assert_int_equal(
	    image_key_path("/s", "o", "1", key, path, sizeof(path)),
	    RESULT_TOO_LONG);
	key[IMAGE_KEY_MAX - 1] = '\0';
	assert_int_equal(
	    image_key_path("/s", "o", "1", key, path, sizeof(path)), RESULT_OK);
	assert_int_equal(strlen(path), 15 + 172);
	assert_int_equal(image_key_path("/s", "o", "1", key, path, 15 + 172),
	    RESULT_TOO_LONG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_image_key_vectors),
	    cmocka_unit_test(test_image_key_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
