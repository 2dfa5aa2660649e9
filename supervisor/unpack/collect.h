/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes of a command, while it runs and when it ended: its two
 * outputs, and the files it left (a result stream). All of it is foreign;
 * it leaves as one bounded JSON text. Used by job_table.c.
 */
#ifndef SUPERVISOR_UNPACK_COLLECT_H
#define SUPERVISOR_UNPACK_COLLECT_H

#include <jansson.h>
#include <stdint.h>

#include "supervisor/unpack/unpack_io.h"

#define COLLECT_HANDED_MAX 64U /* files that the command was given */
#define COLLECT_SKIPPED_NAMES 20U

/* fds: the memfd of the answer, standard output, standard error, the result
 * stream, and the tree stream of what the command was given. */
enum collect_fd {
	COLLECT_ANSWER,
	COLLECT_STDOUT,
	COLLECT_STDERR,
	COLLECT_RESULTS,
	COLLECT_HANDED,
	COLLECT_FD_COUNT
};

struct collect_bound {
	uint64_t text;  /* bytes shown of each output and of each file */
	uint64_t files; /* files shown */
	uint64_t total; /* bytes shown of all files */
};

/* Returns when both outputs and the stream came to their end. The answer is
 * {"stdout":T,"stderr":T,"files":[{"name","input",...T}],"complete":b,
 * "fault":text,"skipped":{"directories","links","special","unreadable",
 * "more","names":[..]},"hints":[{"path","need"}]} with T as result_text.h says;
 * complete is false when the stream was cut or wrong, fault says how; hints are
 * of what is kept of standard error (native_hint.h). *result_r: {"complete"}.
 */
enum result collect_run(struct unpack_io *io, const int *fds,
    const struct collect_bound *bound, json_t **result_r);

#endif
