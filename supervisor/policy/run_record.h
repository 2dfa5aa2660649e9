/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of one run of an agent: AGENTNODE_HOME/runs/ID.jsonl, 0600,
 * one JSON object per line with counts and codes, never a prompt, a key or
 * the text of an error; and the sums of it for the audit chain, which is the
 * record that counts. Written by the supervisor (agent_run), shown by `runs`.
 *
 * A file holds at most RUN_RECORD_MAX bytes; then `truncated` stands for
 * what is left out, and `end` still comes. Old files go when a new one is
 * made; one whose run lives is locked and stays.
 */
#ifndef SUPERVISOR_POLICY_RUN_RECORD_H
#define SUPERVISOR_POLICY_RUN_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/state_dir.h"

#define RUN_RECORD_DIR "runs"
#define RUN_RECORD_MAX (1024U * 1024U)
#define RUN_RECORD_KEPT 1000U /* files */
#define RUN_RECORD_DAYS 90    /* and no older than that */

struct run_record; /* opaque */

struct run_record_facts {
	const char *run; /* 16 hexadecimal digits */
	const char *package, *version;
	const json_t *grant; /* of the LLM (llm_ceiling.h); NULL: none */
};

struct run_record_tool {
	const char *package, *tool; /* tool NULL: the only one */
	const char *code;           /* "": it has a result */
	bool refused;               /* it was not run */
	int64_t ms;
};

struct run_record_outcome {
	const char *code; /* "": it ended by itself */
	int exit_code, signal;
};

/* What a grant allows, by names and numbers, as the records say it: the
 * caller's, or NULL when there is none. */
json_t *run_record_granted(const json_t *grant);

/* Line `start`. home is AGENTNODE_HOME's path. */
enum result run_record_open(const char *home,
    const struct run_record_facts *facts, struct run_record **record_r,
    struct json_fault *fault);

/* Line `usage`: the body of the broker's message (docs/protocol.md). */
void run_record_usage(struct run_record *record, const json_t *usage);
/* Line `tool`. */
void run_record_tool(
    struct run_record *record, const struct run_record_tool *tool);
/* Line `refusal`: a decision of broker, gate or proxy against the agent. */
void run_record_refusal(struct run_record *record, const char *part,
    const char *code, int64_t count);

/* Line `end`; the fields of the audit record `agent_run`, which the caller
 * owns. NULL: no memory. */
json_t *run_record_finish(
    struct run_record *record, const struct run_record_outcome *outcome);
/* Accepts NULL, clears. */
void run_record_free(struct run_record **record);

/* The lines of a record as a list; RESULT_NOT_FOUND without fault. A last
 * line that its writer's death cut is left out. Caller owns *lines_r. */
enum result run_record_read(const struct state_dir *home, const char *run,
    json_t **lines_r, struct json_fault *fault);

#endif
