/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard's decision against a second account of the same rules, for every
 * combination of facts; the names; and what is out of range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "supervisor/policy/guard.h"

static const char *const actions[] = {"read", "compute", "write_local",
    "write_external", "delete", "execute", "credential_use", "network_egress",
    "unknown"};

/* --- the second account ------------------------------------------------- */

struct facts {
	const char *declared, *by_name; /* by_name: what the name says */
	int tier, agent, agreed, network, code, connector, secrets, strict;
	char global;   /* 'a', 'p', 'd' for all of them, 'D' the defaults */
	char override; /* the same for all of them; 0: none */
};

static int
is(const char *word, const char *list)
{
	char padded[40];

	(void)snprintf(padded, sizeof(padded), " %s ", word);
	return strstr(list, padded) != NULL;
}

#define RISKY " write_external delete execute credential_use "

static void
oracle_set(const struct facts *f, char set[9])
{
	const char *base = f->declared != NULL ? f->declared : f->by_name;

	for (int i = 0; i < 9; i++) {
		const char *a = actions[i];

		set[i] = (char)(strcmp(a, base) == 0 ||
				(strcmp(a, f->by_name) == 0 &&
				    is(a, " write_external delete execute ")) ||
				(f->network && is(a, " network_egress ")) ||
				(f->code && is(a, " execute ")) ||
				(f->connector && is(a, " credential_use ")));
	}
}

static unsigned
oracle_risk(const struct facts *f, const char set[9])
{
	unsigned sum = 0, risky = 0, unknown = (unsigned)set[8];

	for (int i = 0; i < 9; i++) {
		if (!set[i])
			continue;
		sum += is(actions[i], " delete ")                   ? 20
		       : is(actions[i], " write_external execute ") ? 15
		       : is(actions[i], " credential_use ")         ? 10
								    : 0;
		risky |= (unsigned)is(actions[i], RISKY);
	}
	if (f->tier < 2 && risky)
		sum += 20;
	if (f->network && f->secrets)
		sum += 15;
	if (unknown && (f->network || f->code || f->connector) && sum < 46)
		sum = 46;
	if (f->tier < 2 && risky && f->secrets && sum < 71)
		sum = 71;
	return sum;
}

static char
oracle_one(const struct facts *f, const char *a)
{
	char answer = f->global;

	if (answer == 'D')
		answer = is(a, " delete write_external execute credential_use "
			       "unknown ")
			     ? 'p'
			     : 'a';
	if (f->override != 0)
		answer = f->override;
	else if (f->agent && f->agreed)
		answer = 'a';
	else if (f->agent && is(a, RISKY) && answer == 'a')
		answer = 'p';
	if (is(a, " credential_use ") && f->connector && answer == 'p')
		answer = 'a';
	if (f->strict && is(a, " delete write_external execute unknown "))
		answer = 'd';
	if (f->strict && is(a, " credential_use write_local ") && answer == 'a')
		answer = 'p';
	return answer;
}

static char
oracle(const struct facts *f, unsigned *risk_r)
{
	int denied = 0, asked = 0;
	char set[9];

	oracle_set(f, set);
	*risk_r = oracle_risk(f, set);
	for (int i = 0; i < 9; i++) {
		char one = set[i] ? oracle_one(f, actions[i]) : 'a';

		denied |= one == 'd';
		asked |= one == 'p';
	}
	return *risk_r >= 71 || denied ? 'd' : asked ? 'p' : 'a';
}

/* --- the same facts for the code ---------------------------------------- */

static enum guard_answer
answer_of(char c)
{
	return c == 'a' ? GUARD_ALLOW : c == 'p' ? GUARD_PROMPT : GUARD_DENY;
}

static struct guard_decision
decide(const struct facts *f, const char *tool)
{
	struct guard_rules rules = {.strict = f->strict != 0};
	struct guard_subject subject = {.slug = "pack",
	    .tool = tool,
	    .action_type = f->declared,
	    .tier = (enum tier)f->tier,
	    .is_agent = f->agent != 0,
	    .agreed = f->agreed ? 0x1ff : 0,
	    .has_network = f->network != 0,
	    .has_code_execution = f->code != 0,
	    .has_connector = f->connector != 0,
	    .has_secrets = f->secrets != 0};

	for (int i = 0; i < GUARD_ACTION_COUNT; i++) {
		rules.global[i] = f->global == 'D'
				      ? guard_default((enum guard_action)i)
				      : answer_of(f->global);
		rules.override[i] = answer_of(f->override);
	}
	rules.override_set = f->override != 0 ? 0x1ff : 0;
	return guard_decide(&rules, &subject);
}

