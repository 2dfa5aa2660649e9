/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints call_vectors.c for tests/attack: a JSON object with the grant they
 * are played under and every row as its whole request. Must never judge one.
 */
#include <jansson.h>
#include <stdio.h>

#include "tests/support/call_vectors.h"

static json_t *
call_vectors_print_row(const struct call_case_row *row)
{
	struct buffer bytes;
	json_t *made;
	const char *text;

	buffer_init(&bytes, 1U << 20);
	call_case_write(&bytes, row->line, row->headers, row->body);
	text = (const char *)buffer_bytes_borrow(&bytes);
	made = json_pack("{s:s, s:s%, s:s, s:s?, s:s?}", "name", row->name,
	    "request", text, bytes.len, "code",
	    row->code == CALL_OK ? "" : call_code_text(row->code), "has",
	    row->has, "lacks", row->lacks);
	buffer_free(&bytes);
	return made;
}

int
main(void)
{
	json_t *rows = json_array();
	json_t *out;
	size_t i;
	int failed = 0;

	for (i = 0; i < call_vectors_count; i++)
		failed |= json_array_append_new(
		    rows, call_vectors_print_row(&call_vectors_rows[i]));
	out = json_pack("{s:s, s:i, s:o}", "grant", CALL_CASE_GRANT, "port",
	    CALL_CASE_PORT, "rows", rows);
	if (failed != 0 || out == NULL ||
	    json_dumpf(out, stdout, JSON_ENSURE_ASCII) != 0)
		return 1;
	json_decref(out);
	return fflush(stdout) != 0;
}
