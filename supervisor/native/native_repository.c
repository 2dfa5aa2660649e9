/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows repositories through a root (see the header). Called by
 * native_protect before its passes; must never follow a link, and refuses
 * what it cannot follow to the end.
 */
#include "supervisor/native/native_repository.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_gitconfig.h"
#include "supervisor/native/native_gitwords.h"
#include "supervisor/native/native_listing.h"
#include "supervisor/native/native_look.h"
#include "supervisor/native/native_step.h"

#define NATIVE_REPOSITORY_PATHS_MAX 64U
#define NATIVE_REPOSITORY_FOUND_MAX 128U
#define NATIVE_REPOSITORY_AROUND_MAX 4U   /* repositories around the root */
#define NATIVE_REPOSITORY_WORDS_MAX 4096U /* of all configs */
#define NATIVE_REPOSITORY_FIRST 2U        /* words that may be the program */

/* A path relative to the root, "" for itself; and where, by the same rule,
 * the worktree is from which names in a config count. */
struct native_repository_item {
	char path[NATIVE_VIEW_PATH_MAX];
	const char *top; /* borrowed */
	bool yours;      /* for any repository: places alone count */
};

struct native_repository_list {
	struct native_repository_item items[NATIVE_REPOSITORY_PATHS_MAX];
	size_t count;
};

struct native_repository_found {
	char path[NATIVE_VIEW_PATH_MAX];
	bool dir;
};

struct native_repository {
	struct native_step_plan *plan;
	const struct native_given *root;
	struct native_repository_list dirs;    /* git directories */
	struct native_repository_list outside; /* and those that lie there */
	struct native_repository_list configs; /* and what they include */
	struct native_repository_list lists;   /* directories to look through */
	char tops[NATIVE_REPOSITORY_AROUND_MAX][NATIVE_VIEW_PATH_MAX];
	size_t top_count, words;
	struct native_repository_found found[NATIVE_REPOSITORY_FOUND_MAX];
	size_t found_count;
};

static enum result
native_repository_add(struct native_repository *repository,
    struct native_repository_list *list, const char *top, const char *dir,
    const char *name)
{
	struct native_repository_item *item = &list->items[list->count];

	if (list->count == NATIVE_REPOSITORY_PATHS_MAX)
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s: its git configuration names more than %u others, "
		    "too many to protect; use --mode read-only",
		    repository->root->path, NATIVE_REPOSITORY_PATHS_MAX);
	if (snprintf(item->path, sizeof(item->path), "%s%s%s", dir,
		dir[0] != '\0' && name[0] != '\0' ? "/" : "",
		name) >= (int)sizeof(item->path))
		return native_step_fault(repository->plan, RESULT_TOO_LONG,
		    "%s/%s: too long a path to protect", repository->root->path,
		    dir);
	item->top = top;
	item->yours = false;
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].path, item->path) == 0 &&
		    strcmp(list->items[i].top, top) == 0)
			return RESULT_OK;
	}
	list->count++;
	return RESULT_OK;
}

/* To be held, there or not. */
static enum result
native_repository_hold(
    struct native_repository *repository, const char *path, bool dir)
{
	struct native_repository_found *found =
	    &repository->found[repository->found_count];

	for (size_t i = 0; i < repository->found_count; i++) {
		if (strcmp(repository->found[i].path, path) == 0)
			return RESULT_OK;
	}
	if (repository->found_count == NATIVE_REPOSITORY_FOUND_MAX)
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s: its git configuration and links name more than %u "
		    "places in it, too many to protect; use --mode read-only",
		    repository->root->path, NATIVE_REPOSITORY_FOUND_MAX);
	(void)snprintf(found->path, sizeof(found->path), "%s", path);
	found->dir = dir;
	repository->found_count++;
	return RESULT_OK;
}

/* --- git directories ----------------------------------------------------- */

/* A git directory outside: of a linked worktree, of a submodule, or around
 * the root. */
