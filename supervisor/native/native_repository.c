/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a repository through its root (see the header). Called by
 * native_protect in both passes; must never follow a link, and refuses what
 * it cannot follow to the end.
 */
#include "supervisor/native/native_repository.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_gitconfig.h"
#include "supervisor/native/native_step.h"

#define NATIVE_REPOSITORY_PATHS_MAX 16U
#define NATIVE_REPOSITORY_HOOKS_MAX 256U /* names in one directory */

struct native_repository_list {
	char paths[NATIVE_REPOSITORY_PATHS_MAX][NATIVE_VIEW_PATH_MAX];
	size_t count;
};

/* Relative to the root; "" is the root itself. */
struct native_repository {
	const struct native_protect_walk *walk;
	struct native_repository_list dirs;    /* git directories */
	struct native_repository_list configs; /* and what they include */
	struct native_repository_list hooks;   /* directories of them */
	struct native_repository_list outside; /* git directories as well */
};

/* What lies outside begins with "../" and is read for what it names in the
 * root; it needs no protection itself. */
static bool
native_repository_is_outside(const char *path)
{
	return strncmp(path, "../", 3) == 0;
}

static enum result
native_repository_add(struct native_repository *repository,
    struct native_repository_list *list, const char *dir, const char *name)
{
	char *path;

	if (list->count == NATIVE_REPOSITORY_PATHS_MAX)
		return native_step_fault(repository->walk->plan, RESULT_REFUSED,
		    "%s: its git configuration names more than %u others, "
		    "too many to protect; use --mode read-only",
		    repository->walk->root->path, NATIVE_REPOSITORY_PATHS_MAX);
	path = list->paths[list->count];
	if (snprintf(path, NATIVE_VIEW_PATH_MAX, "%s%s%s", dir,
		dir[0] != '\0' && name[0] != '\0' ? "/" : "",
		name) >= (int)NATIVE_VIEW_PATH_MAX)
		return native_step_fault(repository->walk->plan,
		    RESULT_TOO_LONG, "%s/%s: too long a path to protect",
		    repository->walk->root->path, dir);
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->paths[i], path) == 0)
			return RESULT_OK;
	}
	list->count++;
	return RESULT_OK;
}

static int
native_repository_open(
    const struct native_repository *repository, const char *path, int flags)
{
	struct open_how how = {
	    .flags = (unsigned)flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
	    .resolve =
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	if (native_repository_is_outside(path))
		how.resolve = RESOLVE_NO_MAGICLINKS;
	return (int)syscall(SYS_openat2, repository->walk->root->fd,
	    path[0] != '\0' ? path : ".", &how, sizeof(how));
}

/* A regular file's bytes. RESULT_NOT_FOUND: there is none. */
static enum result
native_repository_read(const struct native_repository *repository,
    const char *path, size_t max, char **text_r, size_t *len_r)
{
	int fd FD_CLEANUP = native_repository_open(repository, path, O_RDONLY);
	struct stat info;
	enum result result;

	*text_r = NULL;
	if (fd < 0 && errno != EACCES && errno != EPERM &&
	    !(native_repository_is_outside(path) && errno == ELOOP))
		return RESULT_NOT_FOUND; /* or a link, which is refused */
	if (fd < 0 || fstat(fd, &info) != 0)
		return native_step_fault(repository->walk->plan, RESULT_REFUSED,
		    "%s/%s: it cannot be read for what it makes git run",
		    repository->walk->root->path, path);
	if (!S_ISREG(info.st_mode))
		return RESULT_NOT_FOUND;
	result = fd_read_all(fd, max, text_r, len_r);
	if (result != RESULT_OK)
		return native_step_fault(repository->walk->plan, result,
		    "%s/%s: it cannot be read for what it makes git run (at "
		    "most %zu bytes)",
		    repository->walk->root->path, path, max);
	return RESULT_OK;
}

/* Where the kernel goes by a name, "" when that cannot be said; false: there
 * is nothing. */
static bool
native_repository_real(const char *named, char real_r[NATIVE_VIEW_PATH_MAX])
{
	char link[64];
	int fd FD_CLEANUP = open(named, O_PATH | O_CLOEXEC);
	ssize_t len;

	real_r[0] = '\0';
	if (fd < 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real_r, NATIVE_VIEW_PATH_MAX - 1);
	if (len < 0 || (size_t)len >= NATIVE_VIEW_PATH_MAX - 1)
		len = 0;
	real_r[len] = '\0';
	return true;
}

/* Where the kernel would go must be where the names say. */
static enum result
native_repository_certain(const struct native_repository *repository,
    const struct native_gitplace *place, const char *who)
{
	const struct native_given *root = repository->walk->root;
	char real[NATIVE_VIEW_PATH_MAX], want[NATIVE_VIEW_PATH_MAX];

	if (!native_repository_real(place->named, real))
		return RESULT_OK; /* not there: links in it are refused */
	if (place->inside && place->path[0] == '\0')
		memcpy(want, root->path, sizeof(want));
	else if (native_step_join(want, root->path, place->path) != RESULT_OK)
		return RESULT_TOO_LONG;
	if (place->inside
		? strcmp(real, want) == 0
		: real[0] != '\0' && !native_step_below(real, root->path))
		return RESULT_OK;
	return native_step_fault(repository->walk->plan, RESULT_REFUSED,
	    "%s/%s names %s through a link, which the command could turn; "
	    "name the real place, or use --mode read-only",
	    root->path, who, place->named);
}

/* A git directory outside: of a linked worktree, or of a submodule. */
static enum result
native_repository_leave(
    struct native_repository *repository, const struct native_gitplace *place)
{
	char up[NATIVE_VIEW_PATH_MAX] = "", real[NATIVE_VIEW_PATH_MAX];
	size_t len = 0;

	if (!native_repository_real(place->named, real))
		return RESULT_OK; /* git finds nothing there either */
	for (const char *at = repository->walk->root->path; *at != '\0'; at++) {
		if (*at != '/')
			continue;
		if (len + 4 > sizeof(up))
			return RESULT_TOO_LONG;
		memcpy(up + len, "../", 4);
		len += 3;
	}
	up[len > 0 ? len - 1 : 0] = '\0'; /* the next brings its slash */
	return native_repository_add(
	    repository, &repository->outside, up, real + 1);
}

/* A git directory that a file of one line names. */
static enum result
native_repository_line(struct native_repository *repository, const char *file,
    const char *prefix, const char *below)
{
	const struct native_protect_walk *walk = repository->walk;
	struct native_gitplace_from from = {
	    walk->root->path, walk->plan->view->home, below};
	struct native_gitplace place;
	char *text = NULL;
	size_t len = 0;
	enum result result = native_repository_read(
	    repository, file, NATIVE_GITPLACE_BYTES_MAX, &text, &len);

	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	result = native_gitplace_line(&from, prefix, text, len, &place);
	free(text);
	if (result != RESULT_OK)
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s/%s: it should be one line \"%s\" and a path, so it is "
		    "not known which git directory to protect",
		    walk->root->path, file, prefix);
	result = native_repository_certain(repository, &place, file);
	if (result != RESULT_OK)
		return result;
	if (!place.inside)
		return native_repository_leave(repository, &place);
	return native_repository_add(
	    repository, &repository->dirs, place.path, "");
}

