/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_files that believes the machine: the engine is not told about our
 * containers.conf. Linked in place of the real one by a test tool that
 * shows what a hostile configuration meets behind that; never installed.
 */
#include <string.h>

#include "supervisor/engine/engine_files.h"

enum result engine_files_trusting(
    struct engine_files *files, char *detail_r, size_t detail_size);

#define engine_files_prepare engine_files_trusting
#include "supervisor/engine/engine_files.c"
#undef engine_files_prepare

/* The real preparation, then CONTAINERS_CONF is taken out again. */
enum result
engine_files_prepare(
    struct engine_files *files, char *detail_r, size_t detail_size)
{
	enum result result =
	    engine_files_trusting(files, detail_r, detail_size);
	size_t to = 0;

	for (size_t i = 0; result == RESULT_OK && files->envp[i] != NULL; i++) {
		if (strncmp(files->envp[i], "CONTAINERS_CONF=", 16) != 0)
			files->envp[to++] = files->envp[i];
	}
	if (result == RESULT_OK)
		files->envp[to] = NULL;
	return result;
}
