/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draw a number, lock uids/<n>, look whether a process has it. Called once
 * per start; must never give one number to two living sandboxes.
 */
#include "supervisor/engine/sandbox_uid.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"

#define SANDBOX_UID_RANGE 65536U
/* Rootless: above the numbers an image uses, inside the usual 65536. */
#define SANDBOX_UID_ROOTLESS_BASE 10000U
#define SANDBOX_UID_ROOTLESS_RANGE 50000U
#define SANDBOX_UID_TRIES 64

/* As root the number is the host's own, and the kernel knows whether a
 * process still has it: it is asked for the priority of all that do. */
static bool
sandbox_uid_has_process(uint32_t uid)
{
	errno = 0;
	return getpriority(PRIO_USER, uid) != -1 || errno != ESRCH;
}

/* Each user has a folder of locks, but the numbers are the machine's: a name
 * of the kernel's is held beside, by whoever it is. It goes with its holder;
 * somebody who takes names for nothing makes a start fail, no more. */
static enum result
sandbox_uid_name(struct sandbox_uid *uid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
	    "agentnode-uid-%u", uid->uid);
	int error;

	uid->name = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (uid->name < 0)
		return RESULT_SYSTEM;
	if (bind(uid->name, (const struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			    (size_t)len)) == 0)
		return RESULT_OK;
	error = errno;
	fd_close(&uid->name);
	return error == EADDRINUSE ? RESULT_EXISTS : RESULT_SYSTEM;
}

static enum result
sandbox_uid_try(const struct engine_files *files, uint32_t number,
    struct sandbox_uid *uid_r)
{
	struct stat info;

	(void)snprintf(
	    uid_r->path, sizeof(uid_r->path), "%s/%u", files->uids, number);
	uid_r->fd =
	    open(uid_r->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (uid_r->fd < 0)
		return RESULT_SYSTEM;
	/* nlink 0: its owner ended between the open and the lock. */
	if (flock(uid_r->fd, LOCK_EX | LOCK_NB) != 0 ||
	    fstat(uid_r->fd, &info) != 0 || info.st_nlink == 0) {
		fd_close(&uid_r->fd);
		return RESULT_EXISTS;
	}
	uid_r->uid = number;
	return RESULT_OK;
}

enum result
sandbox_uid_take(const struct engine_files *files, uint32_t base, bool rootless,
    struct sandbox_uid *uid_r)
{
	uint32_t start = rootless ? SANDBOX_UID_ROOTLESS_BASE : base;
	uint32_t range =
	    rootless ? SANDBOX_UID_ROOTLESS_RANGE : SANDBOX_UID_RANGE;

	uid_r->fd = uid_r->name = -1;
	for (int tries = 0; tries < SANDBOX_UID_TRIES; tries++) {
		enum result result;
		uint32_t draw;

		if (getrandom(&draw, sizeof(draw), 0) != sizeof(draw))
			return RESULT_SYSTEM;
		result = sandbox_uid_try(files, start + draw % range, uid_r);
		if (result == RESULT_SYSTEM)
			return result;
		if (result != RESULT_OK)
			continue;
		if (rootless)
			return RESULT_OK;
		result = sandbox_uid_name(uid_r);
		if (result == RESULT_OK && !sandbox_uid_has_process(uid_r->uid))
			return RESULT_OK;
		fd_close(&uid_r->name);
		fd_close(&uid_r->fd); /* a leftover: keep its file */
	}
	return RESULT_EXISTS;
}

void
sandbox_uid_end(struct sandbox_uid *uid)
{
	if (uid->fd < 0)
		return;
	(void)unlink(uid->path);
	fd_close(&uid->name);
	fd_close(&uid->fd);
}
