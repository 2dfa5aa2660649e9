/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native boundary of exec; see exec_native.h. Called by exec_plan and
 * exec_run; must never leave a placeholder behind that is ours, nor grant
 * anything by what a command printed.
 */
#include "supervisor/exec/exec_native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXEC_NATIVE_SCRATCH "/sandbox-home"
#define EXEC_NATIVE_DANGER "/tmp" /* which is hidden by it */
#define EXEC_NATIVE_CHANGED_MAX 64U

static const char *const exec_native_modes[] = {
    "read-only", "workspace-write", "danger-full-access"};

bool
exec_native_mode(const char *word, enum native_mode *mode_r)
{
	for (int i = NATIVE_READ_ONLY; i <= NATIVE_DANGER; i++) {
		if (strcmp(exec_native_modes[i], word) == 0) {
			*mode_r = (enum native_mode)i;
			return true;
		}
	}
	return false;
}

const char *
exec_native_mode_name(enum native_mode mode)
{
	return exec_native_modes[mode];
}

/* Of our state what does not lie in AGENTNODE_HOME: the runtime directory
 * (engine_files.c makes it) and keys that systemd hands over. */
static size_t
exec_native_hidden(
    char runtime_r[NATIVE_VIEW_PATH_MAX], const char *hidden_r[2])
{
	const char *given = getenv("XDG_RUNTIME_DIR");
	const char *keys = getenv("CREDENTIALS_DIRECTORY");
	size_t count = 0, size = NATIVE_VIEW_PATH_MAX;
	int len;

	if (geteuid() == 0)
		len = snprintf(runtime_r, size, "/run/agentnode");
	else if (given != NULL && given[0] == '/')
		len = snprintf(runtime_r, size, "%s/agentnode", given);
	else
		len = snprintf(runtime_r, size, "/run/user/%lu/agentnode",
		    (unsigned long)geteuid());
	/* A longer one could not be made either. */
	if (len > 0 && (size_t)len < size)
		hidden_r[count++] = runtime_r;
	if (keys != NULL && keys[0] == '/')
		hidden_r[count++] = keys;
	return count;
}

enum result
exec_native_begin(const struct exec_native_choice *choice,
    const char *agentnode, uint64_t scratch_size, struct exec_native *native_r,
    char *fault_r, size_t fault_size)
{
	char runtime[NATIVE_VIEW_PATH_MAX];
	const char *home = getenv("HOME"), *hidden[2];
	enum result result;
	struct native_view_choice view = {.mode = choice->mode,
	    .workspace = choice->workspace,
	    .protect = choice->protect,
	    .protect_count = choice->protect_count,
	    .writable = choice->writable,
	    .writable_count = choice->writable_count,
	    .home = home != NULL && home[0] == '/' ? home : "/root",
	    .agentnode = agentnode,
	    .hidden = hidden,
	    .hidden_count = exec_native_hidden(runtime, hidden),
	    .scratch = EXEC_NATIVE_SCRATCH,
	    .scratch_size = scratch_size};

	if (choice->mode == NATIVE_DANGER)
		view.scratch = EXEC_NATIVE_DANGER;
	if (view.workspace == NULL && choice->has_mode &&
	    choice->mode != NATIVE_DANGER)
		view.workspace = ".";
	native_r->scratch = view.scratch;
	native_r->view = calloc(1, sizeof(*native_r->view));
	if (native_r->view == NULL)
		return RESULT_NO_MEMORY;
	result = native_place_begin(
	    &view, native_r->view, &native_r->place, fault_r, fault_size);
	if (result == RESULT_OK)
		native_r->before = native_found_take(native_r->view, NULL);
	return result;
}

void
exec_native_end(struct exec_native *native)
{
	if (native->place != NULL && !native->ended)
		(void)native_place_end(native->place);
	if (native->before != NULL && native->after == NULL)
		native->after = native_found_take(native->view, native->before);
	native->ended = true;
}

void
exec_native_clear(struct exec_native *native)
{
	native_place_free(&native->place);
	native_found_free(&native->before);
	native_found_free(&native->after);
	free(native->view);
	native->view = NULL;
}

/* A name that is no text is told all the same, with ? for what is none. */
static json_t *
exec_native_path(const char *path)
{
	char tame[NATIVE_VIEW_PATH_MAX];
	json_t *text = json_string(path);
	size_t i = 0;

	if (text != NULL)
		return text;
	for (; path[i] != '\0' && i + 1 < sizeof(tame); i++)
		tame[i] = path[i] & '\x80' ? '?' : path[i];
	tame[i] = '\0';
	return json_string(tame);
}

static json_t *
exec_native_changed(const struct exec_native *native)
{
	json_t *changed = json_array();
	const char *path;

	for (size_t i = 0; native->place != NULL && i < EXEC_NATIVE_CHANGED_MAX;
	     i++) {
		path = native_place_changed(native->place, i);
		if (path == NULL)
			break;
		(void)json_array_append_new(changed, exec_native_path(path));
	}
	return changed;
}

static json_t *
exec_native_repositories(const struct exec_native *native)
{
	json_t *found = json_array();
	const char *path;
	size_t at = 0;

	while ((path = native_found_next(native->before, native->after, &at)) !=
	       NULL)
		(void)json_array_append_new(found, exec_native_path(path));
	return found;
}

json_t *
exec_native_facts(const struct exec_native *native)
{
	const struct native_view *view = native->view;

	bool complete = view->mode != NATIVE_WORKSPACE_WRITE ||
			(native_found_complete(native->before) &&
			    native_found_complete(native->after));

	return json_pack("{s:s, s:o, s:o, s:o, s:b}", "mode",
	    exec_native_mode_name(view->mode), "workspace",
	    exec_native_path(view->workspace), "protected_changed",
	    exec_native_changed(native), "repositories",
	    exec_native_repositories(native), "repositories_complete",
	    complete);
}
