/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may run where: every combination against rules written down a second
 * time, against the golden table, and against the short table of
 * docs/trust.md. Values outside the enums are refused.
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

#include "supervisor/policy/boundary_table.h"

/* The rules as letters, at the lowest minimum: H host, W host with a
 * warning, S sandbox, O agents are off. Columns are curated, trusted,
 * verified, unverified, unknown. */
static const struct {
	const char *kind, *policy;
	int agents; /* -1: the same either way */
	const char *cells;
} test_boundary_rules[] = {
    {"skill", "default", -1, "HHHHH"},
    {"skill", "curated_only", -1, "HHHHH"},
    {"skill", "none", -1, "HHHHH"},
    {"toolpack", "default", -1, "HWSSS"},
    {"toolpack", "curated_only", -1, "HSSSS"},
    {"toolpack", "none", -1, "SSSSS"},
    {"mcp", "default", -1, "HWSSS"},
    {"mcp", "curated_only", -1, "HSSSS"},
    {"mcp", "none", -1, "SSSSS"},
    {"agent", "default", 0, "HWOOO"},
    {"agent", "default", 1, "HWSSS"},
    {"agent", "curated_only", 0, "HSOOO"},
    {"agent", "curated_only", 1, "HSSSS"},
    {"agent", "none", 0, "SSOOO"},
    {"agent", "none", 1, "SSSSS"},
};
#define RULES (sizeof(test_boundary_rules) / sizeof(test_boundary_rules[0]))

static const char *const test_boundary_tiers[] = {
    "curated", "trusted", "verified", "unverified", "unknown"};

/* Which columns are below a minimum: all behind its own. */
static char
test_boundary_expected(size_t rule, size_t column, const char *minimum)
{
	size_t least = 0;

	while (strcmp(test_boundary_tiers[least], minimum) != 0)
		least++;
	if (least < 3 && column > least)
		return 'T';
	return test_boundary_rules[rule].cells[column];
}

static char
test_boundary_letter(const struct boundary_verdict *verdict)
{
	assert_non_null(verdict->code);
	assert_non_null(verdict->reason);
	assert_non_null(verdict->remedy);
	assert_non_null(verdict->warning);
	assert_true(verdict->reason[0] != '\0');
	if (verdict->place == BOUNDARY_REFUSED) {
		assert_true(verdict->remedy[0] != '\0');
		assert_string_equal(verdict->warning, "");
		if (strcmp(verdict->code, "trust_too_low") == 0)
			return 'T';
		if (strcmp(verdict->code, "agent_sandbox_disabled") == 0)
			return 'O';
		return 'R';
	}
	assert_string_equal(verdict->code, "");
	if (verdict->place == BOUNDARY_SANDBOX)
		return 'S';
	return verdict->warning[0] != '\0' ? 'W' : 'H';
}

static void
test_boundary_ask(size_t rule, size_t column, const char *minimum, bool agents)
{
	struct boundary_input input = {
	    .tier = tier_parse(test_boundary_tiers[column]),
	    .minimum = tier_parse(minimum),
	    .agents_enabled = agents};
	struct boundary_verdict verdict;
	char expected = test_boundary_expected(rule, column, minimum);

	for (int kind = 0; kind < BOUNDARY_KIND_COUNT; kind++)
		if (strcmp(boundary_kind_name((enum boundary_kind)kind),
			test_boundary_rules[rule].kind) == 0)
			input.kind = (enum boundary_kind)kind;
	assert_true(boundary_policy_parse(
	    test_boundary_rules[rule].policy, &input.policy));
	verdict = boundary_decide(&input);
	if (test_boundary_letter(&verdict) != expected)
		fail_msg("%s %s %s minimum %s agents %d: %s, not %c",
		    test_boundary_rules[rule].kind,
		    test_boundary_rules[rule].policy,
		    test_boundary_tiers[column], minimum, agents,
		    boundary_table_word(&verdict), expected);
}

static void
test_boundary_every(void **state)
{
	size_t asked = 0;

	(void)state;
	for (size_t rule = 0; rule < RULES; rule++)
		for (int agents = 0; agents < 2; agents++) {
			if (test_boundary_rules[rule].agents == 1 - agents)
				continue;
			for (size_t least = 0; least < 4; least++)
				for (size_t i = 0; i < 5; i++, asked++)
					test_boundary_ask(rule, i,
					    test_boundary_tiers[least],
					    agents != 0);
		}
	assert_int_equal(asked, 4 * 3 * 2 * 4 * 5);
}

/* Community code never gets out, whatever else is said. */
static void
test_boundary_community(void **state)
{
	struct boundary_input input = {.agents_enabled = true};

	(void)state;
	for (int tier = -1; tier < 7; tier++)
		for (int kind = 1; kind < 6; kind++)
			for (int policy = -1; policy < 5; policy++) {
				input.minimum = TIER_UNVERIFIED;
				input.tier = (enum tier)tier;
				input.kind = (enum boundary_kind)kind;
				input.policy = (enum boundary_policy)policy;
				if (input.tier == TIER_CURATED ||
				    input.tier == TIER_TRUSTED)
					continue;
				assert_int_not_equal(
				    boundary_decide(&input).place,
				    BOUNDARY_HOST);
			}
}

