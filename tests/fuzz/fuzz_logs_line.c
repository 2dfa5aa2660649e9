/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz: a line of a log, whoever wrote it. However it is shown, it is one
 * line, and no control byte but its newline comes out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/logs/logs_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_logs_line_show(const struct logs_line *line, bool json)
{
	const uint8_t *bytes;
	struct buffer out;

	buffer_init(&out, 1U << 20);
	if (logs_line_show(line, "p", json, &out) != RESULT_OK)
		abort();
	bytes = buffer_bytes_borrow(&out);
	for (size_t i = 0; i + 1 < out.len; i++)
		if (bytes[i] < ' ' || bytes[i] == 0x7f)
			abort();
	if (out.len == 0 || bytes[out.len - 1] != '\n')
		abort();
	buffer_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct logs_filter all = {NULL, NULL, NULL},
				 one = {"run", "run.c1", "2026"};
	struct logs_line line = {
	    .bytes = (const char *)data, .len = size, .torn = size % 2 == 1};

	if (size > LOGS_LINE_MAX || memchr(data, '\n', size) != NULL)
		return 0;
	(void)logs_line_time(line.bytes, line.len, line.ts);
	if (!logs_line_takes(&all, &line))
		abort();
	(void)logs_line_takes(&one, &line);
	fuzz_logs_line_show(&line, false);
	fuzz_logs_line_show(&line, true);
	return 0;
}
