/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What manifest, host and team make of an agent's LLM, as a table; and that
 * the broker and the ledger understand every outcome.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "llm-broker/grant.h"
#include "supervisor/ledger/budget_limits.h"
#include "supervisor/policy/llm_ceiling.h"

struct test_llm_ceiling_row {
	const char *name;
	const char *manifest;
	const char *models; /* of the host; NULL: unset */
	int64_t iterations;
	/* NULL: no LLM; "": refused with a fault; else the providers */
	const char *providers;
	int64_t calls, input, output; /* of the run */
};

#define ON "\"enabled\":true"
#define ANY "[{\"name\":\"gemini\"},{\"name\":\"openai\"}]"

static const struct test_llm_ceiling_row test_llm_ceiling_rows[] = {
    {"nothing asked", "{}", NULL, 0, NULL, 0, 0, 0},
    {"not asked", "{\"enabled\":false,\"max_calls\":5}", NULL, 0, NULL, 0, 0,
	0},
    {"not literally true", "{\"enabled\":\"true\"}", NULL, 0, "", 0, 0, 0},
    {"one is not true", "{\"enabled\":1}", NULL, 0, "", 0, 0, 0},
    {"null is not true", "{\"enabled\":null}", NULL, 0, "", 0, 0, 0},
    {"an unknown wish", "{" ON ",\"max_dollars\":1}", NULL, 0, "", 0, 0, 0},
    {"a negative wish", "{" ON ",\"max_calls\":-1}", NULL, 0, "", 0, 0, 0},
    {"the host's numbers", "{" ON "}", NULL, 0, ANY, 20, 24000, 25000},
    {"less is given",
	"{" ON ",\"max_calls\":3,\"max_input_chars\":10,"
	"\"max_output_chars\":11}",
	NULL, 0, ANY, 3, 10, 11},
    {"more is not",
	"{" ON ",\"max_calls\":21,\"max_input_chars\":99999999,"
	"\"max_output_chars\":25001}",
	NULL, 0, ANY, 20, 24000, 25000},
    {"nothing is nothing", "{" ON ",\"max_calls\":0}", NULL, 0, ANY, 0, 24000,
	25000},
    {"iterations are calls", "{" ON ",\"max_calls\":9}", NULL, 4, ANY, 4, 24000,
	25000},
    {"many iterations are not", "{" ON ",\"max_calls\":9}", NULL, 100, ANY, 9,
	24000, 25000},
    {"a model of the manifest", "{" ON ",\"allowed_models\":[\"m\"]}", NULL, 0,
	"[{\"name\":\"gemini\",\"models\":[\"m\"]},"
	"{\"name\":\"openai\",\"models\":[\"m\"]}]",
	20, 24000, 25000},
    {"a model of one provider", "{" ON ",\"allowed_models\":[\"openai/m\"]}",
	NULL, 0, "[{\"name\":\"openai\",\"models\":[\"m\"]}]", 20, 24000,
	25000},
    {"no model at all", "{" ON ",\"allowed_models\":[]}", NULL, 0, "[]", 20,
	24000, 25000},
    {"the host's models", "{" ON "}", "[\"openai/m\",\"openai/n\"]", 0,
	"[{\"name\":\"openai\",\"models\":[\"m\",\"n\"]}]", 20, 24000, 25000},
    {"the host has none", "{" ON "}", "[]", 0, "[]", 20, 24000, 25000},
    {"both name it", "{" ON ",\"allowed_models\":[\"m\",\"x\"]}",
	"[\"openai/m\",\"gemini/y\"]", 0,
	"[{\"name\":\"openai\",\"models\":[\"m\"]}]", 20, 24000, 25000},
    {"they name others", "{" ON ",\"allowed_models\":[\"x\"]}",
	"[\"openai/m\"]", 0, "[]", 20, 24000, 25000},
    {"near is not equal",
	"{" ON ",\"allowed_models\":[\"gpt-4o-mini\","
	"\"GPT-4o\",\"gpt-4o \"]}",
	"[\"openai/gpt-4o\"]", 0, "[]", 20, 24000, 25000},
    {"all of one provider", "{" ON ",\"allowed_models\":[\"openai/*\"]}", NULL,
	0, "[{\"name\":\"openai\"}]", 20, 24000, 25000},
    {"all of it, of which the host has one",
	"{" ON ",\"allowed_models\":[\"openai/*\"]}", "[\"m\",\"gemini/n\"]", 0,
	"[{\"name\":\"openai\",\"models\":[\"m\"]}]", 20, 24000, 25000},
    {"a provider there is not", "{" ON ",\"allowed_models\":[\"other/m\"]}",
	NULL, 0, "[]", 20, 24000, 25000},
    {"twice is once", "{" ON ",\"allowed_models\":[\"m\",\"openai/m\"]}",
	"[\"openai/m\",\"m\"]", 0,
	"[{\"name\":\"gemini\",\"models\":[\"m\"]},"
	"{\"name\":\"openai\",\"models\":[\"m\"]}]",
	20, 24000, 25000},
};

