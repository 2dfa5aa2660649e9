/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens each source once, without following a link, compares it with what
 * was looked at, and clones the mount that was opened. Called once per
 * start; must never take a source by its path a second time.
 */
#include "supervisor/native/native_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "supervisor/native/native_fail.h"
#include "supervisor/native/native_idmap.h"
#include "supervisor/native/native_mount.h"

/* Harmless, and what every program may count on. */
const struct native_tree_device native_tree_devices[NATIVE_TREE_DEVICES] = {
    {"null", "/dev/null", 3}, {"zero", "/dev/zero", 5},
    {"full", "/dev/full", 7}, {"random", "/dev/random", 8},
    {"urandom", "/dev/urandom", 9}};

/* The mapping made last: mostly all of a view is one owner's. */
struct native_tree_owner {
	uid_t uid;
	gid_t gid;
	int userns;
};

static int
native_tree_source(const char *path, struct stat *info_r)
{
	int fd = native_mount_open(
	    AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		native_fail("the view cannot be built: source", path, errno);
	if (fstat(fd, info_r) != 0)
		native_fail("the view cannot be built: source", path, errno);
	return fd;
}

static int
native_tree_clone(int fd, const char *path, uint64_t attributes)
{
	int tree = native_mount_clone(fd, attributes);

	if (tree < 0)
		native_fail(
		    "the view cannot be built: cannot clone", path, errno);
	(void)close(fd);
	return tree;
}

static void
native_tree_one(struct native_tree *tree, const struct native_step *step)
{
	bool writable = step->kind == NATIVE_STEP_BIND_RW;
	struct stat info;
	int fd = native_tree_source(step->source, &info);

	if (step->ino != 0 && (step->ino != (uint64_t)info.st_ino ||
				  step->dev != (uint64_t)info.st_dev))
		native_fail("the view cannot be built: replaced since it was "
			    "looked at:",
		    step->source, 0);
	/* A socket or a device would be a way out. */
	if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
		native_fail("the view cannot be built: neither a file nor a "
			    "directory:",
		    step->source, 0);
	tree->is_dir = S_ISDIR(info.st_mode);
	tree->dev = info.st_dev;
	tree->ino = info.st_ino;
	tree->uid = info.st_uid;
	tree->gid = info.st_gid;
	tree->fd = native_tree_clone(fd, step->source,
	    NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NODEV |
		(writable ? 0 : NATIVE_MOUNT_RO));
}

/* What belongs to the owner is the sandbox's own inside, and what it makes
 * is the owner's on disk. Without this a read-only tree is still shown, as
 * far as everybody may read it. */
static void
native_tree_map(const struct native_launch *launch, uint32_t index,
    struct native_trees *trees, struct native_tree_owner *owner)
{
	const struct native_launch_step *one = &launch->steps[index];
	const struct native_tree *from = &trees->steps[one->owner];
	int error;

	if (owner->userns < 0 || owner->uid != from->uid ||
	    owner->gid != from->gid) {
		if (owner->userns >= 0)
			(void)close(owner->userns);
		owner->uid = from->uid;
		owner->gid = from->gid;
		owner->userns = native_idmap_new(
		    from->uid, from->gid, launch->uid, launch->gid);
	}
	error = native_mount_map(trees->steps[index].fd, owner->userns);
	if (error != 0 && one->step.kind == NATIVE_STEP_BIND_RW)
		native_fail("its file system has no idmapped mounts, so it "
			    "cannot be written by a sandbox started as root:",
		    one->step.source, error);
}

static int
native_tree_device(unsigned index)
{
	const struct native_tree_device *device = &native_tree_devices[index];
	struct stat info;
	int fd = native_tree_source(device->path, &info);

	if (!S_ISCHR(info.st_mode) || info.st_rdev != makedev(1, device->minor))
		native_fail("the view cannot be built: not the device it is "
			    "named after:",
		    device->path, 0);
	return native_tree_clone(fd, device->path,
	    NATIVE_MOUNT_RO | NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NOEXEC);
}

void
native_tree_open(
    const struct native_launch *launch, struct native_trees *trees_r)
{
	struct native_tree_owner owner = {.userns = -1};

	for (uint32_t i = 0; i < launch->step_count; i++) {
		const struct native_step *step = &launch->steps[i].step;

		trees_r->steps[i].fd = -1;
		if (step->kind == NATIVE_STEP_BIND ||
		    step->kind == NATIVE_STEP_BIND_RW)
			native_tree_one(&trees_r->steps[i], step);
	}
	for (uint32_t i = 0; i < launch->step_count; i++) {
		if (launch->steps[i].owner >= 0 && launch->rootless == 0)
			native_tree_map(launch, i, trees_r, &owner);
	}
	if (owner.userns >= 0)
		(void)close(owner.userns);
	for (unsigned i = 0; i < NATIVE_TREE_DEVICES; i++)
		trees_r->devices[i] = native_tree_device(i);
}