static void
test_boundary_outside(void **state)
{
	static const struct boundary_input good = {.kind = BOUNDARY_TOOLPACK,
	    .tier = TIER_CURATED,
	    .minimum = TIER_UNVERIFIED,
	    .policy = BOUNDARY_DEFAULT,
	    .agents_enabled = true};
	struct boundary_input input[8] = {
	    good, good, good, good, good, good, good, good};

	(void)state;
	input[0].kind = BOUNDARY_KIND_COUNT;
	input[1].kind = (enum boundary_kind)99;
	input[2].tier = TIER_COUNT;
	input[3].tier = (enum tier)99;
	input[4].minimum = TIER_COUNT;
	input[5].minimum = TIER_UNKNOWN;
	input[6].policy = BOUNDARY_POLICY_COUNT;
	input[7].policy = (enum boundary_policy)99;
	assert_int_equal(boundary_decide(&good).place, BOUNDARY_HOST);
	for (size_t i = 0; i < 8; i++) {
		struct boundary_verdict verdict = boundary_decide(&input[i]);

		assert_int_equal(verdict.place, BOUNDARY_REFUSED);
		assert_string_equal(verdict.code, "boundary_unknown");
		assert_int_equal(test_boundary_letter(&verdict), 'R');
	}
}

static void
test_boundary_words(void **state)
{
	static const char *const none[][2] = {{"skill", "python"},
	    {"skill", NULL}, {NULL, "python"}, {NULL, NULL},
	    {"toolpack", "remote"}, {"toolpack", "none"}, {"agent", "mcp"},
	    {"agent", "none"}, {"upgrade", "python"}, {"Agent", "python"},
	    {"", ""}};
	enum boundary_policy policy;
	enum boundary_kind kind;

	(void)state;
	assert_true(boundary_kind_parse("toolpack", "mcp", &kind));
	assert_int_equal(kind, BOUNDARY_MCP);
	assert_true(boundary_kind_parse("toolpack", "node", &kind));
	assert_int_equal(kind, BOUNDARY_TOOLPACK);
	assert_true(boundary_kind_parse("skill", "none", &kind));
	assert_int_equal(kind, BOUNDARY_SKILL);
	assert_true(boundary_kind_parse("agent", "python", &kind));
	assert_int_equal(kind, BOUNDARY_AGENT);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_false(
		    boundary_kind_parse(none[i][0], none[i][1], &kind));
		assert_int_equal(kind, BOUNDARY_KIND_COUNT);
	}
	assert_false(boundary_policy_parse("Default", &policy));
	assert_int_equal(policy, BOUNDARY_POLICY_COUNT);
	assert_false(boundary_policy_parse(NULL, &policy));
	assert_string_equal(
	    boundary_kind_name((enum boundary_kind)9), "unknown");
	assert_string_equal(
	    boundary_place_name((enum boundary_place)9), "refused");
}

static char *
test_boundary_file(const char *path)
{
	static char text[1 << 17];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	close(fd);
	assert_true(len > 0);
	text[len] = '\0';
	return text;
}

static void
test_boundary_golden(void **state)
{
	const char *golden =
	    test_boundary_file(AGENTNODE_SOURCE_DIR "/tests/golden/"
						    "boundary.txt");
	char *printed = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	(void)state;
	assert_non_null(out);
	boundary_table_print(out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(printed, golden);
	free(printed);
}

/* The JSON form says the same, and has every row once. */
static void
test_boundary_json(void **state)
{
	json_t *table = boundary_table_json();
	const json_t *rows = json_object_get(table, "rows"), *row;
	json_t *seen = json_object();
	size_t i;

	(void)state;
	json_array_foreach(rows, i, row)
	{
		char key[128];
		const char *texts[4];

		assert_int_equal(
		    json_unpack((json_t *)row, "{s:s, s:s, s:s, s:s}", "kind",
			&texts[0], "tier", &texts[1], "policy", &texts[2],
			"minimum", &texts[3]),
		    0);
		(void)snprintf(key, sizeof(key), "%s %s %s %s %d", texts[0],
		    texts[1], texts[2], texts[3],
		    json_is_true(json_object_get(row, "agents_enabled")));
		json_object_set_new(seen, key, json_true());
	}
	assert_int_equal(json_array_size(rows), 480);
	assert_int_equal(json_object_size(seen), 480);
	json_decref(seen);
	json_decref(table);
}

static const char *
test_boundary_documented(char letter)
{
	if (letter == 'H')
		return "host";
	if (letter == 'W')
		return "host, with a warning";
	return letter == 'S' ? "sandbox" : "refused";
}

/* docs/trust.md has a row for each rule. */
static void
test_boundary_docs(void **state)
{
	const char *docs =
	    test_boundary_file(AGENTNODE_SOURCE_DIR "/docs/trust.md");

	(void)state;
	for (size_t rule = 0; rule < RULES; rule++) {
		static const char *const switches[] = {
		    "either", "`false`", "`true`"};
		char row[256];
		int len = snprintf(row, sizeof(row), "\n| %s | `%s` | %s |",
		    test_boundary_rules[rule].kind,
		    test_boundary_rules[rule].policy,
		    switches[test_boundary_rules[rule].agents + 1]);

		for (size_t i = 0; i < 5; i++)
			len += snprintf(row + len, sizeof(row) - (size_t)len,
			    " %s |",
			    test_boundary_documented(
				test_boundary_rules[rule].cells[i]));
		if (strstr(docs, row) == NULL)
			fail_msg("docs/trust.md has no row %s", row + 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_boundary_every),
	    cmocka_unit_test(test_boundary_community),
	    cmocka_unit_test(test_boundary_outside),
	    cmocka_unit_test(test_boundary_words),
	    cmocka_unit_test(test_boundary_golden),
	    cmocka_unit_test(test_boundary_json),
	    cmocka_unit_test(test_boundary_docs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
