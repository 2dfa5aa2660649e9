/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An installed agent as the lockfile describes it: the fields that decide
 * what runs, read and checked once per run. Pure; used by the agent
 * commands and by list and info.
 */
#ifndef SUPERVISOR_AGENT_AGENT_PACKAGE_H
#define SUPERVISOR_AGENT_AGENT_PACKAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define AGENT_PACKAGE_PACK "/pack"

/* Texts and JSON are borrowed from the entry. */
struct agent_package {
	const char *slug, *version;
	bool is_node;
	const char *entrypoint; /* "module:function", or NULL */
	const json_t *command;  /* words of a program, or NULL */
	const json_t *steps;    /* declared steps, or NULL */
	const char *goal;
	const json_t *packages; /* slugs of tool_access; never NULL */
	const json_t *llm;      /* llm_access; never NULL */
	const json_t *actions;  /* pre_approved_actions, or NULL */
	const json_t *domains;  /* allowlist entries, or NULL */
	int64_t max_iterations; /* 0: none */
	int64_t max_tool_calls, max_runtime_s;
	const char *volume, *content_hash, *host_path;
};

/* True for entries that are agents at all. */
bool agent_package_is_agent(const json_t *entry);

/* RESULT_REFUSED: the entry cannot be run; fault says why and what to do. */
enum result agent_package_read(const char *slug, const json_t *entry,
    struct agent_package *package_r, struct json_fault *fault);

#endif
