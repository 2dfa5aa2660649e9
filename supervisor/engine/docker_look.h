/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker's daemon says it made: where the kernel does not show a user
 * the namespaces and mounts of the container's processes, that they are the
 * sandbox's own is the daemon's word, which is asked for here and compared
 * field by field. Used by the sandbox's story when init has spoken.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_LOOK_H
#define SUPERVISOR_ENGINE_DOCKER_LOOK_H

#include <event2/event.h>
#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"
#include "supervisor/engine/engine_host.h"
#include "supervisor/engine/run_argv.h"

struct docker_look; /* opaque */

/* All borrowed; until the look is freed. */
struct docker_look_expected {
	const char *id, *name; /* the container's */
	pid_t pid;             /* init, as it was found here */
	uint32_t uid;
	const struct run_argv_mount *mounts; /* all, and no other one */
	size_t mount_count;
	const char *volume_path; /* of the daemon */
};

/* Once: RESULT_OK, or RESULT_MISMATCH, or why it cannot be asked; detail is
 * a sentence. */
typedef void docker_look_done(
    enum result result, const char *detail, void *context);

enum result docker_look_start(struct event_base *base,
    const struct engine_host *host, const struct docker_look_expected *expected,
    docker_look_done *done, void *context, struct docker_look **look_r);
/* Accepts NULL, clears. */
void docker_look_free(struct docker_look **look);

/* The judgement of `docker inspect` of the container and its volumes, in
 * that order. Pure. */
enum result docker_look_judge(const json_t *list,
    const struct docker_look_expected *expected, char *detail_r,
    size_t detail_size);

#endif
