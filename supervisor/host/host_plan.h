/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is decided about one run on the host before anything of it starts:
 * may it be there at all, its words, environment, streams and limits. Made
 * once by host_run_start; the story only reads it.
 */
#ifndef SUPERVISOR_HOST_PLAN_H
#define SUPERVISOR_HOST_PLAN_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "supervisor/engine/engine_files.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/engine/volume_check.h"
#include "supervisor/host/host_protocol.h"
#include "supervisor/host/host_run.h"

struct host_plan {
	char kind[32], package[128], version[64], tier[16];
	char program[128]; /* for sentences: cut, escaped */
	struct host_setup setup;
	struct engine_files files;    /* of a package: where its lock is */
	struct run_lock lock;         /* held while a package's run lives */
	int go_fd, secret_fd;         /* owned; secret_fd -1: none */
	int streams[3];               /* owned; -1: /dev/null */
	struct volume_check_one tree; /* dir_fd -1: none */
	int place_fd;                 /* owned; the same folder, to compare */
	char place[PATH_MAX];         /* where the words name it */
	bool no_landlock;             /* for the process that reads tree */
	json_t *secrets, *secret_sources; /* owned; names, from where */
	json_t *record;                   /* owned; the caller's part */
};

struct host_plan_fault {
	char code[SANDBOX_CODE_MAX];
	char detail[512];
};

/* On failure the plan is cleared, but for its id and names. */
enum result host_plan_make(const struct config *config,
    const struct host_spec *spec, struct host_plan *plan_r,
    struct host_plan_fault *fault_r);
void host_plan_clear(struct host_plan *plan);

/* Whether the path still leads to the folder that was opened to be read; a
 * plan without one has no such question. Asked at go. */
bool host_plan_is_there(const struct host_plan *plan);

/* The launch record; is_grouped: a control group holds the limits. Caller
 * owns it. */
json_t *host_plan_record(const struct host_plan *plan, bool is_grouped);

#endif
