/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in a protected directory may have a second name: a link that
 * leads to where the command may write, or another name of a file. Used by
 * native_repository for directories of hooks, and of editors and agents.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_LISTING_H
#define SUPERVISOR_NATIVE_NATIVE_LISTING_H

#include <stdbool.h>

#include "supervisor/native/native_look.h"

#define NATIVE_LISTING_NAMES_MAX 4096U /* of one root, in all directories */
#define NATIVE_LISTING_DEPTH_MAX 8U

/* A place in the root that a link leads to, there or not. */
typedef enum result native_listing_lead(
    const struct native_gitplace *place, bool dir, void *context);

struct native_listing {
	struct native_step_plan *plan;
	const struct native_given *root;
	native_listing_lead *lead;
	void *context;
	unsigned names; /* so far */
};

/* All that is below dir (relative to the root, or outside of it: then only
 * links count). One that is not there is fine. RESULT_REFUSED with a
 * sentence: a file with two names, a link that cannot be followed, more than
 * is looked at. */
enum result native_listing_read(
    struct native_listing *listing, const char *dir);

#endif
