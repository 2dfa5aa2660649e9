/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor (see the header). Called by the launcher's other
 * files; must never take a path twice. The calls are made by number: what
 * they need is in kernels from 5.13 on, not in every C library.
 */
#include "supervisor/native/native_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/native/native_fail.h"

#define NATIVE_MOUNT_PRIVATE (1ULL << 18) /* MS_PRIVATE */
#define NATIVE_MOUNT_RECURSIVE 0x8000U    /* AT_RECURSIVE */

int
native_mount_open(int at, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};

	how.resolve |= RESOLVE_NO_MAGICLINKS;
	return (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
}

int
native_mount_clone(int fd, uint64_t attributes)
{
	struct mount_attr attr = {
	    .attr_set = attributes, .propagation = NATIVE_MOUNT_PRIVATE};
	int tree = (int)syscall(SYS_open_tree, fd, "",
	    OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH |
		NATIVE_MOUNT_RECURSIVE);

	if (tree >= 0 && syscall(SYS_mount_setattr, tree, "",
			     AT_EMPTY_PATH | NATIVE_MOUNT_RECURSIVE, &attr,
			     sizeof(attr)) != 0) {
		int error = errno;

		(void)close(tree);
		errno = error;
		return -1;
	}
	return tree;
}

void
native_mount_freeze(int mount)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attr,
		sizeof(attr)) != 0)
		native_fail("a mount cannot be made read-only", "", errno);
}

int
native_mount_map(int tree, int userns)
{
	struct mount_attr attr = {
	    .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns};

	/* Only the mount itself: what is mounted below keeps its owners. */
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr,
		sizeof(attr)) != 0)
		return errno;
	return 0;
}

int
native_mount_new(const char *type, uint64_t attributes,
    const struct native_mount_option *options, size_t count)
{
	int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC), fd;

	if (fs < 0)
		native_fail("this kernel opens no file system", type, errno);
	for (size_t i = 0; i < count; i++) {
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING,
			options[i].key, options[i].value, 0) != 0)
			native_fail("a mount cannot have the option",
			    options[i].key, errno);
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		native_fail("the kernel refuses to make a", type, errno);
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
	if (fd < 0)
		native_fail("the kernel refuses to mount a", type, errno);
	(void)close(fs);
	return fd;
}

int
native_mount_tmpfs(
    uint64_t attributes, uint64_t size, unsigned mode, uid_t uid, gid_t gid)
{
	char texts[4][32];
	const struct native_mount_option options[] = {{"size", texts[0]},
	    {"mode", texts[1]}, {"uid", texts[2]}, {"gid", texts[3]}};

	(void)snprintf(
	    texts[0], sizeof(texts[0]), "%llu", (unsigned long long)size);
	(void)snprintf(texts[1], sizeof(texts[1]), "%o", mode);
	(void)snprintf(texts[2], sizeof(texts[2]), "%u", uid);
	(void)snprintf(texts[3], sizeof(texts[3]), "%u", gid);
	return native_mount_new("tmpfs", attributes, options, 4);
}

void
native_mount_attach(int tree, int target, const char *name)
{
	if (syscall(SYS_move_mount, tree, "", target, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		native_fail("cannot mount on", name, errno);
}
