/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps in their order onto an empty tmpfs, then pivot_root. Called in the
 * new namespaces, before any foreign code; must never follow a link in what
 * it has placed, nor make anything in a file system of the host.
 */
#include "supervisor/native/native_build.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/native/native_fail.h"
#include "supervisor/native/native_mount.h"

#define NATIVE_BUILD_IS_MOUNT 0x2000U /* STATX_ATTR_MOUNT_ROOT */
#define NATIVE_BUILD_SIZE (4U << 20)
#define NATIVE_BUILD_INSIDE \
	(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

void
native_build_note(struct native_build *build, int mount)
{
	struct stat info;

	if (build->own_count >= NATIVE_BUILD_OWN_MAX ||
	    fstat(mount, &info) != 0)
		native_fail("the view cannot be built: too many mounts", "", 0);
	build->own[build->own_count++] = info.st_dev;
}

static bool
native_build_is_own(const struct native_build *build, int fd)
{
	struct stat info;

	if (fstat(fd, &info) != 0)
		return false;
	for (unsigned i = 0; i < build->own_count; i++) {
		if (build->own[i] == info.st_dev)
			return true;
	}
	return false;
}

static int
native_build_open(int at, const char *path)
{
	return native_mount_open(
	    at, path, O_PATH | O_NOFOLLOW, NATIVE_BUILD_INSIDE);
}

/* One missing name in a directory of ours. */
static int
native_build_make(int parent, const char *name, bool is_dir)
{
	int fd;

	if (is_dir)
		return mkdirat(parent, name, 0755) == 0
			   ? native_build_open(parent, name)
			   : -1;
	fd = openat(parent, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
	if (fd < 0)
		return -1;
	(void)close(fd);
	return native_build_open(parent, name);
}

int
native_build_target(struct native_build *build, const char *path, bool is_dir)
{
	char name[NATIVE_VIEW_PATH_MAX];
	int parent = build->fd, fd = -1;

	for (const char *at = path + 1;;) {
		size_t len = strcspn(at, "/");
		bool last = at[len] == '\0';

		memcpy(name, at, len);
		name[len] = '\0';
		fd = native_build_open(parent, name);
		if (fd < 0 && errno == ENOENT &&
		    native_build_is_own(build, parent))
			fd = native_build_make(parent, name, !last || is_dir);
		if (parent != build->fd)
			(void)close(parent);
		if (fd < 0 || last)
			break;
		parent = fd;
		at += len + 1;
	}
	if (fd < 0 && errno != ENOENT)
		native_fail("the view cannot be built: target", path, errno);
	return fd;
}

static int
native_build_must(struct native_build *build, const char *path, bool is_dir)
{
	int fd = native_build_target(build, path, is_dir);

	if (fd < 0)
		native_fail("the view cannot be built: target", path, errno);
	return fd;
}

void
native_build_mask(struct native_build *build, int target, const char *name)
{
	struct stat info;
	int tree;

	if (fstat(target, &info) != 0)
		native_fail("cannot look at", name, errno);
	tree = native_mount_clone(
	    S_ISDIR(info.st_mode) ? build->empty_dir : build->empty_file,
	    NATIVE_MOUNT_RO);
	if (tree < 0)
		native_fail("cannot hide", name, errno);
	native_mount_attach(tree, target, name);
	(void)close(tree);
	(void)close(target);
}

/* The head of the kernel's struct statx; not every C library has it. */
struct native_build_statx {
	uint32_t mask, block;
	uint64_t attributes;
	uint64_t rest[30];
};

/* The directory at fd mounted on itself. */
static void
native_build_pin_one(int fd, const char *path)
{
	struct native_build_statx info;
	int tree;

	_Static_assert(sizeof(info) == 256, "struct statx");
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, 0, &info) != 0)
		native_fail("cannot look at", path, errno);
	if ((info.attributes & NATIVE_BUILD_IS_MOUNT) != 0)
		return;
	tree = native_mount_clone(fd, 0);
	if (tree < 0)
		native_fail("cannot hold in its place:", path, errno);
	native_mount_attach(tree, fd, path);
	(void)close(tree);
}

/* A protected path in a writable tree could be moved away with a directory
 * above it, and another one put in its place. What something is mounted on
 * cannot be renamed, so each directory between becomes a mount. */
static void
native_build_pin(struct native_build *build, uint32_t index)
{
	const char *path = build->launch->steps[index].step.target;
	size_t from = 0;

	for (uint32_t i = 0; i < index; i++) {
		const struct native_step *step = &build->launch->steps[i].step;
		size_t len = strlen(step->target);

		if (step->kind == NATIVE_STEP_BIND_RW && len > from &&
		    strncmp(path, step->target, len) == 0 && path[len] == '/')
			from = len;
	}
	for (const char *at = path + from + 1;
	     from > 0 && (at = strchr(at, '/')) != NULL; at++) {
		char above[NATIVE_VIEW_PATH_MAX];
		int fd;

		(void)snprintf(
		    above, sizeof(above), "%.*s", (int)(at - path), path);
		fd = native_build_must(build, above, true);
		native_build_pin_one(fd, above);
		(void)close(fd);
	}
}

static void
native_build_bind(struct native_build *build, uint32_t index)
{
	const struct native_step *step = &build->launch->steps[index].step;
	struct native_tree *tree = &build->trees->steps[index];
	int target = native_build_must(build, step->target, tree->is_dir);
	struct stat info;

	if (fstat(target, &info) != 0 || S_ISDIR(info.st_mode) != tree->is_dir)
		native_fail("the view cannot be built: a file on a directory, "
			    "or the reverse:",
		    step->target, 0);
	native_mount_attach(tree->fd, target, step->target);
	(void)close(target);
	(void)close(tree->fd);
	tree->fd = -1;
}

