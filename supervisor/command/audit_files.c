/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the chain's folder and its key for reading. Called by `audit` and
 * `runs`. It must never follow a link or accept a folder of a stranger.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/audit_files.h"
#include "supervisor/ledger/audit_head.h"
#include "supervisor/ledger/ledger_confine.h"
#include "supervisor/policy/audit_key.h"
#include "supervisor/policy/state_dir.h"

/* The ledger's folder belongs to us, or to the ledger's uid under root. */
static enum result
audit_files_open_dir(
    const struct state_dir *home, int *fd_r, struct json_fault *fault)
{
	struct stat status;

	*fd_r = openat(home->fd, AUDIT_HEAD_DIR,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd_r < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (*fd_r < 0 || fstat(*fd_r, &status) != 0) {
		json_field_fault(fault, "%s/" AUDIT_HEAD_DIR ": %s",
		    state_dir_shown(home->path), strerror(errno));
		return RESULT_BAD;
	}
	if (status.st_uid == geteuid() ||
	    (geteuid() == 0 && status.st_uid == LEDGER_CONFINE_UID))
		return RESULT_OK;
	json_field_fault(fault, "%s/" AUDIT_HEAD_DIR ": belongs to uid %u",
	    state_dir_shown(home->path), (unsigned)status.st_uid);
	return RESULT_BAD;
}

enum result
audit_files_open(struct audit_files *files_r, struct json_fault *fault)
{
	struct state_dir home;
	enum result result;

	*files_r = (struct audit_files){-1, NULL};
	result = state_dir_home(false, &home, fault);
	if (result == RESULT_OK)
		result = audit_files_open_dir(&home, &files_r->dir_fd, fault);
	if (result == RESULT_OK)
		result = audit_key_load(&home, &files_r->key, fault);
	state_dir_close(&home);
	return result == RESULT_NOT_FOUND ? RESULT_OK : result;
}

void
audit_files_close(struct audit_files *files)
{
	fd_close(&files->dir_fd);
	secret_free(&files->key);
}
