/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the layers that a process reports in `ready` all in force? Pure. Used
 * by child.c, so that nothing foreign is handed to a process that lacks one.
 */
#ifndef SUPERVISOR_CHILD_LAYERS_H
#define SUPERVISOR_CHILD_LAYERS_H

#include <jansson.h>
#include <stdbool.h>

/* The name of a layer that is missing, not reported, or no boolean; NULL
 * when none is. no_landlock: the named override is in force, so that this
 * one layer may be missing. Borrowed from layers, or static. */
const char *child_layers_missing_borrow(const json_t *layers, bool no_landlock);

/* The same for the keyring helper, which is not confined (it links
 * libsecret) and takes from itself what it can. */
const char *child_layers_keyring_missing_borrow(const json_t *layers);

#endif
