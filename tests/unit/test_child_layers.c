/* SPDX-License-Identifier: Apache-2.0 */
/* A layer that is not in force, or not spoken of, is a missing layer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "supervisor/child_layers.h"

#define MOST                                                            \
	"\"no_new_privs\":true,\"seccomp\":true,\"unprivileged\":true," \
	"\"not_dumpable\":true,\"no_capabilities\":true"
#define ALL MOST ",\"no_core\":true,\"one_thread\":true"

static const struct {
	const char *text;
	bool no_landlock;
	const char *missing;
} test_child_layers_rows[] = {
    {"{" ALL ",\"landlock\":true,\"landlock_abi\":7}", false, NULL},
    {"{" ALL ",\"landlock\":true,\"no_core\":true}", false, NULL},
    {"{" ALL ",\"landlock\":false,\"landlock_abi\":0}", true, NULL},
    {"{" ALL ",\"landlock\":false,\"landlock_abi\":0}", false, "landlock"},
    {"{" ALL "}", true, "landlock"},
    {"{" ALL ",\"landlock\":true,\"no_core\":false}", true, "no_core"},
    {"{" ALL ",\"landlock\":true,\"new\":1}", true, "new"},
    {"{\"no_new_privs\":true,\"seccomp\":false,\"unprivileged\":true,"
     "\"landlock\":true}",
	true, "seccomp"},
    {"{\"no_new_privs\":true,\"unprivileged\":true,\"landlock\":true}", false,
	"seccomp"},
    {"{" MOST ",\"landlock\":true,\"one_thread\":true}", false, "no_core"},
    {"{" MOST ",\"landlock\":true,\"no_core\":true}", false, "one_thread"},
    {"{\"no_new_privs\":true,\"seccomp\":true,\"unprivileged\":true,"
     "\"landlock\":true}",
	false, "not_dumpable"},
    {"{}", false, "no_new_privs"},
};

static void
test_child_layers_table(void **state)
{
	size_t count =
	    sizeof(test_child_layers_rows) / sizeof(test_child_layers_rows[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const char *want = test_child_layers_rows[i].missing, *got;
		json_t *layers =
		    json_loads(test_child_layers_rows[i].text, 0, NULL);

		assert_non_null(layers);
		got = child_layers_missing_borrow(
		    layers, test_child_layers_rows[i].no_landlock);
		if (want == NULL ? got != NULL
				 : got == NULL || strcmp(got, want) != 0)
			fail_msg("row %zu: %s", i, got == NULL ? "-" : got);
		json_decref(layers);
	}
	assert_string_equal(
	    child_layers_missing_borrow(NULL, false), "no_new_privs");
}

/* The keyring helper is not confined: what it has to take from itself. */
static void
test_child_layers_keyring(void **state)
{
	static const char *const names[] = {"no_new_privs", "not_dumpable",
	    "no_core", "no_capabilities", "no_exec"};
	json_t *layers = json_pack("{s:b, s:b, s:b, s:b, s:b}", names[4], 1,
	    names[0], 1, names[1], 1, names[2], 1, names[3], 1);

	(void)state;
	assert_null(child_layers_keyring_missing_borrow(layers));
	for (size_t i = 0; i < 5; i++) {
		json_object_set_new(layers, names[i], json_false());
		assert_string_equal(
		    child_layers_keyring_missing_borrow(layers), names[i]);
		json_object_del(layers, names[i]);
		assert_string_equal(
		    child_layers_keyring_missing_borrow(layers), names[i]);
		json_object_set_new(layers, names[i], json_true());
	}
	assert_string_equal(
	    child_layers_keyring_missing_borrow(NULL), "no_new_privs");
	json_decref(layers);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_child_layers_table),
	    cmocka_unit_test(test_child_layers_keyring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
