/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of the outcomes. Called by whoever logs a result; it must never
 * return NULL, also not for a number outside the enum.
 */
#include "common/result.h"

#include <stddef.h>

static const char *const result_texts[RESULT_COUNT] = {
    [RESULT_OK] = "done",
    [RESULT_NEED_MORE] = "more bytes are needed",
    [RESULT_EOF] = "ended by the other side",
    [RESULT_BAD] = "malformed",
    [RESULT_TOO_LONG] = "longer than the limit",
    [RESULT_NO_MEMORY] = "out of memory",
    [RESULT_SYSTEM] = "a system call failed",
    [RESULT_NOT_FOUND] = "not found",
    [RESULT_EXISTS] = "exists already",
    [RESULT_REFUSED] = "refused",
    [RESULT_MISMATCH] = "does not match",
    [RESULT_UNSUPPORTED] = "not supported here",
    [RESULT_TIMEOUT] = "timed out",
    [RESULT_CLOSED] = "the other side vanished",
    [RESULT_INTERNAL] = "internal error",
};

const char *
result_text(enum result result)
{
	if ((unsigned)result >= RESULT_COUNT || result_texts[result] == NULL)
		return "unknown result";
	return result_texts[result];
}