static json_t *
test_llm_ceiling_parse(const char *text)
{
	struct json_fault fault = {""};
	json_t *value = NULL;

	if (text != NULL &&
	    json_field_parse(text, strlen(text), &value, &fault) != RESULT_OK)
		fail_msg("%s: %s", text, fault.text);
	return value;
}

static struct llm_ceiling_host
test_llm_ceiling_host(void)
{
	struct llm_ceiling_host host = {.enabled = true,
	    .max_calls = 20,
	    .max_input_chars = 24000,
	    .max_output_chars = 25000,
	    .concurrent = 4,
	    .body_bytes = 8388608,
	    .decoded_bytes = 16777216,
	    .response_bytes = 1073741824,
	    .first_byte_ms = 60000,
	    .idle_ms = 120000,
	    .total_ms = 600000};

	return host;
}

static int64_t
test_llm_ceiling_number(
    const json_t *object, const char *part, const char *name)
{
	return json_integer_value(
	    json_object_get(json_object_get(object, part), name));
}

/* The readers of broker and ledger have the last word. */
static void
test_llm_ceiling_understood(
    const char *name, const json_t *grant, const json_t *limits)
{
	struct json_fault fault = {""};
	struct budget_limits budget;
	struct grant *loaded;

	if (grant_load(grant, "grant", &loaded, &fault) != RESULT_OK)
		fail_msg("%s: %s", name, fault.text);
	assert_true(grant_uses_ledger(loaded));
	grant_free(&loaded);
	budget_limits_read(limits, "limits", &budget, &fault);
	if (fault.text[0] != '\0')
		fail_msg("%s: %s", name, fault.text);
}

static void
test_llm_ceiling_row(const struct test_llm_ceiling_row *row)
{
	json_t *manifest = test_llm_ceiling_parse(row->manifest);
	json_t *models = test_llm_ceiling_parse(row->models);
	json_t *there = test_llm_ceiling_parse("{\"gemini\":{},\"openai\":{}}");
	struct llm_ceiling_host host = test_llm_ceiling_host();
	struct json_fault fault = {""};
	json_t *grant, *limits, *expected;
	enum result result;

	host.allowed_models = models;
	result = llm_ceiling_compute(
	    &host, manifest, row->iterations, there, &grant, &limits, &fault);
	if (row->providers == NULL || row->providers[0] == '\0') {
		assert_null(grant);
		assert_null(limits);
		if ((result == RESULT_OK) != (row->providers == NULL))
			fail_msg("%s: %s", row->name, result_text(result));
	} else {
		if (result != RESULT_OK)
			fail_msg("%s: %s", row->name, fault.text);
		expected = test_llm_ceiling_parse(row->providers);
		if (!json_equal(json_object_get(grant, "providers"), expected))
			fail_msg("%s: %s", row->name, json_dumps(grant, 0));
		json_decref(expected);
		assert_int_equal(
		    test_llm_ceiling_number(grant, "limits", "requests"),
		    row->calls);
		assert_int_equal(
		    test_llm_ceiling_number(limits, "run", "requests"),
		    row->calls);
		assert_int_equal(
		    test_llm_ceiling_number(grant, "limits", "input_chars"),
		    row->input);
		assert_int_equal(
		    test_llm_ceiling_number(limits, "run", "output_chars"),
		    row->output);
		test_llm_ceiling_understood(row->name, grant, limits);
	}
	json_decref(grant);
	json_decref(limits);
	json_decref(manifest);
	json_decref(models);
	json_decref(there);
}

static void
test_llm_ceiling_table(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(test_llm_ceiling_rows) /
			    sizeof(test_llm_ceiling_rows[0]);
	     i++)
		test_llm_ceiling_row(&test_llm_ceiling_rows[i]);
}

