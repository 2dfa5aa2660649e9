/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the folders (see the header). Called before every run on the host;
 * it must never follow a link, nor take a folder of somebody else.
 */
#include "supervisor/host/work_home.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/policy/state_dir.h"

#define WORK_HOME_LEVELS 4

/* One of our folders below another; -> its path. */
static enum result
work_home_folder(const char *agentnode_home, const char *slug, const char *name,
    const char **path_r, struct state_dir *levels)
{
	const char *const names[WORK_HOME_LEVELS] = {NULL, "host", slug, name};
	struct json_fault fault = {""};
	enum result result =
	    state_dir_open(agentnode_home, STATE_DIR_OURS, &levels[0], &fault);

	for (int i = 1; i < WORK_HOME_LEVELS && result == RESULT_OK; i++)
		result =
		    state_dir_sub(&levels[i - 1], names[i], &levels[i], &fault);
	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "host_home",
		    LOG_TEXT("detail", fault.text));
	*path_r = levels[WORK_HOME_LEVELS - 1].path;
	return result;
}

static enum result
work_home_entry(const char *agentnode_home, const char *slug, const char *name,
    const char *variable, char *entry_r)
{
	static struct state_dir levels[WORK_HOME_LEVELS];
	const char *path;
	enum result result;
	int size;

	for (int i = 0; i < WORK_HOME_LEVELS; i++)
		levels[i].fd = -1;
	result = work_home_folder(agentnode_home, slug, name, &path, levels);
	size = snprintf(entry_r, WORK_HOME_PATH_MAX, "%s=%s", variable, path);
	for (int i = 0; i < WORK_HOME_LEVELS; i++)
		state_dir_close(&levels[i]);
	if (result == RESULT_OK &&
	    (size < 0 || size >= (int)WORK_HOME_PATH_MAX))
		result = RESULT_TOO_LONG;
	return result;
}

enum result
work_home_make(
    const char *agentnode_home, const char *slug, struct work_home *home_r)
{
	enum result result =
	    work_home_entry(agentnode_home, slug, "home", "HOME", home_r->home);

	if (result == RESULT_OK)
		result = work_home_entry(
		    agentnode_home, slug, "tmp", "TMPDIR", home_r->tmp);
	return result;
}
