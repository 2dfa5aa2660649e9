/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration again when it changed. Called by the watch; it
 * must never leave the desk with rules that could not be read.
 */
#include "supervisor/mcp/guard_live.h"

#include <stdlib.h>

#include "common/log.h"
#include "supervisor/policy/config_watch.h"

struct guard_live {
	struct config_watch *watch;
	struct guard_desk *desk;
	const struct mcp_run_plan *plan;
	const struct mcp_run_options *options;
	struct run_term *term;
};

static void
guard_live_on_changed(bool lost, void *context)
{
	struct guard_live *live = context;
	const struct mcp_run_options *options = live->options;
	bool agent = options->caller != NULL && options->caller->agent != NULL;
	struct json_fault fault = {""};
	struct config *config = NULL;
	struct guard_rates rates;

	if (lost || config_load(&config, &fault) != RESULT_OK) {
		log_event(LOG_ERROR_LEVEL, "guard_rules",
		    LOG_TEXT("detail", fault.text));
		guard_desk_rules(live->desk, NULL, NULL);
		return;
	}
	if (!run_term_config(live->term, config)) {
		config_free(&config);
		return;
	}
	rates = guard_make_rates(config, options->slug, agent);
	guard_desk_rules(live->desk,
	    mcp_run_plan_guard(live->plan, options, config), &rates);
	config_free(&config);
}

enum result
guard_live_new(struct event_base *base, struct guard_desk *desk,
    const struct mcp_run_plan *plan, const struct mcp_run_options *options,
    run_term_over *over, void *context, struct guard_live **live_r)
{
	struct guard_live *live = calloc(1, sizeof(*live));
	struct json_fault fault = {""};
	enum result result;

	*live_r = live;
	if (live == NULL)
		return RESULT_NO_MEMORY;
	live->desk = desk;
	live->plan = plan;
	live->options = options;
	result = run_term_new(base, &plan->run,
	    options->consent_once ? 0 : plan->secret.until, over, context,
	    &live->term);
	if (result == RESULT_OK)
		result = config_watch_new(
		    base, guard_live_on_changed, live, &live->watch, &fault);
	if (result != RESULT_OK)
		guard_live_free(live_r);
	return result;
}

void
guard_live_free(struct guard_live **live)
{
	if (*live == NULL)
		return;
	config_watch_free(&(*live)->watch);
	run_term_free(&(*live)->term);
	free(*live);
	*live = NULL;
}
