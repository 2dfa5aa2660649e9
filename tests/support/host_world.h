/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on the host for machine tests, with the real agentnode-host and
 * ledger: a home of its own, one run to its end, what it printed, and a look
 * at processes. Used by test_host_run.c and test_host_early.c.
 */
#ifndef TESTS_SUPPORT_HOST_WORLD_H
#define TESTS_SUPPORT_HOST_WORLD_H

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/host/host_run.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/config.h"

#define HOST_WORLD_OUTPUT 8192

extern char host_world_home[64]; /* the working folder, too */

struct host_world {
	struct event_base *base;
	struct config *config;
	struct audit *audit;
	struct host_run *run;
	struct host_spec spec;
	struct sandbox_outcome outcome;
	int ends, gone;
	char output[HOST_WORLD_OUTPUT];
	/* Called at go; and with the launch record held back. */
	void (*at_go)(struct host_world *test);
	void (*at_audit)(struct host_world *test);
	struct event *look;
	pid_t ledger; /* stopped until then */
};

/* For cmocka's group. */
int host_world_setup(void **state);
int host_world_teardown(void **state);

/* A spec of `exec` that lacks its words. */
void host_world_open(struct host_world *test);
/* spec.argv, or `sh -c script`, to its end. */
void host_world_loop(struct host_world *test);
void host_world_shell(struct host_world *test, const char *script);
void host_world_close(struct host_world *test);

/* The child of parent with that name; 0: there is none. */
pid_t host_world_child(pid_t parent, const char *name);
/* Also when nobody has reaped it yet. */
bool host_world_is_dead(pid_t pid);

#endif
