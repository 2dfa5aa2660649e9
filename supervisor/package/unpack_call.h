/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of agentnode-unpack (supervisor/unpack/
 * unpack_jobs.h): starts the process, gives it a job, hears the answer. On
 * a loop, or waited for. Used by install and image commands.
 */
#ifndef SUPERVISOR_PACKAGE_UNPACK_CALL_H
#define SUPERVISOR_PACKAGE_UNPACK_CALL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/unpack/unpack_jobs.h"

struct config;      /* supervisor/policy/config.h */
struct unpack_call; /* opaque */

/* result is borrowed and NULL when the job failed; then code is from
 * unpack_jobs.h or "unpack_failed", and detail one sentence. */
typedef void unpack_call_done(
    const json_t *result, const char *code, const char *detail, void *context);

struct unpack_call_spec {
	const char *job;
	const char *program; /* that does it; NULL: agentnode-unpack */
	json_t *options;     /* taken, even on failure */
	const int *roots;    /* directories; borrowed */
	size_t root_count;
	const int *fds; /* of the job; borrowed, may be closed after start */
	size_t fd_count;
	unsigned timeout_s;
	/* The user's own files: as root, run as the owner of roots[0], so
	 * that it reads what he may read. Files that only root may read are
	 * not read for anybody. */
	bool keep_uid;
};

/* One process for one job. done is called once, never before this returns;
 * the call may be freed in it. */
enum result unpack_call_start(struct event_base *base,
    const struct config *config, const struct unpack_call_spec *spec,
    unpack_call_done *done, void *context, struct unpack_call **call_r);
/* Kills the process if the job still runs. Accepts NULL, clears. */
void unpack_call_free(struct unpack_call **call);

/* On a loop of its own. RESULT_REFUSED: the job failed, detail_r says why.
 * The caller owns *result_r. */
enum result unpack_call_wait(const struct config *config,
    const struct unpack_call_spec *spec, json_t **result_r, char *detail_r,
    size_t detail_size);
/* The same, with the code of a job that failed. */
enum result unpack_call_wait_code(const struct config *config,
    const struct unpack_call_spec *spec, json_t **result_r, char *code_r,
    size_t code_size, char *detail_r, size_t detail_size);

#endif
