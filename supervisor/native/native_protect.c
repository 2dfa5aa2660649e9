/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of protected paths, and their steps (see the header). Called by
 * native_view once per writable root; must never follow a link, and refuses
 * what it cannot protect.
 */
#include "supervisor/native/native_protect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_nested.h"
#include "supervisor/native/native_repository.h"

/* A file below that is ALWAYS, outside of .git, stands in the launcher's
 * /etc/gitexclude too (native_own.c). */
#define ALWAYS NATIVE_PROTECT_ALWAYS
#define THERE NATIVE_PROTECT_THERE

const struct native_protect_entry native_protect_table[] = {
    /* git reads these whenever anything asks it: fsmonitor, hooks, aliases,
     * filters, pagers. commondir makes it read another config instead, and
     * an empty one stops it, so that a placeholder says "here". */
    {".git/hooks", true, ALWAYS, NULL},
    {".git/config", false, ALWAYS, NULL},
    {".git/config.worktree", false, ALWAYS, NULL},
    {".git/commondir", false, ALWAYS, "."},
    /* git directories of submodules and worktrees, each with a config and
     * hooks; no .git file leads to a new one. */
    {".git/modules", true, THERE, NULL},
    {".git/worktrees", true, THERE, NULL},
    /* hooks a project keeps beside its files; nothing runs new ones before
     * .git/config says so. */
    {".githooks", true, THERE, NULL},
    {".husky", true, THERE, NULL},
    {".gitconfig", false, THERE, NULL},
    {".pre-commit-config.yaml", false, THERE, NULL},
    {"lefthook.yml", false, THERE, NULL},
    {"lefthook-local.yml", false, THERE, NULL}, /* or held beside it */
    /* read by a shell that enters the folder */
    {".envrc", false, ALWAYS, NULL},
    /* read by an editor that opens it: tasks, interpreters, extensions */
    {".vscode", true, ALWAYS, NULL},
    {".idea", true, ALWAYS, NULL},
    {".helix", true, ALWAYS, NULL},
    {".zed", true, ALWAYS, NULL},
    {".devcontainer", true, THERE, NULL},
    /* read by an agent that is started in it: hooks, servers, permissions */
    {".claude", true, ALWAYS, NULL},
    {".codex", true, ALWAYS, NULL},
    {".cursor", true, ALWAYS, NULL},
    {".gemini", true, ALWAYS, NULL},
    {".kiro", true, ALWAYS, NULL},
    {".opencode", true, ALWAYS, NULL},
    {"opencode.json", false, ALWAYS, "{}\n"},
    {"opencode.jsonc", false, ALWAYS, "{}\n"},
    {".aider.conf.yml", false, ALWAYS, "{}\n"},
    {".agents", true, THERE, NULL},
    {".mcp.json", false, ALWAYS, "{}\n"},
    /* ours: which packages run, with which permissions */
    {".agentnode", true, ALWAYS, NULL},
    {"agentnode.lock", false, ALWAYS, NULL},
    /* start files of shells, which a home may link to */
    {".bashrc", false, THERE, NULL},
    {".bash_profile", false, THERE, NULL},
    {".bash_login", false, THERE, NULL},
    {".bash_logout", false, THERE, NULL},
    {".bash_aliases", false, THERE, NULL},
    {".profile", false, THERE, NULL},
    {".zshrc", false, THERE, NULL},
    {".zshenv", false, THERE, NULL},
    {".zprofile", false, THERE, NULL},
    {".zlogin", false, THERE, NULL},
    {".zlogout", false, THERE, NULL},
};
const size_t native_protect_count =
    sizeof(native_protect_table) / sizeof(native_protect_table[0]);

const char *
native_protect_content(const char *path)
{
	for (size_t i = 0; i < native_protect_count; i++) {
		const struct native_protect_entry *entry =
		    &native_protect_table[i];
		size_t len = strlen(path), tail = strlen(entry->path);
		const char *bare = entry->path;

		if (entry->content == NULL)
			continue;
		if (strncmp(bare, ".git/", 5) == 0) {
			bare += 5;
			tail -= 5;
		}
		if (len > tail && path[len - tail - 1] == '/' &&
		    strcmp(path + len - tail, bare) == 0)
			return entry->content;
	}
	return "";
}

