/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Covers homes and our state (see the header). Called by native_view; must
 * never take a place that it could not look at for one that is not there.
 */
#include "supervisor/native/native_cover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/native/native_homes.h"
#include "supervisor/native/native_nested.h"
#include "supervisor/native/native_system.h"

/* Words of a line of mountinfo. */
#define NATIVE_COVER_ID 0
#define NATIVE_COVER_DEVICE 2
#define NATIVE_COVER_ROOT 3
#define NATIVE_COVER_POINT 4

#define NATIVE_COVER_ABOVE_MAX 16U  /* more are looked up each time */
#define NATIVE_COVER_OTHERS_MAX 16U /* homes of others, masked */

enum native_cover_kind {
	NATIVE_COVER_STATE, /* with what is handed over of it */
	NATIVE_COVER_HOME,  /* of the caller */
	NATIVE_COVER_OTHER  /* home of somebody else */
};

struct native_cover {
	struct native_step_plan *plan;
	enum native_cover_kind kind;
	const char *what; /* for sentences */
	struct stat info;
	char real[NATIVE_VIEW_PATH_MAX];
	/* The mount it lies in, and where in its file system. */
	char id[24], device[64], inside[2 * NATIVE_VIEW_PATH_MAX];
	char *mounts; /* owned; mountinfo, read once */
	size_t mounts_len;
	/* Directories that homes lie in, and whether the view shows them. */
	char above[NATIVE_COVER_ABOVE_MAX][NATIVE_VIEW_PATH_MAX];
	bool above_shown[NATIVE_COVER_ABOVE_MAX];
	unsigned above_count, others;
};

/* --- one name of a place ------------------------------------------------- */

static bool
native_cover_is_shown(const struct native_step *step)
{
	return step != NULL && (step->kind == NATIVE_STEP_BIND ||
				   step->kind == NATIVE_STEP_BIND_RW);
}

/* Of our state a part is not handed over either. */
static enum result
native_cover_apart(const struct native_cover *cover, const char *name)
{
	const struct native_view *view = cover->plan->view;

	for (size_t i = 0; i < view->count; i++) {
		const struct native_step *step = &view->steps[i];

		if (native_cover_is_shown(step) &&
		    native_step_below(step->target, name))
			return native_step_fault(cover->plan, RESULT_REFUSED,
			    "%s: %s (%s) is there, and no command sees it",
			    step->target, cover->what, cover->real);
	}
	return RESULT_OK;
}

/* Nothing that runs would be left. Of a user whose home this is by the user
 * database alone (daemon: /usr/sbin) nothing lies there. */
static enum result
native_cover_whole(const struct native_cover *cover, const char *name)
{
	if (cover->kind == NATIVE_COVER_OTHER ||
	    (cover->kind == NATIVE_COVER_HOME && geteuid() != 0 &&
		cover->info.st_uid != geteuid()))
		return RESULT_OK;
	return native_step_fault(cover->plan, RESULT_REFUSED,
	    "%s (%s) is never shown, and every command needs %s: choose "
	    "another directory",
	    cover->what, cover->real, name);
}

/* A part is a mount of something below the place. */
static enum result
native_cover_name(struct native_cover *cover, const char *name, bool part)
{
	const struct native_step *step =
	    native_step_decides(cover->plan->view, name);
	struct stat info;
	enum result result;

	if (cover->kind == NATIVE_COVER_STATE) {
		result = native_cover_apart(cover, name);
		if (result != RESULT_OK)
			return result;
	}
	if (!native_cover_is_shown(step))
		return RESULT_OK;
	result = native_step_look(name, &info, NULL);
	/* Under another mount, or behind what the caller may not enter. */
	if (result == RESULT_NOT_FOUND ||
	    (result == RESULT_SYSTEM && errno == EACCES && geteuid() != 0))
		return RESULT_OK;
	if (result != RESULT_OK)
		return native_step_fault(cover->plan, result,
		    "%s: it may be %s, and cannot be looked at", name,
		    cover->what);
	if (!part && (info.st_dev != cover->info.st_dev ||
			 info.st_ino != cover->info.st_ino))
		return RESULT_OK;
	if (strcmp(step->target, name) == 0 || native_system_needs(name))
		return native_cover_whole(cover, name);
	if (cover->kind == NATIVE_COVER_OTHER &&
	    ++cover->others > NATIVE_COVER_OTHERS_MAX)
		return native_step_fault(cover->plan, RESULT_TOO_LONG,
		    "%s: more than %u homes of others lie where every command "
		    "looks, and each is masked for itself",
		    name, NATIVE_COVER_OTHERS_MAX);
	return native_step_add(cover->plan, NATIVE_STEP_MASK, name, NULL);
}

/* --- every name of a place ----------------------------------------------- */

