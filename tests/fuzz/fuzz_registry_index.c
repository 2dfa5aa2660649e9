/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an index and of its signature file: what is accepted is found
 * again, names files below its folder only, and is bounded.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/package/registry_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_registry_index_row(const struct registry_index *index, const char *slug)
{
	struct json_fault fault = {""};
	struct registry_row row;

	if (registry_index_find(index, slug, NULL, &row, &fault) !=
		REGISTRY_OK ||
	    row.file[0] == '/' || strstr(row.file, "..") == row.file ||
	    strstr(row.file, "/../") != NULL || row.size < 1 ||
	    row.size > REGISTRY_ARTIFACT_MAX)
		abort();
	if (registry_index_find(index, slug, "..", &row, &fault) == REGISTRY_OK)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct registry_mark marks[REGISTRY_MARKS_MAX];
	struct registry_index index;
	struct json_fault fault = {""};
	const char *slug;
	json_t *package;
	size_t count;
	enum registry_code code =
	    registry_index_parse((const char *)data, size, &index, &fault);

	if ((code == REGISTRY_OK) != (fault.text[0] == '\0') ||
	    (code == REGISTRY_OK) != (index.root != NULL))
		abort();
	if (code == REGISTRY_OK &&
	    registry_index_current(&index, index.issued, &fault) != REGISTRY_OK)
		abort();
	json_object_foreach(json_object_get(index.root, "packages"), slug,
	    package) fuzz_registry_index_row(&index, slug);
	registry_index_clear(&index);
	fault = (struct json_fault){""};
	code = registry_index_marks(
	    (const char *)data, size, marks, &count, &fault);
	if (code == REGISTRY_OK ? count == 0 || count > REGISTRY_MARKS_MAX
				: count != 0)
		abort();
	return 0;
}
