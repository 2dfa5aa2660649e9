/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare device and inode of a directory inside with the one outside.
 * Called before go; must never resolve a path of the container outside of
 * its root.
 */
#include "supervisor/engine/mount_check.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"

enum result
mount_check_remember(int dir_fd, struct mount_check_place *place_r)
{
	struct stat info;

	if (fstat(dir_fd, &info) != 0)
		return RESULT_SYSTEM;
	place_r->dev = info.st_dev;
	place_r->ino = info.st_ino;
	return RESULT_OK;
}

/* target below init's root: a link in it, which an image could bring, is
 * no way. */
static int
mount_check_open(pid_t init, const char *target)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
	    .resolve =
		RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int root FD_CLEANUP = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/root", (long)init);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	return (int)syscall(SYS_openat2, root, target, &how, sizeof(how));
}

enum result
mount_check(pid_t init, const char *target,
    const struct mount_check_place *place, char *detail_r, size_t detail_size)
{
	int fd FD_CLEANUP = mount_check_open(init, target);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) != 0) {
		(void)snprintf(detail_r, detail_size,
		    "%s of the container cannot be looked at: %m", target);
		return RESULT_SYSTEM;
	}
	if (info.st_dev == place->dev && info.st_ino == place->ino)
		return RESULT_OK;
	(void)snprintf(detail_r, detail_size,
	    "%s of the container is not the directory whose content was "
	    "checked: the volume has mount options or was exchanged; install "
	    "the package again",
	    target);
	return RESULT_MISMATCH;
}
