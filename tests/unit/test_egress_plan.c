/* SPDX-License-Identifier: Apache-2.0 */
/* Name servers of a resolv.conf, direct names, the host's own addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/ip_addr.h"
#include "supervisor/engine/egress_plan.h"
#include "supervisor/policy/config.h"
#include "tests/support/test_folder.h"

static const struct {
	const char *text, *want;
} test_egress_plan_resolvers[] = {
    {"nameserver 192.0.2.1\n", "192.0.2.1:53"},
    {"# x\nsearch a.example\nnameserver\t192.0.2.1 # y\n"
     "nameserver 2001:db8::1\n",
	"192.0.2.1:53,[2001:db8::1]:53"},
    {"nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n"
     "nameserver 192.0.2.4\n",
	"192.0.2.1:53,192.0.2.2:53,192.0.2.3:53"},
    {"nameserver 192.0.2.1", "192.0.2.1:53"},
    {"nameserver 0x7f.1\nnameserver 192.0.2.1\r\n", "192.0.2.1:53"},
    {"nameservers 192.0.2.1\n", NULL},
    {"nameserver\n", NULL},
    {"", NULL},
};

static void
test_egress_plan_resolver(void **state)
{
	size_t count = sizeof(test_egress_plan_resolvers) /
		       sizeof(test_egress_plan_resolvers[0]);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const char *text = test_egress_plan_resolvers[i].text;
		const char *want = test_egress_plan_resolvers[i].want;
		char servers[256];
		enum result result = egress_plan_resolver(
		    text, strlen(text), servers, sizeof(servers));

		assert_int_equal(
		    result, want == NULL ? RESULT_NOT_FOUND : RESULT_OK);
		if (want != NULL)
			assert_string_equal(servers, want);
	}
}

static void
test_egress_plan_own_list(void **state)
{
	json_t *list = json_array();
	bool loopback = false;

	(void)state;
	assert_int_equal(egress_plan_own(list), RESULT_OK);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		struct ip_cidr cidr;

		assert_int_equal(
		    ip_addr_parse_cidr(text, strlen(text), &cidr), RESULT_OK);
		assert_int_not_equal(cidr.prefix, 0);
		if (strcmp(text, "127.0.0.1/32") == 0 ||
		    strcmp(text, "127.0.0.1") == 0)
			loopback = true;
	}
	assert_true(loopback);
	json_decref(list);
}

static void
test_egress_plan_load(struct config **config_r)
{
	static char folder[] = "/tmp/agentnode-test-XXXXXX";
	struct json_fault fault = {""};

	if (getenv("AGENTNODE_TEST_MADE") == NULL) {
		assert_non_null(test_folder_new(folder));
		(void)setenv("AGENTNODE_HOME", folder, 1);
		(void)setenv("AGENTNODE_TEST_MADE", "1", 1);
		assert_int_equal(
		    config_set("egress.resolver", "192.0.2.53:53", &fault),
		    RESULT_OK);
		assert_int_equal(
		    config_set("egress.deny", "bad.example.com", &fault),
		    RESULT_OK);
	}
	assert_int_equal(config_load(config_r, &fault), RESULT_OK);
}

static void
test_egress_plan_direct_names(void **state)
{
	json_t *egress = json_pack("{s:[s,s,s,s,s], s:[s]}", "allow",
	    "a.example.com:443", "b.example.com:8443", "a.example.com:9443",
	    "*.wild.example:443", "a.example.com:443", "deny",
	    "x.wild.example");
	struct egress_plan plan;
	struct config *config;
	char detail[256] = "";

	(void)state;
	test_egress_plan_load(&config);
	assert_int_equal(
	    egress_plan_make(config, egress, &plan, detail, sizeof(detail)),
	    RESULT_OK);
	assert_int_equal(plan.direct_count, 3);
	assert_string_equal(plan.direct[0].name, "a.example.com");
	assert_string_equal(plan.direct[0].address, "127.64.0.1");
	assert_string_equal(plan.direct[1].address, "127.64.0.2");
	assert_int_equal(plan.direct[1].port, 8443);
	/* The same name has the same address. */
	assert_string_equal(plan.direct[2].address, "127.64.0.1");
	assert_false(plan.direct[2].is_first);
	assert_int_equal(
	    json_array_size(json_object_get(plan.policy, "deny")), 2);
	assert_string_equal(
	    json_string_value(json_object_get(plan.options, "resolver")),
	    "192.0.2.53:53");
	egress_plan_clear(&plan);
	json_decref(egress);
	config_free(&config);
}

static void
test_egress_plan_bad_entries(void **state)
{
	static const char *const bad[] = {"localhost:443", "127.0.0.1:443",
	    "https://a.example.com", "a.example.com:0", "*", "a_b.example.com",
	    "", /* whoever says so: the lockfile, the command line */
	    "*.co.uk:443", "*.github.io:443", "*.amazonaws.com"};
	struct config *config;

	(void)state;
	test_egress_plan_load(&config);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *egress = json_pack("{s:[s]}", "allow", bad[i]);
		struct egress_plan plan;
		char detail[256] = "";

		if (egress_plan_make(config, egress, &plan, detail,
			sizeof(detail)) != RESULT_BAD)
			fail_msg("'%s' was not refused", bad[i]);
		assert_non_null(strstr(detail, bad[i]));
		json_decref(egress);
	}
	config_free(&config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_egress_plan_resolver),
	    cmocka_unit_test(test_egress_plan_own_list),
	    cmocka_unit_test(test_egress_plan_direct_names),
	    cmocka_unit_test(test_egress_plan_bad_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
