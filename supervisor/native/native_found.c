/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for repositories (see the header). Called by exec_native; must never
 * follow a link, run anything, or believe what it reads: names and inodes
 * alone count.
 */
#include "supervisor/native/native_found.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "supervisor/native/native_gitmark.h"
#include "supervisor/native/native_step.h"

#define NATIVE_FOUND_MAX 256U
#define NATIVE_FOUND_DEPTH_MAX 40U
#define NATIVE_FOUND_NAMES_MAX 400000U

struct native_found_one {
	char path[NATIVE_VIEW_PATH_MAX];
	uint64_t mark;
};

struct native_found {
	struct native_found_one list[NATIVE_FOUND_MAX];
	size_t count, names;
	struct native_gitmark marks;
	const struct native_view *made; /* before a run: placeholders */
	dev_t dev;                      /* of the root that is walked */
	bool complete;
};

/* mark: of the git directory that is there. */
static void
native_found_add(struct native_found *found, const char *path, uint64_t mark)
{
	struct native_found_one *one;

	if (found->count == NATIVE_FOUND_MAX) {
		found->complete = false;
		return;
	}
	one = &found->list[found->count++];
	memcpy(one->path, path, strlen(path) + 1);
	one->mark = mark;
}

/* HEAD, objects and refs, or HEAD and commondir, which names the directory
 * of the others: git takes it for a repository. */
static bool
native_found_bare(int dir)
{
	if (faccessat(dir, "HEAD", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	return faccessat(dir, "commondir", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (faccessat(dir, "objects", F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
		   faccessat(dir, "refs", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
}

/* Of ours, made a moment ago: empty. */
static bool
native_found_made(const struct native_found *found, const char *path)
{
	const struct native_step *step =
	    found->made != NULL ? native_step_find(found->made, path) : NULL;

	return step != NULL && step->placeholder;
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

	if (native_step_join(path, above, name) != RESULT_OK) {
		found->complete = false;
		return;
	}
	if (git) {
		/* At the top the rest is protected, or a placeholder. */
		native_found_add(found, path,
		    depth == 0 ? native_gitmark_added(&found->marks, dir, name)
			       : native_gitmark_read(&found->marks, dir, name));
		return;
	}
	if (depth == 0 && native_found_made(found, path))
		return;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) != 0 || info.st_dev != found->dev) {
		found->complete = false;
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	if (native_found_bare(fd))
		native_found_add(
		    found, path, native_gitmark_read(&found->marks, fd, "."));
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
	if (native_found_bare(fd))
		native_found_add(found, step->source,
		    native_gitmark_added(&found->marks, fd, "."));
	native_found_walk(found, fd, step->source, 0);
}

/* Nobody outside knows it, so that no change can be made to look like none. */
static uint64_t
native_found_key(const struct native_found *before)
{
	struct timespec now = {0};
	uint64_t key = 0;

	if (before != NULL)
		return before->marks.key;
	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) == sizeof(key))
		return key;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
}

struct native_found *
native_found_take(
    const struct native_view *view, const struct native_found *before)
{
	struct native_found *found;

	if (view->mode != NATIVE_WORKSPACE_WRITE)
		return NULL;
	found = calloc(1, sizeof(*found));
	if (found == NULL)
		return NULL;
	found->complete = true;
	found->made = before == NULL ? view : NULL;
	found->marks = (struct native_gitmark){native_found_key(before),
	    &found->names, NATIVE_FOUND_NAMES_MAX, true};
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
	found->complete &= found->marks.complete;
	return found;
}

void
native_found_free(struct native_found **found)
{
	free(*found);
	*found = NULL;
}

static bool
native_found_known(
    const struct native_found *before, const struct native_found_one *one)
{
	for (size_t i = 0; before != NULL && i < before->count; i++) {
		const struct native_found_one *old = &before->list[i];

		if (old->mark == one->mark && strcmp(old->path, one->path) == 0)
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
