/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging calls of tools, and keeping their line. Called by mcp_session; it
 * must never let a call pass that the supervisor has not answered for.
 */
#include "supervisor/gate/mcp_guard.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/policy/guard_arguments.h"

void
mcp_guard_init(struct mcp_guard *guard, size_t line_max)
{
	memset(guard, 0, sizeof(*guard));
	buffer_init(&guard->line, line_max + 1);
}

void
mcp_guard_free(struct mcp_guard *guard)
{
	buffer_free(&guard->line);
}

static bool
mcp_guard_is_call(const struct mcp_entry *entry)
{
	const struct mcp_method *method;

	if (entry->kind != MCP_REQUEST && entry->kind != MCP_NOTIFICATION)
		return false;
	method = mcp_method_find(
	    entry->method, MCP_CLIENT, entry->kind == MCP_REQUEST);
	return method != NULL && method->rule == MCP_RULE_TOOLS_CALL;
}

bool
mcp_guard_concerns(
    const struct mcp_guard *guard, const struct mcp_message *message)
{
	if (guard->plan == NULL)
		return false;
	for (size_t i = 0; i < message->count; i++) {
		if (mcp_guard_is_call(&message->entries[i]))
			return true;
	}
	return false;
}

/* --- one call ----------------------------------------------------------- */

struct mcp_guard_judged {
	char tool[MCP_POLICY_TOOL_MAX + 1];
	char actions[GUARD_PLAN_WORDS_MAX], detail[MCP_GUARD_DETAIL_MAX];
	const char *code;
};

static void
mcp_guard_arguments(const struct mcp_guard *guard,
    const struct mcp_entry *entry, struct mcp_guard_judged *judged)
{
	const struct guard_plan *plan = guard->plan;
	struct guard_arguments_rules rules = guard_arguments_rules(plan->inside,
	    plan->subject.has_network, guard_plan_schema(plan, judged->tool));
	char where[GUARD_ARGUMENTS_WHERE_MAX];
	enum guard_arguments_fault fault;

	/* A server that ignores case would read others than are judged. */
	if (mcp_cursor_has_lookalike(entry->params, "arguments")) {
		judged->code = GUARD_CODE_ARGUMENTS;
		(void)snprintf(judged->detail, sizeof(judged->detail),
		    "Guard refuses the call of %s/%s: it has a member that "
		    "differs from 'arguments' by case only",
		    plan->subject.slug, judged->tool);
		return;
	}
	fault = guard_arguments_check(
	    &rules, mcp_cursor_find(entry->params, "arguments"), where);
	if (fault == GUARD_ARGUMENTS_OK)
		return;
	judged->code = GUARD_CODE_ARGUMENTS;
	(void)snprintf(judged->detail, sizeof(judged->detail),
	    "Guard refuses the arguments of %s/%s: they %s (at %s)",
	    plan->subject.slug, judged->tool, guard_arguments_text(fault),
	    where);
}

static void
mcp_guard_judge(const struct mcp_guard *guard, const struct mcp_entry *entry,
    struct mcp_guard_judged *judged)
{
	struct guard_verdict verdict;

	judged->detail[0] = '\0';
	/* The policy has seen that there is a name. */
	if (!mcp_policy_tool_name(
		mcp_cursor_find(entry->params, "name"), judged->tool))
		judged->tool[0] = '\0';
	guard_plan_judge(guard->plan, judged->tool, &verdict);
	guard_plan_words(verdict.decision.actions, judged->actions);
	judged->code = verdict.code;
	if (verdict.code[0] != '\0')
		guard_plan_sentence(guard->plan, judged->tool, &verdict,
		    judged->detail, sizeof(judged->detail));
	else
		mcp_guard_arguments(guard, entry, judged);
}

/* --- one line ----------------------------------------------------------- */

/* The first call that may not be made, or the first; how many there are. */
static unsigned
mcp_guard_worst(const struct mcp_guard *guard,
    const struct mcp_message *message, struct mcp_guard_judged *worst)
{
	struct mcp_guard_judged one;
	unsigned count = 0;

	for (size_t i = 0; i < message->count; i++) {
		if (!mcp_guard_is_call(&message->entries[i]))
			continue;
		mcp_guard_judge(guard, &message->entries[i], &one);
		if (count == 0 ||
		    (worst->code[0] == '\0' && one.code[0] != '\0'))
			*worst = one;
		count++;
	}
	return count;
}

static void
mcp_guard_deny(
    struct mcp_guard *guard, enum mcp_denial denial, const char *detail)
{
	guard->denial = denial;
	(void)snprintf(guard->detail, sizeof(guard->detail), "%s", detail);
}

enum result
mcp_guard_hold(struct mcp_guard *guard, const struct mcp_message *message,
    const char *bytes, size_t len)
{
	struct mcp_guard_judged worst = {.code = ""};
	struct mcp_guard_ask ask = {.id = guard->last_id + 1,
	    .count = mcp_guard_worst(guard, message, &worst)};
	enum result result;

	ask.tool = worst.tool;
	ask.code = worst.code;
	ask.actions = worst.actions;
	ask.detail = worst.detail;
	if (guard->waits) {
		mcp_guard_deny(guard, MCP_DENIED_UNGUARDED,
		    "another call still waits for Guard");
		return RESULT_REFUSED;
	}
	result = buffer_append(&guard->line, bytes, len);
	if (result != RESULT_OK)
		return result;
	guard->waits = true;
	guard->dropped = false;
	guard->last_id = ask.id;
	guard->id_len = 0;
	if (message->count == 1 && message->entries[0].id.bytes != NULL) {
		guard->id_len = message->entries[0].id.len;
		memcpy(guard->id, message->entries[0].id.bytes, guard->id_len);
	}
	if (guard->ask(&ask, guard->context))
		return RESULT_OK;
	guard->waits = false;
	buffer_clear(&guard->line);
	mcp_guard_deny(guard, MCP_DENIED_UNGUARDED, "Guard cannot be asked");
	return RESULT_REFUSED;
}

bool
mcp_guard_explains(enum mcp_denial denial)
{
	return denial == MCP_DENIED_GUARD || denial == MCP_DENIED_CONSENT ||
	       denial == MCP_DENIED_ARGUMENTS || denial == MCP_DENIED_RATE ||
	       denial == MCP_DENIED_UNGUARDED;
}

static enum mcp_denial
mcp_guard_denial(const char *code)
{
	for (unsigned i = MCP_ALLOWED + 1; i < MCP_DENIAL_COUNT; i++) {
		enum mcp_denial denial = (enum mcp_denial)i;

		if (mcp_guard_explains(denial) &&
		    strcmp(mcp_policy_reason(denial), code) == 0)
			return denial;
	}
	return MCP_DENIED_UNGUARDED;
}

bool
mcp_guard_answered(
    struct mcp_guard *guard, uint64_t id, const char *code, const char *detail)
{
	if (!guard->waits || id != guard->last_id)
		return false;
	guard->waits = false;
	if (code[0] == '\0')
		mcp_guard_deny(guard, MCP_ALLOWED, "");
	else
		mcp_guard_deny(guard, mcp_guard_denial(code), detail);
	return true;
}
