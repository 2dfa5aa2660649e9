/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripted world of one command: what exec_run starts is noted, what
 * would come of it comes when the script says so, and the clock stands. Used
 * by test_exec_run.c.
 */
#ifndef TESTS_MACHINE_EXEC_SCRIPT_H
#define TESTS_MACHINE_EXEC_SCRIPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/exec/exec_request.h"

#define EXEC_SCRIPT_STEPS 16U

/* One thing that happens, each in a turn of the loop of its own. */
enum exec_script_step {
	EXEC_SCRIPT_OVER, /* nothing more happens by itself */
	EXEC_SCRIPT_LEDGER_READY,
	EXEC_SCRIPT_LEDGER_FAILED, /* it did not start */
	EXEC_SCRIPT_LEDGER_ENDED,  /* it died later */
	EXEC_SCRIPT_GO,
	EXEC_SCRIPT_EXIT,      /* init says so */
	EXEC_SCRIPT_END,       /* of the boundary, as the outcome says */
	EXEC_SCRIPT_COLLECTED, /* the reader answers */
	EXEC_SCRIPT_COLLECT_FAILED,
	EXEC_SCRIPT_SIGNAL,
	EXEC_SCRIPT_LATER,  /* the clock: 750 ms pass */
	EXEC_SCRIPT_A_STOP, /* goes on when the boundary was told to end */
};

struct exec_script {
	enum exec_boundary boundary;
	enum exec_script_step steps[EXEC_SCRIPT_STEPS];
	uint64_t timeout_ms; /* of the command; 0: an hour */
	bool short_waits;    /* exec_run's own time limits are over at once */
	/* What fails. */
	bool no_config, no_launcher, no_plan, no_begin, no_start, no_reader;
	bool no_turn;     /* a signal comes while it waits */
	bool not_started; /* the outcome */
	bool again;       /* a person's answer, the first time */

	char trace[1024]; /* words of what was done, in order */
	json_t *result;   /* owned */
	int code;
};

/* Play it. The caller frees with exec_script_close. */
void exec_script_run(struct exec_script *script);
void exec_script_close(struct exec_script *script);

#endif
