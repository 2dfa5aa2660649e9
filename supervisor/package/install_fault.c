/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of an installation; see install_fault.h. Must never lose the
 * first one, which is the cause of the others.
 */
#include "supervisor/package/install_fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/unpack/unpack_jobs.h"

enum result
install_fault_set(struct install_fault *fault, enum result result,
    const char *code, const char *format, ...)
{
	va_list args;

	if (fault->code[0] != '\0')
		return fault->result;
	fault->result = result;
	(void)snprintf(fault->code, sizeof(fault->code), "%s", code);
	va_start(args, format);
	(void)vsnprintf(fault->detail, sizeof(fault->detail), format, args);
	va_end(args);
	return result;
}

enum result
install_fault_unpack(
    struct install_fault *fault, const char *code, const char *detail)
{
	static const struct {
		const char *code;
		enum result result;
	} rows[] = {
	    {UNPACK_UNSAFE, RESULT_REFUSED},
	    {UNPACK_MALFORMED, RESULT_REFUSED},
	    {UNPACK_TOO_BIG, RESULT_REFUSED},
	    {UNPACK_PACKAGE, RESULT_REFUSED},
	    {UNPACK_UNREADABLE, RESULT_BAD},
	    {UNPACK_DISK_FULL, RESULT_SYSTEM},
	    {UNPACK_OUTPUT, RESULT_SYSTEM},
	    {UNPACK_TIMEOUT, RESULT_TIMEOUT},
	    {UNPACK_CUT, RESULT_CLOSED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].code, code) == 0)
			return install_fault_set(
			    fault, rows[i].result, code, "%s", detail);
	return install_fault_set(fault, RESULT_INTERNAL, code, "%s", detail);
}
