/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keys changed while something runs: set anew, added, removed, and
 * everything when the file cannot be read; nothing else is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/policy/credential.h"
#include "supervisor/policy/key_watch.h"
#include "tests/support/test_folder.h"

/* Longer than the settling. */
#define QUIET_MS 250U

struct test_key_watch {
	struct event_base *base;
	struct event *limit;
	struct key_watch *watch;
	char home[64], told[128];
};

static void
test_key_watch_on_change(const char *provider, void *context)
{
	struct test_key_watch *test = context;
	size_t len = strlen(test->told);

	(void)snprintf(
	    test->told + len, sizeof(test->told) - len, "%s ", provider);
}

static void
test_key_watch_on_limit(evutil_socket_t fd, short what, void *context)
{
	struct test_key_watch *test = context;

	(void)fd;
	(void)what;
	event_loop_stop(test->base);
}

/* What was told until it is quiet. */
static const char *
test_key_watch_told(struct test_key_watch *test)
{
	struct timeval limit = event_loop_timeval(QUIET_MS);

	test->told[0] = '\0';
	assert_int_equal(event_add(test->limit, &limit), 0);
	assert_int_equal(event_loop_run(test->base), RESULT_OK);
	return test->told;
}

static void
test_key_watch_put(const char *provider, const char *last4)
{
	struct json_fault fault = {""};

	assert_int_equal(
	    credential_put(KEYRING_KEY, provider, KEYRING_FILE, last4, &fault),
	    RESULT_OK);
}

static void
test_key_watch_write(const struct test_key_watch *test, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" CREDENTIAL_FILE, test->home);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), RESULT_OK);
	close(fd);
}

static int
test_key_watch_setup(void **state)
{
	struct test_key_watch *test = calloc(1, sizeof(*test));

	assert_non_null(test);
	snprintf(test->home, sizeof(test->home), "/tmp/test_key_watch_XXXXXX");
	assert_non_null(test_folder_new(test->home));
	assert_int_equal(setenv("AGENTNODE_HOME", test->home, 1), 0);
	assert_int_equal(event_loop_new(&test->base), RESULT_OK);
	test->limit =
	    event_new(test->base, -1, 0, test_key_watch_on_limit, test);
	*state = test;
	return 0;
}

static int
test_key_watch_teardown(void **state)
{
	struct test_key_watch *test = *state;
	char path[128];

	event_free(test->limit);
	event_base_free(test->base);
	snprintf(path, sizeof(path), "%s/" CREDENTIAL_FILE, test->home);
	(void)unlink(path);
	assert_int_equal(rmdir(test->home), 0);
	free(test);
	return 0;
}

static void
test_key_watch_story(void **state)
{
	struct test_key_watch *test = *state;
	struct json_fault fault = {""};
	char path[128];

	test_key_watch_put("openai", "wxyz");
	assert_int_equal(key_watch_new(test->base, test_key_watch_on_change,
			     test, &test->watch, &fault),
	    RESULT_OK);
	assert_string_equal(test_key_watch_told(test), "");
	/* The same four characters: another key all the same. */
	test_key_watch_put("openai", "wxyz");
	assert_string_equal(test_key_watch_told(test), "openai ");
	test_key_watch_put("gemini", "");
	assert_string_equal(test_key_watch_told(test), "gemini ");
	assert_int_equal(
	    credential_drop(KEYRING_KEY, "openai", &fault), RESULT_OK);
	assert_string_equal(test_key_watch_told(test), "openai ");
	/* Other files of the home. */
	snprintf(path, sizeof(path), "%s/other", test->home);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(unlink(path), 0);
	assert_string_equal(test_key_watch_told(test), "");
	/* Not readable: nobody knows, so all that were there. */
	test_key_watch_write(test, "{");
	assert_string_equal(test_key_watch_told(test), "gemini ");
	test_key_watch_write(test, "{\"version\":1,\"providers\":{}}");
	assert_string_equal(test_key_watch_told(test), "");
	test_key_watch_put("gemini", "");
	assert_string_equal(test_key_watch_told(test), "gemini ");
	snprintf(path, sizeof(path), "%s/" CREDENTIAL_FILE, test->home);
	assert_int_equal(unlink(path), 0);
	assert_string_equal(test_key_watch_told(test), "gemini ");
	key_watch_free(&test->watch);
	assert_null(test->watch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_key_watch_story),
	};

	return cmocka_run_group_tests(
	    tests, test_key_watch_setup, test_key_watch_teardown);
}
