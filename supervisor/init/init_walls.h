/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trying the walls. init_walls.c runs the throwaway child and the attempts
 * that are one system call; init_wall_tries.c has those that need more.
 */
#ifndef SUPERVISOR_INIT_WALLS_H
#define SUPERVISOR_INIT_WALLS_H

#include <sys/types.h>

#include "supervisor/init/init_protocol.h"
#include "supervisor/init/init_report.h"

/* The child at its attempts. */
struct init_walls {
	pid_t child;
	int ends[2]; /* of a pipe: in the end the child alone can write */
};

/* Fork the child, which tries everything and fills walls and status of
 * report, which must be in shared memory; then wait for it, whatever else
 * failed. 0 or errno (ETIMEDOUT when the child does not end in time). */
int init_walls_start(const struct init_setup *setup, struct init_report *report,
    struct init_walls *walls_r);
int init_walls_finish(struct init_walls *walls);

/* One attempt: 0 when it worked, else errno. */
typedef int init_walls_try(const struct init_setup *setup);

struct init_wall_tries_row {
	enum init_wall wall;
	init_walls_try *attempt;
};

extern const struct init_wall_tries_row init_wall_tries[];
extern const unsigned init_wall_tries_count;

#endif
