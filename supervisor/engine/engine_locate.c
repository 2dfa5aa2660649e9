/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's id file names the container, its control group the processes.
 * Called before anything foreign runs in it; must never take a process that
 * is not alone in being the first of its namespace.
 */
#include "supervisor/engine/engine_locate.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/engine/cgroup.h"
#include "supervisor/engine/run_lock.h"

/* "NSpid:\t4711\t1": of two namespaces, and 1 in the inner one. */
static bool
engine_locate_is_first(long pid)
{
	char dir[64], *status, *line;
	bool first;
	size_t len;

	(void)snprintf(dir, sizeof(dir), "/proc/%ld", pid);
	status = cgroup_text(dir, "status");
	line = status == NULL ? NULL : strstr(status, "\nNSpid:\t");
	len = line == NULL ? 0 : strcspn(line + 1, "\n");
	first = len > 2 && memcmp(line + 1 + len - 2, "\t1", 2) == 0;
	free(status);
	return first;
}

/* Of one group: how many there are, the last of them. */
static unsigned
engine_locate_group(const char *dir, pid_t *pid_r)
{
	char *text = cgroup_text(dir, "cgroup.procs"), *save = NULL;
	unsigned count = 0;

	if (text == NULL)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		long pid = strtol(line, NULL, 10);

		if (pid > 1 && engine_locate_is_first(pid)) {
			*pid_r = (pid_t)pid;
			count++;
		}
	}
	free(text);
	return count;
}

/* And of those below it, where a runtime makes one ("container"). */
static unsigned
engine_locate_groups(const char *dir, pid_t *pid_r)
{
	unsigned count = engine_locate_group(dir, pid_r);
	DIR *list = opendir(dir);
	const struct dirent *entry;

	while (list != NULL && (entry = readdir(list)) != NULL) {
		char below[CGROUP_PATH_MAX + 260];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		(void)snprintf(
		    below, sizeof(below), "%s/%s", dir, entry->d_name);
		count += engine_locate_group(below, pid_r);
	}
	if (list != NULL)
		(void)closedir(list);
	return count;
}

enum result
engine_locate(const struct engine_files *files, const char *run, pid_t *pid_r,
    char *detail_r, size_t detail_size)
{
	char id[RUN_LOCK_CONTAINER_MAX];
	struct cgroup cgroup;
	unsigned count = 0;

	*pid_r = 0;
	run_lock_container(files, run, id);
	cgroup_find_id(id, &cgroup);
	if (cgroup.count > 0)
		count = engine_locate_groups(cgroup.dirs[0].path, pid_r);
	if (count == 1)
		return RESULT_OK;
	*pid_r = 0;
	(void)snprintf(detail_r, detail_size,
	    "the container has no control group of its own on this machine, "
	    "or init is not alone in it: sandbox.wiring mux finds init by it, "
	    "which takes an engine that runs here, and without root cgroup v2");
	return RESULT_NOT_FOUND;
}
