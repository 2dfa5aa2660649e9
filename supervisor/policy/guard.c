/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision about one call. Called by guard_plan.c for every call of a
 * tool and by `guard check`. Pure: it must never look at a clock, a file or
 * a terminal, and never answer allow for what it cannot name.
 */
#include "supervisor/policy/guard.h"

#include <string.h>

#define GUARD_ACTIONS_ALL ((1U << GUARD_ACTION_COUNT) - 1)
#define GUARD_BIT(action) (1U << (action))
#define GUARD_HIGH                                                   \
	(GUARD_BIT(GUARD_WRITE_EXTERNAL) | GUARD_BIT(GUARD_DELETE) | \
	    GUARD_BIT(GUARD_EXECUTE) | GUARD_BIT(GUARD_CREDENTIAL_USE))
#define GUARD_RISK_UNNAMED 46U  /* unknown, and more than a computation */
#define GUARD_RISK_CRITICAL 71U /* denied whatever the rules say */

struct guard_row {
	const char *name;
	unsigned points;
	enum guard_answer initial, strict;
};

static const struct guard_row guard_rows[GUARD_ACTION_COUNT] = {
    [GUARD_READ] = {"read", 0, GUARD_ALLOW, GUARD_ALLOW},
    [GUARD_COMPUTE] = {"compute", 0, GUARD_ALLOW, GUARD_ALLOW},
    [GUARD_WRITE_LOCAL] = {"write_local", 0, GUARD_ALLOW, GUARD_PROMPT},
    [GUARD_WRITE_EXTERNAL] = {"write_external", 15, GUARD_PROMPT, GUARD_DENY},
    [GUARD_DELETE] = {"delete", 20, GUARD_PROMPT, GUARD_DENY},
    [GUARD_EXECUTE] = {"execute", 15, GUARD_PROMPT, GUARD_DENY},
    [GUARD_CREDENTIAL_USE] = {"credential_use", 10, GUARD_PROMPT, GUARD_PROMPT},
    [GUARD_NETWORK_EGRESS] = {"network_egress", 0, GUARD_ALLOW, GUARD_ALLOW},
    [GUARD_UNKNOWN] = {"unknown", 0, GUARD_PROMPT, GUARD_DENY},
};

/* The first row with a prefix of the name counts. */
static const struct {
	enum guard_action action;
	const char *prefixes[12];
} guard_prefixes[] = {
    {GUARD_DELETE,
	{"delete", "remove", "drop", "purge", "destroy", "erase", NULL}},
    {GUARD_WRITE_EXTERNAL, {"send", "post", "publish", "notify", "email",
			       "message", "alert", NULL}},
    {GUARD_WRITE_LOCAL, {"create", "write", "update", "set", "put", "insert",
			    "save", "store", "add", NULL}},
    {GUARD_READ, {"get", "read", "list", "fetch", "search", "find", "query",
		     "lookup", "show", "view", "describe", NULL}},
    {GUARD_EXECUTE,
	{"run", "exec", "eval", "shell", "spawn", "invoke", "launch", NULL}},
    {GUARD_COMPUTE, {"compute", "calculate", "transform", "parse", "convert",
			"format", "analyze", "count", NULL}},
};

static const char *const guard_answers[] = {
    [GUARD_DENY] = "deny", [GUARD_PROMPT] = "prompt", [GUARD_ALLOW] = "allow"};

/* --- words -------------------------------------------------------------- */

const char *
guard_action_name(enum guard_action action)
{
	return (unsigned)action < GUARD_ACTION_COUNT ? guard_rows[action].name
						     : "none";
}

bool
guard_action_parse(const char *name, enum guard_action *action_r)
{
	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if (strcmp(guard_rows[i].name, name) == 0) {
			*action_r = (enum guard_action)i;
			return true;
		}
	}
	return false;
}

const char *
guard_answer_name(enum guard_answer answer)
{
	return (unsigned)answer <= GUARD_ALLOW ? guard_answers[answer] : "deny";
}