/* The step of this root at a target; what an earlier root has there lies
 * below it and counts for nothing. */
static struct native_step *
native_protect_step(const struct native_protect_walk *walk, const char *target)
{
	struct native_step *step = native_step_find(walk->plan->view, target);
	const struct native_step *root =
	    native_step_find(walk->plan->view, walk->root->path);

	return step != NULL && root != NULL && step > root ? step : NULL;
}

/* Two names of the list, or one in the other (.husky and .husky/_), are one
 * mount: whatever lies on the way below it is read-only with it. */
static bool
native_protect_sealed(
    const struct native_protect_walk *walk, const char *target)
{
	struct native_step *step = native_protect_step(walk, target);
	struct native_view *view = walk->plan->view;

	if (step == NULL || (step->kind != NATIVE_STEP_BIND &&
				step->kind != NATIVE_STEP_BIND_RW))
		return false;
	for (; step < view->steps + view->count; step++) {
		if (step->kind == NATIVE_STEP_BIND_RW &&
		    native_step_below(step->target, target))
			step->kind = NATIVE_STEP_BIND;
	}
	return true;
}

/* A placeholder holds the first part that is not there. */
static enum result
native_protect_absent(
    const struct native_protect_walk *walk, const char *target, bool last)
{
	struct native_step *step;
	enum result result;

	if (!walk->seal || walk->entry->when == NATIVE_PROTECT_THERE ||
	    native_protect_step(walk, target) != NULL)
		return RESULT_OK;
	result = native_step_add(walk->plan, NATIVE_STEP_BIND, target, &step);
	if (result != RESULT_OK)
		return result;
	memcpy(step->source, step->target, sizeof(step->source));
	step->placeholder = true;
	step->dir = !last || walk->entry->is_dir;
	return RESULT_OK;
}

/* The protected thing itself, or a file where a directory should be. */
static enum result
native_protect_leaf(const struct native_protect_walk *walk, const char *target,
    const struct stat *info)
{
	if (!S_ISDIR(info->st_mode) && !S_ISREG(info->st_mode))
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s: a protected path is a file or a directory; this can "
		    "be shown with --mode read-only alone",
		    target);
	if (S_ISREG(info->st_mode) && info->st_nlink > 1)
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s: this file has %lu names, and writing to another one "
		    "would go round its protection; make it a copy, or use "
		    "--mode read-only",
		    target, (unsigned long)info->st_nlink);
	if (!walk->seal || native_protect_sealed(walk, target))
		return RESULT_OK;
	return native_step_bind(walk->plan, false, target, target, info);
}

/* A directory on the way: a mount point of its own. */
static enum result
native_protect_way(const struct native_protect_walk *walk, const char *target,
    const struct stat *info)
{
	if (walk->seal || native_protect_step(walk, target) != NULL)
		return RESULT_OK;
	return native_step_bind(walk->plan, true, target, target, info);
}

static enum result
native_protect_look(const struct native_protect_walk *walk, const char *part,
    const char *target, struct stat *info_r)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	    .resolve =
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int fd FD_CLEANUP =
	    (int)syscall(SYS_openat2, walk->root->fd, part, &how, sizeof(how));

	memset(info_r, 0, sizeof(*info_r));
	if (fd < 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	if (fd < 0 || fstat(fd, info_r) != 0)
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s: a protected path that cannot be looked at: %s", target,
		    strerror(errno));
	if (S_ISLNK(info_r->st_mode))
		return native_step_fault(walk->plan, RESULT_REFUSED,
		    "%s is a link: it cannot be protected, the command could "
		    "replace it; put the real thing there, or use --mode "
		    "read-only",
		    target);
	return RESULT_OK;
}

/* Another run's placeholder is as good as nothing there. */
static bool
native_protect_held(
    const struct native_protect_walk *walk, const struct stat *info)
{
	const struct native_view_choice *choice = walk->choice;

	for (size_t i = 0; i < choice->held_count; i++) {
		if (choice->held[i].dev == (uint64_t)info->st_dev &&
		    choice->held[i].ino == (uint64_t)info->st_ino)
			return true;
	}
	return false;
}