static enum result
native_repository_leave(struct native_repository *repository, const char *top,
    const struct native_gitplace *place)
{
	char up[NATIVE_VIEW_PATH_MAX], real[NATIVE_VIEW_PATH_MAX];

	if (!native_look_real(place->named, real))
		return RESULT_OK; /* git finds nothing there either */
	if (native_look_out(repository->root, real, up) != RESULT_OK)
		return native_step_fault(repository->plan, RESULT_TOO_LONG,
		    "%s: too long a path to read", real);
	return native_repository_add(
	    repository, &repository->outside, top, up, "");
}

/* A git directory that a file of one line names. */
static enum result
native_repository_line(struct native_repository *repository, const char *top,
    const char *file, const char *prefix, const char *below)
{
	struct native_gitplace_from from = {
	    repository->root->path, repository->plan->view->home, below};
	struct native_gitplace place;
	char *text = NULL;
	size_t len = 0;
	enum result result = native_look_read(repository->plan,
	    repository->root, file, NATIVE_GITPLACE_BYTES_MAX, &text, &len);

	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	result = native_gitplace_line(&from, prefix, text, len, &place);
	free(text);
	if (result != RESULT_OK)
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s/%s: it should be one line \"%s\" and a path, so it is "
		    "not known which git directory to protect",
		    repository->root->path, file, prefix);
	result = native_look_certain(
	    repository->plan, repository->root, &place, file);
	if (result != RESULT_OK)
		return result;
	if (!place.inside)
		return native_repository_leave(repository, top, &place);
	return native_repository_add(
	    repository, &repository->dirs, top, place.path, "");
}

/* One of them: where its config and its hooks are. */
static enum result
native_repository_dir(
    struct native_repository *repository, const char *top, const char *dir)
{
	char file[NATIVE_VIEW_PATH_MAX + 16];
	enum result result;

	(void)snprintf(file, sizeof(file), "%s%scommondir", dir,
	    dir[0] != '\0' ? "/" : "");
	result = native_repository_line(repository, top, file, "", dir);
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->configs, top, dir, "config");
	if (result == RESULT_OK)
		result = native_repository_add(repository, &repository->configs,
		    top, dir, "config.worktree");
	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->lists, "", dir, "hooks");
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
		const struct native_repository_item *item =
		    inside < repository->dirs.count
			? &repository->dirs.items[inside++]
			: &repository->outside.items[outside++];

		result =
		    native_repository_dir(repository, item->top, item->path);
	}
	return result;
}

/* What git finds in a directory around the root (top) when it is asked there,
 * or in the root while that has no repository of its own: .git, or the
 * directory itself. Its kind; false: nothing. */
static bool
native_repository_there(const struct native_repository *repository,
    const char *top, char git_r[NATIVE_VIEW_PATH_MAX], mode_t *mode_r)
{
	struct stat info;

	if (snprintf(git_r, NATIVE_VIEW_PATH_MAX, "%s/.git", top) >=
	    (int)NATIVE_VIEW_PATH_MAX)
		return false; /* git could not name it either */
	if (fstatat(repository->root->fd, git_r, &info, 0) == 0) {
		*mode_r = info.st_mode;
		return true;
	}
	(void)snprintf(git_r, NATIVE_VIEW_PATH_MAX, "%s/HEAD", top);
	if (fstatat(repository->root->fd, git_r, &info, AT_SYMLINK_NOFOLLOW) !=
	    0)
		return false;
	*mode_r = S_IFDIR;
	*strrchr(git_r, '/') = '\0';
	return true;
}

