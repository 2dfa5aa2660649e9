/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a run's placeholders (see the header): lock, sweep, plan,
 * hold. Called by exec; must never remove what it did not make, nor follow
 * a link on the way to it.
 */
#include "supervisor/native/native_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_hold.h"
#include "supervisor/native/native_journal.h"

#define NATIVE_PLACE_HELD_MAX 4096U
#define NATIVE_PLACE_PASSES_MAX 64U

/* A protected path as it was before. */
struct native_place_watch {
	char path[NATIVE_VIEW_PATH_MAX];
	struct stat info;
	bool changed;
};

struct native_place {
	char agentnode[NATIVE_VIEW_PATH_MAX];
	char name[NATIVE_JOURNAL_NAME_MAX]; /* of the journal */
	int journal;                        /* -1: ended */
	struct native_journal_entry *entries;
	bool *lost; /* of each entry: not what it was made, at the end */
	size_t count;
	struct native_place_watch *watched;
	size_t watched_count;
};

/* What the journals of others say. */
struct native_place_others {
	struct native_view_held *alive; /* NATIVE_PLACE_HELD_MAX of them */
	size_t alive_count;
	struct native_journal_entry *dead;
	size_t dead_count;
	bool full;
};

static bool
native_place_note(
    const struct native_journal_entry *entry, bool alive, void *context)
{
	struct native_place_others *others = context;
	struct native_journal_entry now = *entry;

	/* Filled by somebody meanwhile, it is what it looks like. */
	if (alive && entry->ino != 0 &&
	    native_hold_identify(&now) == RESULT_OK) {
		others->full |= others->alive_count == NATIVE_PLACE_HELD_MAX;
		if (!others->full)
			others->alive[others->alive_count++] =
			    (struct native_view_held){entry->dev, entry->ino};
	}
	/* What is gone takes no room, so that each pass gets further. */
	if (!alive && others->dead_count < NATIVE_JOURNAL_ENTRIES_MAX &&
	    native_hold_identify(&now) == RESULT_OK)
		others->dead[others->dead_count++] = *entry;
	return false;
}

static void
native_place_others_free(struct native_place_others *others)
{
	free(others->alive);
	free(others->dead);
	memset(others, 0, sizeof(*others));
}

static enum result
native_place_others_read(
    int dir, const char *but, struct native_place_others *others_r)
{
	enum result result;

	memset(others_r, 0, sizeof(*others_r));
	others_r->alive =
	    calloc(NATIVE_PLACE_HELD_MAX, sizeof(*others_r->alive));
	others_r->dead =
	    calloc(NATIVE_JOURNAL_ENTRIES_MAX, sizeof(*others_r->dead));
	if (others_r->alive == NULL || others_r->dead == NULL)
		result = RESULT_NO_MEMORY;
	else
		result =
		    native_journal_scan(dir, but, native_place_note, others_r);
	if (result == RESULT_OK && others_r->full)
		result = RESULT_TOO_LONG;
	if (result != RESULT_OK)
		native_place_others_free(others_r);
	return result;
}

static bool
native_place_is_held(
    const struct native_place_others *others, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < others->alive_count; i++) {
		if (others->alive[i].dev == dev && others->alive[i].ino == ino)
			return true;
	}
	return false;
}

/* One that a dead run left, unless a living one holds it too. RESULT_EXISTS:
 * it was removed. */
static enum result
native_place_sweep_one(const struct native_place_others *others,
    const struct native_journal_entry *left, native_place_each *each,
    void *context)
{
	struct native_journal_entry entry = *left;
	enum result result = native_hold_identify(&entry);

	if (result != RESULT_OK ||
	    native_place_is_held(others, entry.dev, entry.ino))
		return result;
	result = native_hold_remove(&entry);
	if (result != RESULT_OK)
		return result;
	if (each != NULL)
		each(entry.path, context);
	return RESULT_EXISTS;
}

