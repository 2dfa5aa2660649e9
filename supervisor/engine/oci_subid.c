/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See oci_subid.h. Called once per rootless start; what it finds is judged
 * again by newuidmap.
 */
#include "supervisor/engine/oci_subid.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define OCI_SUBID_FILE_MAX (1U << 20)
#define OCI_SUBID_FIRST 100000U    /* SUB_UID_MIN of login.defs */
#define OCI_SUBID_END 600100000ULL /* SUB_UID_MAX */

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

/* One line: whose (text up to the first ':'), and which. False for another
 * form. next_r: the line after it, NULL at the end. */
static bool
oci_subid_line(const char *text, size_t *name_len_r, uint64_t *start_r,
    uint64_t *count_r, const char **next_r)
{
	const char *end = strchr(text, '\n');

	*next_r = end == NULL ? NULL : end + 1;
	*name_len_r = strcspn(text, ":\n");
	return text[*name_len_r] == ':' &&
	       oci_subid_range(text + *name_len_r + 1, start_r, count_r);
}

static bool
oci_subid_is(const char *text, size_t len, const char *name, uint32_t uid)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", uid);
	return (strlen(name) == len && strncmp(text, name, len) == 0) ||
	       (strlen(number) == len && strncmp(text, number, len) == 0);
}

enum result
oci_subid_in(const char *text, const char *name, uint32_t uid, uint32_t inside,
    uint32_t *outside_r)
{
	uint64_t before = 1, start, count; /* 0 is the user itself */
	const char *next;
	size_t len;

	for (; text != NULL && *text != '\0'; text = next) {
		if (!oci_subid_line(text, &len, &start, &count, &next) ||
		    !oci_subid_is(text, len, name, uid))
			continue;
		if (inside >= before && inside - before < count) {
			*outside_r = (uint32_t)(start + (inside - before));
			return RESULT_OK;
		}
		before += count;
	}
	return RESULT_NOT_FOUND;
}

uint64_t
oci_subid_count(const char *text, const char *name, uint32_t uid)
{
	uint64_t sum = 0, start, count;
	const char *next;
	size_t len;

	for (; text != NULL && *text != '\0'; text = next) {
		if (oci_subid_line(text, &len, &start, &count, &next) &&
		    oci_subid_is(text, len, name, uid))
			sum += count;
	}
	return sum;
}

/* True when a line has one of the ids from first up to end. */
static bool
oci_subid_has(const char *text, uint64_t first, uint64_t end)
{
	uint64_t start, count;
	const char *next;
	size_t len;

	for (; text != NULL && *text != '\0'; text = next) {
		if (oci_subid_line(text, &len, &start, &count, &next) &&
		    start < end && first < start + count)
			return true;
	}
	return false;
}

uint32_t
oci_subid_free(const char *uids, const char *gids, uint32_t count)
{
	uint64_t first = OCI_SUBID_FIRST;

	for (; first + count < OCI_SUBID_END; first += count) {
		if (!oci_subid_has(uids, first, first + count) &&
		    !oci_subid_has(gids, first, first + count))
			return (uint32_t)first;
	}
	return 0;
}

enum result
oci_subid_read(const char *path, char **text_r)
{
	size_t len = 0;
	int fd FD_CLEANUP = open(path, O_RDONLY | O_CLOEXEC);

	*text_r = NULL;
	if (fd < 0 && errno == ENOENT)
		return (*text_r = strdup("")) != NULL ? RESULT_OK
						      : RESULT_NO_MEMORY;
	if (fd < 0)
		return RESULT_SYSTEM;
	return fd_read_all(fd, OCI_SUBID_FILE_MAX, text_r, &len);
}

enum result
oci_subid(const char *path, uint32_t inside, uint32_t *outside_r)
{
	const struct passwd *entry = getpwuid(geteuid());
	char *text = NULL;
	enum result result = oci_subid_read(path, &text);

	if (result == RESULT_OK)
		result = oci_subid_in(text, entry != NULL ? entry->pw_name : "",
		    (uint32_t)geteuid(), inside, outside_r);
	free(text);
	return result;
}
