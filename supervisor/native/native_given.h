/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory the user hands over, workspace or --writable: opened once
 * without following a link, judged, and from then on known by its device
 * and inode. Must never accept a home, the system, or our own state.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GIVEN_H
#define SUPERVISOR_NATIVE_NATIVE_GIVEN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "supervisor/native/native_step.h"

struct native_given {
	char path[NATIVE_VIEW_PATH_MAX]; /* canonical */
	int fd;                          /* O_PATH; -1 when closed */
	struct stat info;
};

/* given: as the user wrote it; flag: how ("--workspace"), for sentences.
 * write: it will be writable. RESULT_REFUSED, RESULT_NOT_FOUND,
 * RESULT_TOO_LONG, RESULT_SYSTEM with a sentence. */
enum result native_given_open(struct native_step_plan *plan, const char *given,
    const char *flag, bool write, const struct native_view_choice *choice,
    struct native_given *root_r);
void native_given_close(struct native_given *root);

#endif
