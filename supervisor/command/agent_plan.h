/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of an agent needs, read and decided before anything is started:
 * may it run at all, its command and environment, its allowlist, its LLM and
 * its tools. Used by agent_run.
 */
#ifndef SUPERVISOR_COMMAND_AGENT_PLAN_H
#define SUPERVISOR_COMMAND_AGENT_PLAN_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/agent/agent_env.h"
#include "supervisor/agent/agent_package.h"
#include "supervisor/agent/llm_part.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/sandbox.h"

#define AGENT_PLAN_ALLOW_MAX 64U
#define AGENT_PLAN_WORDS_MAX 64U

struct agent_run_options {
	const char *slug;
	const char *lockfile; /* --lockfile, or NULL */
	const char *goal;     /* --goal, or NULL: the manifest's */
	json_t *input;        /* --input, an object, or NULL */
	const char *allow[AGENT_PLAN_ALLOW_MAX]; /* --allow */
	size_t allow_count;
	int passphrase_fd; /* --passphrase-fd, or -1 */
	bool verbose;      /* the agent's own output to ours */
	bool raw;          /* a program's output goes to no terminal */
};

struct agent_plan {
	struct run_entry run; /* package borrows from it */
	struct agent_package package;
	struct agent_env env;
	struct sandbox_spec spec; /* streams are added later */
	json_t *egress;           /* owned */
	json_t *record;           /* owned; of the launch */
	char *shim;               /* owned; text of agentnode_agent.* */
	const char *argv[AGENT_PLAN_WORDS_MAX + 4];
	/* A function or steps report through the tools port; a program does
	 * when it may call tools. */
	bool has_llm, has_tools;
	size_t llm_port, tools_port; /* of spec.ports */
	struct llm_part_plan llm;    /* with has_llm */
};

/* On failure run.code and run.fault say why; agent_plan_clear in any
 * case. */
enum result agent_plan_make(
    const struct agent_run_options *options, struct agent_plan *plan_r);
void agent_plan_clear(struct agent_plan *plan);

/* The options object of the gate's config message; NULL: no memory. */
json_t *agent_plan_gate(
    const struct agent_plan *plan, const struct agent_run_options *options);

#endif
