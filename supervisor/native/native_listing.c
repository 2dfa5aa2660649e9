/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists protected directories (see the header). Called by native_repository;
 * must never follow a link, and refuses what it cannot look through.
 */
#include "supervisor/native/native_listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"

/* Checkouts that an agent makes for itself: whole projects, of which nothing
 * is read by a tool that is started in this one. */
#define NATIVE_LISTING_NOT ".claude/worktrees"

/* A directory that cannot be listed: not there, no directory, or outside and
 * a link, which must not lead in. */
static enum result
native_listing_none(const struct native_listing *listing, const char *path)
{
	const struct native_given *root = listing->root;
	char named[2 * NATIVE_VIEW_PATH_MAX], real[NATIVE_VIEW_PATH_MAX];

	if (!native_look_outside(path) && errno != EACCES)
		return RESULT_OK;
	if (!native_look_outside(path))
		return native_step_fault(listing->plan, RESULT_REFUSED,
		    "%s/%s: a protected directory that you cannot list",
		    root->path, path);
	(void)snprintf(named, sizeof(named), "%s/%s", root->path, path);
	if (!native_look_real(named, real) ||
	    (real[0] != '\0' && !native_step_below(real, root->path)))
		return RESULT_OK;
	return native_step_fault(listing->plan, RESULT_REFUSED,
	    "%s: its repository's hooks are a link into it, which the command "
	    "could turn; name them with core.hooksPath, or use --mode "
	    "read-only",
	    root->path);
}

static enum result
native_listing_link(const struct native_listing *listing, int dir,
    const char *below, const char *name, const char *path)
{
	const struct native_given *root = listing->root;
	struct native_gitplace_from from = {root->path, "", below};
	char value[NATIVE_VIEW_PATH_MAX];
	struct native_gitplace place;
	struct stat info;
	ssize_t len = readlinkat(dir, name, value, sizeof(value) - 1);
	bool is_dir;
	enum result result;

	value[len > 0 ? len : 0] = '\0';
	if (len <= 0 || (size_t)len >= sizeof(value) - 1 || value[0] == '~' ||
	    native_gitplace_find(&from, value, &place) != RESULT_OK)
		return native_step_fault(listing->plan, RESULT_REFUSED,
		    "%s/%s: a link in a protected directory that cannot be "
		    "followed",
		    root->path, path);
	result = native_look_certain(listing->plan, root, &place, path);
	if (result != RESULT_OK || !place.inside || place.path[0] == '\0')
		return result;
	is_dir = fstatat(dir, name, &info, 0) == 0 && S_ISDIR(info.st_mode);
	return listing->lead(&place, is_dir, listing->context);
}

static enum result
native_listing_file(const struct native_listing *listing, int dir,
    const char *name, const char *path, struct stat *info)
{
	if (info->st_mode == 0 &&
	    fstatat(dir, name, info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? RESULT_OK : RESULT_SYSTEM;
	if (!S_ISREG(info->st_mode) || info->st_nlink < 2 ||
	    native_look_outside(path))
		return RESULT_OK;
	return native_step_fault(listing->plan, RESULT_REFUSED,
	    "%s/%s: this protected file has %lu names, and writing to another "
	    "one would go round its protection; make it a copy, or use --mode "
	    "read-only",
	    listing->root->path, path, (unsigned long)info->st_nlink);
}

static enum result native_listing_dir(
    struct native_listing *listing, int fd, const char *path, unsigned depth);

static enum result
native_listing_name(struct native_listing *listing, int dir, const char *below,
    const struct dirent *item, unsigned depth)
{
	char path[NATIVE_VIEW_PATH_MAX];
	struct stat info = {0};
	int fd;

	if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
		return RESULT_OK;
	if (snprintf(path, sizeof(path), "%s/%s", below, item->d_name) >=
		(int)sizeof(path) ||
	    ++listing->names > NATIVE_LISTING_NAMES_MAX)
		return native_step_fault(listing->plan, RESULT_REFUSED,
		    "%s/%s: its protected directories have more than %u names, "
		    "too many to look at; use --mode read-only",
		    listing->root->path, below, NATIVE_LISTING_NAMES_MAX);
	if (item->d_type == DT_UNKNOWN &&
	    fstatat(dir, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? RESULT_OK : RESULT_SYSTEM;
	if (item->d_type == DT_LNK || S_ISLNK(info.st_mode))
		return native_listing_link(
		    listing, dir, below, item->d_name, path);
	if (item->d_type != DT_DIR && !S_ISDIR(info.st_mode))
		return native_listing_file(
		    listing, dir, item->d_name, path, &info);
	if (strcmp(path, NATIVE_LISTING_NOT) == 0)
		return RESULT_OK;
	fd = openat(
	    dir, item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return native_listing_dir(listing, fd, path, depth + 1);
}

/* Takes the descriptor. */
static enum result
native_listing_dir(
    struct native_listing *listing, int fd, const char *path, unsigned depth)
{
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	enum result result = RESULT_OK;

	if (list == NULL) {
		fd_close(&fd);
		return native_listing_none(listing, path);
	}
	if (depth > NATIVE_LISTING_DEPTH_MAX)
		result = native_step_fault(listing->plan, RESULT_REFUSED,
		    "%s/%s: a protected directory more than %u deep",
		    listing->root->path, path, NATIVE_LISTING_DEPTH_MAX);
	while (result == RESULT_OK && (item = readdir(list)) != NULL)
		result = native_listing_name(listing, fd, path, item, depth);
	(void)closedir(list);
	return result;
}

enum result
native_listing_read(struct native_listing *listing, const char *dir)
{
	int fd = native_look_open(listing->root, dir, O_RDONLY | O_DIRECTORY);

	return native_listing_dir(listing, fd, dir, 0);
}
