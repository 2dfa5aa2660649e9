/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which printed lines name a path, what the view says to each, which
 * refused hosts could be granted; and the file of lasting grants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "supervisor/native/native_denied.h"
#include "supervisor/native/native_grant.h"
#include "supervisor/native/native_hint.h"
#include "tests/support/test_folder.h"

static void
printed_lines_name_paths(void **state)
{
	static const struct row {
		const char *line, *path;
		enum native_hint_need need;
	} rows[] = {
	    {"touch: cannot touch '/etc/x': Read-only file system", "/etc/x",
		NATIVE_HINT_WRITE},
	    {"bash: line 1: .git/config: Read-only file system", ".git/config",
		NATIVE_HINT_WRITE},
	    {"sh: 1: cannot create .git/hooks/x: Read-only file system",
		".git/hooks/x", NATIVE_HINT_WRITE},
	    {"error: could not lock config file .git/config: Device or "
	     "resource busy",
		".git/config", NATIVE_HINT_WRITE},
	    {"mv: cannot move '.git' to 'x': Device or resource busy", ".git",
		NATIVE_HINT_WRITE},
	    {"PermissionError: [Errno 13] Permission denied: '/srv/a b'",
		"/srv/a b", NATIVE_HINT_ANY},
	    {"Error: EROFS: read-only file system, open '/etc/x'", "/etc/x",
		NATIVE_HINT_WRITE},
	    {"open /etc/x: no such file or directory", "/etc/x",
		NATIVE_HINT_READ},
	    {"cat: /root/.ssh/id_rsa: No such file or directory",
		"/root/.ssh/id_rsa", NATIVE_HINT_READ},
	    {"ln: failed to create hard link 'a/c' => '.git/config': Invalid "
	     "cross-device link",
		"a/c", NATIVE_HINT_WRITE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct native_hints hints = {.count = 0};

		native_hint_read(rows[i].line, strlen(rows[i].line), &hints);
		if (hints.count == 0 ||
		    strcmp(hints.hints[0].path, rows[i].path) != 0 ||
		    hints.hints[0].need != rows[i].need)
			fail_msg("%s", rows[i].line);
	}
}

static void
other_lines_name_none(void **state)
{
	static const char *const lines[] = {"", "all is well",
	    "Permission denied", ": Permission denied",
	    "tool: Permission denied", "Read-only file system: '/open",
	    "x: '\033[31m/etc': Permission denied"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct native_hints hints = {.count = 0};

		native_hint_read(lines[i], strlen(lines[i]), &hints);
		if (hints.count != 0)
			fail_msg("%s: %s", lines[i], hints.hints[0].path);
	}
}

static void
hints_are_bounded(void **state)
{
	struct native_hints *hints = calloc(1, sizeof(*hints));
	char line[64];

	(void)state;
	assert_non_null(hints);
	for (int i = 0; i < 100; i++) {
		int len = snprintf(line, sizeof(line),
		    "x: '/a/%d': Permission denied\n", i % 20);

		native_hint_read(line, (size_t)len, hints);
	}
	assert_int_equal(hints->count, NATIVE_HINT_MAX);
	assert_true(hints->full);
	free(hints);
}

static void
decide(struct native_denied *denied, const char *verdict, const char *target,
    const char *code)
{
	json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:i}", "sandbox", "x",
	    "verdict", verdict, "target", target, "code", code, "count", 2);

	assert_non_null(body);
	native_denied_decision(denied, body);
	json_decref(body);
}

static void
hosts_are_exact_and_some_can_be_granted(void **state)
{
	static const struct row {
		const char *target, *code;
		bool grantable;
	} rows[] = {{"api.example.com:443", "host_not_allowed", true},
	    {"api.example.com:8443", "port_not_allowed", true},
	    {"evil.example.com:443", "host_denied", false},
	    {"192.0.2.1:443", "ip_literal", false},
	    {"192.0.2.1:443", "host_not_allowed", false},
	    {"API.example.com:443", "host_not_allowed", false},
	    {"a b.com:443", "host_not_allowed", false},
	    {"example.com:0", "host_not_allowed", false},
	    {"example.com:65536", "host_not_allowed", false},
	    {"(others)", "host_not_allowed", false},
	    {"example.com", "host_not_allowed", false}};
	struct native_denied *denied = calloc(1, sizeof(*denied));
	json_t *list;

	(void)state;
	assert_non_null(denied);
	decide(denied, "allow", "good.example.com:443", "");
	assert_int_equal(denied->host_count, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		decide(denied, "deny", rows[i].target, rows[i].code);
		assert_int_equal(denied->host_count, i + 1);
		if (denied->hosts[i].grantable != rows[i].grantable)
			fail_msg("%s %s", rows[i].target, rows[i].code);
	}
	decide(denied, "deny", rows[0].target, rows[0].code);
	assert_int_equal(denied->hosts[0].count, 4);
	list = native_denied_json(denied, NULL, NULL);
	assert_int_equal(json_array_size(list), denied->host_count);
	assert_string_equal(
	    json_string_value(json_object_get(json_array_get(list, 0), "flag")),
	    "--allow api.example.com:443");
	assert_string_equal(json_string_value(json_object_get(
				json_array_get(list, 0), "known_by")),
	    "proxy");
	assert_null(json_object_get(json_array_get(list, 2), "flag"));
	json_decref(list);
	free(denied);
}

