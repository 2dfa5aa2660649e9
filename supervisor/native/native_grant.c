/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and rewrites grants.json. Called by exec before a run, and after a
 * person said "always"; must never take a file it cannot read for a grant,
 * nor write over it.
 */
#include "supervisor/native/native_grant.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "supervisor/native/native_denied.h"
#include "supervisor/native/native_view.h"
#include "supervisor/policy/state_json.h"

#define NATIVE_GRANT_BYTES_MAX (2U << 20)

static void
native_grant_check_entries(
    const char *workspace, const json_t *entries, struct json_fault *fault)
{
	const json_t *entry;
	size_t i;

	if (workspace[0] != '/' || strlen(workspace) >= NATIVE_VIEW_PATH_MAX)
		json_field_fault(
		    fault, "a key must be the absolute path of a workspace");
	if (!json_is_array(entries) ||
	    json_array_size(entries) > NATIVE_GRANT_ENTRIES_MAX)
		json_field_fault(fault,
		    "%s: must be a list of at most %u entries",
		    state_dir_shown(workspace), NATIVE_GRANT_ENTRIES_MAX);
	json_array_foreach(entries, i, entry)
	{
		if (json_string_length(entry) == 0 ||
		    json_string_length(entry) >= NATIVE_DENIED_TARGET_MAX)
			json_field_fault(fault,
			    "%s: an entry must be NAME:PORT as --allow takes "
			    "it",
			    state_dir_shown(workspace));
	}
}

static bool
native_grant_check(json_t *root, struct json_fault *fault)
{
	const char *workspace;
	json_t *entries;

	if (!json_is_object(root) ||
	    json_object_size(root) > NATIVE_GRANT_WORKSPACES_MAX)
		json_field_fault(fault,
		    "must be one JSON object of at most "
		    "%u workspaces",
		    NATIVE_GRANT_WORKSPACES_MAX);
	json_object_foreach(root, workspace, entries)
	    native_grant_check_entries(workspace, entries, fault);
	return fault->text[0] == '\0';
}

/* The whole file, owned; an empty object when there is none. */
static enum result
native_grant_read(
    const struct state_dir *home, json_t **root_r, struct json_fault *fault)
{
	struct json_fault inner = {""};
	json_t *root = NULL;
	enum result result;
	char *bytes;
	size_t len;

	*root_r = NULL;
	result = state_dir_read(home, NATIVE_GRANT_FILE, STATE_DIR_OURS,
	    NATIVE_GRANT_BYTES_MAX, &bytes, &len, fault);
	if (result == RESULT_NOT_FOUND) {
		*root_r = json_object();
		return *root_r == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	}
	if (result != RESULT_OK)
		return result;
	if (json_field_parse(bytes, len, &root, &inner) == RESULT_OK &&
	    native_grant_check(root, &inner))
		*root_r = json_incref(root);
	free(bytes);
	json_decref(root);
	if (*root_r != NULL)
		return RESULT_OK;
	json_field_fault(fault, "%s/" NATIVE_GRANT_FILE ": %s",
	    state_dir_shown(home->path), inner.text);
	return RESULT_BAD;
}

enum result
native_grant_load(
    const char *workspace, json_t **entries_r, struct json_fault *fault)
{
	struct state_dir home;
	json_t *root = NULL;
	enum result result = state_dir_home(false, &home, fault);

	*entries_r = NULL;
	if (result == RESULT_OK)
		result = native_grant_read(&home, &root, fault);
	else if (result == RESULT_NOT_FOUND)
		result = RESULT_OK;
	state_dir_close(&home);
	if (result == RESULT_OK) {
		*entries_r = json_incref(json_object_get(root, workspace));
		if (*entries_r == NULL)
			*entries_r = json_array();
		if (*entries_r == NULL)
			result = RESULT_NO_MEMORY;
	}
	json_decref(root);
	return result;
}

static enum result
native_grant_put(json_t *root, const char *workspace, const char *entry,
    struct json_fault *fault)
{
	json_t *entries = json_object_get(root, workspace);
	const json_t *one;
	size_t i;

	if (entries == NULL) {
		entries = json_array();
		if (json_object_set_new(root, workspace, entries) != 0)
			return RESULT_NO_MEMORY;
	}
	json_array_foreach(entries, i, one)
	{
		if (strcmp(json_string_value(one), entry) == 0)
			return RESULT_OK;
	}
	if (json_array_append_new(entries, json_string(entry)) != 0)
		return RESULT_NO_MEMORY;
	return native_grant_check(root, fault) ? RESULT_OK : RESULT_TOO_LONG;
}

enum result
native_grant_add(
    const char *workspace, const char *entry, struct json_fault *fault)
{
	FD_CLEANUP int lock = -1;
	struct state_dir home;
	json_t *root = NULL;
	enum result result = state_json_begin(&home, &lock, fault);

	if (result == RESULT_OK)
		result = native_grant_read(&home, &root, fault);
	if (result == RESULT_OK)
		result = native_grant_put(root, workspace, entry, fault);
	if (result == RESULT_OK)
		result = state_json_write(
		    &home, NATIVE_GRANT_FILE, json_incref(root), fault);
	json_decref(root);
	state_dir_close(&home);
	return result;
}