/* One of them: where its config and its hooks are. */
static enum result
native_repository_dir(struct native_repository *repository, const char *dir)
{
	char file[NATIVE_VIEW_PATH_MAX + 16];
	enum result result;

	(void)snprintf(file, sizeof(file), "%s%scommondir", dir,
	    dir[0] != '\0' ? "/" : "");
	result = native_repository_line(repository, file, "", dir);
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->configs, dir, "config");
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->configs, dir, "config.worktree");
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->hooks, dir, "hooks");
	return result;
}

/* Git directories: both lists grow while they are read. */
static enum result
native_repository_dirs(struct native_repository *repository)
{
	size_t inside = 0, outside = 0;
	enum result result = RESULT_OK;

	while (
	    result == RESULT_OK && (inside < repository->dirs.count ||
				       outside < repository->outside.count)) {
		const char *dir;

		if (inside == repository->dirs.count) {
			dir = repository->outside.paths[outside++];
			result = native_repository_dir(repository, dir);
			continue;
		}
		dir = repository->dirs.paths[inside++];
		if (strcmp(dir, ".git") != 0)
			result = native_protect_git(repository->walk, dir);
		if (result == RESULT_OK)
			result = native_repository_dir(repository, dir);
	}
	return result;
}

static enum result
native_repository_place(struct native_repository *repository, const char *file,
    const struct native_gitplace *place, bool hooks)
{
	enum result result = native_repository_certain(repository, place, file);

	if (result != RESULT_OK || !place->inside)
		return result;
	if (place->path[0] == '\0')
		return native_step_fault(repository->walk->plan, RESULT_REFUSED,
		    "%s/%s: it names the workspace itself, which cannot be "
		    "protected; use --mode read-only",
		    repository->walk->root->path, file);
	result = native_protect_held_path(repository->walk, place->path, hooks);
	if (result != RESULT_OK)
		return result;
	return native_repository_add(repository,
	    hooks ? &repository->hooks : &repository->configs, place->path, "");
}

/* Hooks and includes that one config says are elsewhere in the workspace. */
static enum result
native_repository_config(struct native_repository *repository, const char *file)
{
	const struct native_protect_walk *walk = repository->walk;
	char below[NATIVE_VIEW_PATH_MAX];
	struct native_gitplace_from from = {
	    walk->root->path, walk->plan->view->home, below};
	struct native_gitconfig places;
	char *text = NULL, *end;
	size_t len = 0;
	enum result result = native_repository_read(
	    repository, file, NATIVE_GITCONFIG_BYTES_MAX, &text, &len);

	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	memcpy(below, file, strlen(file) + 1);
	end = strrchr(below, '/');
	*(end != NULL ? end : below) = '\0';
	result = native_gitconfig_read(text, len, &from, &places);
	free(text);
	if (result != RESULT_OK)
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s/%s: it cannot be read for the hooks and includes it "
		    "names (at most %u of them, none in another user's home)",
		    walk->root->path, file, NATIVE_GITCONFIG_PLACES_MAX);
	for (size_t i = 0; i < places.count && result == RESULT_OK; i++)
		result = native_repository_place(repository, file,
		    &places.places[i].place, places.places[i].hooks);
	return result;
}