static void
test_llm_ceiling_host_says_no(void **state)
{
	json_t *manifest = test_llm_ceiling_parse("{" ON "}");
	json_t *there = test_llm_ceiling_parse("{\"openai\":{}}");
	struct llm_ceiling_host host = test_llm_ceiling_host();
	struct json_fault fault = {""};
	json_t *grant, *limits;

	(void)state;
	host.enabled = false;
	assert_int_equal(llm_ceiling_compute(&host, manifest, 0, there, &grant,
			     &limits, &fault),
	    RESULT_OK);
	assert_null(grant);
	assert_null(limits);
	json_decref(manifest);
	json_decref(there);
}

/* Default, prices, opt-ins and the limits of days. */
static void
test_llm_ceiling_rest(void **state)
{
	json_t *manifest =
	    test_llm_ceiling_parse("{" ON ",\"allowed_models\":[\"m\",\"n\"]}");
	json_t *there = test_llm_ceiling_parse("{\"openai\":{},\"x\":{}}");
	json_t *opt_in = test_llm_ceiling_parse("[\"stored\"]");
	json_t *prices = test_llm_ceiling_parse(
	    "{\"openai/m\":{\"input\":150000,\"output\":600000},"
	    "\"openai/z\":{\"input\":1,\"output\":1},"
	    "\"gone/m\":{\"input\":1,\"output\":1}}");
	json_t *days = test_llm_ceiling_parse(
	    "{\"run\":{\"tokens\":7},\"agent_day\":{\"cost_microusd\":5},"
	    "\"host_day\":{}}");
	struct llm_ceiling_host host = test_llm_ceiling_host();
	struct json_fault fault = {""};
	json_t *grant, *limits;
	struct grant *loaded;

	(void)state;
	host.opt_in = opt_in;
	host.prices = prices;
	host.limits = days;
	host.default_provider = "openai";
	assert_int_equal(llm_ceiling_compute(&host, manifest, 0, there, &grant,
			     &limits, &fault),
	    RESULT_OK);
	assert_int_equal(
	    grant_load(grant, "grant", &loaded, &fault), RESULT_OK);
	assert_string_equal(grant_default_model(loaded), "m");
	assert_true(grant_opt_in(loaded, GRANT_STORED));
	assert_false(grant_opt_in(loaded, GRANT_REMOTE_URLS));
	assert_int_equal(
	    grant_cost(loaded, "openai", "m", 1000000, 1000000), 750000);
	assert_int_equal(grant_cost(loaded, "x", "m", 1, 1), -1);
	assert_int_equal(json_array_size(json_object_get(grant, "prices")), 1);
	grant_free(&loaded);
	assert_int_equal(test_llm_ceiling_number(limits, "run", "tokens"), 7);
	assert_int_equal(
	    test_llm_ceiling_number(limits, "run", "requests"), 20);
	assert_int_equal(
	    test_llm_ceiling_number(limits, "agent_day", "cost_microusd"), 5);
	test_llm_ceiling_understood("rest", grant, limits);
	json_decref(grant);
	json_decref(limits);
	/* A default that is not granted is none. */
	host.default_model = "z";
	assert_int_equal(llm_ceiling_compute(&host, manifest, 0, there, &grant,
			     &limits, &fault),
	    RESULT_OK);
	assert_null(json_object_get(grant, "default"));
	json_decref(grant);
	json_decref(limits);
	host.default_model = NULL;
	host.default_provider = "other";
	assert_int_equal(llm_ceiling_compute(&host, manifest, 0, there, &grant,
			     &limits, &fault),
	    RESULT_OK);
	assert_null(json_object_get(grant, "default"));
	json_decref(grant);
	json_decref(limits);
	json_decref(manifest);
	json_decref(there);
	json_decref(opt_in);
	json_decref(prices);
	json_decref(days);
}

static void
test_llm_ceiling_too_many(void **state)
{
	json_t *manifest = test_llm_ceiling_parse("{" ON "}");
	struct llm_ceiling_host host = test_llm_ceiling_host();
	struct json_fault fault = {""};
	json_t *there = json_object(), *grant, *limits;
	char name[16];
	int i;

	(void)state;
	for (i = 0; i < 17; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		json_object_set_new(there, name, json_object());
	}
	assert_int_equal(llm_ceiling_compute(&host, manifest, 0, there, &grant,
			     &limits, &fault),
	    RESULT_BAD);
	assert_non_null(strstr(fault.text, "allowed_models"));
	assert_null(grant);
	json_decref(manifest);
	json_decref(there);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_llm_ceiling_table),
	    cmocka_unit_test(test_llm_ceiling_host_says_no),
	    cmocka_unit_test(test_llm_ceiling_rest),
	    cmocka_unit_test(test_llm_ceiling_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