static void
paths_are_hints_the_view_explains(void **state)
{
	/* As agentnode-collect sends them, and as it never does. */
	json_t *hints = json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s},"
				  "{s:s, s:s}, {s:s, s:s}, {s:s}, {s:i, s:s},"
				  "n, s]",
	    "path", "/srv/a", "need", "read", "path", "missing.txt", "need",
	    "read", "path", "/usr/x", "need", "write", "path", "/scratch/x",
	    "need", "any", "path", "/usr/\x1b[2J", "need", "write", "path",
	    "/usr/y", "path", 1, "need", "write", "/usr/z");
	struct native_view_choice choice = {.mode = NATIVE_READ_ONLY,
	    .home = "/home/nobody-here",
	    .agentnode = "/home/nobody-here/.agentnode",
	    .scratch = "/scratch",
	    .scratch_size = 4096};
	struct native_view *view = calloc(1, sizeof(*view));
	struct native_denied *denied = calloc(1, sizeof(*denied));
	char fault[256];
	json_t *list;

	(void)state;
	assert_non_null(view);
	assert_non_null(denied);
	assert_non_null(hints);
	assert_int_equal(
	    native_view_make(&choice, view, fault, sizeof(fault)), RESULT_OK);
	list = native_denied_json(denied, view, hints);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(
	    json_string_value(json_object_get(json_array_get(list, 0), "code")),
	    "path_outside");
	assert_string_equal(
	    json_string_value(json_object_get(json_array_get(list, 1), "code")),
	    "path_read_only");
	assert_string_equal(json_string_value(json_object_get(
				json_array_get(list, 1), "known_by")),
	    "output");
	json_decref(list);
	json_decref(hints);
	/* Of more than there may be the first ones. */
	hints = json_array();
	for (unsigned n = 0; n < 2 * NATIVE_DENIED_PATHS_MAX; n++)
		assert_int_equal(
		    json_array_append_new(hints, json_pack("{s:s, s:s}", "path",
						     "/usr/x", "need", "any")),
		    0);
	list = native_denied_json(denied, view, hints);
	assert_int_equal(json_array_size(list), NATIVE_DENIED_PATHS_MAX);
	json_decref(hints);
	json_decref(list);
	free(denied);
	free(view);
}

/* --- grants.json -------------------------------------------------------- */

static void
a_grant_is_for_one_workspace(void **state)
{
	char home[] = "/tmp/native_grant.XXXXXX", path[64];
	struct json_fault fault = {""};
	json_t *entries;
	FILE *file;

	(void)state;
	assert_non_null(test_folder_new(home));
	assert_int_equal(setenv("AGENTNODE_HOME", home, 1), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    native_grant_add("/w/a", "api.example.com:443", &fault),
		    RESULT_OK);
	assert_int_equal(
	    native_grant_load("/w/a", &entries, &fault), RESULT_OK);
	assert_int_equal(json_array_size(entries), 1);
	json_decref(entries);
	assert_int_equal(
	    native_grant_load("/w/b", &entries, &fault), RESULT_OK);
	assert_int_equal(json_array_size(entries), 0);
	json_decref(entries);
	(void)snprintf(path, sizeof(path), "%s/grants.json", home);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("{\"/w/a\": [1]}", file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(
	    native_grant_load("/w/a", &entries, &fault), RESULT_BAD);
	assert_non_null(strstr(fault.text, "grants.json"));
	assert_int_equal(
	    native_grant_add("/w/a", "b.example.com:443", &fault), RESULT_BAD);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/.lock", home);
	(void)unlink(path);
	(void)rmdir(home);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(printed_lines_name_paths),
	    cmocka_unit_test(other_lines_name_none),
	    cmocka_unit_test(hints_are_bounded),
	    cmocka_unit_test(hosts_are_exact_and_some_can_be_granted),
	    cmocka_unit_test(paths_are_hints_the_view_explains),
	    cmocka_unit_test(a_grant_is_for_one_workspace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