/* What dir/rest is where dir is called name; rest begins with a slash. */
static enum result
native_cover_join(char *path_r, size_t size, const char *name, const char *rest)
{
	int len = snprintf(path_r, size, "%s%s",
	    strcmp(name, "/") == 0 && rest[0] != '\0' ? "" : name, rest);

	return len < 0 || (size_t)len >= size ? RESULT_TOO_LONG : RESULT_OK;
}

/* What of path is below dir: "" or "/x". */
static const char *
native_cover_rest(const char *path, const char *dir)
{
	return strcmp(dir, "/") == 0 ? (path[1] == '\0' ? "" : path)
				     : path + strlen(dir);
}

typedef enum result native_cover_line(
    struct native_cover *cover, const char *line, size_t len);

static enum result
native_cover_lines(struct native_cover *cover, native_cover_line *each)
{
	const char *end = cover->mounts + cover->mounts_len;
	enum result result = RESULT_OK;

	for (const char *line = cover->mounts;
	     line < end && result == RESULT_OK;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		if (stop == NULL)
			stop = end;
		result = each(cover, line, (size_t)(stop - line));
		line = stop + 1;
	}
	return result;
}

static enum result
native_cover_unknown(struct native_cover *cover)
{
	return native_step_fault(cover->plan, RESULT_SYSTEM,
	    "%s: a line of /proc/self/mountinfo cannot be read, so it is not "
	    "known under which names %s is there",
	    cover->real, cover->what);
}

/* Another mount of the same file system may show it too. */
static enum result
native_cover_other(struct native_cover *cover, const char *line, size_t len)
{
	char word[NATIVE_VIEW_PATH_MAX], point[NATIVE_VIEW_PATH_MAX];
	char name[2 * NATIVE_VIEW_PATH_MAX];
	enum result result;

	if (native_nested_word(line, len, NATIVE_COVER_DEVICE, word) !=
		RESULT_OK ||
	    strcmp(word, cover->device) != 0)
		return RESULT_OK;
	result = native_nested_word(line, len, NATIVE_COVER_ROOT, word);
	if (result == RESULT_OK)
		result =
		    native_nested_word(line, len, NATIVE_COVER_POINT, point);
	if (result != RESULT_OK)
		return native_cover_unknown(cover);
	if (cover->kind == NATIVE_COVER_STATE &&
	    strcmp(word, cover->inside) != 0 &&
	    native_step_below(word, cover->inside))
		return native_cover_name(cover, point, true);
	if (!native_step_below(cover->inside, word))
		return RESULT_OK;
	result = native_cover_join(
	    name, sizeof(name), point, native_cover_rest(cover->inside, word));
	if (result == RESULT_OK && strlen(name) >= NATIVE_VIEW_PATH_MAX)
		result = RESULT_TOO_LONG;
	return result == RESULT_OK ? native_cover_name(cover, name, false)
				   : native_cover_unknown(cover);
}

/* The mount of the place, known by its number. */
static enum result
native_cover_own(struct native_cover *cover, const char *line, size_t len)
{
	char word[NATIVE_VIEW_PATH_MAX], point[NATIVE_VIEW_PATH_MAX];
	enum result result =
	    native_nested_word(line, len, NATIVE_COVER_ID, word);

	if (result != RESULT_OK || strcmp(word, cover->id) != 0)
		return RESULT_OK;
	result = native_nested_word(line, len, NATIVE_COVER_DEVICE, word);
	if (result == RESULT_OK && strlen(word) < sizeof(cover->device))
		memcpy(cover->device, word, strlen(word) + 1);
	result = native_nested_word(line, len, NATIVE_COVER_ROOT, word);
	if (result == RESULT_OK)
		result =
		    native_nested_word(line, len, NATIVE_COVER_POINT, point);
	if (result == RESULT_OK && native_step_below(cover->real, point))
		result = native_cover_join(cover->inside, sizeof(cover->inside),
		    word, native_cover_rest(cover->real, point));
	return result == RESULT_OK ? RESULT_OK : native_cover_unknown(cover);
}

/* --- the places ---------------------------------------------------------- */

/* Its real path, what it is, and the number of its mount. */
static enum result
native_cover_look(struct native_cover *cover, const char *path)
{
	struct statx more;
	int fd FD_CLEANUP = -1;
	char *real = realpath(path, NULL);
	enum result result = RESULT_SYSTEM;
	int error = errno;

	if (real != NULL && strlen(real) < sizeof(cover->real)) {
		memcpy(cover->real, real, strlen(real) + 1);
		result = native_step_look(real, &cover->info, &fd);
		error = errno;
	}
	free(real);
	if (real == NULL && (error == ENOENT || error == ENOTDIR))
		result = RESULT_NOT_FOUND;
	/* The command is the caller to the kernel. */
	if (result == RESULT_SYSTEM && error == EACCES && geteuid() != 0)
		result = RESULT_NOT_FOUND;
	if (result == RESULT_OK &&
	    (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &more) != 0 ||
		(more.stx_mask & STATX_MNT_ID) == 0))
		result = RESULT_SYSTEM;
	if (result == RESULT_OK)
		(void)snprintf(cover->id, sizeof(cover->id), "%llu",
		    (unsigned long long)more.stx_mnt_id);
	return result;
}