static enum result
native_repository_around(struct native_repository *repository, const char *dir)
{
	char git[NATIVE_VIEW_PATH_MAX];
	char *top = repository->tops[repository->top_count];
	struct native_gitplace place = {.inside = false};
	mode_t mode = 0;
	enum result result = native_look_out(repository->root, dir, top);

	if (result != RESULT_OK)
		return native_step_fault(repository->plan, result,
		    "%s: too deep to look around it", repository->root->path);
	if (!native_repository_there(repository, top, git, &mode))
		return RESULT_OK;
	if (++repository->top_count == NATIVE_REPOSITORY_AROUND_MAX)
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s: more than %u repositories are around it, too many to "
		    "read",
		    repository->root->path, NATIVE_REPOSITORY_AROUND_MAX - 1);
	if (!S_ISDIR(mode))
		return native_repository_line(
		    repository, top, git, "gitdir:", top);
	(void)snprintf(place.named, sizeof(place.named), "%s/%s",
	    repository->root->path, git);
	result = native_look_certain(
	    repository->plan, repository->root, &place, git);
	if (result != RESULT_OK)
		return result;
	return native_repository_leave(repository, top, &place);
}

static enum result
native_repository_outer(struct native_repository *repository)
{
	char dir[NATIVE_VIEW_PATH_MAX];
	size_t len = strlen(repository->root->path);
	enum result result = RESULT_OK;

	memcpy(dir, repository->root->path, len + 1);
	while (len > 0 && result == RESULT_OK) {
		while (len > 0 && dir[--len] != '/')
			continue;
		dir[len] = '\0';
		result = native_repository_around(repository, dir);
	}
	return result;
}

/* --- configs ------------------------------------------------------------- */

/* One config that is read. */
struct native_repository_config {
	struct native_repository *repository;
	const char *file, *top, *below;
	bool yours;
	enum native_gitconfig_kind kind; /* of the value at hand */
};

/* Another config, that lies outside: what it names may not. */
static enum result
native_repository_reach(struct native_repository *repository, const char *named,
    const char *top, bool yours)
{
	struct native_repository_list *list = &repository->configs;
	size_t count = list->count;
	char up[NATIVE_VIEW_PATH_MAX], real[NATIVE_VIEW_PATH_MAX];
	enum result result;

	/* What you cannot read git passes over for you as well. */
	if (access(named, R_OK) != 0 || !native_look_real(named, real) ||
	    real[0] == '\0')
		return RESULT_OK;
	if (native_step_below(real, repository->root->path))
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s: %s is a link into it, which the command could write; "
		    "use --mode read-only",
		    repository->root->path, named);
	result = native_look_out(repository->root, real, up);
	if (result == RESULT_OK)
		result = native_repository_add(repository, list, top, up, "");
	if (list->count > count)
		list->items[count].yours = yours;
	return result;
}

/* The configuration that counts in every repository: in the root's own, and
 * in those around it. */
static enum result
native_repository_yours(struct native_repository *repository)
{
	static const char *const names[] = {".gitconfig", ".config/git/config"};
	char path[NATIVE_VIEW_PATH_MAX];
	enum result result = RESULT_OK;

	for (size_t top = 0; top <= repository->top_count; top++) {
		const char *from = top == 0 ? "" : repository->tops[top - 1];

		result = native_repository_reach(
		    repository, "/etc/gitconfig", from, true);
		for (size_t i = 0; i < 2 && result == RESULT_OK; i++) {
			result = native_step_join(
			    path, repository->plan->view->home, names[i]);
			if (result == RESULT_OK)
				result = native_repository_reach(
				    repository, path, from, true);
		}
		if (result != RESULT_OK)
			return result;
	}
	return result;
}

/* Hooks or another config, that one says are elsewhere in the root. */
static enum result
native_repository_place(
    const struct native_repository_config *config, const char *value)
{
	struct native_repository *repository = config->repository;
	bool hooks = config->kind == NATIVE_GITCONFIG_HOOKS;
	struct native_gitplace_from from = {repository->root->path,
	    repository->plan->view->home, hooks ? config->top : config->below};
	struct native_gitplace place;
	enum result result = native_gitplace_find(&from, value, &place);

	if (result != RESULT_OK)
		return result;
	result = native_look_certain(
	    repository->plan, repository->root, &place, config->file);
	if (result == RESULT_OK && !place.inside && !hooks)
		return native_repository_reach(
		    repository, place.named, config->top, config->yours);
	if (result != RESULT_OK || !place.inside)
		return result;
	if (place.path[0] == '\0')
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s/%s: it names the workspace itself, which cannot be "
		    "protected; use --mode read-only",
		    repository->root->path, config->file);
	result = native_repository_hold(repository, place.path, hooks);
	if (result != RESULT_OK)
		return result;
	return native_repository_add(repository,
	    hooks ? &repository->lists : &repository->configs,
	    hooks ? "" : config->top, place.path, "");
}

