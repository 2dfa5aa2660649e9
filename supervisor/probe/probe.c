/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one thing every probe does: saying how it ended.
 */
#include "supervisor/probe/probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
probe_say(struct probe_result *result, bool ok, const char *format, ...)
{
	va_list list;

	result->ok = ok;
	va_start(list, format);
	(void)vsnprintf(result->detail, sizeof(result->detail), format, list);
	va_end(list);
	result->detail[strcspn(result->detail, "\r\n")] = '\0';
}
