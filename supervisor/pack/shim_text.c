/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a program that starts a function; see shim_text.h. It must never
 * read from anywhere but beside agentnode.
 */
#include "supervisor/pack/shim_text.h"

#include <fcntl.h>

#include "common/fd.h"
#include "supervisor/child.h"

#define SHIM_TEXT_MAX (120U * 1024U) /* one word of a command */
#define SHIM_TEXT_PATH_MAX 4096U

enum result
shim_text_load(const char *name, char **text_r, struct json_fault *fault)
{
	char path[SHIM_TEXT_PATH_MAX];
	int fd FD_CLEANUP = -1;
	size_t len = 0;
	enum result result = child_shared_path(name, path, sizeof(path));

	*text_r = NULL;
	if (result == RESULT_OK) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		result = fd < 0 ? RESULT_NOT_FOUND
				: fd_read_all(fd, SHIM_TEXT_MAX, text_r, &len);
	}
	if (result != RESULT_OK)
		json_field_fault(
		    fault, "%s is not installed beside agentnode", name);
	return result;
}
