/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scratch directory of a command on the host: AGENTNODE_HOME/exec/ID,
 * 0700, locked while its run lives, gone in every case: with the run, or,
 * when its supervisor was killed, at the next start. Used by exec_policy.
 */
#ifndef SUPERVISOR_EXEC_EXEC_SCRATCH_H
#define SUPERVISOR_EXEC_EXEC_SCRATCH_H

#include "common/json_field.h"
#include "common/result.h"

#define EXEC_SCRATCH_PATH_MAX 4200U
#define EXEC_SCRATCH_NAME_MAX 24U

struct exec_scratch {
	int above; /* owned: AGENTNODE_HOME/exec */
	int fd;    /* owned, locked: the directory; -1: there is none */
	char name[EXEC_SCRATCH_NAME_MAX];
	char path[EXEC_SCRATCH_PATH_MAX]; /* absolute */
};

/* Removes what dead runs left, then makes one. */
enum result exec_scratch_new(
    struct exec_scratch *scratch_r, struct json_fault *fault);
/* The files of a tree stream (exec_input.h) into it. */
enum result exec_scratch_fill(const struct exec_scratch *scratch, int stream);
/* Whatever is in it, however deep. Nothing of the run may live. */
void exec_scratch_remove(struct exec_scratch *scratch);

#endif
