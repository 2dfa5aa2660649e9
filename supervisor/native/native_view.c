/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of a view: system, scratch, the user's directories, what is
 * protected in them (see the header). Called by exec before anything runs;
 * must never create or mount, and refuses instead of guessing.
 */
#include "supervisor/native/native_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/native/native_cover.h"
#include "supervisor/native/native_protect.h"
#include "supervisor/native/native_given.h"
#include "supervisor/native/native_step.h"
#include "supervisor/native/native_system.h"

#define NATIVE_VIEW_WRITABLE_MAX 16U

/* A home may be reached by a link: what is compared is where it is. */
static enum result
native_view_copy(struct native_step_plan *plan, const char *what,
    const char *path, char copy_r[NATIVE_VIEW_PATH_MAX])
{
	char *real = path != NULL ? realpath(path, NULL) : NULL;
	const char *from = real != NULL ? real : path;
	enum result result = RESULT_OK;

	if (path == NULL || path[0] != '/' ||
	    strlen(from) >= NATIVE_VIEW_PATH_MAX)
		result = native_step_fault(plan, RESULT_REFUSED,
		    "%s must be an absolute path of at most %u bytes", what,
		    NATIVE_VIEW_PATH_MAX - 1);
	else
		memcpy(copy_r, from, strlen(from) + 1);
	free(real);
	return result;
}

/* What needs no look at the file system. */
static enum result
native_view_check(
    struct native_step_plan *plan, const struct native_view_choice *choice)
{
	struct native_view *view = plan->view;
	enum result result = native_view_copy(
	    plan, "the home directory (HOME)", choice->home, view->home);

	if (result == RESULT_OK)
		result = native_view_copy(
		    plan, "AGENTNODE_HOME", choice->agentnode, view->agentnode);
	if (result != RESULT_OK)
		return result;
	if (strlen(choice->scratch) >= sizeof(view->cwd) ||
	    choice->scratch[0] != '/')
		return native_step_fault(plan, RESULT_INTERNAL,
		    "the scratch must be an absolute path");
	memcpy(view->cwd, choice->scratch, strlen(choice->scratch) + 1);
	if (choice->writable_count > NATIVE_VIEW_WRITABLE_MAX)
		return native_step_fault(plan, RESULT_TOO_LONG,
		    "--writable can be given %u times",
		    NATIVE_VIEW_WRITABLE_MAX);
	if (choice->writable_count > 0 &&
	    choice->mode != NATIVE_WORKSPACE_WRITE)
		return native_step_fault(plan, RESULT_REFUSED,
		    "--writable goes with --mode workspace-write: %s",
		    choice->mode == NATIVE_DANGER
			? "danger-full-access can write everywhere"
			: "read-only writes the scratch alone");
	if (choice->protect_count > 0 &&
	    (choice->mode == NATIVE_DANGER || choice->workspace == NULL))
		return native_step_fault(plan, RESULT_REFUSED,
		    "--protect names paths in a workspace, and "
		    "danger-full-access protects none");
	return RESULT_OK;
}

/* A directory of the user, with what is mounted in it read-only. */
static enum result
native_view_root(struct native_step_plan *plan,
    const struct native_view_choice *choice, const struct native_given *root)
{
	bool writable = choice->mode != NATIVE_READ_ONLY;
	enum result result = native_step_bind(
	    plan, writable, root->path, root->path, &root->info);

	if (result != RESULT_OK || choice->mode != NATIVE_WORKSPACE_WRITE)
		return result;
	return native_protect_root(plan, root, choice);
}

static enum result
native_view_workspace(
    struct native_step_plan *plan, const struct native_view_choice *choice)
{
	struct native_view *view = plan->view;
	struct native_given root;
	enum result result;

	if (choice->workspace == NULL)
		return RESULT_OK;
	result = native_given_open(plan, choice->workspace, "--workspace",
	    choice->mode != NATIVE_READ_ONLY, choice, &root);
	if (result != RESULT_OK)
		return result;
	if (native_step_below(choice->scratch, root.path))
		result = native_step_fault(plan, RESULT_REFUSED,
		    "--workspace %s: the scratch %s would lie in it", root.path,
		    choice->scratch);
	memcpy(view->workspace, root.path, sizeof(view->workspace));
	memcpy(view->cwd, root.path, sizeof(view->cwd));
	if (result == RESULT_OK)
		result = native_view_root(plan, choice, &root);
	native_given_close(&root);
	return result;
}

/* A writable directory must not lift what another step protects. */
static enum result
native_view_apart(
    struct native_step_plan *plan, const struct native_given *root)
{
	const struct native_view *view = plan->view;

	for (size_t i = 0; i < view->count; i++) {
		const struct native_step *step = &view->steps[i];

		if (step->kind == NATIVE_STEP_BIND_RW &&
		    native_step_below(step->target, root->path))
			return native_step_fault(plan, RESULT_REFUSED,
			    strcmp(step->target, root->path) == 0
				? "--writable %s: %s can be written already, "
				  "but for what is protected there; leave it "
				  "out"
				: "--writable %s: %s lies in it, and what is "
				  "protected there would not be any more",
			    root->path, step->target);
	}
	if (native_view_judge(view, root->path, true).code[0] != '\0' &&
	    strcmp(native_view_judge(view, root->path, true).code,
		"path_protected") == 0)
		return native_step_fault(plan, RESULT_REFUSED,
		    "--writable %s: it is protected, and no flag lifts that",
		    root->path);
	return RESULT_OK;
}

static enum result
native_view_writable(struct native_step_plan *plan,
    const struct native_view_choice *choice, const char *given)
{
	struct native_given root;
	enum result result =
	    native_given_open(plan, given, "--writable", true, choice, &root);

	if (result != RESULT_OK)
		return result;
	result = native_view_apart(plan, &root);
	if (result == RESULT_OK)
		result = native_view_root(plan, choice, &root);
	native_given_close(&root);
	return result;
}

enum result
native_view_make(const struct native_view_choice *choice,
    struct native_view *view_r, char *fault_r, size_t fault_size)
{
	struct native_step_plan plan = {view_r, fault_r, fault_size};
	enum result result;

	/* Each step is cleared when it is added. */
	memset(view_r, 0, offsetof(struct native_view, steps));
	view_r->count = 0;
	view_r->mode = choice->mode;
	(void)snprintf(fault_r, fault_size, "%s", "");
	result = native_view_check(&plan, choice);
	if (result == RESULT_OK && choice->mode == NATIVE_DANGER)
		result = native_system_add_all(
		    &plan, choice->scratch, choice->scratch_size);
	else if (result == RESULT_OK)
		result = native_system_add(
		    &plan, choice->scratch, choice->scratch_size);
	if (result == RESULT_OK)
		result = native_view_workspace(&plan, choice);
	for (size_t i = 0; i < choice->writable_count && result == RESULT_OK;
	     i++)
		result =
		    native_view_writable(&plan, choice, choice->writable[i]);
	if (result == RESULT_OK)
		result = native_cover_add(&plan, choice);
	return result;
}
