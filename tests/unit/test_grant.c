/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llm-broker/grant: default deny, exact models, limits that are never
 * missing, narrowing, and prices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "llm-broker/grant.h"

static enum result
test_grant_load(
    const char *text, struct grant **grant_r, struct json_fault *fault)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_DECODE_ANY, &error);
	enum result result;

	if (json == NULL)
		fail_msg("%s: %s", text, error.text);
	fault->text[0] = '\0';
	result = grant_load(json, "grant", grant_r, fault);
	json_decref(json); /* the grant keeps what it needs */
	return result;
}

static struct grant *
test_grant_good(const char *text)
{
	struct json_fault fault;
	struct grant *grant;

	if (test_grant_load(text, &grant, &fault) != RESULT_OK)
		fail_msg("%s: %s", text, fault.text);
	return grant;
}

static void
test_grant_models(void **state)
{
	struct grant *grant = test_grant_good(
	    "{\"providers\":[{\"name\":\"openai\",\"models\":[\"gpt-4o-mini\","
	    "\"a/"
	    "b:c\"]},{\"name\":\"gemini\"},{\"name\":\"none\",\"models\":[]}"
	    "],\"ledger\":false}");
	static const struct {
		const char *provider, *model;
		size_t len;
		bool allowed;
	} rows[] = {
	    {"openai", "gpt-4o-mini", 11, true},
	    {"openai", "a/b:c", 5, true},
	    {"openai", "gpt-4o-mini", 10, false},
	    {"openai", "gpt-4o-mini2", 12, false},
	    {"openai", "GPT-4o-mini", 11, false},
	    {"openai", "gpt-4o-mini\0", 12, false},
	    {"openai", "", 0, false},
	    {"gemini", "anything", 8, true},
	    {"gemini", "", 0, false},
	    {"none", "anything", 8, false},
	    {"anthropic", "claude", 6, false},
	    {"OpenAI", "gpt-4o-mini", 11, false},
	};
	static char text[GRANT_MODEL_MAX + 2];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(grant_model(grant, rows[i].provider,
				     rows[i].model, rows[i].len),
		    rows[i].allowed);
	memset(text, 'm', sizeof(text) - 1);
	assert_true(grant_model(grant, "gemini", text, GRANT_MODEL_MAX));
	assert_false(grant_model(grant, "gemini", text, GRANT_MODEL_MAX + 1));
	assert_true(grant_provider(grant, "none"));
	assert_false(grant_provider(grant, "anthropic"));
	assert_false(grant_opt_in(grant, GRANT_STORED));
	assert_int_equal(grant_opt_ins(grant), 0);
	assert_null(grant_default_provider(grant));
	assert_false(grant_uses_ledger(grant));
	grant_free(&grant);
	grant_free(&grant);
}

static void
test_grant_limits(void **state)
{
	struct grant *grant = test_grant_good(
	    "{\"providers\":[],\"ledger\":true,\"limits\":{\"requests\":0,"
	    "\"idle_ms\":5}}");
	const struct grant_limits *limits = grant_limits_borrow(grant);

	(void)state;
	assert_int_equal(limits->requests, 0);
	assert_int_equal(limits->idle_ms, 5);
	assert_int_equal(limits->concurrent, 4);
	assert_int_equal(limits->input_chars, 24000);
	assert_int_equal(limits->output_chars, 24000);
	assert_int_equal(limits->body_bytes, 8388608);
	assert_int_equal(limits->decoded_bytes, 16777216);
	assert_int_equal(limits->response_bytes, 1073741824);
	assert_int_equal(limits->first_byte_ms, 60000);
	assert_int_equal(limits->total_ms, 600000);
	grant_free(&grant);
}

static void
test_grant_faults(void **state)
{
	static const struct {
		const char *text, *fault;
	} rows[] = {
	    {"[]", "grant must be an object"},
	    {"{\"ledger\":true}", "grant.providers is missing"},
	    {"{\"providers\":[]}", "grant.ledger is missing"},
	    {"{\"providers\":[],\"ledger\":1}", "grant.ledger is"},
	    {"{\"providers\":[],\"ledger\":true,\"x\":1}",
		"grant.x is not known"},
	    {"{\"providers\":[{}],\"ledger\":true}",
		"grant.providers[].name is missing"},
	    {"{\"providers\":[{\"name\":\"\"}],\"ledger\":true}", "is empty"},
	    {"{\"providers\":[{\"name\":\"a\"},{\"name\":\"a\"}],"
	     "\"ledger\":true}",
		"has a twice"},
	    {"{\"providers\":[{\"name\":\"a\",\"model\":\"m\"}],"
	     "\"ledger\":true}",
		"model is not known"},
	    {"{\"providers\":[{\"name\":\"a\",\"models\":[\"\"]}],"
	     "\"ledger\":true}",
		"models[0] must be a text"},
	    {"{\"providers\":[{\"name\":\"a\",\"models\":[\"m\",\"m\"]}],"
	     "\"ledger\":true}",
		"models[1] is there twice"},
	    {"{\"providers\":[],\"ledger\":true,\"opt_in\":[\"all\"]}",
		"opt_in[0] is not known"},
	    {"{\"providers\":[],\"ledger\":true,\"limits\":{\"rps\":1}}",
		"limits.rps is not known"},
	    {"{\"providers\":[],\"ledger\":true,\"limits\":{\"requests\":-1}}",
		"limits.requests is -1"},
	    {"{\"providers\":[],\"ledger\":true,\"limits\":{\"total_ms\":0}}",
		"limits.total_ms is 0"},
	    {"{\"providers\":[],\"ledger\":true,\"default\":{\"provider\":"
	     "\"a\",\"model\":\"m\"}}",
		"names what is not granted"},
	    {"{\"providers\":[{\"name\":\"a\",\"models\":[\"n\"]}],\"ledger\":"
	     "true,\"default\":{\"provider\":\"a\",\"model\":\"m\"}}",
		"names what is not granted"},
	    {"{\"providers\":[],\"ledger\":true,\"prices\":[{\"provider\":"
	     "\"a\",\"model\":\"m\",\"input_microusd_per_million\":-1,"
	     "\"output_microusd_per_million\":1}]}",
		"input_microusd_per_million is -1"},
	};
	struct json_fault fault;
	struct grant *grant;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
		    test_grant_load(rows[i].text, &grant, &fault), RESULT_BAD);
		assert_null(grant);
		if (strstr(fault.text, rows[i].fault) == NULL)
			fail_msg("%s: %s", rows[i].text, fault.text);
	}
}

