/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The config message of agentnode-keyring: what this program's environment
 * says about the session (D-Bus, a display, credentials) becomes options and
 * descriptors, because the helper has an empty environment. Used by
 * keyring_call.c.
 */
#ifndef SUPERVISOR_POLICY_KEYRING_OPTIONS_H
#define SUPERVISOR_POLICY_KEYRING_OPTIONS_H

#include <jansson.h>
#include <stddef.h>

#include "supervisor/policy/keyring_call.h"

#define KEYRING_OPTIONS_FDS 7U

struct keyring_options {
	json_t *config; /* body of the config message; owned */
	int fds[KEYRING_OPTIONS_FDS];
	size_t fd_count;
	size_t own[2];     /* indexes of those opened here; 0: none */
	unsigned limit_ms; /* the longest that no person is needed for */
};

/* log and the spec's descriptors are borrowed. Clear in either case. */
enum result keyring_options_make(const struct keyring_call_spec *spec, int log,
    struct keyring_options *options_r);
void keyring_options_clear(struct keyring_options *options);

#endif
