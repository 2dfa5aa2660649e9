/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables an installation may keep: a table of names and values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/package/env_entry.h"

static void
test_env_entry_table(void **state)
{
	static const struct {
		const char *name;
		enum env_entry_verdict verdict;
	} rows[] = {
	    {"MEMORY_FILE_PATH", ENV_ENTRY_OK},
	    {"a", ENV_ENTRY_OK},
	    {"_x9", ENV_ENTRY_OK},
	    {"NODE_ENV", ENV_ENTRY_OK},
	    {"NODE_DEBUG", ENV_ENTRY_OK},
	    {"MY_PATH", ENV_ENTRY_OK},
	    {"KEYBOARD", ENV_ENTRY_OK},
	    {"PIPELINE", ENV_ENTRY_OK},
	    {"", ENV_ENTRY_NO_NAME},
	    {"9X", ENV_ENTRY_NO_NAME},
	    {"A-B", ENV_ENTRY_NO_NAME},
	    {"A B", ENV_ENTRY_NO_NAME},
	    {"BASH_FUNC_x%%", ENV_ENTRY_NO_NAME},
	    {"\xc3\xa9", ENV_ENTRY_NO_NAME},
	    {"PATH", ENV_ENTRY_OURS},
	    {"path", ENV_ENTRY_OURS},
	    {"HOME", ENV_ENTRY_OURS},
	    {"TMPDIR", ENV_ENTRY_OURS},
	    {"LANG", ENV_ENTRY_OURS},
	    {"HTTPS_PROXY", ENV_ENTRY_OURS},
	    {"https_proxy", ENV_ENTRY_OURS},
	    {"Http_Proxy", ENV_ENTRY_OURS},
	    {"ALL_PROXY", ENV_ENTRY_OURS},
	    {"no_proxy", ENV_ENTRY_OURS},
	    {"LD_PRELOAD", ENV_ENTRY_OURS},
	    {"LD_LIBRARY_PATH", ENV_ENTRY_OURS},
	    {"NODE_OPTIONS", ENV_ENTRY_OURS},
	    {"NODE_PATH", ENV_ENTRY_OURS},
	    {"NODE_USE_ENV_PROXY", ENV_ENTRY_OURS},
	    {"NODE_EXTRA_CA_CERTS", ENV_ENTRY_OURS},
	    {"NODE_TLS_REJECT_UNAUTHORIZED", ENV_ENTRY_OURS},
	    {"PYTHONPATH", ENV_ENTRY_OURS},
	    {"PYTHONSTARTUP", ENV_ENTRY_OURS},
	    {"PYTHONDONTWRITEBYTECODE", ENV_ENTRY_OURS},
	    {"PYTHONUNBUFFERED", ENV_ENTRY_OURS},
	    {"npm_config_registry", ENV_ENTRY_OURS},
	    {"PIP_INDEX_URL", ENV_ENTRY_OURS},
	    {"SSL_CERT_FILE", ENV_ENTRY_OURS},
	    {"BASH_ENV", ENV_ENTRY_OURS},
	    {"GLIBC_TUNABLES", ENV_ENTRY_OURS},
	    {"AGENTNODE_HOME", ENV_ENTRY_OURS},
	    {"OPENAI_API_KEY", ENV_ENTRY_SECRET},
	    {"github_token", ENV_ENTRY_SECRET},
	    {"DB_PASSWORD", ENV_ENTRY_SECRET},
	    {"AWS_SECRET_ACCESS_KEY", ENV_ENTRY_SECRET},
	    {"GOOGLE_APPLICATION_CREDENTIALS", ENV_ENTRY_SECRET},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *name = rows[i].name;

		if (env_entry_judge(name, strlen(name), "x") != rows[i].verdict)
			fail_msg("%s is %d", name,
			    (int)env_entry_judge(name, strlen(name), "x"));
	}
}

/* As with a name that other bytes follow. */
static void
test_env_entry_length(void **state)
{
	char name[ENV_ENTRY_NAME_MAX + 2], value[ENV_ENTRY_VALUE_MAX + 2];

	(void)state;
	assert_int_equal(env_entry_judge("PATHX=1", 4, "1"), ENV_ENTRY_OURS);
	assert_int_equal(env_entry_judge("PATHX=1", 5, "1"), ENV_ENTRY_OK);
	memset(name, 'a', sizeof(name));
	assert_int_equal(
	    env_entry_judge(name, ENV_ENTRY_NAME_MAX, ""), ENV_ENTRY_OK);
	assert_int_equal(env_entry_judge(name, ENV_ENTRY_NAME_MAX + 1, ""),
	    ENV_ENTRY_NO_NAME);
	memset(value, 'v', sizeof(value));
	value[ENV_ENTRY_VALUE_MAX + 1] = '\0';
	assert_int_equal(env_entry_judge("A", 1, value), ENV_ENTRY_NO_VALUE);
	value[ENV_ENTRY_VALUE_MAX] = '\0';
	assert_int_equal(env_entry_judge("A", 1, value), ENV_ENTRY_OK);
	assert_int_equal(env_entry_judge("A", 1, "a\nb"), ENV_ENTRY_NO_VALUE);
	assert_int_equal(env_entry_judge("A", 1, "\x7f"), ENV_ENTRY_NO_VALUE);
	assert_int_equal(env_entry_judge("A", 1, "\xc3\xa9 =b"), ENV_ENTRY_OK);
}

/* The form alone does not judge names. */
static void
test_env_entry_shape(void **state)
{
	(void)state;
	assert_int_equal(env_entry_form("PATH", 4, "x"), ENV_ENTRY_OK);
	assert_int_equal(env_entry_form("A=", 2, "x"), ENV_ENTRY_NO_NAME);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_env_entry_table),
	    cmocka_unit_test(test_env_entry_length),
	    cmocka_unit_test(test_env_entry_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