#define TEST_GRANT_WIDE                                                        \
	"{\"providers\":[{\"name\":\"a\",\"models\":[\"m\",\"n\"]},{\"name\":" \
	"\"b\"}]"                                                              \
	",\"ledger\":true,\"opt_in\":[\"stored\"],\"limits\":{\"requests\":"   \
	"10}}"

static void
test_grant_covers(void **state)
{
	static const struct {
		const char *text;
		bool covered;
	} rows[] = {
	    {TEST_GRANT_WIDE, true},
	    {"{\"providers\":[],\"ledger\":true,\"limits\":{\"requests\":10}}",
		true},
	    {"{\"providers\":[{\"name\":\"a\",\"models\":[\"m\"]},{\"name\":"
	     "\"b\",\"models\":[\"x\"]}],\"ledger\":true,\"limits\":{"
	     "\"requests\":3}}",
		true},
	    {"{\"providers\":[{\"name\":\"a\"}],\"ledger\":true,\"limits\":{"
	     "\"requests\":10}}",
		false},
	    {"{\"providers\":[{\"name\":\"a\",\"models\":[\"o\"]}],\"ledger\":"
	     "true,\"limits\":{\"requests\":10}}",
		false},
	    {"{\"providers\":[{\"name\":\"c\"}],\"ledger\":true,\"limits\":{"
	     "\"requests\":10}}",
		false},
	    {"{\"providers\":[],\"ledger\":true,\"limits\":{\"requests\":11}}",
		false},
	    {"{\"providers\":[],\"ledger\":true}", false}, /* 20 requests */
	    {"{\"providers\":[],\"ledger\":false,\"limits\":{\"requests\":1}}",
		false},
	    {"{\"providers\":[],\"ledger\":true,\"opt_in\":[\"remote_urls\"],"
	     "\"limits\":{\"requests\":1}}",
		false},
	};
	struct grant *wide = test_grant_good(TEST_GRANT_WIDE), *other;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		other = test_grant_good(rows[i].text);
		assert_int_equal(grant_covers(wide, other), rows[i].covered);
		grant_free(&other);
	}
	grant_free(&wide);
}

/* b86: an unknown price is not zero; zero is. */
static void
b86_prices(void **state)
{
	struct grant *grant = test_grant_good(
	    "{\"providers\":[{\"name\":\"a\"}],\"ledger\":true,\"prices\":["
	    "{\"provider\":\"a\",\"model\":\"m\",\"input_microusd_per_"
	    "million\":"
	    "150000,\"output_microusd_per_million\":600000},"
	    "{\"provider\":\"a\",\"model\":\"free\","
	    "\"input_microusd_per_million\":0,"
	    "\"output_microusd_per_million\":0}]}");

	(void)state;
	assert_int_equal(grant_cost(grant, "a", "m", 1000000, 0), 150000);
	assert_int_equal(grant_cost(grant, "a", "m", 0, 1000000), 600000);
	assert_int_equal(grant_cost(grant, "a", "m", 1, 1), 2); /* up */
	assert_int_equal(grant_cost(grant, "a", "m", 0, 0), 0);
	assert_int_equal(grant_cost(grant, "a", "free", 1000, 1000), 0);
	assert_int_equal(grant_cost(grant, "a", "M", 1, 1), -1);
	assert_int_equal(grant_cost(grant, "b", "m", 1, 1), -1);
	assert_int_equal(grant_cost(grant, "a", "m", UINT64_MAX, 1), -1);
	assert_int_equal(
	    grant_cost(grant, "a", "free", UINT64_MAX, UINT64_MAX), -1);
	grant_free(&grant);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_grant_models),
	    cmocka_unit_test(test_grant_limits),
	    cmocka_unit_test(test_grant_faults),
	    cmocka_unit_test(test_grant_covers),
	    cmocka_unit_test(b86_prices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
