/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of `ready` (see the header). Must never take a layer that was
 * not named for one that is there.
 */
#include "supervisor/child_layers.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What every process reports, whatever else it does. */
static const char *const child_layers_required[] = {"no_new_privs", "seccomp",
    "unprivileged", "landlock", "not_dumpable", "no_core", "no_capabilities",
    "one_thread", NULL};

/* And what the keyring helper reports. */
static const char *const child_layers_keyring[] = {"no_new_privs",
    "not_dumpable", "no_core", "no_capabilities", "no_exec", NULL};

static bool
child_layers_good(const char *name, const json_t *value, bool no_landlock)
{
	return json_is_true(value) || (json_is_false(value) && no_landlock &&
					  strcmp(name, "landlock") == 0);
}

const char *
child_layers_missing_borrow(const json_t *layers, bool no_landlock)
{
	const char *name;
	json_t *value;

	for (size_t i = 0; child_layers_required[i] != NULL; i++) {
		name = child_layers_required[i];
		if (!child_layers_good(
			name, json_object_get(layers, name), no_landlock))
			return name;
	}
	json_object_foreach((json_t *)(uintptr_t)layers, name, value)
	{
		if (strcmp(name, "landlock_abi") == 0)
			continue; /* a number, for the log */
		if (!child_layers_good(name, value, no_landlock))
			return name;
	}
	return NULL;
}

const char *
child_layers_keyring_missing_borrow(const json_t *layers)
{
	for (size_t i = 0; child_layers_keyring[i] != NULL; i++) {
		if (!json_is_true(
			json_object_get(layers, child_layers_keyring[i])))
			return child_layers_keyring[i];
	}
	return NULL;
}
