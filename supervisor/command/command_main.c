/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both mains do: prepare the process, run the words, see that what was
 * printed arrived. Called by them alone.
 */
#include "supervisor/command/command_main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_dispatch.h"
#include "supervisor/command/command_limits.h"

/* A caller may have closed 0, 1 or 2: a file opened later must not land
 * there and receive our messages. */
static bool
command_main_fill_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return false;
	} while (fd <= STDERR_FILENO);
	close(fd);
	return true;
}

/* What stdio still holds must arrive: a full disk is not a success. */
static int
command_main_finish(int code)
{
	int lost = command_flush();

	if (lost == 0 || lost == EPIPE)
		return code;
	return command_error(COMMAND_INTERNAL,
	    "standard output could not be written: %s", strerror(lost));
}

int
command_main(int argc, char **argv)
{
	if (!command_main_fill_standard() || !command_limits_enough())
		return COMMAND_INTERNAL;
	umask(077);
	/* A reader that left, or a limit of files, is an error where it is
	 * written to; programs that we start get the default back (child,
	 * engine). */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return command_main_finish(command_dispatch(argc, argv));
}
