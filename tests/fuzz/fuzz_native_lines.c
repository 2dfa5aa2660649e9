/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of mountinfo and a line of a journal: what is accepted is an
 * absolute path within its bound, and a journal's line is written back as
 * it was read.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/native/native_journal.h"
#include "supervisor/native/native_nested.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[NATIVE_VIEW_PATH_MAX];
	char text[NATIVE_VIEW_PATH_MAX + 64];
	struct native_journal_entry entry, again;
	size_t len;

	if (native_nested_point((const char *)data, size, path) == RESULT_OK &&
	    (path[0] != '/' || strlen(path) >= sizeof(path)))
		abort();
	if (native_journal_parse((const char *)data, size, &entry) != RESULT_OK)
		return 0;
	len = native_journal_format(&entry, text, sizeof(text));
	if (len == 0 ||
	    native_journal_parse(text, len - 1, &again) != RESULT_OK ||
	    again.dir != entry.dir || again.dev != entry.dev ||
	    again.ino != entry.ino || strcmp(again.path, entry.path) != 0)
		abort();
	return 0;
}
