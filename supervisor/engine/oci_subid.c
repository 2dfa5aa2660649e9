/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_subid.h. Called once per rootless start; what it finds is judged
 * again by newuidmap.
 */
#include "supervisor/engine/oci_subid.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define OCI_SUBID_FILE_MAX (1U << 20)

/* "START:COUNT" up to the end of the line. */
static bool
oci_subid_range(const char *text, uint64_t *start_r, uint64_t *count_r)
{
	char *end;

	*start_r = strtoull(text, &end, 10);
	if (end == text || *end != ':')
		return false;
	text = end + 1;
	*count_r = strtoull(text, &end, 10);
	return end != text && (*end == '\n' || *end == '\0') && *start_r > 0 &&
	       *start_r + *count_r < UINT32_MAX && *count_r < UINT32_MAX;
}

enum result
oci_subid_in(const char *text, const char *name, uint32_t uid, uint32_t inside,
    uint32_t *outside_r)
{
	char number[16];
	uint64_t before = 1; /* 0 is the user itself */

	(void)snprintf(number, sizeof(number), "%u", uid);
	while (text != NULL && *text != '\0') {
		const char *next = strchr(text, '\n');
		size_t len = strcspn(text, ":\n");
		uint64_t start = 0, count = 0;
		bool ours =
		    (strlen(name) == len && strncmp(text, name, len) == 0) ||
		    (strlen(number) == len && strncmp(text, number, len) == 0);

		if (ours && text[len] == ':' &&
		    oci_subid_range(text + len + 1, &start, &count)) {
			if (inside >= before && inside - before < count) {
				*outside_r =
				    (uint32_t)(start + (inside - before));
				return RESULT_OK;
			}
			before += count;
		}
		text = next == NULL ? NULL : next + 1;
	}
	return RESULT_NOT_FOUND;
}

enum result
oci_subid(const char *path, uint32_t inside, uint32_t *outside_r)
{
	const struct passwd *entry = getpwuid(geteuid());
	char *text = NULL;
	size_t len = 0;
	enum result result = RESULT_NOT_FOUND;
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		result = fd_read_all(fd, OCI_SUBID_FILE_MAX, &text, &len);
	if (result == RESULT_OK)
		result = oci_subid_in(text, entry != NULL ? entry->pw_name : "",
		    (uint32_t)geteuid(), inside, outside_r);
	free(text);
	return result;
}
