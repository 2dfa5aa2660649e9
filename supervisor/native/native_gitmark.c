/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up git directories (see the header). Called by native_found; must
 * never read a file, nor list what a link leads to.
 */
#include "supervisor/native/native_gitmark.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NATIVE_GITMARK_PRIME 0x9e3779b97f4a7c15ULL

enum native_gitmark_what {
	NATIVE_GITMARK_ALL,  /* each name: hooks */
	NATIVE_GITMARK_SOME, /* what a git directory below has of that kind */
};

static const char *const native_gitmark_files[] = {
    "config", "config.worktree", "commondir"};
/* Data, of which there may be a lot. */
static const char *const native_gitmark_data[] = {
    "objects", "refs", "logs", "info", "lfs", "rr-cache"};

#define NATIVE_GITMARK_COUNT(list) (sizeof(list) / sizeof((list)[0]))

static bool
native_gitmark_in(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, list[i]) == 0)
			return true;
	}
	return false;
}

static uint64_t
native_gitmark_mix(uint64_t sum, uint64_t value)
{
	unsigned __int128 wide =
	    (unsigned __int128)(sum ^ value) * NATIVE_GITMARK_PRIME;

	return (uint64_t)wide ^ (uint64_t)(wide >> 64) ^ sum << 7;
}

/* A file counts with its times; a directory, which changes with every lock
 * in it, by what it is alone. */
static uint64_t
native_gitmark_stat(uint64_t sum, const struct stat *info)
{
	sum = native_gitmark_mix(sum, (uint64_t)info->st_dev);
	sum = native_gitmark_mix(sum, (uint64_t)info->st_ino);
	sum = native_gitmark_mix(sum, info->st_mode);
	if (S_ISDIR(info->st_mode))
		return sum;
	sum = native_gitmark_mix(sum, (uint64_t)info->st_ctim.tv_sec);
	return native_gitmark_mix(sum, (uint64_t)info->st_ctim.tv_nsec);
}

/* One name: itself, and what it leads to if it is a link. 0: not there. */
static uint64_t
native_gitmark_one(const struct native_gitmark *mark, int dir, const char *name,
    struct stat *info_r)
{
	uint64_t sum = mark->key;
	struct stat behind;

	if (fstatat(dir, name, info_r, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	for (const char *at = name; *at != '\0'; at++)
		sum = native_gitmark_mix(sum, (unsigned char)*at);
	sum = native_gitmark_stat(sum, info_r);
	if (S_ISLNK(info_r->st_mode) && fstatat(dir, name, &behind, 0) == 0)
		sum = native_gitmark_stat(sum, &behind);
	return sum;
}

static uint64_t native_gitmark_list(struct native_gitmark *mark, int dir,
    const char *name, enum native_gitmark_what what, unsigned depth);

static uint64_t
native_gitmark_name(struct native_gitmark *mark, int dir,
    const struct dirent *item, enum native_gitmark_what what, unsigned depth)
{
	const char *name = item->d_name;
	size_t len = strlen(name);
	bool some = what == NATIVE_GITMARK_SOME;
	bool hooks = !some || strcmp(name, "hooks") == 0;
	bool file = native_gitmark_in(name, native_gitmark_files,
	    NATIVE_GITMARK_COUNT(native_gitmark_files));
	struct stat info;
	uint64_t sum;

	/* No hook has such a name. */
	if ((some && item->d_type == DT_REG && !file) ||
	    (len > 7 && strcmp(name + len - 7, ".sample") == 0) ||
	    (some && native_gitmark_in(name, native_gitmark_data,
			 NATIVE_GITMARK_COUNT(native_gitmark_data))))
		return 0;
	sum = native_gitmark_one(mark, dir, name, &info);
	if (sum == 0 || (some && S_ISREG(info.st_mode) && !file))
		return 0;
	if (!S_ISDIR(info.st_mode))
		return sum;
	return native_gitmark_mix(sum,
	    native_gitmark_list(mark, dir, name,
		hooks ? NATIVE_GITMARK_ALL : NATIVE_GITMARK_SOME, depth + 1));
}

/* The sum over a directory, in whatever order; 0: none. */
static uint64_t
native_gitmark_list(struct native_gitmark *mark, int dir, const char *name,
    enum native_gitmark_what what, unsigned depth)
{
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	uint64_t sum = 0;
	struct stat info;

	if (list == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return native_gitmark_one(mark, dir, name, &info);
	}
	while ((item = readdir(list)) != NULL) {
		if (strcmp(item->d_name, ".") == 0 ||
		    strcmp(item->d_name, "..") == 0)
			continue;
		if (++*mark->names > mark->most ||
		    depth > NATIVE_GITMARK_DEPTH_MAX) {
			mark->complete = false;
			break;
		}
		sum += native_gitmark_name(mark, fd, item, what, depth);
	}
	(void)closedir(list);
	return sum;
}

/* Parts of the git directory at a name, each with its own place in the sum. */
static uint64_t
native_gitmark_parts(struct native_gitmark *mark, int dir,
    const char *const *parts, size_t count, uint64_t sum)
{
	for (size_t i = 0; i < count; i++)
		sum = native_gitmark_mix(
		    sum + i, native_gitmark_list(mark, dir, parts[i],
				 strcmp(parts[i], "modules") == 0 ||
					 strcmp(parts[i], "worktrees") == 0
				     ? NATIVE_GITMARK_SOME
				     : NATIVE_GITMARK_ALL,
				 0));
	return sum;
}

uint64_t
native_gitmark_read(struct native_gitmark *mark, int dir, const char *name)
{
	static const char *const parts[] = {
	    "hooks", "modules", "worktrees", "remotes", "branches"};
	struct stat info;
	uint64_t sum = native_gitmark_one(mark, dir, name, &info);
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0) {
		mark->complete &= sum == 0 || !S_ISDIR(info.st_mode);
		return sum;
	}
	for (size_t i = 0; i < NATIVE_GITMARK_COUNT(native_gitmark_files); i++)
		sum = native_gitmark_mix(
		    sum + i, native_gitmark_one(
				 mark, fd, native_gitmark_files[i], &info));
	sum = native_gitmark_parts(
	    mark, fd, parts, NATIVE_GITMARK_COUNT(parts), sum);
	(void)close(fd);
	return sum;
}

uint64_t
native_gitmark_added(struct native_gitmark *mark, int dir, const char *name)
{
	static const char *const parts[] = {"modules", "remotes", "branches"};
	int fd =
	    openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t sum;

	if (fd < 0)
		return 0; /* a file, which is protected, or nothing */
	sum = native_gitmark_parts(
	    mark, fd, parts, NATIVE_GITMARK_COUNT(parts), mark->key);
	(void)close(fd);
	return sum;
}
