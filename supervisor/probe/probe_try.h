/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an attempt in a child, so that what it changes, or that it is killed,
 * does not touch the probe.
 */
#ifndef SUPERVISOR_PROBE_TRY_H
#define SUPERVISOR_PROBE_TRY_H

#include <stdbool.h>
#include <stdint.h>

#define PROBE_TRY_TIMEOUT_MS 60000

enum probe_try_end {
	PROBE_TRY_RETURNED, /* value is what the attempt returned */
	PROBE_TRY_KILLED,   /* value is the signal */
	PROBE_TRY_TIMEOUT,
	PROBE_TRY_FAILED, /* could not be started; value is errno */
};

struct probe_try {
	enum probe_try_end end;
	int value;
	uint64_t progress; /* what the attempt counted */
};

/* The attempt returns 0 when it worked, else errno; it may count in
 * progress, which survives it. */
typedef int probe_try_attempt(
    const void *argument, volatile uint64_t *progress);

struct probe_try probe_try_run(
    probe_try_attempt *attempt, const void *argument);

/* "EPERM" and the like. */
const char *probe_try_error(int error);

/* EPERM; or EINVAL where the user namespace has no user 0 to be. */
bool probe_try_no_root(int error);

/* First size-1 bytes of a file, terminated; -1 with errno. */
int probe_try_file(const char *path, char *text_r, unsigned size);

#endif
