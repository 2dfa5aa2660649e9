/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says why and ends. Called by every part of the launcher, before and after
 * the clone; must never return.
 */
#include "supervisor/native/native_fail.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/native/native_launch.h"

#define NATIVE_FAIL_TEXT_MAX 1400U

_Noreturn void
native_fail(const char *what, const char *name, int error)
{
	char text[NATIVE_FAIL_TEXT_MAX];
	int len = snprintf(text, sizeof(text), "%s%s%s%s%s\n", what,
	    name[0] != '\0' ? " " : "", name, error != 0 ? ": " : "",
	    error != 0 ? strerror(error) : "");

	if (len >= (int)sizeof(text))
		len = sizeof(text) - 1;
	if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
		_exit(NATIVE_LAUNCH_EXIT_START);
	_exit(NATIVE_LAUNCH_EXIT_START);
}
