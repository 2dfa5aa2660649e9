/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do the sealed volumes hold what the lockfile names? agentnode-unpack
 * looks at each tree while the engine starts; `go` waits for the answer.
 * Fast: a volume whose fingerprint is the one it had when its content was
 * read is good, every other one is read and hashed. Full: all are read.
 * Used by the sandbox's story and `agentnode verify`.
 */
#ifndef SUPERVISOR_ENGINE_VOLUME_CHECK_H
#define SUPERVISOR_ENGINE_VOLUME_CHECK_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"

#define VOLUME_CHECK_MAX 5U /* a package's, and init's own */
#define VOLUME_CHECK_PLACE_MAX 256U
#define VOLUME_CHECK_HASH_MAX 72U /* "sha256:" 64 hex NUL */

struct volume_check; /* opaque */

struct volume_check_one {
	int dir_fd; /* owned by the check once started; -1: place */
	/* Where the folder is not ours to open: "CONTAINER:/PATH", which
	 * Docker's daemon reads out as a tar, every time. "": dir_fd. */
	char place[VOLUME_CHECK_PLACE_MAX];
	char volume[128];
	char hash[VOLUME_CHECK_HASH_MAX]; /* what it must be */
};

/* Once: RESULT_OK, RESULT_MISMATCH (integrity), or what else went wrong;
 * detail is a sentence. */
typedef void volume_check_done(
    enum result result, const char *detail, void *context);

struct engine_host; /* supervisor/engine/engine_host.h */

struct volume_check_spec {
	const struct engine_host *host; /* of places; else NULL; borrowed */
	const struct volume_check_one *volumes; /* copied */
	size_t count;
	int log_fd;       /* borrowed */
	bool no_landlock; /* the named override is in force */
	bool fast;        /* sandbox.volume_check */
};

/* Takes the directory descriptors, also on failure (but for a count of 0
 * or above the maximum). */
enum result volume_check_start(struct event_base *base,
    const struct volume_check_spec *spec, volume_check_done *done,
    void *context, struct volume_check **check_r);
/* Accepts NULL, clears. */
void volume_check_free(struct volume_check **check);

#endif
