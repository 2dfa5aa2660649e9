/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes what a job came to (see the header). Called by every part of the
 * helper that can fail; its sentence must never hold a byte of a key.
 */
#include "llm-broker/keyring/keyring_outcome.h"

#include <stdarg.h>
#include <stdio.h>

void
keyring_outcome_set(struct keyring_outcome *outcome, enum keyring_status status,
    const char *format, ...)
{
	va_list list;

	outcome->status = status;
	va_start(list, format);
	(void)vsnprintf(outcome->detail, sizeof(outcome->detail), format, list);
	va_end(list);
}
