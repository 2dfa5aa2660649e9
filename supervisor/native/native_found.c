/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for repositories (see the header). Called by exec_native; must never
 * follow a link, run anything, or believe what it reads: names and inodes
 * alone count.
 */
#include "supervisor/native/native_found.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/native/native_step.h"

#define NATIVE_FOUND_MAX 256U
#define NATIVE_FOUND_DEPTH_MAX 40U
#define NATIVE_FOUND_NAMES_MAX 400000U

struct native_found_mark {
	dev_t dev;
	ino_t ino;
	struct timespec changed;
};

/* What says which config git reads there. */
static const char *const native_found_parts[] = {
    "", "/config", "/config.worktree", "/commondir"};
#define NATIVE_FOUND_PARTS \
	(sizeof(native_found_parts) / sizeof(native_found_parts[0]))

struct native_found_one {
	char path[NATIVE_VIEW_PATH_MAX];
	struct native_found_mark marks[NATIVE_FOUND_PARTS];
};

struct native_found {
	struct native_found_one list[NATIVE_FOUND_MAX];
	size_t count, names;
	dev_t dev; /* of the root that is walked */
	bool complete;
};

static void
native_found_mark(int dir, const char *name, struct native_found_mark *mark_r)
{
	struct stat info;

	memset(mark_r, 0, sizeof(*mark_r));
	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	mark_r->dev = info.st_dev;
	mark_r->ino = info.st_ino;
	/* A directory changes with every lock git makes in it. */
	if (!S_ISDIR(info.st_mode))
		mark_r->changed = info.st_ctim;
}

static void
native_found_add(
    struct native_found *found, int dir, const char *name, const char *path)
{
	struct native_found_one *one;
	char part[NAME_MAX + 32];

	if (found->count == NATIVE_FOUND_MAX) {
		found->complete = false;
		return;
	}
	one = &found->list[found->count++];
	memcpy(one->path, path, strlen(path) + 1);
	for (size_t i = 0; i < NATIVE_FOUND_PARTS; i++) {
		(void)snprintf(
		    part, sizeof(part), "%s%s", name, native_found_parts[i]);
		native_found_mark(dir, part, &one->marks[i]);
	}
}

/* HEAD, objects and refs: git takes it for a repository. */
static bool
native_found_bare(int dir)
{
	return faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(dir, "objects", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(dir, "refs", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void native_found_walk(
    struct native_found *found, int dir, const char *path, unsigned depth);

static void
native_found_name(struct native_found *found, int dir, const char *above,
    const char *name, unsigned depth)
{
	char path[NATIVE_VIEW_PATH_MAX];
	bool git = strcasecmp(name, ".git") == 0;
	struct stat info;
	int fd;

	if (git && depth == 0)
		return; /* protected, or a placeholder */
	if (native_step_join(path, above, name) != RESULT_OK) {
		found->complete = false;
		return;
	}
	if (git) {
		native_found_add(found, dir, name, path);
		return;
	}
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) != 0 || info.st_dev != found->dev) {
		found->complete = false;
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	if (native_found_bare(fd)) {
		native_found_add(found, dir, name, path);
		(void)close(fd);
		return;
	}
	native_found_walk(found, fd, path, depth + 1);
}

/* Takes the descriptor. */
static void
native_found_walk(
    struct native_found *found, int dir, const char *path, unsigned depth)
{
	DIR *list = fdopendir(dir);
	const struct dirent *item;

	if (list == NULL) {
		(void)close(dir);
		found->complete = false;
		return;
	}
	while ((item = readdir(list)) != NULL) {
		if (found->names++ >= NATIVE_FOUND_NAMES_MAX ||
		    depth > NATIVE_FOUND_DEPTH_MAX) {
			found->complete = false;
			break;
		}
		if (strcmp(item->d_name, ".") == 0 ||
		    strcmp(item->d_name, "..") == 0 ||
		    (item->d_type != DT_DIR && item->d_type != DT_UNKNOWN &&
			strcasecmp(item->d_name, ".git") != 0))
			continue;
		native_found_name(found, dir, path, item->d_name, depth);
	}
	(void)closedir(list);
}

static void
native_found_root(struct native_found *found, const struct native_step *step)
{
	struct stat info;
	int fd =
	    open(step->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) != 0 ||
	    step->ino != (uint64_t)info.st_ino ||
	    step->dev != (uint64_t)info.st_dev) {
		found->complete = false;
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	found->dev = info.st_dev;
	native_found_walk(found, fd, step->source, 0);
}

struct native_found *
native_found_take(const struct native_view *view)
{
	struct native_found *found;

	if (view->mode != NATIVE_WORKSPACE_WRITE)
		return NULL;
	found = calloc(1, sizeof(*found));
	if (found == NULL)
		return NULL;
	found->complete = true;
	for (size_t i = 0; i < view->count; i++) {
		const struct native_step *step = &view->steps[i];
		bool below = false;

		for (size_t j = 0; j < i && !below; j++)
			below = view->steps[j].kind == NATIVE_STEP_BIND_RW &&
				native_step_below(
				    step->target, view->steps[j].target);
		if (step->kind == NATIVE_STEP_BIND_RW && !below)
			native_found_root(found, step);
	}
	return found;
}

void
native_found_free(struct native_found **found)
{
	free(*found);
	*found = NULL;
}

static bool
native_found_same(
    const struct native_found_mark *one, const struct native_found_mark *other)
{
	return one->dev == other->dev && one->ino == other->ino &&
	       one->changed.tv_sec == other->changed.tv_sec &&
	       one->changed.tv_nsec == other->changed.tv_nsec;
}

static bool
native_found_known(
    const struct native_found *before, const struct native_found_one *one)
{
	for (size_t i = 0; before != NULL && i < before->count; i++) {
		const struct native_found_one *old = &before->list[i];

		bool same = strcmp(old->path, one->path) == 0;

		for (size_t j = 0; j < NATIVE_FOUND_PARTS && same; j++)
			same =
			    native_found_same(&old->marks[j], &one->marks[j]);
		if (same)
			return true;
	}
	return false;
}

const char *
native_found_next(const struct native_found *before,
    const struct native_found *after, size_t *at_r)
{
	while (after != NULL && *at_r < after->count) {
		const struct native_found_one *one = &after->list[(*at_r)++];

		if (!native_found_known(before, one))
			return one->path;
	}
	return NULL;
}

bool
native_found_complete(const struct native_found *found)
{
	return found != NULL && found->complete;
}
