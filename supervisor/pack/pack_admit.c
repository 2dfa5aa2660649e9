/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this tool run with these arguments? Called once per run, before
 * anything starts; must never let through what it does not understand.
 */
#include "supervisor/pack/pack_admit.h"

#include "supervisor/package/guard_admit.h"

enum result
pack_admit(struct run_entry *run, const struct pack_admit_call *call)
{
	char actions[GUARD_PLAN_WORDS_MAX];
	size_t len = json_dumpb(call->arguments, NULL, 0, JSON_COMPACT);

	if (!json_is_object(call->arguments)) {
		json_field_fault(&run->fault,
		    "the arguments of %s/%s are no JSON object", run->slug,
		    call->function->name);
		return run_entry_fail(run, RESULT_BAD, "bad_args");
	}
	if (len == 0 || len > PACK_ADMIT_ARGUMENTS_MAX) {
		json_field_fault(&run->fault,
		    "the arguments of %s/%s are longer than %u bytes",
		    run->slug, call->function->name, PACK_ADMIT_ARGUMENTS_MAX);
		return run_entry_fail(run, RESULT_TOO_LONG, "bad_args");
	}
	return guard_admit(run,
	    &(struct guard_admit){.tool = call->function->name,
		.arguments = call->arguments,
		.inside = !run->on_host},
	    actions);
}
