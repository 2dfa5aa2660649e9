/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command left, as a result stream (result_stream.h). Called by the
 * tree child of init, and by init for a directory with nothing in it; by
 * exec itself for its own scratch directory where
 * there is no init.
 */
#ifndef SUPERVISOR_INIT_INIT_RESULTS_H
#define SUPERVISOR_INIT_INIT_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#define INIT_RESULTS_ENTRIES_MAX 65536U

struct init_results_bound {
	uint64_t bytes;      /* of content, all files together */
	uint64_t file_bytes; /* of one file */
	uint64_t entries;    /* listed by name; the rest is counted */
};

/* root stays open. 0 or an errno: then the stream has no end. */
int init_results_run(
    int root, int stream_fd, const struct init_results_bound *most);

/* Is the directory empty? Then the stream is written. Names are all that is
 * looked at, and nothing is changed; false also when it cannot be told. */
bool init_results_none(const char *path, int stream_fd);

#endif