static enum result
native_cover_place(struct native_cover *cover, const char *path)
{
	enum result result = native_cover_look(cover, path);

	if (result == RESULT_NOT_FOUND)
		return RESULT_OK;
	if (result != RESULT_OK)
		return native_step_fault(cover->plan, result,
		    "%s: whether a command would see %s is not known: it "
		    "cannot be looked at",
		    path, cover->what);
	cover->device[0] = cover->inside[0] = '\0';
	result = native_cover_lines(cover, native_cover_own);
	if (result == RESULT_OK && cover->inside[0] == '\0')
		result = native_cover_unknown(cover);
	return result == RESULT_OK
		   ? native_cover_lines(cover, native_cover_other)
		   : result;
}

static enum result
native_cover_state(
    struct native_cover *cover, const struct native_view_choice *choice)
{
	char path[NATIVE_VIEW_PATH_MAX];
	enum result result;

	cover->kind = NATIVE_COVER_STATE;
	cover->what = "AgentNode's own state (AGENTNODE_HOME)";
	result = native_cover_place(cover, cover->plan->view->agentnode);
	cover->what = "AgentNode's own state";
	if (result == RESULT_OK &&
	    native_step_join(path, cover->plan->view->home, ".agentnode") ==
		RESULT_OK)
		result = native_cover_place(cover, path);
	for (size_t i = 0; i < choice->hidden_count && result == RESULT_OK; i++)
		result = native_cover_place(cover, choice->hidden[i]);
	return result;
}

/* Of most homes it is seen by where they lie that nobody sees them. */
static bool
native_cover_above(struct native_cover *cover, const char *home)
{
	char above[NATIVE_VIEW_PATH_MAX];
	size_t len = (size_t)(strrchr(home, '/') - home);
	char *real;
	bool shown;

	if (len >= sizeof(above))
		return false; /* no view has so long a path */
	memcpy(above, home, len);
	above[len] = '\0';
	for (unsigned i = 0; i < cover->above_count; i++) {
		if (strcmp(cover->above[i], above) == 0)
			return cover->above_shown[i];
	}
	real = realpath(len == 0 ? "/" : above, NULL);
	shown = real != NULL && native_cover_is_shown(native_step_decides(
				    cover->plan->view, real));
	free(real);
	if (cover->above_count < NATIVE_COVER_ABOVE_MAX) {
		memcpy(cover->above[cover->above_count], above, len + 1);
		cover->above_shown[cover->above_count++] = shown;
	}
	return shown;
}

static enum result
native_cover_user(const char *home, uid_t user, void *context)
{
	struct native_cover *cover = context;
	struct stat info;

	if (home[0] != '/' || home[1] == '\0')
		return RESULT_OK;
	cover->kind =
	    user == geteuid() ? NATIVE_COVER_HOME : NATIVE_COVER_OTHER;
	cover->what = user == geteuid() ? "your home by the user database"
					: "somebody's home";
	/* What belongs to others is no home: daemon's is /usr/sbin. */
	if (user != geteuid() &&
	    (!native_cover_above(cover, home) || stat(home, &info) != 0 ||
		info.st_uid != user))
		return RESULT_OK;
	return native_cover_place(cover, home);
}

static enum result
native_cover_homes(struct native_cover *cover)
{
	enum result result;

	cover->kind = NATIVE_COVER_HOME;
	cover->what = "the home directory (HOME)";
	result = native_cover_place(cover, cover->plan->view->home);
	if (result != RESULT_OK)
		return result;
	result = native_homes_each(native_cover_user, cover);
	if (result == RESULT_OK || cover->plan->fault[0] != '\0')
		return result;
	return native_step_fault(cover->plan, result,
	    "whose homes a command would see is not known: the user database "
	    "cannot be read");
}

static enum result
native_cover_mounts(struct native_cover *cover)
{
	int fd FD_CLEANUP = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	enum result result = fd < 0 ? RESULT_SYSTEM
				    : fd_read_all(fd, NATIVE_NESTED_BYTES_MAX,
					  &cover->mounts, &cover->mounts_len);

	return result == RESULT_OK
		   ? RESULT_OK
		   : native_step_fault(cover->plan, result,
			 "/proc/self/mountinfo cannot be read, so it is not "
			 "known what a command would see");
}

enum result
native_cover_add(
    struct native_step_plan *plan, const struct native_view_choice *choice)
{
	struct native_cover *cover = calloc(1, sizeof(*cover));
	enum result result;

	if (cover == NULL)
		return RESULT_NO_MEMORY;
	cover->plan = plan;
	result = native_cover_mounts(cover);
	if (result == RESULT_OK)
		result = native_cover_state(cover, choice);
	if (result == RESULT_OK && choice->mode != NATIVE_DANGER)
		result = native_cover_homes(cover);
	free(cover->mounts);
	free(cover);
	return result;
}
