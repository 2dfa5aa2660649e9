/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which secrets an entry asks for and what a consent is bound to: names,
 * networks, and that every part of it makes another key. The lifetimes and
 * states of grants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/package/secret_need.h"
#include "supervisor/policy/caller_secret.h"
#include "supervisor/policy/secret_grant.h"

#define HEAD "\"version\":\"1.0.0\",\"artifact_hash\":\"sha256:aa\","

static json_t *
test_secret_need_entry(const char *text)
{
	json_t *entry = json_loads(text, 0, NULL);

	assert_non_null(entry);
	return entry;
}

static enum result
test_secret_need_read(
    const char *text, enum boundary_kind kind, size_t *count_r)
{
	json_t *entry = test_secret_need_entry(text);
	struct json_fault fault = {""};
	struct secret_need need;
	enum result result =
	    secret_need_read("a-pack", entry, kind, &need, &fault);

	*count_r = need.count;
	assert_true((result == RESULT_OK) == (fault.text[0] == '\0'));
	json_decref(entry);
	return result;
}

static const struct {
	enum boundary_kind kind;
	const char *text;
	enum result result;
	size_t count;
} test_secret_need_rows[] = {
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"A_TOKEN\",\"B\"]}", RESULT_OK,
	2},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[]}", RESULT_OK, 0},
    {BOUNDARY_MCP, "{}", RESULT_OK, 0},
    /* Names that the sandbox sets, or that are none. */
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"PATH\"]}", RESULT_REFUSED, 0},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"LD_PRELOAD\"]}",
	RESULT_REFUSED, 0},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"A B\"]}", RESULT_REFUSED, 0},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"A=B\"]}", RESULT_REFUSED, 0},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"\"]}", RESULT_REFUSED, 0},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[7]}", RESULT_REFUSED, 0},
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"A\",\"A\"]}", RESULT_REFUSED,
	1},
    {BOUNDARY_MCP, "{\"mcp_env_keys\":[\"A\"]}", RESULT_REFUSED, 1},
    /* Keys of providers never enter. */
    {BOUNDARY_MCP, "{" HEAD "\"mcp_env_keys\":[\"A\",\"OPENAI_API_KEY\"]}",
	RESULT_REFUSED, 1},
    {BOUNDARY_TOOLPACK,
	"{" HEAD "\"env_requirements\":[{\"name\":\"GEMINI_API_KEY\"}]}",
	RESULT_REFUSED, 0},
    /* Agents and skills are given none. */
    {BOUNDARY_AGENT, "{" HEAD "\"env_requirements\":[{\"name\":\"A\"}]}",
	RESULT_OK, 0},
    {BOUNDARY_SKILL, "{" HEAD "\"env_requirements\":[{\"name\":\"A\"}]}",
	RESULT_OK, 0},
    /* Tool packs: a sealed list or no network. */
    {BOUNDARY_TOOLPACK, "{" HEAD "\"env_requirements\":[{\"name\":\"A\"}]}",
	RESULT_OK, 1},
    {BOUNDARY_TOOLPACK,
	"{" HEAD "\"env_requirements\":[{\"name\":\"A\"}],"
	"\"permissions\":{\"network_level\":\"restricted\","
	"\"allowed_domains\":[\"a.example.com\"]}}",
	RESULT_OK, 1},
    {BOUNDARY_TOOLPACK,
	"{" HEAD "\"env_requirements\":[{\"name\":\"A\"}],"
	"\"permissions\":{\"network_level\":\"unrestricted\"}}",
	RESULT_UNSUPPORTED, 1},
    {BOUNDARY_TOOLPACK,
	"{" HEAD "\"env_requirements\":[{\"name\":\"A\"}],"
	"\"permissions\":{\"network_level\":\"internal\"}}",
	RESULT_UNSUPPORTED, 1},
    /* Without secrets its network is none of our business. */
    {BOUNDARY_TOOLPACK,
	"{" HEAD "\"permissions\":{\"network_level\":\"unrestricted\"}}",
	RESULT_OK, 0},
};

