/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload's standard error: each line to the log (escaped, cut), and,
 * when somebody wants to see it, made safe and copied on. Never blocks the
 * workload in MCP mode: what the reader does not take is counted and
 * dropped.
 */
#ifndef SUPERVISOR_GATE_GATE_STDERR_H
#define SUPERVISOR_GATE_GATE_STDERR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "supervisor/gate/gate_text.h"

#define GATE_STDERR_LINE_MAX 400U /* bytes of a line in the log */
#define GATE_STDERR_OUT_MAX (1U << 20)

struct gate_stderr {
	struct buffer out; /* for the one who watches */
	bool copy;         /* somebody watches */
	bool raw;          /* unfiltered (raw mode) */
	struct gate_text text;
	char line[GATE_STDERR_LINE_MAX];
	size_t line_len;
	uint64_t line_bytes; /* of the line, cut part included */
	uint64_t dropped;    /* bytes nobody took */
	const char *event;   /* of the lines in the log; static */
};

void gate_stderr_init(struct gate_stderr *err, bool copy, bool raw);
void gate_stderr_free(struct gate_stderr *err);
void gate_stderr_feed(struct gate_stderr *err, const char *bytes, size_t len);
void gate_stderr_finish(struct gate_stderr *err);

#endif