static void
native_build_tmpfs(
    struct native_build *build, const struct native_launch_step *one)
{
	const struct native_step *step = &one->step;
	int target = native_build_must(build, step->target, true);
	unsigned mode = one->mode != 0 ? one->mode : 0700U;
	int tree =
	    native_mount_tmpfs(NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NODEV |
				   (step->exec ? 0 : NATIVE_MOUNT_NOEXEC),
		step->size, mode, build->launch->uid, build->launch->gid);

	native_build_note(build, tree);
	native_mount_attach(tree, target, step->target);
	(void)close(tree);
	(void)close(target);
}

static void
native_build_link(struct native_build *build, const struct native_step *step)
{
	char above[NATIVE_VIEW_PATH_MAX];
	const char *name = strrchr(step->target, '/') + 1;
	int fd;

	(void)snprintf(above, sizeof(above), "%.*s",
	    (int)(name - step->target - 1), step->target);
	fd = above[0] != '\0' ? native_build_must(build, above, true)
			      : dup(build->fd);
	if (fd < 0 || !native_build_is_own(build, fd) ||
	    symlinkat(step->source, fd, name) != 0)
		native_fail(
		    "the view cannot be built: link", step->target, errno);
	(void)close(fd);
}

static void
native_build_place(struct native_build *build, uint32_t index)
{
	const struct native_launch_step *one = &build->launch->steps[index];
	const char *path = one->step.target;

	native_build_pin(build, index);
	switch (one->step.kind) {
	case NATIVE_STEP_DIR:
		(void)close(native_build_must(build, path, true));
		break;
	case NATIVE_STEP_BIND:
	case NATIVE_STEP_BIND_RW:
		native_build_bind(build, index);
		break;
	case NATIVE_STEP_MASK:
		native_build_mask(
		    build, native_build_must(build, path, true), path);
		break;
	case NATIVE_STEP_TMPFS:
		native_build_tmpfs(build, one);
		break;
	case NATIVE_STEP_PROC:
		native_kernel_proc(build, path);
		break;
	case NATIVE_STEP_DEV:
		native_kernel_dev(build, path);
		break;
	case NATIVE_STEP_LINK:
		native_build_link(build, &one->step);
		break;
	}
}

/* Beside the new root and gone with the old one; what is bound out of it
 * stays. It lies below the old root, not on it, so that one unmount takes
 * both: the kernel waits for each core in each. */
static void
native_build_store(struct native_build *build, int old)
{
	const struct native_launch *launch = build->launch;
	int below = native_mount_open(
	    old, "usr", O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	build->stacked = below < 0;
	build->store = native_mount_tmpfs(
	    NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NODEV | NATIVE_MOUNT_NOEXEC,
	    NATIVE_BUILD_SIZE, 0755, launch->uid, launch->gid);
	native_mount_attach(build->store, build->stacked ? old : below, "/usr");
	if (below >= 0)
		(void)close(below);
	build->empty_dir = native_build_make(build->store, "empty", true);
	build->empty_file = native_build_make(build->store, "nothing", false);
	if (build->empty_dir < 0 || build->empty_file < 0)
		native_fail("the view cannot be built: own files", "", errno);
}

/* The first step is the root, when its target is "/". */
static uint32_t
native_build_base(struct native_build *build, int old)
{
	const struct native_launch *launch = build->launch;
	bool given =
	    launch->step_count > 0 && launch->steps[0].step.target[1] == '\0';

	if (given) {
		build->fd = build->trees->steps[0].fd;
	} else {
		build->fd =
		    native_mount_tmpfs(NATIVE_MOUNT_NOSUID | NATIVE_MOUNT_NODEV,
			NATIVE_BUILD_SIZE, 0755, launch->uid, launch->gid);
		native_build_note(build, build->fd);
	}
	native_mount_attach(build->fd, old, "/");
	return given ? 1 : 0;
}

/* What was ours to mount on is nobody's to write. */
static void
native_build_freeze(struct native_build *build)
{
	for (uint32_t i = 0; i < build->launch->step_count; i++) {
		const struct native_launch_step *one = &build->launch->steps[i];
		int fd;

		if (one->step.kind != NATIVE_STEP_TMPFS || one->mode != 0755)
			continue;
		fd = native_build_must(build, one->step.target, true);
		native_mount_freeze(fd);
		(void)close(fd);
	}
}

/* Both roots at one place: the old one is on top of the new one then. */
static void
native_build_pivot(const struct native_build *build, int old)
{
	if (fchdir(build->fd) != 0 || syscall(SYS_pivot_root, ".", ".") != 0)
		native_fail("the view cannot become the root", "", errno);
	if (fchdir(old) != 0 || umount2(".", MNT_DETACH) != 0 ||
	    (build->stacked && umount2(".", MNT_DETACH) != 0) ||
	    chdir("/") != 0)
		native_fail("the old root cannot be left", "", errno);
}

void
native_build_build(
    const struct native_launch *launch, struct native_trees *trees)
{
	struct native_build build = {.launch = launch, .trees = trees};
	uint32_t first;
	int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (old < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		native_fail("the mount namespace is not private", "", errno);
	if (launch->rootless != 0)
		native_tree_open(launch, trees);
	native_build_store(&build, old);
	first = native_build_base(&build, old);
	for (uint32_t i = first; i < launch->step_count; i++)
		native_build_place(&build, i);
	native_own_place(&build);
	native_build_freeze(&build);
	if (first == 0) /* else the root is the user's choice */
		native_mount_freeze(build.fd);
	native_build_pivot(&build, old);
	(void)close(old);
	(void)close(build.fd);
	(void)close(build.store);
	(void)close(build.empty_dir);
	(void)close(build.empty_file);
}