static void
test_secret_need_entries(void **state)
{
	size_t count, rows = sizeof(test_secret_need_rows) /
			     sizeof(test_secret_need_rows[0]);

	(void)state;
	for (size_t i = 0; i < rows; i++) {
		enum result result =
		    test_secret_need_read(test_secret_need_rows[i].text,
			test_secret_need_rows[i].kind, &count);

		if (result != test_secret_need_rows[i].result ||
		    count != test_secret_need_rows[i].count)
			fail_msg("%s: %s, %zu names",
			    test_secret_need_rows[i].text, result_text(result),
			    count);
	}
}

static void
test_secret_need_required(void **state)
{
	json_t *entry = test_secret_need_entry(
	    "{" HEAD "\"env_requirements\":[{\"name\":\"A\"},{\"name\":\"B\","
	    "\"required\":false},{\"name\":\"C\",\"required\":true}]}");
	struct json_fault fault = {""};
	struct secret_need need;

	(void)state;
	assert_int_equal(
	    secret_need_read("a-pack", entry, BOUNDARY_TOOLPACK, &need, &fault),
	    RESULT_OK);
	assert_int_equal(need.count, 3);
	assert_true(need.items[0].required);
	assert_false(need.items[1].required);
	assert_true(need.items[2].required);
	assert_null(need.domains);
	json_decref(entry);
}

static void
test_secret_need_key_of(
    const char *slug, const char *text, char hex_r[DIGEST_HEX + 1])
{
	json_t *entry = test_secret_need_entry(text);
	struct json_fault fault = {""};
	struct secret_need need;

	assert_int_equal(
	    secret_need_read(slug, entry, BOUNDARY_MCP, &need, &fault),
	    RESULT_OK);
	assert_int_equal(secret_need_key(&need, hex_r), RESULT_OK);
	json_decref(entry);
}

#define KEYS "\"mcp_env_keys\":[\"A\",\"B\"]"
#define HOSTS ",\"mcp_allowed_domains\":[\"a.example.com\",\"b.example.com\"]"

/* Order is nothing; every other difference is another consent. */
static void
test_secret_need_keys(void **state)
{
	static const char *const others[][2] = {
	    {"b-pack", "{" HEAD KEYS HOSTS "}"},
	    {"a-pack", "{\"version\":\"1.0.1\",\"artifact_hash\":"
		       "\"sha256:aa\"," KEYS HOSTS "}"},
	    {"a-pack", "{\"version\":\"1.0.0\",\"artifact_hash\":"
		       "\"sha256:ab\"," KEYS HOSTS "}"},
	    {"a-pack", "{" HEAD "\"mcp_env_keys\":[\"A\"]" HOSTS "}"},
	    {"a-pack", "{" HEAD "\"mcp_env_keys\":[\"A\",\"b\"]" HOSTS "}"},
	    {"a-pack", "{" HEAD KEYS "}"},
	    {"a-pack", "{" HEAD KEYS ",\"mcp_allowed_domains\":"
		       "[\"a.example.com\"]}"},
	};
	char mine[DIGEST_HEX + 1], other[DIGEST_HEX + 1];

	(void)state;
	test_secret_need_key_of("a-pack", "{" HEAD KEYS HOSTS "}", mine);
	test_secret_need_key_of("a-pack",
	    "{" HEAD "\"mcp_env_keys\":[\"B\",\"A\"],\"mcp_allowed_domains\":"
	    "[\"b.example.com\",\"a.example.com\"]}",
	    other);
	assert_string_equal(mine, other);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		test_secret_need_key_of(others[i][0], others[i][1], other);
		assert_string_not_equal(mine, other);
	}
}

