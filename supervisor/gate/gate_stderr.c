/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard error of the workload. Called by gate.c; it must never put
 * unescaped bytes into the log.
 */
#include "supervisor/gate/gate_stderr.h"

#include <string.h>

#include "common/log.h"

void
gate_stderr_init(struct gate_stderr *err, bool copy, bool raw)
{
	memset(err, 0, sizeof(*err));
	buffer_init(&err->out, GATE_STDERR_OUT_MAX);
	err->copy = copy;
	err->raw = raw;
	err->event = "workload_stderr";
	gate_text_start(&err->text);
}

void
gate_stderr_free(struct gate_stderr *err)
{
	buffer_free(&err->out);
}

static void
gate_stderr_log(struct gate_stderr *err)
{
	if (err->line_bytes > 0)
		log_event(LOG_INFO_LEVEL, err->event,
		    LOG_BYTES("text", err->line, err->line_len),
		    LOG_UINT("bytes", err->line_bytes));
	err->line_len = 0;
	err->line_bytes = 0;
}

static void
gate_stderr_lines(struct gate_stderr *err, const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (bytes[i] == '\n') {
			gate_stderr_log(err);
			continue;
		}
		if (err->line_len < sizeof(err->line))
			err->line[err->line_len++] = bytes[i];
		err->line_bytes++;
	}
}

static void
gate_stderr_copy(struct gate_stderr *err, const char *bytes, size_t len)
{
	size_t room = err->out.max - err->out.len;
	enum result result;

	if (room < (len + 4) * GATE_TEXT_GROWTH) {
		err->dropped += len;
		return;
	}
	result = err->raw ? buffer_append(&err->out, bytes, len)
			  : gate_text_feed(&err->text, bytes, len, &err->out);
	if (result != RESULT_OK)
		err->dropped += len;
}

void
gate_stderr_feed(struct gate_stderr *err, const char *bytes, size_t len)
{
	gate_stderr_lines(err, bytes, len);
	if (err->copy)
		gate_stderr_copy(err, bytes, len);
}

void
gate_stderr_finish(struct gate_stderr *err)
{
	gate_stderr_log(err);
	if (err->copy && !err->raw)
		(void)gate_text_finish(&err->text, &err->out);
	if (err->dropped > 0)
		log_event(LOG_WARN_LEVEL, "workload_stderr_dropped",
		    LOG_UINT("bytes", err->dropped));
}