static unsigned
compare(const struct facts *f, const char *tool)
{
	struct guard_decision got = decide(f, tool);
	unsigned risk;
	char want = oracle(f, &risk);

	if (got.answer != answer_of(want) || got.risk != risk ||
	    got.reason == NULL || got.source == NULL)
		fail_msg("%s declared %s tier %d agent %d%d net %d code %d "
			 "conn %d sec %d strict %d global %c override %c: "
			 "%s risk %u, not %c risk %u",
		    tool, f->declared ? f->declared : "-", f->tier, f->agent,
		    f->agreed, f->network, f->code, f->connector, f->secrets,
		    f->strict, f->global, f->override ? f->override : '-',
		    guard_answer_name(got.answer), got.risk, want, risk);
	return 1;
}

static const struct {
	const char *tool, *action;
} names[] = {{"delete_file", "delete"}, {"removeAll", "delete"},
    {"DROP_TABLE", "delete"}, {"purge", "delete"}, {"destroy-vm", "delete"},
    {"erase", "delete"}, {"send_mail", "write_external"},
    {"post", "write_external"}, {"publishPost", "write_external"},
    {"notify", "write_external"}, {"email", "write_external"},
    {"message_list", "write_external"}, {"alert", "write_external"},
    {"create_entities", "write_local"}, {"write_file", "write_local"},
    {"update", "write_local"}, {"set_x", "write_local"}, {"put", "write_local"},
    {"insert", "write_local"}, {"save", "write_local"},
    {"store", "write_local"}, {"add", "write_local"}, {"get", "read"},
    {"read_graph", "read"}, {"list", "read"}, {"fetch", "read"},
    {"search_nodes", "read"}, {"find", "read"}, {"query", "read"},
    {"lookup", "read"}, {"show", "read"}, {"view", "read"},
    {"describe", "read"}, {"run", "execute"}, {"execute", "execute"},
    {"eval", "execute"}, {"shell", "execute"}, {"spawn", "execute"},
    {"invoke", "execute"}, {"launch", "execute"}, {"compute", "compute"},
    {"calculate", "compute"}, {"transform", "compute"}, {"parse", "compute"},
    {"convert", "compute"}, {"format", "compute"}, {"analyze", "compute"},
    {"count", "compute"}, {"echo", "unknown"}, {"", "unknown"},
    {"x_delete", "unknown"}, {"dele", "unknown"}, {"\xc4\xb1nsert", "unknown"}};

static void
names_are_read_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(
		    guard_action_name(guard_name_action(names[i].tool)),
		    names[i].action);
}

/* bits: every boolean fact at once */
static unsigned
every_bit(struct facts f, const char *tool)
{
	unsigned count = 0;

	for (int bits = 0; bits < 128; bits++) {
		f.agent = bits & 1;
		f.agreed = bits >> 1 & 1;
		f.network = bits >> 2 & 1;
		f.code = bits >> 3 & 1;
		f.connector = bits >> 4 & 1;
		f.secrets = bits >> 5 & 1;
		f.strict = bits >> 6 & 1;
		count += compare(&f, tool);
	}
	return count;
}

static void
every_combination(void **state)
{
	static const char globals[] = "Dapd", overrides[] = {0, 'a', 'p', 'd'};
	static const size_t tools[] = {0, 6, 13, 22, 33, 40, 48};
	unsigned count = 0;

	(void)state;
	for (size_t t = 0; t < 7 * 10; t++)
		for (int tier = 0; tier < TIER_COUNT; tier++)
			for (int rule = 0; rule < 16; rule++) {
				struct facts f = {.tier = tier,
				    .by_name = names[tools[t % 7]].action,
				    .declared =
					t / 7 == 9 ? NULL : actions[t / 7],
				    .global = globals[rule & 3],
				    .override = overrides[rule >> 2]};

				count += every_bit(f, names[tools[t % 7]].tool);
			}
	assert_int_equal(count, 7 * 10 * TIER_COUNT * 16 * 128);
}