static void
test_secret_need_lifetimes(void **state)
{
	static const char *const wrong[] = {
	    "", "7", "8d", "90D", "forever ", "-1d", "this-run"};
	time_t expires;

	(void)state;
	assert_true(secret_grant_lifetime(NULL, 1000, &expires));
	assert_int_equal(expires, 1000 + 90 * 86400);
	assert_true(secret_grant_lifetime("7d", 1000, &expires));
	assert_int_equal(expires, 1000 + 7 * 86400);
	assert_true(secret_grant_lifetime("forever", 1000, &expires));
	assert_int_equal(expires, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(secret_grant_lifetime(wrong[i], 1000, &expires));
}

static void
test_secret_need_states(void **state)
{
	static const struct {
		json_int_t granted, expires;
		int revoked; /* 2: not there at all */
		enum secret_grant_state state;
	} rows[] = {{1000, 0, 0, SECRET_GRANT_GOOD},
	    {1000, 5001, 0, SECRET_GRANT_GOOD},
	    {1000, 5000, 0, SECRET_GRANT_EXPIRED},
	    {1000, 4999, 0, SECRET_GRANT_EXPIRED},
	    {5300, 0, 0, SECRET_GRANT_GOOD}, {5301, 0, 0, SECRET_GRANT_EXPIRED},
	    {1000, 0, 1, SECRET_GRANT_REVOKED},
	    {1000, 1001, 1, SECRET_GRANT_REVOKED},
	    {1000, 0, 2, SECRET_GRANT_REVOKED}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *grant = json_pack("{s:I, s:I}", "granted",
		    rows[i].granted, "expires", rows[i].expires);

		if (rows[i].revoked < 2)
			json_object_set_new(
			    grant, "revoked", json_boolean(rows[i].revoked));
		assert_int_equal(
		    secret_grant_state_of(grant, 5000), rows[i].state);
		json_decref(grant);
	}
}

/* The bytes that /proc shows are gone, and the answer stays. */
static void
test_secret_need_caller(void **state)
{
	static char entry[] = "TEST_SECRET_NEED=very private";
	const struct secret *value, *again;

	(void)state;
	assert_int_equal(putenv(entry), 0);
	assert_int_equal(
	    caller_secret_take("TEST_SECRET_NEED", &value), RESULT_OK);
	assert_int_equal(secret_len(value), strlen("very private"));
	assert_memory_equal(
	    secret_bytes_borrow(value), "very private", secret_len(value));
	assert_null(getenv("TEST_SECRET_NEED"));
	for (size_t i = strlen("TEST_SECRET_NEED="); i < sizeof(entry); i++)
		assert_int_equal(entry[i], 0);
	assert_int_equal(
	    caller_secret_take("TEST_SECRET_NEED", &again), RESULT_OK);
	assert_ptr_equal(value, again);
	assert_int_equal(setenv("TEST_SECRET_EMPTY", "", 1), 0);
	assert_int_equal(
	    caller_secret_take("TEST_SECRET_EMPTY", &value), RESULT_OK);
	assert_null(value);
	assert_int_equal(
	    caller_secret_take("TEST_SECRET_UNSET", &value), RESULT_NOT_FOUND);
	assert_null(value);
}

/* A caller may hand over a name twice; each is in /proc/PID/environ. */
static void
test_secret_need_twice(void **state)
{
	static char one[] = "TEST_SECRET_TWICE=first";
	static char two[] = "TEST_SECRET_TWICE=second";
	char *list[] = {one, two, NULL}, **before = environ;
	const struct secret *value;

	(void)state;
	environ = list;
	assert_int_equal(
	    caller_secret_take("TEST_SECRET_TWICE", &value), RESULT_OK);
	environ = before;
	assert_int_equal(secret_len(value), strlen("first"));
	for (size_t i = strlen("TEST_SECRET_TWICE="); i < sizeof(one); i++)
		assert_int_equal(one[i] | two[i], 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_secret_need_twice),
	    cmocka_unit_test(test_secret_need_entries),
	    cmocka_unit_test(test_secret_need_required),
	    cmocka_unit_test(test_secret_need_keys),
	    cmocka_unit_test(test_secret_need_lifetimes),
	    cmocka_unit_test(test_secret_need_states),
	    cmocka_unit_test(test_secret_need_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
