/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of all logs in the order of their times, from every file there
 * is. Memory is bounded: a line of each file, and the last lines that are
 * kept to be shown. Used by `agentnode logs` and logs_follow.
 */
#ifndef SUPERVISOR_LOGS_LOGS_VIEW_H
#define SUPERVISOR_LOGS_LOGS_VIEW_H

#include <stdint.h>
#include <stdio.h>

#include "supervisor/logs/logs_line.h"
#include "supervisor/policy/log_files.h"

#define LOGS_VIEW_LAST_MAX 100000U
#define LOGS_VIEW_KEPT_MAX (16U * 1024U * 1024U) /* bytes of lines kept */

struct logs_view_spec {
	const char *process; /* of one log; NULL: of all */
	struct logs_filter filter;
	int64_t since_s; /* a file last written before is not opened */
	size_t last;     /* lines kept; SIZE_MAX: all, shown as they come */
	bool json;
	FILE *out;
};

struct logs_view; /* opaque */

/* spec is borrowed. RESULT_NOT_FOUND: there is no such log. */
enum result logs_view_new(const struct state_dir *dir,
    const struct logs_view_spec *spec, struct logs_view **view_r,
    struct json_fault *fault);
/* Accepts NULL, clears. */
void logs_view_free(struct logs_view **view);

/* Show what there is: the last lines. follow: an unfinished line stays for
 * later, and every further call shows what came since. */
enum result logs_view_show(
    struct logs_view *view, bool follow, struct json_fault *fault);
/* Take up the files that came since. */
enum result logs_view_refresh(struct logs_view *view, struct json_fault *fault);

uint64_t logs_view_shown(const struct logs_view *view); /* lines so far */

#endif
