/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host tool (mmdebstrap, curl) started and waited for: an absolute
 * path, words and environment of our own, output bounded, a deadline. Its
 * standard error comes as printable lines. Used by the image commands; the
 * container engine is called through supervisor/engine/engine_call.h.
 */
#ifndef SUPERVISOR_PACKAGE_TOOL_RUN_H
#define SUPERVISOR_PACKAGE_TOOL_RUN_H

#include <stddef.h>

#include "common/result.h"

#define TOOL_RUN_LINE_MAX 256U

struct tool_run_spec {
	const char *name;        /* "mmdebstrap"; argv[0] is set from it */
	const char *const *argv; /* NULL-terminated; argv[0] is ignored */
	const char *const *envp;
	int stdin_fd, stdout_fd; /* -1: /dev/null; borrowed */
	unsigned timeout_s;
	/* Called for each line of standard error, escaped and cut; may be
	 * NULL. */
	void (*on_line)(const char *line, void *context);
	void *context;
};

/* RESULT_NOT_FOUND: no such tool. RESULT_REFUSED: it exited with another
 * code than 0. RESULT_TIMEOUT: killed. RESULT_CLOSED: a signal of
 * end_signals.h came to us; the tool's group was given it (SIGTERM for all but
 * SIGINT and SIGHUP) and had 10 s to clean up behind itself. detail_r is one
 * sentence with its last line. */
enum result tool_run(
    const struct tool_run_spec *spec, char *detail_r, size_t detail_size);

#endif
