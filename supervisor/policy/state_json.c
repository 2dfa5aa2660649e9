/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks and writes a JSON file of our home (see the header). Called by
 * consent.c and credential.c; must never leave half a file.
 */
#include "supervisor/policy/state_json.h"

#include <stdlib.h>
#include <string.h>

enum result
state_json_begin(
    struct state_dir *home_r, int *lock_r, struct json_fault *fault)
{
	enum result result = state_dir_home(true, home_r, fault);

	if (result == RESULT_OK)
		result = state_dir_lock(home_r, lock_r, fault);
	return result;
}

enum result
state_json_write(const struct state_dir *home, const char *name, json_t *root,
    struct json_fault *fault)
{
	char *text = root == NULL ? NULL
				  : json_dumps(root,
					JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	enum result result;
	size_t len;

	json_decref(root);
	if (text == NULL)
		return RESULT_NO_MEMORY;
	len = strlen(text);
	text[len] = '\n'; /* in place of the NUL */
	result = state_dir_write(home, name, 0600, text, len + 1, fault);
	free(text);
	return result;
}