static enum result
native_protect_part(const struct native_protect_walk *walk, const char *part,
    bool last, bool *end_r)
{
	char target[NATIVE_VIEW_PATH_MAX];
	const struct native_step *step;
	struct stat info;
	enum result result = native_step_join(target, walk->root->path, part);

	if (result != RESULT_OK)
		return native_step_fault(walk->plan, result,
		    "%s: protected paths below it get too long",
		    walk->root->path);
	result = native_protect_look(walk, part, target, &info);
	if (result == RESULT_OK && native_protect_held(walk, &info))
		result = RESULT_NOT_FOUND;
	*end_r = last || result != RESULT_OK || !S_ISDIR(info.st_mode);
	if (result == RESULT_NOT_FOUND)
		return native_protect_absent(walk, target, last);
	if (result != RESULT_OK)
		return result;
	if (*end_r)
		return native_protect_leaf(walk, target, &info);
	/* What lies in a read-only directory is protected with it. */
	step = walk->seal ? native_protect_step(walk, target) : NULL;
	*end_r = step != NULL && step->kind == NATIVE_STEP_BIND;
	return native_protect_way(walk, target, &info);
}

static enum result
native_protect_walk(const struct native_protect_walk *walk)
{
	char part[NATIVE_VIEW_PATH_MAX];
	size_t len = strlen(walk->path);
	bool end = false;

	memcpy(part, walk->path, len + 1);
	for (size_t i = 1; i <= len && !end; i++) {
		enum result result;

		if (walk->path[i] != '/' && walk->path[i] != '\0')
			continue;
		part[i] = '\0';
		result = native_protect_part(walk, part, i == len, &end);
		if (result != RESULT_OK)
			return result;
		part[i] = walk->path[i];
	}
	return RESULT_OK;
}

/* A relative path of names, none of them "", "." or "..". */
static bool
native_protect_valid(const char *path)
{
	size_t start = 0, len = strlen(path);

	if (len == 0 || len >= NATIVE_VIEW_PATH_MAX / 2)
		return false;
	for (size_t i = 0; i <= len; i++) {
		const char *name = path + start;

		if (path[i] != '\0' && (unsigned char)path[i] < 0x20)
			return false;
		if (path[i] != '/' && path[i] != '\0')
			continue;
		if (i == start || (i - start == 1 && name[0] == '.') ||
		    (i - start == 2 && strncmp(name, "..", 2) == 0))
			return false;
		start = i + 1;
	}
	return true;
}

/* Paths of --protect are held as files when they are not there; a slash at
 * the end makes it a directory. */
static enum result
native_protect_more(const struct native_protect_walk *from, const char *given)
{
	char path[NATIVE_VIEW_PATH_MAX];
	size_t len = strlen(given);
	bool is_dir = len > 1 && given[len - 1] == '/';

	if (is_dir)
		len--;
	if (len < sizeof(path)) {
		memcpy(path, given, len);
		path[len] = '\0';
	}
	if (len >= sizeof(path) || !native_protect_valid(path))
		return native_step_fault(from->plan, RESULT_REFUSED,
		    "--protect %s: it takes a path inside the workspace, "
		    "without . and ..",
		    given);
	return native_protect_held_path(from, path, is_dir);
}

enum result
native_protect_held_path(
    const struct native_protect_walk *from, const char *path, bool is_dir)
{
	struct native_protect_walk walk = *from;
	struct native_protect_entry entry = {path, is_dir, ALWAYS, NULL};

	walk.entry = &entry;
	walk.path = path;
	return native_protect_walk(&walk);
}

enum result
native_protect_git(const struct native_protect_walk *from, const char *dir)
{
	struct native_protect_walk walk = *from;
	char path[NATIVE_VIEW_PATH_MAX];
	enum result result = RESULT_OK;

	for (size_t i = 0; i < native_protect_count && result == RESULT_OK;
	     i++) {
		walk.entry = &native_protect_table[i];
		if (strncmp(walk.entry->path, ".git/", 5) != 0)
			continue;
		walk.path = walk.entry->path + 5;
		if (dir[0] != '\0') {
			result = native_step_join(path, dir, walk.path);
			walk.path = path;
		}
		if (result == RESULT_OK)
			result = native_protect_walk(&walk);
	}
	return result;
}

