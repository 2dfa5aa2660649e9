/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at and removes what mcp_trees.c keeps. Called by command_package.c
 * and command_remove.c; it must never remove the state of a living run.
 */
#include "supervisor/command/mcp_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

#define MCP_STATE_DIR "state"
#define MCP_STATE_NAME_MAX 96U

static enum result
mcp_state_lock(
    struct mcp_state *state, const char *slug, struct json_fault *fault)
{
	char name[MCP_STATE_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%s.lock", slug);
	state->lock = openat(state->dir.fd, name,
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (state->lock < 0) {
		json_field_fault(
		    fault, "the state of %s: %s", slug, strerror(errno));
		return RESULT_SYSTEM;
	}
	if (flock(state->lock, LOCK_EX | LOCK_NB) == 0)
		return RESULT_OK;
	json_field_fault(fault, "a run of %s has its state", slug);
	return RESULT_EXISTS;
}

enum result
mcp_state_open(const char *slug, bool lock, struct mcp_state *state_r,
    struct json_fault *fault)
{
	struct state_dir home = {.fd = -1};
	char path[STATE_DIR_PATH_MAX + sizeof(MCP_STATE_DIR)];
	enum result result = state_dir_home(false, &home, fault);

	*state_r = (struct mcp_state){.dir = {.fd = -1}, .lock = -1};
	(void)snprintf(path, sizeof(path), "%s/" MCP_STATE_DIR, home.path);
	state_dir_close(&home);
	if (result == RESULT_OK)
		result =
		    state_dir_open(path, STATE_DIR_OURS, &state_r->dir, fault);
	if (result == RESULT_NOT_FOUND)
		return RESULT_OK;
	if (result == RESULT_OK && lock)
		result = mcp_state_lock(state_r, slug, fault);
	if (result != RESULT_OK)
		mcp_state_close(state_r);
	return result;
}

bool
mcp_state_size(
    const struct mcp_state *state, const char *slug, uint64_t *bytes_r)
{
	char name[MCP_STATE_NAME_MAX];
	struct stat status;

	*bytes_r = 0;
	(void)snprintf(name, sizeof(name), "%s.tree", slug);
	if (state->dir.fd < 0 ||
	    fstatat(state->dir.fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(status.st_mode))
		return false;
	*bytes_r = (uint64_t)status.st_size;
	return true;
}

enum result
mcp_state_remove(
    const struct mcp_state *state, const char *slug, struct json_fault *fault)
{
	static const char *const ends[] = {".tree", ".tree.new"};
	char name[MCP_STATE_NAME_MAX];

	if (state->dir.fd < 0)
		return RESULT_OK;
	/* SLUG.lock stays: a run may be waiting to look at it. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", slug, ends[i]);
		if (unlinkat(state->dir.fd, name, 0) == 0 || errno == ENOENT)
			continue;
		json_field_fault(fault, "the state %s cannot be removed: %s",
		    name, strerror(errno));
		return RESULT_SYSTEM;
	}
	if (fsync(state->dir.fd) == 0)
		return RESULT_OK;
	json_field_fault(fault, "the state of %s: %s", slug, strerror(errno));
	return RESULT_SYSTEM;
}

void
mcp_state_close(struct mcp_state *state)
{
	fd_close(&state->lock);
	state_dir_close(&state->dir);
}
