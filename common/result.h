/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short list of outcomes that functions of this project return.
 * Used by every process. A result never carries a length; what was
 * produced comes back through out-parameters (suffix _r).
 */
#ifndef COMMON_RESULT_H
#define COMMON_RESULT_H

enum result {
	RESULT_OK = 0,
	RESULT_NEED_MORE,   /* a parser wants more bytes, or a call would
			     * block: not an error */
	RESULT_EOF,         /* the other side ended in order */
	RESULT_BAD,         /* malformed input */
	RESULT_TOO_LONG,    /* a documented bound was passed */
	RESULT_NO_MEMORY,   /* allocation failed */
	RESULT_SYSTEM,      /* a system call failed, errno says why */
	RESULT_NOT_FOUND,   /* the named thing does not exist */
	RESULT_EXISTS,      /* the named thing exists already */
	RESULT_REFUSED,     /* policy or state forbids it */
	RESULT_MISMATCH,    /* two values that had to be equal differ */
	RESULT_UNSUPPORTED, /* this kernel, engine or build cannot do it */
	RESULT_TIMEOUT,     /* a deadline passed */
	RESULT_CLOSED,      /* the other side vanished */
	RESULT_INTERNAL,    /* a broken invariant of our own */
	RESULT_COUNT
};

/* Fixed English text of a result, for logs; never NULL. */
const char *result_text(enum result result);

#endif