/* What is at a name of the root, but for placeholders of other runs. */
static bool
native_protect_is(const struct native_protect_walk *walk, const char *name,
    struct stat *info_r)
{
	return fstatat(walk->root->fd, name, info_r, AT_SYMLINK_NOFOLLOW) ==
		   0 &&
	       !native_protect_held(walk, info_r);
}

/* The root as a repository without a .git, as git takes a directory for one
 * that has HEAD, objects and refs, or HEAD and commondir. */
enum native_protect_self {
	NATIVE_PROTECT_NOT,   /* .git is a file, which nobody can replace */
	NATIVE_PROTECT_BARE,  /* it is one, or lacks little: see HEAD */
	NATIVE_PROTECT_EMPTY, /* nothing is there that leads git elsewhere */
	NATIVE_PROTECT_GIT    /* its .git can be broken by the command */
};

static enum native_protect_self
native_protect_self(const struct native_protect_walk *walk)
{
	struct stat info;

	if (native_protect_is(walk, "HEAD", &info))
		return NATIVE_PROTECT_BARE;
	if (!native_protect_is(walk, ".git", &info))
		return NATIVE_PROTECT_EMPTY;
	return S_ISDIR(info.st_mode) ? NATIVE_PROTECT_GIT : NATIVE_PROTECT_NOT;
}

/* That the root does not become one. An empty HEAD is none; where git is
 * used, "HEAD" must not be a file's name as well, so that there a refs is
 * held which is no directory, and commondir, which could stand for it. */
static enum result
native_protect_no_repository(
    const struct native_protect_walk *walk, enum native_protect_self self)
{
	struct stat info;
	enum result result;

	if (self == NATIVE_PROTECT_NOT || self == NATIVE_PROTECT_BARE)
		return RESULT_OK;
	if (self == NATIVE_PROTECT_EMPTY)
		return native_protect_held_path(walk, "HEAD", false);
	result = native_protect_held_path(walk, "commondir", false);
	if (result != RESULT_OK)
		return result;
	if (!native_protect_is(walk, "refs", &info))
		return native_protect_held_path(walk, "refs", false);
	if (!native_protect_is(walk, "objects", &info))
		return native_protect_held_path(walk, "objects", false);
	return native_protect_held_path(walk, "HEAD", false);
}

static enum result
native_protect_pass(const struct native_protect_walk *from,
    enum native_protect_self self, const struct native_repository *found)
{
	struct native_protect_walk walk = *from;
	const struct native_view_choice *choice = walk.choice;
	enum result result = RESULT_OK;
	struct stat info;

	for (size_t i = 0; i < native_protect_count && result == RESULT_OK;
	     i++) {
		walk.entry = &native_protect_table[i];
		walk.path = walk.entry->path;
		result = native_protect_walk(&walk);
		if (result != RESULT_OK || self != NATIVE_PROTECT_BARE ||
		    strncmp(walk.path, ".git/", 5) != 0)
			continue;
		walk.path += 5;
		result = native_protect_walk(&walk);
	}
	/* What overrides it is read before it. */
	if (result == RESULT_OK &&
	    native_protect_is(&walk, "lefthook.yml", &info))
		result = native_protect_held_path(
		    &walk, "lefthook-local.yml", false);
	if (result == RESULT_OK)
		result = native_protect_no_repository(&walk, self);
	if (result == RESULT_OK)
		result = native_repository_protect(&walk, found);
	if (strcmp(walk.root->path, walk.plan->view->workspace) != 0)
		return result;
	for (size_t i = 0; i < choice->protect_count && result == RESULT_OK;
	     i++)
		result = native_protect_more(&walk, choice->protect[i]);
	return result;
}

enum result
native_protect_root(struct native_step_plan *plan,
    const struct native_given *root, const struct native_view_choice *choice)
{
	struct native_protect_walk walk = {
	    plan, root, NULL, NULL, false, choice};
	enum native_protect_self self = native_protect_self(&walk);
	struct native_repository *found = NULL;
	enum result result = native_repository_find(
	    plan, root, self == NATIVE_PROTECT_BARE, &found);

	if (result == RESULT_OK)
		result = native_protect_pass(&walk, self, found);
	if (result == RESULT_OK)
		result = native_nested_add(plan, root);
	walk.seal = true;
	if (result == RESULT_OK)
		result = native_protect_pass(&walk, self, found);
	native_repository_free(&found);
	return result;
}
