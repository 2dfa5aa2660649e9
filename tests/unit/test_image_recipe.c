/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image recipe: every row has a readable integrity, and base64 becomes
 * the right hex.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "supervisor/package/image_recipe.h"

static void
test_recipe_rows(void **state)
{
	const struct image_recipe_npm *const *rows = image_recipe_npm_rows();
	char hex[129];

	(void)state;
	assert_non_null(rows);
	assert_non_null(image_recipe_architecture());
	for (; *rows != NULL; rows++) {
		assert_true(image_recipe_sum((*rows)->integrity, hex));
		assert_int_equal(strlen(hex), 128);
		assert_int_not_equal((*rows)->prefix[0], '/');
	}
}

static void
test_recipe_sum(void **state)
{
	char hex[129];

	(void)state;
	/* SHA-512 of nothing. */
	assert_true(image_recipe_sum(
	    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+"
	    "DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
	    hex));
	assert_string_equal(hex,
	    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
	    "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3"
	    "e");
	assert_false(image_recipe_sum("sha256-AAAA", hex));
	assert_false(image_recipe_sum("", hex));
	assert_false(image_recipe_sum(
	    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+"
	    "DGNKHfuwvY7kxvUdBeoGlODJ6+Sfa*g==",
	    hex));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_recipe_rows),
	    cmocka_unit_test(test_recipe_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
