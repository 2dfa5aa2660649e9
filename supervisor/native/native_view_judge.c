/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a path could not be read or written, by the view alone. Called for
 * structured denials; pure, must never look at the file system: the path
 * may be anything a command printed.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/native/native_step.h"
#include "supervisor/native/native_system.h"
#include "supervisor/native/native_view.h"

static const struct native_denial native_view_judge_none = {"", ""};

/* Absolute, without "", "." and ".."; false when it cannot be. */
static bool
native_view_judge_clean(const struct native_view *view, const char *path,
    char clean_r[NATIVE_VIEW_PATH_MAX])
{
	char whole[NATIVE_VIEW_PATH_MAX];
	size_t out = 0;
	int len = path[0] == '/' ? snprintf(whole, sizeof(whole), "%s", path)
				 : snprintf(whole, sizeof(whole), "%s/%s",
				       view->cwd, path);

	if (len < 0 || (size_t)len >= sizeof(whole))
		return false;
	for (const char *at = whole; *at != '\0';) {
		size_t part = strcspn(at, "/");

		if (part == 2 && strncmp(at, "..", 2) == 0) {
			while (out > 0 && clean_r[--out] != '/')
				continue;
		} else if (part > 0 && !(part == 1 && at[0] == '.')) {
			clean_r[out++] = '/';
			memcpy(clean_r + out, at, part);
			out += part;
		}
		at += part;
		at += *at == '/';
	}
	if (out == 0)
		clean_r[out++] = '/';
	clean_r[out] = '\0';
	return true;
}

/* True when a writable directory of the user's lies around the step. */
static bool
native_view_judge_users(
    const struct native_view *view, const struct native_step *step)
{
	for (size_t i = 0; i < view->count; i++) {
		if (view->steps[i].kind == NATIVE_STEP_BIND_RW &&
		    native_step_below(step->target, view->steps[i].target))
			return true;
	}
	return false;
}

static struct native_denial
native_view_judge_read_only(
    const struct native_view *view, const struct native_step *step)
{
	if (view->mode == NATIVE_WORKSPACE_WRITE &&
	    native_view_judge_users(view, step))
		return (struct native_denial){"path_protected", ""};
	if (view->mode == NATIVE_READ_ONLY && view->workspace[0] != '\0' &&
	    native_step_below(step->target, view->workspace))
		return (struct native_denial){
		    "path_read_only", "--mode workspace-write"};
	return (struct native_denial){"path_read_only", ""};
}

/* Not shown at all: whose it is decides. */
static struct native_denial
native_view_judge_outside(
    const struct native_view *view, const char *path, bool write)
{
	const char *flag = "--input FILE";

	if (native_step_below(path, view->agentnode))
		return (struct native_denial){"path_hidden", ""};
	if (write)
		flag = view->mode == NATIVE_WORKSPACE_WRITE &&
			       !native_system_owns(path)
			   ? "--writable DIR"
			   : "";
	return (struct native_denial){native_step_below(path, view->home)
					  ? "path_hidden"
					  : "path_outside",
	    flag};
}

struct native_denial
native_view_judge(const struct native_view *view, const char *path, bool write)
{
	char clean[NATIVE_VIEW_PATH_MAX];
	const struct native_step *step;

	if (!native_view_judge_clean(view, path, clean))
		return native_view_judge_none;
	step = native_step_decides(view, clean);
	if (step == NULL)
		return native_view_judge_outside(view, clean, write);
	switch (step->kind) {
	case NATIVE_STEP_DIR:
		return native_view_judge_outside(view, clean, write);
	case NATIVE_STEP_MASK:
		return (struct native_denial){"path_hidden", ""};
	case NATIVE_STEP_BIND:
		return write ? native_view_judge_read_only(view, step)
			     : native_view_judge_none;
	case NATIVE_STEP_BIND_RW:
		/* Removing or renaming what must stay a mount point. */
		if (write && strcmp(step->target, clean) == 0 &&
		    strcmp(clean, view->workspace) != 0)
			return (struct native_denial){"path_protected", ""};
		return native_view_judge_none;
	case NATIVE_STEP_PROC:
	case NATIVE_STEP_DEV:
		return write ? (struct native_denial){"path_read_only", ""}
			     : native_view_judge_none;
	case NATIVE_STEP_TMPFS:
	case NATIVE_STEP_LINK:
		break;
	}
	return native_view_judge_none;
}
