/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a log: when it was written, whether it is asked for, and how
 * it is shown. A workload can make our processes write its words, and
 * whatever crashes may write anything, so a line is foreign: pure, bounded,
 * and no control byte of it comes out.
 */
#ifndef SUPERVISOR_LOGS_LOGS_LINE_H
#define SUPERVISOR_LOGS_LOGS_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buffer.h"
#include "common/result.h"

#define LOGS_LINE_MAX 8192U /* bytes of a line that are looked at */
#define LOGS_LINE_TIME 25U  /* "2026-01-02T03:04:05.678Z" and NUL */
#define LOGS_LINE_ID_MAX 64U

/* The line itself, without its newline; borrowed. */
struct logs_line {
	const char *bytes;
	size_t len;
	bool torn; /* the file ends inside it */
	bool cut;  /* it was longer than LOGS_LINE_MAX */
	/* Its own time; that of the line before where it has none. */
	char ts[LOGS_LINE_TIME];
};

/* What is asked for; "" and NULL: anything. */
struct logs_filter {
	const char *run;     /* of a run or one of its requests */
	const char *request; /* RUN.KIND-NUMBER */
	const char *since;   /* the beginning of a time */
};

/* The time at the head of a line of ours; false: it has none there, and
 * ts_r is left as it is. */
bool logs_line_time(const char *bytes, size_t len, char ts_r[LOGS_LINE_TIME]);

/* A line that is no object of ours is taken when the id stands anywhere in
 * it: better one too many than the last words of a crash missing. */
bool logs_line_takes(
    const struct logs_filter *filter, const struct logs_line *line);

/* Append it with its newline: "ts level process event key=value ..." or, as
 * json, one object: the line's own, escaped, or {"ts", "process", "text"}
 * for what is none, with "torn" and "cut" where they hold. */
enum result logs_line_show(const struct logs_line *line, const char *process,
    bool json, struct buffer *out);

#endif