/* A directory of hooks that cannot be listed: not there, no directory, or
 * outside and a link, which must not lead in. */
static enum result
native_repository_unlisted(
    const struct native_repository *repository, const char *path)
{
	const struct native_given *root = repository->walk->root;
	char named[2 * NATIVE_VIEW_PATH_MAX], real[NATIVE_VIEW_PATH_MAX];

	if (!native_repository_is_outside(path))
		return RESULT_OK;
	(void)snprintf(named, sizeof(named), "%s/%s", root->path, path);
	if (!native_repository_real(named, real) ||
	    (real[0] != '\0' && !native_step_below(real, root->path)))
		return RESULT_OK;
	return native_step_fault(repository->walk->plan, RESULT_REFUSED,
	    "%s: its repository's hooks are a link into it, which the command "
	    "could turn; name them with core.hooksPath, or use --mode "
	    "read-only",
	    root->path);
}

/* One name in a directory of hooks: a link's target is a hook as well. */
static enum result
native_repository_hook(struct native_repository *repository, int dir,
    const char *below, const char *name)
{
	const struct native_protect_walk *walk = repository->walk;
	struct native_gitplace_from from = {walk->root->path, "", below};
	char value[NATIVE_VIEW_PATH_MAX], file[2 * NATIVE_VIEW_PATH_MAX];
	struct native_gitplace place;
	struct stat info;
	ssize_t len;
	enum result result;

	(void)snprintf(file, sizeof(file), "%s/%s", below, name);
	if (fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? RESULT_OK : RESULT_SYSTEM;
	if (S_ISREG(info.st_mode) && info.st_nlink > 1 &&
	    !native_repository_is_outside(below))
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s/%s: this hook has %lu names, and writing to another "
		    "one would go round its protection; make it a copy, or "
		    "use --mode read-only",
		    walk->root->path, file, (unsigned long)info.st_nlink);
	if (!S_ISLNK(info.st_mode))
		return RESULT_OK;
	len = readlinkat(dir, name, value, sizeof(value) - 1);
	value[len > 0 ? len : 0] = '\0';
	if (len <= 0 || (size_t)len >= sizeof(value) - 1 || value[0] == '~' ||
	    native_gitplace_find(&from, value, &place) != RESULT_OK)
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s/%s: a link among the hooks that cannot be followed",
		    walk->root->path, file);
	result = native_repository_certain(repository, &place, file);
	if (result != RESULT_OK || !place.inside || place.path[0] == '\0')
		return result;
	return native_protect_held_path(walk, place.path, false);
}

static enum result
native_repository_hooks(struct native_repository *repository, const char *path)
{
	int fd =
	    native_repository_open(repository, path, O_RDONLY | O_DIRECTORY);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	enum result result = RESULT_OK;
	unsigned count = 0;

	if (list == NULL) {
		fd_close(&fd);
		return native_repository_unlisted(repository, path);
	}
	while (result == RESULT_OK && (item = readdir(list)) != NULL) {
		if (++count > NATIVE_REPOSITORY_HOOKS_MAX)
			result = native_step_fault(repository->walk->plan,
			    RESULT_REFUSED,
			    "%s/%s: more than %u hooks, too many to look at",
			    repository->walk->root->path, path,
			    NATIVE_REPOSITORY_HOOKS_MAX);
		else
			result = native_repository_hook(
			    repository, fd, path, item->d_name);
	}
	(void)closedir(list);
	return result;
}

static enum result
native_repository_all(struct native_repository *repository, bool bare)
{
	enum result result =
	    native_repository_line(repository, ".git", "gitdir:", "");

	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->dirs, ".git", "");
	if (result == RESULT_OK && bare)
		result = native_repository_add(
		    repository, &repository->dirs, "", "");
	if (result == RESULT_OK)
		result = native_repository_dirs(repository);
	for (size_t i = 0; i < repository->configs.count && result == RESULT_OK;
	     i++)
		result = native_repository_config(
		    repository, repository->configs.paths[i]);
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->hooks, ".githooks", "");
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->hooks, ".husky", "");
	for (size_t i = 0; i < repository->hooks.count && result == RESULT_OK;
	     i++)
		result = native_repository_hooks(
		    repository, repository->hooks.paths[i]);
	return result;
}

enum result
native_repository_protect(const struct native_protect_walk *walk, bool bare)
{
	struct native_repository *repository = calloc(1, sizeof(*repository));
	enum result result;

	if (repository == NULL)
		return RESULT_NO_MEMORY;
	repository->walk = walk;
	result = native_repository_all(repository, bare);
	free(repository);
	return result;
}
