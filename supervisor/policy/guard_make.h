/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From configuration, lockfile entry and consent to the plan that calls are
 * judged by (guard_plan.h), and to the rates of a package. The team policy
 * holds down every item of the user's. Used by the plans of runs, by the
 * commands that consent, and by `guard`.
 */
#ifndef SUPERVISOR_POLICY_GUARD_MAKE_H
#define SUPERVISOR_POLICY_GUARD_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/guard.h"

struct guard_make {
	const struct config *config;
	const json_t *entry;     /* of the lockfile */
	const json_t *consented; /* of consent.h; NULL: nothing is agreed to */
	const char *slug;
	const char *agent; /* slug of the agent that calls; NULL: none */
	/* Its manifest's pre_approved_actions: of what the host approves only
	 * these. NULL: all of it. */
	const json_t *agent_asks;
	enum tier tier;
	bool reaches; /* hosts beyond those of the entry: --allow */
	bool inside;  /* it runs in a sandbox */
};

/* The plan; the caller owns it. NULL: no memory. */
json_t *guard_make_plan(const struct guard_make *make);

/* What typing the command that installs or seals this entry agrees to:
 * {"tool":[actions that would be asked about]}, or {"*":[...]} when the
 * entry lists no tools. The caller owns it. NULL: no memory. */
json_t *guard_make_consent(const json_t *entry);

/* The rates that hold for a package; agent: it is one. */
struct guard_rates {
	int64_t burst, minute, hour; /* in one second, one minute, one hour */
};
struct guard_rates guard_make_rates(
    const struct config *config, const char *slug, bool agent);

/* What holds for an action of every tool, and of one ("slug/tool"; false:
 * nothing of its own). */
enum guard_answer guard_make_global(
    const struct config *config, enum guard_action action);
bool guard_make_override(const struct config *config, const char *target,
    enum guard_action action, enum guard_answer *answer_r);

#endif
