/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte locks of usage.lock. Called by budget.c. It must never take a living
 * run for a dead one: what cannot be told is alive.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/ledger/budget_alive.h"

enum result
budget_alive_open(struct budget_alive *alive, int dir_fd, const char *name)
{
	int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

	alive->look_fd = -1;
	alive->hold_fd = openat(dir_fd, name, flags, 0600);
	if (alive->hold_fd >= 0)
		alive->look_fd = openat(dir_fd, name, flags, 0600);
	return alive->look_fd >= 0 ? RESULT_OK : RESULT_SYSTEM;
}

void
budget_alive_close(struct budget_alive *alive)
{
	fd_close(&alive->hold_fd);
	fd_close(&alive->look_fd);
}

static int
budget_alive_lock(
    int fd, int command, short type, int64_t number, short *type_r)
{
	struct flock lock = {.l_type = type,
	    .l_whence = SEEK_SET,
	    .l_start = number,
	    .l_len = 1};
	int result;

	do
		result = fcntl(fd, command, &lock);
	while (result < 0 && errno == EINTR);
	if (type_r != NULL)
		*type_r = lock.l_type;
	return result;
}

enum result
budget_alive_take(struct budget_alive *alive, int64_t number)
{
	if (budget_alive_lock(
		alive->hold_fd, F_OFD_SETLK, F_WRLCK, number, NULL) == 0)
		return RESULT_OK;
	return errno == EAGAIN || errno == EACCES ? RESULT_EXISTS
						  : RESULT_SYSTEM;
}

void
budget_alive_drop(struct budget_alive *alive, int64_t number)
{
	(void)budget_alive_lock(
	    alive->hold_fd, F_OFD_SETLK, F_UNLCK, number, NULL);
}

bool
budget_alive_is_held(const struct budget_alive *alive, int64_t number)
{
	short type = F_WRLCK;

	return budget_alive_lock(
		   alive->look_fd, F_OFD_GETLK, F_WRLCK, number, &type) != 0 ||
	       type != F_UNLCK;
}
