/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See audit_folder.h. Called before the ledger is started; must never hand
 * over a folder that somebody else can write.
 */
#include "supervisor/policy/audit_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/audit_head.h"
#include "supervisor/ledger/ledger_confine.h"
#include "supervisor/policy/state_dir.h"

/* Where agentnode runs as root the folder belongs to the ledger's uid. */
static enum result
audit_folder_own(int fd, const char *path, struct json_fault *fault)
{
	uid_t us = geteuid(), owner = us == 0 ? LEDGER_CONFINE_UID : us;
	struct stat status;

	if (fstat(fd, &status) != 0)
		return RESULT_SYSTEM;
	if (status.st_uid == us && us != owner &&
	    (fchown(fd, owner, (gid_t)owner) != 0 || fstat(fd, &status) != 0)) {
		json_field_fault(fault,
		    "%s/" AUDIT_HEAD_DIR ": cannot be given to uid %u: %s",
		    state_dir_shown(path), (unsigned)owner, strerror(errno));
		return RESULT_SYSTEM;
	}
	if (status.st_uid == owner && (status.st_mode & 077) == 0)
		return RESULT_OK;
	json_field_fault(fault,
	    "%s/" AUDIT_HEAD_DIR ": must belong to uid %u with mode 0700",
	    state_dir_shown(path), (unsigned)owner);
	return RESULT_BAD;
}

enum result
audit_folder_open(const char *home, int *fd_r, struct json_fault *fault)
{
	struct state_dir dir;
	enum result result;

	*fd_r = -1;
	result = state_dir_open(home, STATE_DIR_OURS, &dir, fault);
	if (result == RESULT_NOT_FOUND)
		json_field_fault(
		    fault, "%s does not exist", state_dir_shown(home));
	if (result != RESULT_OK)
		return result;
	if (mkdirat(dir.fd, AUDIT_HEAD_DIR, 0700) == 0 || errno == EEXIST)
		*fd_r = openat(dir.fd, AUDIT_HEAD_DIR,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	state_dir_close(&dir);
	if (*fd_r < 0) {
		json_field_fault(fault,
		    "%s/" AUDIT_HEAD_DIR ": cannot be opened: %s",
		    state_dir_shown(home), strerror(errno));
		return RESULT_SYSTEM;
	}
	result = audit_folder_own(*fd_r, home, fault);
	if (result != RESULT_OK)
		fd_close(fd_r);
	return result;
}