bool
guard_answer_parse(const char *name, enum guard_answer *answer_r)
{
	for (unsigned i = 0; i <= GUARD_ALLOW; i++) {
		if (strcmp(guard_answers[i], name) == 0) {
			*answer_r = (enum guard_answer)i;
			return true;
		}
	}
	return false;
}

const char *
guard_risk_name(unsigned risk)
{
	if (risk >= GUARD_RISK_CRITICAL)
		return "critical";
	if (risk > 45)
		return "high";
	return risk > 20 ? "medium" : "low";
}

enum guard_answer
guard_default(enum guard_action action)
{
	return (unsigned)action < GUARD_ACTION_COUNT
		   ? guard_rows[action].initial
		   : GUARD_DENY;
}

/* --- classification ----------------------------------------------------- */

/* ASCII only: a locale must not change what a name means. */
static bool
guard_has_prefix(const char *name, const char *prefix)
{
	for (; *prefix != '\0'; name++, prefix++) {
		char c =
		    *name >= 'A' && *name <= 'Z' ? (char)(*name + 32) : *name;

		if (c != *prefix)
			return false;
	}
	return true;
}

enum guard_action
guard_name_action(const char *tool)
{
	size_t i, j;

	for (i = 0; i < sizeof(guard_prefixes) / sizeof(guard_prefixes[0]); i++)
		for (j = 0; guard_prefixes[i].prefixes[j] != NULL; j++)
			if (guard_has_prefix(
				tool, guard_prefixes[i].prefixes[j]))
				return guard_prefixes[i].action;
	return GUARD_UNKNOWN;
}

static guard_actions
guard_signals(const struct guard_subject *subject)
{
	guard_actions actions = 0;

	if (subject->has_network)
		actions |= GUARD_BIT(GUARD_NETWORK_EGRESS);
	if (subject->has_code_execution)
		actions |= GUARD_BIT(GUARD_EXECUTE);
	if (subject->has_connector)
		actions |= GUARD_BIT(GUARD_CREDENTIAL_USE);
	return actions;
}

/* What the name says and the package's own word does not take away: a tool
 * whose name is of a risky action has that action, whatever it declares. */
static guard_actions
guard_named_risk(const struct guard_subject *subject)
{
	return subject->action_type == NULL
		   ? 0
		   : (guard_actions)(GUARD_BIT(
					 guard_name_action(subject->tool)) &
				     GUARD_HIGH);
}

/* False: a word was declared that is no action. */
static bool
guard_classify(
    const struct guard_subject *subject, struct guard_decision *decision)
{
	static const char *const words[][2] = {
	    {"declared", "declared+permissions"}, {"name", "name+permissions"},
	    {"unknown", "unknown+permissions"}};
	guard_actions signals = guard_signals(subject);
	enum guard_action action;
	bool known = true;
	size_t how = 0;

	if (subject->action_type != NULL) {
		known = guard_action_parse(subject->action_type, &action);
		if (!known)
			action = GUARD_UNKNOWN;
	} else {
		action = guard_name_action(subject->tool);
		how = action == GUARD_UNKNOWN ? 2 : 1;
	}
	decision->actions = (guard_actions)(GUARD_BIT(action) | signals |
					    guard_named_risk(subject));
	decision->classified = words[how][signals != 0];
	return known;
}

/* --- risk --------------------------------------------------------------- */

static unsigned
guard_risk(const struct guard_subject *subject, guard_actions actions)
{
	bool high = (actions & GUARD_HIGH) != 0;
	bool community = subject->tier <= TIER_UNVERIFIED;
	unsigned risk = 0;

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if ((actions & GUARD_BIT(i)) != 0)
			risk += guard_rows[i].points;
	}
	if (community && high)
		risk += 20;
	if (subject->has_secrets && subject->has_network)
		risk += 15;
	if ((actions & GUARD_BIT(GUARD_UNKNOWN)) != 0 &&
	    guard_signals(subject) != 0 && risk < GUARD_RISK_UNNAMED)
		risk = GUARD_RISK_UNNAMED;
	if (community && high && subject->has_secrets &&
	    risk < GUARD_RISK_CRITICAL)
		risk = GUARD_RISK_CRITICAL;
	return risk;
}