/* A denial stays one when strict is switched on. */
static void
strict_never_widens(void **state)
{
	struct facts f = {.tier = TIER_CURATED,
	    .by_name = "read",
	    .global = 'd',
	    .strict = 1};
	struct guard_decision got = decide(&f, "get");

	(void)state;
	assert_int_equal(got.answer, GUARD_DENY);
	assert_string_equal(got.source, "global");
	f.global = 'a';
	f.override = 'd';
	got = decide(&f, "get");
	assert_int_equal(got.answer, GUARD_DENY);
	assert_string_equal(got.source, "tool_override");
	f.override = 'a';
	got = decide(&f, "get");
	assert_int_equal(got.answer, GUARD_ALLOW);
	assert_string_equal(got.source, "tool_override");
	got = decide(&f, "write");
	assert_int_equal(got.answer, GUARD_PROMPT);
	assert_string_equal(got.source, "strict");
}

static void
out_of_range_is_denied(void **state)
{
	struct guard_rules rules = {.strict = false}, bad;
	struct guard_subject subject = {
	    .slug = "p", .tool = "get", .tier = TIER_CURATED};

	(void)state;
	for (int i = 0; i < GUARD_ACTION_COUNT; i++)
		rules.global[i] = GUARD_ALLOW;
	assert_int_equal(guard_decide(&rules, &subject).answer, GUARD_ALLOW);
	for (int i = 0; i < GUARD_ACTION_COUNT; i++) {
		bad = rules;
		bad.global[i] = (enum guard_answer)3;
		assert_int_equal(guard_decide(&bad, &subject).answer, 0);
		bad = rules;
		bad.override_set = (guard_actions)(1U << i);
		bad.override[i] = (enum guard_answer)77;
		assert_int_equal(guard_decide(&bad, &subject).answer, 0);
	}
	bad = rules;
	bad.override_set = 1U << GUARD_ACTION_COUNT;
	assert_int_equal(guard_decide(&bad, &subject).answer, GUARD_DENY);
	subject.tier = TIER_COUNT;
	assert_int_equal(guard_decide(&rules, &subject).answer, GUARD_DENY);
	subject.tier = TIER_CURATED;
	subject.agreed = 0x8000;
	assert_int_equal(guard_decide(&rules, &subject).answer, GUARD_DENY);
	subject.agreed = 0;
	subject.action_type = "harmless";
	assert_int_equal(guard_decide(&rules, &subject).answer, GUARD_DENY);
	subject.action_type = "";
	assert_int_equal(guard_decide(&rules, &subject).answer, GUARD_DENY);
	subject.action_type = NULL;
	subject.tool = NULL;
	assert_int_equal(guard_decide(&rules, &subject).answer, GUARD_DENY);
	assert_int_equal(guard_default(GUARD_ACTION_COUNT), GUARD_DENY);
	assert_string_equal(guard_answer_name((enum guard_answer)9), "deny");
}

static void
words_go_both_ways(void **state)
{
	static const struct {
		unsigned risk;
		const char *word;
	} risks[] = {{0, "low"}, {20, "low"}, {21, "medium"}, {45, "medium"},
	    {46, "high"}, {70, "high"}, {71, "critical"}, {200, "critical"}};
	enum guard_action action;
	enum guard_answer answer;

	(void)state;
	for (int i = 0; i < GUARD_ACTION_COUNT; i++) {
		assert_string_equal(
		    guard_action_name((enum guard_action)i), actions[i]);
		assert_true(guard_action_parse(actions[i], &action));
		assert_int_equal(action, i);
	}
	for (int i = 0; i < 3; i++) {
		assert_true(guard_answer_parse(
		    guard_answer_name((enum guard_answer)i), &answer));
		assert_int_equal(answer, i);
	}
	assert_false(guard_action_parse("Delete", &action));
	assert_false(guard_answer_parse("", &answer));
	for (size_t i = 0; i < sizeof(risks) / sizeof(risks[0]); i++)
		assert_string_equal(
		    guard_risk_name(risks[i].risk), risks[i].word);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_read_in_order),
	    cmocka_unit_test(every_combination),
	    cmocka_unit_test(strict_never_widens),
	    cmocka_unit_test(out_of_range_is_denied),
	    cmocka_unit_test(words_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