static bool
native_place_is_gone(
    const struct native_journal_entry *entry, bool alive, void *context)
{
	struct native_journal_entry now = *entry;
	enum result result = native_hold_identify(&now);

	(void)alive;
	(void)context;
	return result == RESULT_NOT_FOUND || result == RESULT_MISMATCH;
}

/* Remove what the dead left. True: something was, and what was around it may
 * be empty now: once more. */
static bool
native_place_sweep_dead(int dir, const struct native_place_others *others,
    native_place_each *each, void *context)
{
	bool again = false;

	for (size_t i = 0; i < others->dead_count; i++)
		again |= native_place_sweep_one(others, &others->dead[i], each,
			     context) == RESULT_EXISTS;
	if (!again)
		native_journal_forget(dir, native_place_is_gone, NULL);
	return again;
}

/* Until nothing more goes. What the others hold is in others_r then, to be
 * freed; nothing is after a fault. */
static enum result
native_place_sweep_all(int dir, native_place_each *each, void *context,
    struct native_place_others *others_r)
{
	enum result result = native_place_others_read(dir, "", others_r);

	for (unsigned i = 0;
	     i < NATIVE_PLACE_PASSES_MAX && result == RESULT_OK &&
	     native_place_sweep_dead(dir, others_r, each, context);
	     i++) {
		native_place_others_free(others_r);
		result = native_place_others_read(dir, "", others_r);
	}
	return result;
}

/* --- begin -------------------------------------------------------------- */

static enum result
native_place_plan(struct native_place *place, const struct native_view *view)
{
	size_t count = 0;

	for (size_t i = 0; i < view->count; i++)
		count += view->steps[i].placeholder ? 1 : 0;
	if (count > NATIVE_JOURNAL_ENTRIES_MAX)
		return RESULT_TOO_LONG;
	place->entries = calloc(count + 1, sizeof(*place->entries));
	place->lost = calloc(count + 1, sizeof(*place->lost));
	if (place->entries == NULL || place->lost == NULL)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < view->count; i++) {
		const struct native_step *step = &view->steps[i];
		struct native_journal_entry *entry;

		if (!step->placeholder)
			continue;
		entry = &place->entries[place->count++];
		entry->dir = step->dir;
		memcpy(entry->path, step->target, sizeof(entry->path));
		native_hold_plan(entry);
	}
	return RESULT_OK;
}

/* Each made, or held together with a run that lives. */
static enum result
native_place_make(struct native_place *place, struct native_view *view,
    const struct native_place_others *others, const char **path_r)
{
	size_t at = 0;

	for (size_t i = 0; i < view->count; i++) {
		struct native_step *step = &view->steps[i];
		struct native_journal_entry *entry;
		enum result result;

		if (!step->placeholder)
			continue;
		entry = &place->entries[at++];
		*path_r = entry->path;
		result = native_hold_make(entry);
		if (result == RESULT_EXISTS &&
		    native_hold_identify(entry) == RESULT_OK &&
		    native_place_is_held(others, entry->dev, entry->ino))
			result = RESULT_OK;
		if (result != RESULT_OK) {
			entry->ino = 0;
			place->count = at - 1;
			return result;
		}
		step->dev = entry->dev;
		step->ino = entry->ino;
	}
	return RESULT_OK;
}

/* What is protected and there, with its times. */
static enum result
native_place_watch(struct native_place *place, const struct native_view *view)
{
	place->watched = calloc(view->count + 1, sizeof(*place->watched));
	if (place->watched == NULL)
		return RESULT_NO_MEMORY;
	for (size_t i = 0; i < view->count; i++) {
		const struct native_step *step = &view->steps[i];
		struct native_place_watch *watch =
		    &place->watched[place->watched_count];

		if (step->kind != NATIVE_STEP_BIND || step->placeholder ||
		    strcmp(native_view_judge(view, step->target, true).code,
			"path_protected") != 0 ||
		    lstat(step->source, &watch->info) != 0)
			continue;
		memcpy(watch->path, step->target, sizeof(watch->path));
		place->watched_count++;
	}
	return RESULT_OK;
}