/* A word that may be a file in the root. maybe: it is held, if it is not
 * there. */
static enum result
native_repository_file(
    const struct native_repository_config *config, const char *word, bool maybe)
{
	struct native_repository *repository = config->repository;
	struct native_gitplace_from from = {
	    repository->root->path, repository->plan->view->home, config->top};
	struct native_gitplace place;
	struct stat info;
	enum result result;

	if (native_gitplace_find(&from, word, &place) != RESULT_OK ||
	    (place.inside && place.path[0] == '\0'))
		return RESULT_OK; /* nothing that is in the root */
	if (!place.inside && config->kind != NATIVE_GITCONFIG_RUN)
		return RESULT_OK;
	if (stat(place.named, &info) != 0)
		return maybe && place.inside
			   ? native_repository_hold(
				 repository, place.path, false)
			   : RESULT_OK;
	if (!S_ISREG(info.st_mode))
		return RESULT_OK;
	result = native_look_certain(
	    repository->plan, repository->root, &place, config->file);
	return result == RESULT_OK && place.inside
		   ? native_repository_hold(repository, place.path, false)
		   : result;
}

static enum result
native_repository_word(const char *word, size_t before, void *context)
{
	const struct native_repository_config *config = context;
	bool run = config->kind == NATIVE_GITCONFIG_RUN;
	enum result result;

	if (++config->repository->words > NATIVE_REPOSITORY_WORDS_MAX)
		return native_step_fault(config->repository->plan,
		    RESULT_REFUSED,
		    "%s/%s: more words than %u to look at; use --mode "
		    "read-only",
		    config->repository->root->path, config->file,
		    NATIVE_REPOSITORY_WORDS_MAX);
	if (word[0] == '-')
		return RESULT_OK;
	result = native_repository_file(config, word,
	    run && before < NATIVE_REPOSITORY_FIRST &&
		strchr(word, '/') != NULL);
	/* What stood before the slash may have been "$TOP". */
	if (result == RESULT_OK && run && word[0] == '/' && word[1] != '\0')
		result = native_repository_file(config, word + 1, false);
	return result;
}

static enum result
native_repository_value(
    enum native_gitconfig_kind kind, const char *value, void *context)
{
	struct native_repository_config *config = context;
	enum result result;

	config->kind = kind;
	if (kind == NATIVE_GITCONFIG_HOOKS || kind == NATIVE_GITCONFIG_INCLUDE)
		return native_repository_place(config, value);
	if (config->yours)
		return RESULT_OK;
	result = native_repository_file(config, value, false);
	if (result == RESULT_OK)
		result = native_gitwords_read(
		    value, native_repository_word, context);
	return result;
}

static enum result
native_repository_config(struct native_repository *repository,
    const struct native_repository_item *item)
{
	char below[NATIVE_VIEW_PATH_MAX];
	struct native_repository_config config = {repository, item->path,
	    item->top, below, item->yours, NATIVE_GITCONFIG_OTHER};
	char *text = NULL, *end;
	size_t len = 0;
	enum result result =
	    native_look_read(repository->plan, repository->root, item->path,
		NATIVE_GITCONFIG_BYTES_MAX, &text, &len);

	if (result != RESULT_OK)
		return result == RESULT_NOT_FOUND ? RESULT_OK : result;
	memcpy(below, item->path, strlen(item->path) + 1);
	end = strrchr(below, '/');
	*(end != NULL ? end : below) = '\0';
	repository->plan->fault[0] = '\0';
	result =
	    native_gitconfig_read(text, len, native_repository_value, &config);
	free(text);
	if (result != RESULT_OK && repository->plan->fault[0] == '\0')
		return native_step_fault(repository->plan, RESULT_REFUSED,
		    "%s/%s: it cannot be read as git reads it (each value at "
		    "most %u bytes, none a hook or include in another user's "
		    "home)",
		    repository->root->path, item->path,
		    NATIVE_GITCONFIG_VALUE_MAX);
	return result;
}

