/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the folders (see the header). Called before every run on the host;
 * it must never follow a link, nor take a folder of somebody else.
 */
#include "supervisor/host/work_home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/policy/state_dir.h"

#define WORK_HOME_LEVELS 4
#define WORK_HOME_DEPTH 128U

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

static bool work_home_empty(int dir_fd, unsigned depth);

/* One name of a folder: a folder with what is in it, or anything else. */
static bool
work_home_unlink(int dir_fd, const char *name, unsigned depth)
{
	int fd FD_CLEANUP = -1;

	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return true;
	if (errno != EISDIR && errno != EPERM)
		return false;
	fd = openat(
	    dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES &&
	    fchmodat(dir_fd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dir_fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && work_home_empty(fd, depth + 1) &&
	       unlinkat(dir_fd, name, AT_REMOVEDIR) == 0;
}

static bool
work_home_empty(int dir_fd, unsigned depth)
{
	struct dirent *entry;
	bool good = true;
	int copy;
	DIR *dir;

	if (depth > WORK_HOME_DEPTH)
		return false;
	(void)fchmod(dir_fd, 0700); /* it may have closed its own folders */
	copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	dir = copy >= 0 ? fdopendir(copy) : NULL;
	if (dir == NULL) {
		fd_close(&copy);
		return false;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    !work_home_unlink(dirfd(dir), entry->d_name, depth))
			good = false;
	}
	closedir(dir);
	return good;
}

enum result
work_home_remove(const char *agentnode_home, const char *slug)
{
	struct state_dir home = {.fd = -1};
	struct json_fault fault = {""};
	int host FD_CLEANUP = -1;
	enum result result =
	    state_dir_open(agentnode_home, STATE_DIR_OURS, &home, &fault);

	if (result == RESULT_OK)
		host = openat(home.fd, "host",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	state_dir_close(&home);
	if (result != RESULT_OK || host < 0)
		return result == RESULT_OK || result == RESULT_NOT_FOUND
			   ? RESULT_OK
			   : result;
	return work_home_unlink(host, slug, 0) ? RESULT_OK : RESULT_BAD;
}
