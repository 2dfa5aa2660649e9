/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team policy's egress.allow bounds every sandbox, whoever asked for an
 * entry; its word on a tool bounds every agent, whoever approved it. In a mount
 * namespace of its own, where /etc is a small disk with a policy of ours.
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
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/engine/egress_plan.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/guard_make.h"
#include "supervisor/policy/guard_plan.h"

static void
test_team_policy_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), RESULT_OK);
	close(fd);
}

/* An ordinary user becomes root of a user namespace: his files are root's
 * there. */
static void
test_team_policy_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	assert_int_equal(
	    unshare(CLONE_NEWNS | (uid != 0 ? CLONE_NEWUSER : 0)), 0);
	if (uid != 0) {
		snprintf(map, sizeof(map), "0 %u 1", uid);
		test_team_policy_write("/proc/self/uid_map", map);
		test_team_policy_write("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", gid);
		test_team_policy_write("/proc/self/gid_map", map);
	}
	assert_int_equal(
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, ""), 0);
	assert_int_equal(
	    mount("none", "/etc", "tmpfs", 0, "mode=0755,size=64k"), 0);
	assert_int_equal(mkdir(CONFIG_POLICY_DIR, 0755), 0);
}

static int
test_team_policy_setup(void **state)
{
	(void)state;
	test_team_policy_namespace();
	assert_int_equal(mkdir("/etc/home", 0700), 0);
	assert_int_equal(setenv("AGENTNODE_HOME", "/etc/home", 1), 0);
	test_team_policy_write("/etc/home/" CONFIG_FILE,
	    "{\"egress\":{\"resolver\":\"192.0.2.53:53\"}}");
	test_team_policy_write(CONFIG_POLICY_DIR "/" CONFIG_POLICY_FILE,
	    "{\"egress\":{\"allow\":[\"*.corp.example\",\"a.example.com\"],"
	    "\"deny\":[\"secret.corp.example\"]}}");
	assert_int_equal(chmod("/etc/home/" CONFIG_FILE, 0600), 0);
	return 0;
}

static void
test_team_policy_bounds(void **state)
{
	json_t *egress = json_pack("{s:[s,s,s,s], s:[]}", "allow",
	    "a.example.com:443", "b.example.com:443", "x.corp.example:443",
	    "tcp://203.0.113.7:22", "deny");
	struct json_fault fault = {""};
	struct egress_plan plan;
	struct config *config;
	char detail[256] = "";
	json_t *expected;

	(void)state;
	if (config_load(&config, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	assert_true(config_permits_entry(config, "a.example.com:443"));
	assert_false(config_permits_entry(config, "a.example.com:8443"));
	assert_false(config_permits_entry(config, "corp.example:443"));
	if (egress_plan_make(config, egress, &plan, detail, sizeof(detail)) !=
	    RESULT_OK)
		fail_msg("%s", detail);
	expected =
	    json_pack("[s, s]", "a.example.com:443", "x.corp.example:443");
	assert_true(
	    json_equal(json_object_get(plan.policy, "allow"), expected));
	json_decref(expected);
	expected = json_pack("[s]", "secret.corp.example");
	assert_true(json_equal(json_object_get(plan.policy, "deny"), expected));
	json_decref(expected);
	assert_int_equal(plan.direct_count, 2);
	egress_plan_clear(&plan);
	json_decref(egress);
	config_free(&config);
}

/* The verdict's code on delete_file for an agent that the user approved. */
static const char *
test_team_policy_guard_code(const char *user, const char *team)
{
	json_t *entry = json_object(), *object;
	struct guard_make make = {.entry = entry,
	    .slug = "files",
	    .agent = "bot",
	    .tier = TIER_CURATED,
	    .inside = true};
	struct json_fault fault = {""};
	struct guard_verdict verdict;
	struct config *config;
	struct guard_plan plan;

	test_team_policy_write("/etc/home/" CONFIG_FILE, user);
	test_team_policy_write(CONFIG_POLICY_DIR "/" CONFIG_POLICY_FILE, team);
	if (config_load(&config, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	make.config = config;
	object = guard_make_plan(&make);
	if (guard_plan_read(object, make.slug, &plan, &fault) != RESULT_OK)
		fail_msg("%s", fault.text);
	guard_plan_judge(&plan, "delete_file", &verdict);
	json_decref(object);
	json_decref(entry);
	config_free(&config);
	return verdict.code;
}

#define TEST_TEAM_POLICY_BOT            \
	"\"agent_overrides\":{\"bot\":" \
	"{\"pre_approved_actions\":[\"delete\"]}}"
#define TEST_TEAM_POLICY_TOOL(answer)      \
	"{\"guard\":{\"tool_overrides\":{" \
	"\"files/delete_file\":{\"delete\":\"" answer "\"}}}}"

static void
test_team_policy_agent(void **state)
{
	static const char initial[] = "{\"guard\":{" TEST_TEAM_POLICY_BOT "}}";
	static const char denied[] =
	    "{\"guard\":{\"delete\":\"deny\"," TEST_TEAM_POLICY_BOT "}}";
	static const char allowed[] = "{\"guard\":{\"delete\":\"allow\"}}";
	static const struct {
		const char *user, *team, *code;
	} rows[] = {{initial, "{}", ""}, {denied, "{}", ""},
	    {initial, TEST_TEAM_POLICY_TOOL("prompt"), "guard_consent"},
	    {initial, TEST_TEAM_POLICY_TOOL("deny"), "guard_denied"},
	    {denied, TEST_TEAM_POLICY_TOOL("deny"), "guard_denied"},
	    {denied, TEST_TEAM_POLICY_TOOL("prompt"), "guard_denied"},
	    /* An allow takes nothing from the user's rules, and adds none. */
	    {initial, TEST_TEAM_POLICY_TOOL("allow"), ""},
	    {allowed, TEST_TEAM_POLICY_TOOL("allow"), "guard_consent"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *code =
		    test_team_policy_guard_code(rows[i].user, rows[i].team);

		if (strcmp(code, rows[i].code) != 0)
			fail_msg("user %s team %s: '%s', not '%s'",
			    rows[i].user, rows[i].team, code, rows[i].code);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_team_policy_bounds),
	    cmocka_unit_test(test_team_policy_agent),
	};

	return cmocka_run_group_tests(tests, test_team_policy_setup, NULL);
}
