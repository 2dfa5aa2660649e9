/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard: may this call do what it is about to do? Classifies a tool into
 * actions, adds up the risk and answers allow, prompt or deny. Pure: rates
 * are guard_rate's (in the ledger), arguments guard_arguments'. Asked from
 * one place for `run`, MCP tools/call and agents' tool calls, and by `guard
 * check`.
 */
#ifndef SUPERVISOR_POLICY_GUARD_H
#define SUPERVISOR_POLICY_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/policy/tier.h"

enum guard_action {
	GUARD_READ,
	GUARD_COMPUTE,
	GUARD_WRITE_LOCAL,
	GUARD_WRITE_EXTERNAL,
	GUARD_DELETE,
	GUARD_EXECUTE,
	GUARD_CREDENTIAL_USE,
	GUARD_NETWORK_EGRESS,
	GUARD_UNKNOWN,
	GUARD_ACTION_COUNT
};
typedef uint16_t guard_actions; /* bits of enum guard_action */

enum guard_answer {
	GUARD_DENY = 0,
	GUARD_PROMPT,
	GUARD_ALLOW
};

/* Facts of one tool of one package; texts are borrowed. */
struct guard_subject {
	const char *slug, *tool;
	const char *action_type; /* as declared, or NULL */
	enum tier tier;
	bool is_agent;        /* the caller is an agent ... */
	guard_actions agreed; /* ... with these approved beforehand */
	bool has_network, has_code_execution, has_connector, has_secrets;
	guard_actions consented; /* recorded for slug, version and hash */
};

/* What the configuration says (guard.*); filled by guard_rules_load. */
struct guard_rules {
	/* AGENTNODE_GUARD_STRICT or guard.strict: a ceiling, never wider
	 * than what the other rules say. */
	bool strict;
	enum guard_answer global[GUARD_ACTION_COUNT];
	/* Of this slug/tool; GUARD_ALLOW..DENY where override_set has the
	 * bit. */
	enum guard_answer override[GUARD_ACTION_COUNT];
	guard_actions override_set;
};

struct guard_decision {
	enum guard_answer answer; /* before consent and terminal are asked */
	guard_actions actions;
	guard_actions prompting; /* those a consent would have to cover */
	unsigned risk;           /* 0..; guard_risk_name says the word */
	/* "declared", "name", "unknown", "<one of them>+permissions" */
	const char *classified;
	/* Who decided: "critical", "strict", "tool_override",
	 * "agent_override", "agent", "connector", "global", "invalid". */
	const char *source;
	const char *reason; /* fixed words; never NULL */
	/* Of each action that is there: its own answer and who gave it. */
	enum guard_answer answers[GUARD_ACTION_COUNT];
	const char *sources[GUARD_ACTION_COUNT];
};

/* The worst answer of all actions; anything out of range is a denial. */
struct guard_decision guard_decide(
    const struct guard_rules *rules, const struct guard_subject *subject);

/* What holds when nothing is configured. */
enum guard_answer guard_default(enum guard_action action);
/* The words of a tool's name alone: one action, or GUARD_UNKNOWN. */
enum guard_action guard_name_action(const char *tool);

const char *guard_action_name(enum guard_action action);
bool guard_action_parse(const char *name, enum guard_action *action_r);
const char *guard_answer_name(enum guard_answer answer);
bool guard_answer_parse(const char *name, enum guard_answer *answer_r);
const char *guard_risk_name(unsigned risk);

#endif
