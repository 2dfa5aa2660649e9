/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How init can end: the step at which it failed, which it says, and its
 * exit code, which is the container's. Part of init_protocol.h.
 */
#ifndef SUPERVISOR_INIT_ENDS_H
#define SUPERVISOR_INIT_ENDS_H

/* Where init failed; the supervisor has a text for each. */
enum init_step {
	INIT_STEP_DUMPABLE = 1,
	INIT_STEP_SETUP,
	INIT_STEP_LISTENER,
	INIT_STEP_WALLS,
	INIT_STEP_REPORT,
	INIT_STEP_GO,
	INIT_STEP_FORK,
	INIT_STEP_TREE,
	INIT_STEP_RELAY,
	INIT_STEP_RECORD, /* a record it did not expect now */
	INIT_STEP_FILTER,
	INIT_STEP_CONNECT,
};

/* Exit codes of init, which are the container's. */
enum init_exit {
	INIT_EXIT_OK = 0,        /* after INIT_BYE */
	INIT_EXIT_START = 71,    /* INIT_FAILED was sent */
	INIT_EXIT_PROTOCOL = 76, /* INIT_FAILED was sent */
	INIT_EXIT_ALONE = 77,    /* the supervisor is gone */
};

#endif
