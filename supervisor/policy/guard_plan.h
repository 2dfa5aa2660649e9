/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard for one package: the rules, the facts of the package and what was
 * agreed to, as one JSON object made before a run (guard_make.h), and the
 * verdict on one tool by it. The gate gets the same object in its config
 * message as the supervisor decides by, so there is one judgement. Pure.
 *
 * {"strict":false,"tier":"unverified","agent":false,"agreed":["delete"],
 *  "network":true,"code_execution":false,"connector":false,"secrets":false,
 *  "inside":true,"global":{"read":"allow",...all of them},
 *  "tools":{"rm":{"action_type":"delete"?,"override":{"delete":"deny"}?,
 *  "schema":{...}?}},"consented":{"*" or a tool:["delete"]}}
 */
#ifndef SUPERVISOR_POLICY_GUARD_PLAN_H
#define SUPERVISOR_POLICY_GUARD_PLAN_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/guard.h"

#define GUARD_PLAN_TOOLS_MAX 4096U
#define GUARD_PLAN_ANY "*" /* consented: every tool without a row */
#define GUARD_PLAN_SENTENCE_MAX 512U
#define GUARD_PLAN_WORDS_MAX 128U /* all actions, separated by ", " */

struct guard_plan {
	struct guard_rules rules;     /* without the tool's own */
	struct guard_subject subject; /* without the tool */
	bool inside; /* a sandbox: absolute paths are its own */
	const json_t *tools, *consented; /* borrowed from the object */
};

/* Codes of verdicts; "" allows. */
#define GUARD_CODE_DENIED "guard_denied"
#define GUARD_CODE_CONSENT "guard_consent"
#define GUARD_CODE_ARGUMENTS "guard_arguments"
#define GUARD_CODE_RATE "guard_rate_limit"
#define GUARD_CODE_UNAVAILABLE "guard_unavailable"

struct guard_verdict {
	struct guard_decision decision;
	guard_actions missing; /* prompting, and nobody agreed to it */
	const char *code;      /* static; "" when the call may be made */
};

/* object and slug are borrowed and must outlive plan_r. A fault names what
 * is wrong, and nothing may be judged by the plan then. */
enum result guard_plan_read(const json_t *object, const char *slug,
    struct guard_plan *plan_r, struct json_fault *fault);

/* May this tool be called, when there is nobody to ask? */
void guard_plan_judge(const struct guard_plan *plan, const char *tool,
    struct guard_verdict *verdict_r);

/* What a tool's row says of its arguments, or NULL; borrowed. */
const json_t *guard_plan_schema(
    const struct guard_plan *plan, const char *tool);

/* One sentence on a verdict that does not allow, with the way out. */
void guard_plan_sentence(const struct guard_plan *plan, const char *tool,
    const struct guard_verdict *verdict, char *text_r, size_t size);

/* "delete, unknown"; "" for none. */
void guard_plan_words(guard_actions actions, char text_r[GUARD_PLAN_WORDS_MAX]);
/* ["delete"]; NULL: no memory. Back: false for anything but such a list. */
json_t *guard_plan_list(guard_actions actions);
bool guard_plan_bits(const json_t *list, guard_actions *actions_r);

#endif
