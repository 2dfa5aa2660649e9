/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy object of the messages: what is read, and that one bad part
 * refuses the whole with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "egress-proxy/host_policy_json.h"

static enum result
load(const char *text, struct host_policy **policy_r, struct json_fault *fault)
{
	json_t *object = NULL;
	enum result result;

	memset(fault, 0, sizeof(*fault));
	assert_int_equal(
	    json_field_parse(text, strlen(text), &object, fault), RESULT_OK);
	result = host_policy_json_load(object, "policy", policy_r, fault);
	json_decref(object);
	return result;
}

static void
whole_object(void **state)
{
	struct host_policy *policy = NULL;
	struct host_policy_decision decision;
	struct json_fault fault;
	struct domain name;
	struct ip_addr addr;
	const char *rule;

	(void)state;
	assert_int_equal(
	    load("{\"allow\":[\"a.example:443\",\"*.b.example:443\","
		 "\"tcp://10.1.2.0/24:5432\",\"http://c.example:80\"],"
		 "\"deny\":[\"x.b.example\"],\"extra_ranges\":"
		 "[{\"name\":\"a.example\",\"cidrs\":[\"127.0.0.0/8\"]}],"
		 "\"own\":[\"5.5.5.5\"],\"ech\":[\"a.example\"]}",
		&policy, &fault),
	    RESULT_OK);
	assert_string_equal(fault.text, "");
	assert_int_equal(host_policy_allow_count(policy), 4);
	assert_int_equal(domain_parse("x.b.example", 11, &name), DOMAIN_OK);
	host_policy_check_name(
	    policy, HOST_POLICY_TUNNEL, &name, 443, &decision);
	assert_int_equal(decision.code, DENY_HOST_DENIED);
	assert_int_equal(domain_parse("a.example", 9, &name), DOMAIN_OK);
	assert_true(host_policy_ech_allowed(policy, &name));
	assert_int_equal(ip_addr_parse("127.9.9.9", 9, &addr), RESULT_OK);
	assert_int_equal(
	    host_policy_check_answer(policy, &name, 443, &addr, 1, &rule, NULL),
	    DENY_NONE);
	assert_int_equal(ip_addr_parse("5.5.5.5", 7, &addr), RESULT_OK);
	assert_int_equal(
	    host_policy_check_answer(policy, &name, 443, &addr, 1, &rule, NULL),
	    DENY_ADDRESS_NOT_ALLOWED);
	host_policy_free(&policy);
	assert_int_equal(load("{\"allow\":[]}", &policy, &fault), RESULT_OK);
	host_policy_free(&policy);
}

static void
i05_one_bad_part_refuses_all(void **state)
{
	static const struct {
		const char *text, *fault;
	} rows[] = {
	    {"{}", "policy"},
	    {"[]", "policy"},
	    {"{\"deny\":[]}", "allow"},
	    {"{\"allow\":\"a.example\"}", "allow"},
	    {"{\"allow\":[1]}", "policy.allow[0]"},
	    {"{\"allow\":[\"a.example\",\"127.1\"]}", "127.1"},
	    {"{\"allow\":[\"a.example\",\"127.1\"]}", "policy.allow[1]"},
	    {"{\"allow\":[],\"deny\":[\"a b\"]}", "policy.deny[0]"},
	    {"{\"allow\":[],\"alow\":[]}", "alow"},
	    {"{\"allow\":[],\"own\":[\"x\"]}", "policy.own[0]"},
	    {"{\"allow\":[],\"ech\":[\"*\"]}", "policy.ech[0]"},
	    {"{\"allow\":[],\"extra_ranges\":{}}", "extra_ranges"},
	    {"{\"allow\":[],\"extra_ranges\":[1]}", "extra_ranges[0]"},
	    {"{\"allow\":[],\"extra_ranges\":[{\"name\":\"a.example\"}]}",
		"cidrs"},
	    {"{\"allow\":[],\"extra_ranges\":[{\"name\":\"a.example\","
	     "\"cidrs\":[\"0.0.0.0/0\"]}]}",
		"0.0.0.0/0"},
	    {"{\"allow\":[],\"extra_ranges\":[{\"name\":\"a.example\","
	     "\"cidrs\":[7]}]}",
		"extra_ranges[0]"},
	    {"{\"allow\":[],\"extra_ranges\":[{\"name\":\"a.example\","
	     "\"cidrs\":[],\"x\":1}]}",
		"x"},
	};
	struct host_policy *policy = NULL;
	struct json_fault fault;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
		    load(rows[i].text, &policy, &fault), RESULT_BAD);
		assert_null(policy);
		if (strstr(fault.text, rows[i].fault) == NULL)
			fail_msg("row %zu: %s", i, fault.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whole_object),
	    cmocka_unit_test(i05_one_bad_part_refuses_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