/* --- all of it ----------------------------------------------------------- */

/* A link in a protected directory: what it leads to is as good. */
static enum result
native_repository_lead(
    const struct native_gitplace *place, bool dir, void *context)
{
	struct native_repository *repository = context;
	enum result result =
	    native_repository_hold(repository, place->path, dir);

	if (result == RESULT_OK && dir)
		result = native_repository_add(
		    repository, &repository->lists, "", place->path, "");
	return result;
}

/* Hooks, and what editors and agents read: with what links lead to, which
 * may be directories again. */
static enum result
native_repository_lists(struct native_repository *repository)
{
	struct native_listing listing = {repository->plan, repository->root,
	    native_repository_lead, repository, 0};
	enum result result = RESULT_OK;

	for (size_t i = 0; i < native_protect_count && result == RESULT_OK;
	     i++) {
		const struct native_protect_entry *entry =
		    &native_protect_table[i];

		if (entry->is_dir && strncmp(entry->path, ".git/", 5) != 0)
			result = native_repository_add(repository,
			    &repository->lists, "", entry->path, "");
	}
	for (size_t i = 0; i < repository->lists.count && result == RESULT_OK;
	     i++)
		result = native_listing_read(
		    &listing, repository->lists.items[i].path);
	return result;
}

static enum result
native_repository_all(struct native_repository *repository, bool bare)
{
	enum result result =
	    native_repository_line(repository, "", ".git", "gitdir:", "");

	if (result == RESULT_OK)
		result = native_repository_add(
		    repository, &repository->dirs, "", ".git", "");
	if (result == RESULT_OK && bare)
		result = native_repository_add(
		    repository, &repository->dirs, "", "", "");
	if (result == RESULT_OK)
		result = native_repository_outer(repository);
	if (result == RESULT_OK)
		result = native_repository_dirs(repository);
	if (result == RESULT_OK)
		result = native_repository_yours(repository);
	for (size_t i = 0; i < repository->configs.count && result == RESULT_OK;
	     i++)
		result = native_repository_config(
		    repository, &repository->configs.items[i]);
	if (result == RESULT_OK)
		result = native_repository_lists(repository);
	return result;
}

enum result
native_repository_find(struct native_step_plan *plan,
    const struct native_given *root, bool bare,
    struct native_repository **found_r)
{
	enum result result;

	*found_r = calloc(1, sizeof(**found_r));
	if (*found_r == NULL)
		return RESULT_NO_MEMORY;
	(*found_r)->plan = plan;
	(*found_r)->root = root;
	result = native_repository_all(*found_r, bare);
	if (result != RESULT_OK)
		native_repository_free(found_r);
	return result;
}

void
native_repository_free(struct native_repository **found)
{
	free(*found);
	*found = NULL;
}

enum result
native_repository_protect(const struct native_protect_walk *walk,
    const struct native_repository *found)
{
	enum result result = RESULT_OK;

	for (size_t i = 0; i < found->dirs.count && result == RESULT_OK; i++) {
		const char *dir = found->dirs.items[i].path;

		if (dir[0] != '\0' && strcmp(dir, ".git") != 0)
			result = native_protect_git(walk, dir);
	}
	for (size_t i = 0; i < found->found_count && result == RESULT_OK; i++)
		result = native_protect_held_path(
		    walk, found->found[i].path, found->found[i].dir);
	return result;
}