static enum result
native_place_hold(struct native_place *place, int dir, struct native_view *view,
    const struct native_place_others *others, char *fault_r, size_t fault_size)
{
	const char *path = view->workspace;
	enum result result = native_place_plan(place, view);

	if (result == RESULT_OK)
		result = native_place_watch(place, view);
	if (result != RESULT_OK || place->count == 0)
		return result;
	result = native_journal_new(dir, place->name, &place->journal);
	/* Said before it is done: a kill in between leaves nothing unknown. */
	if (result == RESULT_OK)
		result = native_journal_write(
		    place->journal, place->entries, place->count);
	if (result == RESULT_OK)
		result = native_place_make(place, view, others, &path);
	if (result == RESULT_OK)
		result = native_journal_write(
		    place->journal, place->entries, place->count);
	if (result == RESULT_OK)
		result = native_hold_folded(place->entries, place->count);
	if (result == RESULT_UNSUPPORTED)
		(void)snprintf(fault_r, fault_size,
		    "%s: this file system takes upper and lower case for the "
		    "same and may keep two entries for one name, so nothing "
		    "can be protected on it; use --mode read-only",
		    view->workspace);
	else if (result != RESULT_OK)
		(void)snprintf(fault_r, fault_size,
		    "%s: a protected path that is not there cannot be held: "
		    "%s",
		    path, result_text(result));
	return result;
}

static enum result
native_place_begin_locked(const struct native_view_choice *choice, int dir,
    struct native_view *view_r, struct native_place *place, char *fault_r,
    size_t fault_size)
{
	struct native_view_choice with = *choice;
	struct native_place_others others;
	enum result result = native_place_sweep_all(dir, NULL, NULL, &others);

	if (result != RESULT_OK) {
		(void)snprintf(fault_r, fault_size,
		    "the journals of other runs (native/ in AGENTNODE_HOME) "
		    "cannot be read: %s",
		    result_text(result));
		return result;
	}
	with.held = others.alive;
	with.held_count = others.alive_count;
	result = native_view_make(&with, view_r, fault_r, fault_size);
	if (result == RESULT_OK)
		result = native_place_hold(
		    place, dir, view_r, &others, fault_r, fault_size);
	native_place_others_free(&others);
	return result;
}

enum result
native_place_begin(const struct native_view_choice *choice,
    struct native_view *view_r, struct native_place **place_r, char *fault_r,
    size_t fault_size)
{
	struct native_place *place = calloc(1, sizeof(*place));
	int dir FD_CLEANUP = -1, lock FD_CLEANUP = -1;
	enum result result;

	*place_r = NULL;
	(void)snprintf(fault_r, fault_size, "%s", "out of memory");
	if (place == NULL)
		return RESULT_NO_MEMORY;
	place->journal = -1;
	(void)snprintf(place->agentnode, sizeof(place->agentnode), "%s",
	    choice->agentnode);
	result = native_journal_open(choice->agentnode, &dir, &lock);
	if (result != RESULT_OK)
		(void)snprintf(fault_r, fault_size,
		    "%s/native: it must be a folder of yours that others "
		    "cannot write, and free within ten seconds: %s",
		    choice->agentnode, result_text(result));
	else
		result = native_place_begin_locked(
		    choice, dir, view_r, place, fault_r, fault_size);
	fd_close(&lock);
	if (result != RESULT_OK)
		native_place_free(&place);
	*place_r = place;
	return result;
}

/* --- end ---------------------------------------------------------------- */

static void
native_place_compare(struct native_place *place)
{
	for (size_t i = 0; place->watched != NULL && i < place->watched_count;
	     i++) {
		struct native_place_watch *watch = &place->watched[i];
		const struct stat *was = &watch->info;
		struct stat is;

		watch->changed =
		    lstat(watch->path, &is) != 0 || is.st_dev != was->st_dev ||
		    is.st_ino != was->st_ino || is.st_size != was->st_size ||
		    is.st_mode != was->st_mode ||
		    is.st_nlink != was->st_nlink ||
		    is.st_mtim.tv_sec != was->st_mtim.tv_sec ||
		    is.st_mtim.tv_nsec != was->st_mtim.tv_nsec;
	}
}

