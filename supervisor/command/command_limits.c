/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the user; see command_limits.h. Called by command_main before a
 * command; must never raise one beyond what is needed.
 */
#include "supervisor/command/command_limits.h"

#include <stddef.h>
#include <sys/resource.h>

#include "supervisor/command/command.h"

static const struct command_limit {
	int resource;
	bool raise;
	rlim_t least;
	const char *name, *unit;
} command_limits[] = {
    {RLIMIT_NOFILE, true, COMMAND_LIMITS_FILES, "RLIMIT_NOFILE", "open files"},
    {RLIMIT_STACK, true, COMMAND_LIMITS_STACK, "RLIMIT_STACK", "bytes"},
    {RLIMIT_FSIZE, false, COMMAND_LIMITS_WRITTEN, "RLIMIT_FSIZE", "bytes"},
};

static bool
command_limits_one(const struct command_limit *one)
{
	struct rlimit limit;
	rlim_t had;

	if (getrlimit((__rlimit_resource_t)one->resource, &limit) != 0 ||
	    limit.rlim_cur >= one->least)
		return true;
	had = one->raise ? limit.rlim_max : limit.rlim_cur;
	limit.rlim_cur = one->least;
	if (had >= one->least &&
	    setrlimit((__rlimit_resource_t)one->resource, &limit) == 0)
		return true;
	(void)command_error(COMMAND_INTERNAL,
	    "%s is %llu %s: agentnode needs at least %llu; raise it with "
	    "ulimit or where the service manager sets it",
	    one->name, (unsigned long long)had, one->unit,
	    (unsigned long long)one->least);
	return false;
}

bool
command_limits_enough(void)
{
	for (size_t i = 0;
	     i < sizeof(command_limits) / sizeof(command_limits[0]); i++) {
		if (!command_limits_one(&command_limits[i]))
			return false;
	}
	return true;
}
