/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans out of a configuration and an entry: who calls, what was agreed to,
 * which rates hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/policy/guard_make.h"
#include "supervisor/policy/guard_plan.h"
#include "tests/support/test_folder.h"

static char home[] = "/tmp/guard-make.XXXXXX", file[64];

static int
set_up(void **state)
{
	(void)state;
	if (test_folder_new(home) == NULL ||
	    setenv("AGENTNODE_HOME", home, 1) != 0)
		return -1;
	(void)snprintf(file, sizeof(file), "%s/config.json", home);
	(void)unsetenv("AGENTNODE_GUARD_STRICT");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	(void)unlink(file);
	return rmdir(home);
}

static struct config *
load(const char *text)
{
	struct json_fault fault = {""};
	struct config *config = NULL;
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	assert_int_equal(fchmod(fileno(out), 0600), 0);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
	if (config_load(&config, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	return config;
}

/* The code of one tool's verdict. */
static const char *
judge(const struct guard_make *make, const char *tool)
{
	json_t *object = guard_make_plan(make);
	struct json_fault fault = {""};
	struct guard_verdict verdict;
	struct guard_plan plan;

	if (guard_plan_read(object, make->slug, &plan, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	guard_plan_judge(&plan, tool, &verdict);
	json_decref(object);
	return verdict.code;
}

static void
agents(void **state)
{
	struct config *config = load(
	    "{\"guard\":{\"execute\":\"allow\",\"agent_overrides\":{\"bot\":"
	    "{\"pre_approved_actions\":[\"delete\"]}}}}");
	json_t *entry = json_object();
	struct guard_make make = {.config = config,
	    .entry = entry,
	    .slug = "pack",
	    .tier = TIER_UNVERIFIED,
	    .inside = true};

	(void)state;
	assert_string_equal(judge(&make, "delete_x"), "guard_consent");
	assert_string_equal(judge(&make, "run_x"), "");
	make.agent = "bot";
	assert_string_equal(judge(&make, "delete_x"), "");
	/* Allowed for all, but not for an agent that nobody approved. */
	assert_string_equal(judge(&make, "run_x"), "guard_consent");
	/* What the agent's manifest asks for only narrows that. */
	make.agent_asks = json_pack("[s, s]", "execute", "read");
	assert_string_equal(judge(&make, "delete_x"), "guard_consent");
	assert_string_equal(judge(&make, "run_x"), "guard_consent");
	json_decref((json_t *)(uintptr_t)make.agent_asks);
	make.agent_asks = json_pack("[s, s]", "execute", "delete");
	assert_string_equal(judge(&make, "delete_x"), "");
	assert_string_equal(judge(&make, "run_x"), "guard_consent");
	json_decref((json_t *)(uintptr_t)make.agent_asks);
	make.agent_asks = json_pack("[s, s]", "delete", "everything");
	assert_string_equal(judge(&make, "delete_x"), "guard_consent");
	json_decref((json_t *)(uintptr_t)make.agent_asks);
	make.agent_asks = json_array();
	assert_string_equal(judge(&make, "delete_x"), "guard_consent");
	json_decref((json_t *)(uintptr_t)make.agent_asks);
	make.agent_asks = NULL;
	make.agent = "other";
	assert_string_equal(judge(&make, "delete_x"), "guard_consent");
	assert_string_equal(judge(&make, "get_x"), "");
	make.consented = json_pack("{s:[s]}", "delete_x", "delete");
	assert_string_equal(judge(&make, "delete_x"), "");
	assert_string_equal(judge(&make, "delete_y"), "guard_consent");
	json_decref((json_t *)(uintptr_t)make.consented);
	json_decref(entry);
	config_free(&config);
}

static void
consents(void **state)
{
	struct config *config = load("{\"guard\":{\"network_egress\":"
				     "\"prompt\"}}");
	json_t *entry = json_loads(
	    "{\"tools\":[\"delete_x\",{\"name\":\"get_x\",\"action_type\":"
	    "\"execute\"}],\"permissions\":{\"network_level\":\"none\"}}",
	    0, NULL);
	json_t *agreed = guard_make_consent(entry), *all;
	struct guard_make make = {.config = config,
	    .entry = entry,
	    .consented = agreed,
	    .slug = "pack",
	    .tier = TIER_UNVERIFIED};
	json_t *wanted = json_loads(
	    "{\"delete_x\":[\"delete\"],\"get_x\":[\"execute\"]}", 0, NULL);

	(void)state;
	assert_true(json_equal(agreed, wanted));
	assert_string_equal(judge(&make, "delete_x"), "");
	assert_string_equal(judge(&make, "get_x"), "");
	assert_string_equal(judge(&make, "frob"), "guard_consent");
	/* More than was agreed to: hosts that came with the call. */
	make.reaches = true;
	assert_string_equal(judge(&make, "delete_x"), "guard_consent");
	make.reaches = false;
	/* An entry that lists nothing is agreed to as a whole. */
	(void)json_object_del(entry, "tools");
	all = guard_make_consent(entry);
	make.consented = all;
	assert_string_equal(judge(&make, "frob"), "");
	assert_string_equal(judge(&make, "delete_y"), "");
	/* An unverified package with secrets deletes nothing, whatever. */
	(void)json_object_set_new(
	    entry, "env_requirements", json_pack("[{s:s}]", "name", "KEY"));
	assert_string_equal(judge(&make, "delete_y"), "guard_denied");
	make.tier = TIER_VERIFIED;
	assert_string_equal(judge(&make, "delete_y"), "");
	json_decref(wanted);
	json_decref(agreed);
	json_decref(all);
	json_decref(entry);
	config_free(&config);
}

static void
same(struct guard_rates rates, int64_t burst, int64_t minute, int64_t hour)
{
	assert_int_equal(rates.burst, burst);
	assert_int_equal(rates.minute, minute);
	assert_int_equal(rates.hour, hour);
}

static void
rates(void **state)
{
	struct config *config =
	    load("{\"guard\":{\"rate_limits\":{\"default\":{\"burst_size\":7},"
		 "\"a\":{\"calls_per_hour\":9999,\"burst_size\":50}}}}");

	(void)state;
	same(guard_make_rates(config, "b", false), 7, 60, 1000);
	same(guard_make_rates(config, "b", true), 7, 120, 2000);
	same(guard_make_rates(config, "a", false), 50, 60, 9999);
	config_free(&config);
	config = load("{\"guard\":{\"strict\":true,\"rate_limits\":{\"a\":"
		      "{\"calls_per_hour\":9999,\"burst_size\":2}}}}");
	same(guard_make_rates(config, "a", true), 2, 30, 500);
	same(guard_make_rates(config, "b", false), 10, 30, 500);
	config_free(&config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(agents),
	    cmocka_unit_test(consents),
	    cmocka_unit_test(rates),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
