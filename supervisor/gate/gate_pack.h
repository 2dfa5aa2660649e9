/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack mode: one run of one tool. The request goes in, what the program
 * writes to its result descriptor is held to one strict, bounded JSON
 * object {"ok","result"|"error"}, and that is written anew for whoever
 * asked. Nothing of it is passed on before the program has ended. Pure; leaf
 * of gate.c; fuzzed.
 */
#ifndef SUPERVISOR_GATE_GATE_PACK_H
#define SUPERVISOR_GATE_GATE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "supervisor/gate/mcp_cursor.h"
#include "supervisor/gate/mcp_json.h"

#define GATE_PACK_ENVELOPE 256U /* around a result */
#define GATE_PACK_TYPE_MAX 128U /* bytes of an error's type */
#define GATE_PACK_TEXT_MAX 4096U
#define GATE_PACK_CODE_MAX 64U
#define GATE_PACK_DETAIL_MAX 512U

struct gate_pack_limits {
	size_t request_max, result_max; /* bytes */
	bool json;                      /* the whole report is wanted */
	bool on_host;                   /* it says where it ran */
};

/* What became of the program, as the supervisor saw it. */
struct gate_pack_facts {
	char code[GATE_PACK_CODE_MAX]; /* "": it ended by itself */
	char detail[GATE_PACK_DETAIL_MAX];
	int exit_code, signal;
	int64_t duration_ms, peak_memory, oom_kills;
};

struct gate_pack {
	struct gate_pack_limits limits;
	bool has_request;
	struct buffer request; /* to its standard input */
	struct buffer answer;  /* as it came */
	bool too_long;         /* more came than may */
	struct gate_pack_facts facts;
	struct mcp_json checker;
	struct mcp_span result; /* in answer; absent without one */
	struct buffer line;     /* for whoever asked */
	/* The judgement; code "" is a result. */
	bool judged;
	char code[GATE_PACK_CODE_MAX];
	char type[GATE_PACK_TYPE_MAX];     /* of a tool's own error */
	char detail[GATE_PACK_DETAIL_MAX]; /* made safe, cut */
	struct mcp_span message;           /* in answer; or absent */
};

void gate_pack_init(struct gate_pack *pack,
    const struct gate_pack_limits *limits, const struct mcp_hash_key *key);
void gate_pack_free(struct gate_pack *pack);

/* The supervisor's; the first one counts. */
enum result gate_pack_request(
    struct gate_pack *pack, const char *bytes, size_t len);
/* The program's; what is too long is noted and let go. */
enum result gate_pack_feed(
    struct gate_pack *pack, const char *bytes, size_t len);
/* It is over, facts are there: judge, and write the line. */
enum result gate_pack_judge(struct gate_pack *pack);

#endif