/* --- resolution --------------------------------------------------------- */

static enum guard_answer
guard_worse(enum guard_answer a, enum guard_answer b)
{
	return a < b ? a : b;
}

/* One action, without strict and critical; who decided is in *source_r. */
static enum guard_answer
guard_resolve(const struct guard_rules *rules,
    const struct guard_subject *subject, enum guard_action action,
    const char **source_r)
{
	guard_actions bit = (guard_actions)GUARD_BIT(action);
	enum guard_answer answer = rules->global[action];

	*source_r = "global";
	if ((rules->override_set & bit) != 0) {
		*source_r = "tool_override";
		answer = rules->override[action];
	} else if (subject->is_agent && (subject->agreed & bit) != 0) {
		*source_r = "agent_override";
		answer = GUARD_ALLOW;
	} else if (subject->is_agent && (GUARD_HIGH & bit) != 0 &&
		   answer == GUARD_ALLOW) {
		*source_r = "agent";
		answer = GUARD_PROMPT;
	}
	if (action == GUARD_CREDENTIAL_USE && subject->has_connector &&
	    answer == GUARD_PROMPT) {
		*source_r = "connector";
		answer = GUARD_ALLOW;
	}
	return answer;
}

static bool
guard_in_range(
    const struct guard_rules *rules, const struct guard_subject *subject)
{
	guard_actions bits =
	    rules->override_set | subject->agreed | subject->consented;

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		if ((unsigned)rules->global[i] > GUARD_ALLOW ||
		    ((rules->override_set & GUARD_BIT(i)) != 0 &&
			(unsigned)rules->override[i] > GUARD_ALLOW))
			return false;
	}
	return (bits & ~GUARD_ACTIONS_ALL) == 0 &&
	       (unsigned)subject->tier < TIER_COUNT && subject->slug != NULL &&
	       subject->tool != NULL;
}

static struct guard_decision
guard_deny(
    struct guard_decision decision, const char *source, const char *reason)
{
	decision.answer = GUARD_DENY;
	decision.prompting = 0;
	decision.source = source;
	decision.reason = reason;
	return decision;
}

static const char *
guard_reason(enum guard_answer answer)
{
	switch (answer) {
	case GUARD_DENY:
		return "the rules deny one of its actions";
	case GUARD_PROMPT:
		return "one of its actions needs consent";
	case GUARD_ALLOW:
		break;
	}
	return "the rules allow all of its actions";
}

static void
guard_each(const struct guard_rules *rules, const struct guard_subject *subject,
    struct guard_decision *decision)
{
	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		enum guard_action action = (enum guard_action)i;
		enum guard_answer answer;

		if ((decision->actions & GUARD_BIT(i)) == 0)
			continue;
		answer = guard_resolve(
		    rules, subject, action, &decision->sources[i]);
		/* Strict narrows what the other rules leave. */
		if (rules->strict && guard_rows[i].strict < answer) {
			decision->sources[i] = "strict";
			answer = guard_rows[i].strict;
		}
		decision->answers[i] = answer;
		if (answer == GUARD_PROMPT)
			decision->prompting |= (guard_actions)GUARD_BIT(i);
		if (answer < decision->answer || decision->source == NULL)
			decision->source = decision->sources[i];
		decision->answer = guard_worse(decision->answer, answer);
	}
}

struct guard_decision
guard_decide(
    const struct guard_rules *rules, const struct guard_subject *subject)
{
	struct guard_decision decision = {
	    .answer = GUARD_ALLOW, .classified = "unknown"};

	if (!guard_in_range(rules, subject))
		return guard_deny(
		    decision, "invalid", "a rule or fact is out of range");
	if (!guard_classify(subject, &decision))
		return guard_deny(decision, "invalid",
		    "its declared action_type is no action that exists");
	decision.risk = guard_risk(subject, decision.actions);
	guard_each(rules, subject, &decision);
	if (decision.risk >= GUARD_RISK_CRITICAL)
		return guard_deny(decision, "critical",
		    "its risk is critical: an unverified package, a risky "
		    "action, and secrets or network");
	decision.reason = guard_reason(decision.answer);
	return decision;
}
