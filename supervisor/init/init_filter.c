/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installs the precompiled filters. Called in a forked child, last before
 * it becomes what it is for; by init itself before its first word, where
 * the runtime has none.
 */
#include "supervisor/init/init_filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/init/init_layers.h"

/* init has the first filter, and what it forks has it too: once more would
 * cost each start and every call of the workload. */
static bool init_filter_is_own;

int
init_filter_enter(bool owner)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return errno;
	for (unsigned i = 0; i < INIT_LAYERS_FILTERS_MAX; i++) {
		if (init_layers.filters[i] == NULL ||
		    (i == 0 && init_filter_is_own))
			continue;
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
			init_layers.filters[i]) != 0)
			return errno;
	}
	if (owner && init_layers.owner != NULL &&
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
		init_layers.owner) != 0)
		return errno;
	return 0;
}

int
init_filter_own(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return errno;
	/* A variant without this layer goes on, and is found out. */
	if (init_layers.filters[0] != NULL &&
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
		init_layers.filters[0]) != 0)
		return errno;
	init_filter_is_own = true;
	return 0;
}
