/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a gate and what can happen to them: the alphabet that
 * gate_io speaks to gate_step, and the machine tests play.
 */
#ifndef SUPERVISOR_GATE_GATE_EVENT_H
#define SUPERVISOR_GATE_GATE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate_pack_facts; /* gate_pack.h */

enum gate_stream {
	GATE_CLIENT_IN,
	GATE_CLIENT_OUT,
	GATE_CLIENT_ERR,
	GATE_WORK_IN,
	GATE_WORK_OUT,
	GATE_WORK_ERR,
	GATE_STREAM_COUNT
};

enum gate_event_kind {
	GATE_EVENT_START,   /* every stream is there */
	GATE_EVENT_BYTES,   /* stream, bytes, len */
	GATE_EVENT_EOF,     /* stream: an input ended */
	GATE_EVENT_BROKEN,  /* stream: an output takes no more; error: why */
	GATE_EVENT_ROOM,    /* an output was written to */
	GATE_EVENT_ENDED,   /* text: how the workload ended; failed */
	GATE_EVENT_RESULT,  /* bytes, len: of an agent */
	GATE_EVENT_JOB,     /* id, list, text: tool or NULL; bytes, len; in
			     * pack mode the request */
	GATE_EVENT_CANCEL,  /* id: nobody waits for that job */
	GATE_EVENT_GUARDED, /* id, text: code, bytes: sentence */
	GATE_EVENT_TIME     /* the clock moved on */
};

struct gate_event {
	enum gate_event_kind kind;
	enum gate_stream stream;
	const char *bytes;
	size_t len;
	const char *text;
	bool failed;
	int error;                           /* BROKEN: errno */
	const struct gate_pack_facts *facts; /* ENDED, pack mode */
	uint64_t id;
	bool list;
	uint64_t now_ms;
};

#endif
