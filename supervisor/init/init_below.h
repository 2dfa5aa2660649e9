/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many files lie in a directory that does not come back, so that a
 * result says what is missing from it. Used by init_results.
 */
#ifndef SUPERVISOR_INIT_INIT_BELOW_H
#define SUPERVISOR_INIT_INIT_BELOW_H

#include <stdbool.h>
#include <stdint.h>

#define INIT_BELOW_NAMES_MAX 65536U /* all directories of one run */
#define INIT_BELOW_DEPTH_MAX 32U

struct init_below {
	uint64_t names; /* looked at so far, of all directories */
	uint64_t count; /* of this one: names that are no directory */
	bool cut;       /* there may be more */
};

/* Counts below name in folder. names goes on from call to call; count and
 * cut are of this call. Never fails: what cannot be read is cut. */
void init_below_count(int folder, const char *name, struct init_below *below);

#endif
