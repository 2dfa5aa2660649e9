/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that says in whom it was loaded: one line with the program's
 * path, appended to the file that PRELOAD_MARK names, or to standard output
 * when there is no such variable. Put into LD_PRELOAD by tests; never
 * installed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void
preload_mark_load(void)
{
	const char *path = getenv("PRELOAD_MARK");
	char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int fd = path == NULL ? STDOUT_FILENO
			      : open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);

	if (fd < 0 || len < 0)
		return;
	program[len] = '\0';
	(void)dprintf(fd, "preloaded %s\n", program);
	if (path != NULL)
		(void)close(fd);
}
