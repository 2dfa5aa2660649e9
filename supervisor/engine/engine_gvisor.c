/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and judges runsc's processes (see the header). Called before
 * anything foreign runs in them; must never take one that is not alone in
 * being what it says, nor call a line that is not there a good one.
 */
#include "supervisor/engine/engine_gvisor.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/init_check.h"
#include "supervisor/engine/oci_plan.h"
#include "supervisor/engine/wall_table.h"
#include "supervisor/sandbox_plan.h"

#define ENGINE_GVISOR_KERNEL "runsc-sandbox"
#define ENGINE_GVISOR_GOFER "runsc-gofer"

/* CAP_SYS_CHROOT and CAP_SYS_PTRACE, of its own user namespace. */
#define ENGINE_GVISOR_KERNEL_RIGHTS 0x240000ULL
/* CAP_CHOWN to CAP_FSETID and CAP_SYS_CHROOT: it opens files of a root that
 * is read-only, for any user of the guest. */
#define ENGINE_GVISOR_GOFER_RIGHTS 0x4001fULL

/* A file of /proc/PID. Caller frees. */
static char *
engine_gvisor_proc(pid_t pid, const char *name)
{
	char dir[64];

	(void)snprintf(dir, sizeof(dir), "/proc/%ld", (long)pid);
	return cgroup_text(dir, name);
}

/* Does its command line begin with this word? */
static bool
engine_gvisor_is(pid_t pid, const char *word)
{
	char *line = engine_gvisor_proc(pid, "cmdline");
	bool is = line != NULL && strcmp(line, word) == 0;

	free(line);
	return is;
}

/* Those that it traces have its command line, too. */
static bool
engine_gvisor_is_top(pid_t pid, const char *word)
{
	char *status;
	const char *line;
	long parent = 0;

	if (!engine_gvisor_is(pid, word))
		return false;
	status = engine_gvisor_proc(pid, "status");
	line = status == NULL ? NULL : strstr(status, "\nPPid:\t");
	if (line != NULL)
		parent = strtol(line + strlen("\nPPid:\t"), NULL, 10);
	free(status);
	return parent > 1 && !engine_gvisor_is((pid_t)parent, word);
}

/* The one of the sandbox's groups that is called so; -1: none or several. */
static pid_t
engine_gvisor_find(const struct sandbox_plan *plan, const char *word)
{
	const struct cgroup *groups = &plan->oci->groups;
	char *text, *save = NULL;
	unsigned count = 0;
	pid_t found = -1;

	if (groups->count == 0)
		return -1;
	text = cgroup_text(groups->dirs[0].path, "cgroup.procs");
	if (text == NULL)
		return -1;
	for (const char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);

		if (pid <= 1 || !engine_gvisor_is_top(pid, word))
			continue;
		found = pid;
		count++;
	}
	free(text);
	return count == 1 ? found : -1;
}

enum result
engine_gvisor_locate(const struct sandbox_plan *plan, pid_t *pid_r,
    char *detail_r, size_t detail_size)
{
	*pid_r = engine_gvisor_find(plan, ENGINE_GVISOR_KERNEL);
	if (*pid_r > 1)
		return RESULT_OK;
	*pid_r = 0;
	(void)snprintf(detail_r, detail_size,
	    "runsc's guest kernel is not, or not alone, in the sandbox's "
	    "control groups");
	return RESULT_NOT_FOUND;
}

enum result
engine_gvisor_check(const struct sandbox_plan *plan, pid_t pid, char *detail_r,
    size_t detail_size)
{
	const struct init_check_helper kernel = {
	    "runsc's guest kernel", ENGINE_GVISOR_KERNEL_RIGHTS, true};
	const struct init_check_helper gofer = {
	    "runsc's gofer", ENGINE_GVISOR_GOFER_RIGHTS, false};
	enum result result =
	    init_check_helper(pid, &kernel, detail_r, detail_size);

	if (result != RESULT_OK)
		return result;
	return init_check_helper(engine_gvisor_find(plan, ENGINE_GVISOR_GOFER),
	    &gofer, detail_r, detail_size);
}

pid_t
engine_gvisor_places(const struct sandbox_plan *plan, pid_t pid)
{
	(void)pid;
	return engine_gvisor_find(plan, ENGINE_GVISOR_GOFER);
}

void
engine_gvisor_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected)
{
	(void)plan;
	expected->native = false;
	expected->guest = true;
	expected->landlock_required = false;
}
