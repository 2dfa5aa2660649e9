/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes why a request is refused. Called by every file that judges one. It
 * must never let a byte through that a terminal or a log would act on.
 */
#include "llm-broker/call_fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"

void
call_fault_set(struct call_fault *fault, enum call_code code, unsigned status,
    const char *format, ...)
{
	char text[CALL_FAULT_DETAIL_MAX];
	va_list arguments;

	if (fault->code != CALL_OK)
		return;
	fault->code = code;
	fault->status = status;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_clean(text, strlen(text), fault->detail, sizeof(fault->detail));
}