/* Removed, when no other run holds it. Gone, or not what was made any more:
 * with it went the mount that protected its path. */
static enum result
native_place_let_go(const struct native_journal_entry *entry,
    const struct native_place_others *others)
{
	struct native_journal_entry now = *entry;

	if (entry->ino == 0)
		return RESULT_OK;
	if (native_place_is_held(others, entry->dev, entry->ino))
		return native_hold_identify(&now);
	return native_hold_remove(entry);
}

/* The journals cannot be had, so nothing is removed: what became of the
 * placeholders is told all the same. */
static void
native_place_look(struct native_place *place)
{
	for (size_t i = 0; place->lost != NULL && i < place->count; i++) {
		struct native_journal_entry now = place->entries[i];

		place->lost[i] =
		    now.ino != 0 && native_hold_identify(&now) != RESULT_OK;
	}
}

static enum result
native_place_remove(struct native_place *place, int dir)
{
	struct native_place_others others;
	bool over = true;
	enum result result =
	    native_place_others_read(dir, place->name, &others);

	if (result != RESULT_OK) {
		native_place_look(place);
		return result;
	}
	for (size_t i = place->count; i > 0; i--) {
		enum result one =
		    native_place_let_go(&place->entries[i - 1], &others);

		place->lost[i - 1] = one != RESULT_OK;
		over &= native_hold_is_over(one);
	}
	for (size_t i = 0; i < place->count; i++)
		result = place->lost[i] ? RESULT_MISMATCH : result;
	native_place_others_free(&others);
	/* Else it is a dead run's: the next one tries again. */
	if (over)
		(void)unlinkat(dir, place->name, 0);
	return result;
}

enum result
native_place_end(struct native_place *place)
{
	int dir FD_CLEANUP = -1, lock FD_CLEANUP = -1;
	enum result result = RESULT_OK;

	native_place_compare(place);
	if (place->journal < 0)
		return RESULT_OK;
	result = native_journal_open(place->agentnode, &dir, &lock);
	if (result == RESULT_OK)
		result = native_place_remove(place, dir);
	else
		native_place_look(place);
	fd_close(&place->journal);
	return result;
}

const char *
native_place_changed(const struct native_place *place, size_t i)
{
	for (size_t at = 0; at < place->watched_count; at++) {
		if (place->watched[at].changed && i-- == 0)
			return place->watched[at].path;
	}
	for (size_t at = 0; place->lost != NULL && at < place->count; at++) {
		if (place->lost[at] && i-- == 0)
			return place->entries[at].path;
	}
	return NULL;
}

void
native_place_free(struct native_place **place)
{
	if (*place == NULL)
		return;
	(void)native_place_end(*place);
	free((*place)->entries);
	free((*place)->lost);
	free((*place)->watched);
	free(*place);
	*place = NULL;
}

enum result
native_place_sweep(
    const char *agentnode, native_place_each *each, void *context)
{
	int dir FD_CLEANUP = -1, lock FD_CLEANUP = -1;
	char folder[NATIVE_VIEW_PATH_MAX];
	int len = snprintf(folder, sizeof(folder), "%s/native", agentnode);
	struct native_place_others others;
	enum result result;

	if (len < 0 || (size_t)len >= sizeof(folder))
		return RESULT_TOO_LONG;
	/* None is made for the look at it. */
	if (access(folder, F_OK) != 0 && errno == ENOENT)
		return RESULT_NOT_FOUND;
	result = native_journal_open(agentnode, &dir, &lock);
	if (result == RESULT_OK)
		result = native_place_sweep_all(dir, each, context, &others);
	if (result == RESULT_OK)
		native_place_others_free(&others);
	return result;
}
