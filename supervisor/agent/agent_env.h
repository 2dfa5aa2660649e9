/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of an agent: what its start needs, and for each granted
 * provider the variables that its SDK reads, with the broker as the base
 * URL and a key that is worth nothing. Pure; used by agent_plan.
 */
#ifndef SUPERVISOR_AGENT_AGENT_ENV_H
#define SUPERVISOR_AGENT_AGENT_ENV_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/agent/agent_package.h"

#define AGENT_ENV_MAX 96U
#define AGENT_ENV_LLM_PORT 4100
#define AGENT_ENV_TOOLS_PORT 4101
#define AGENT_ENV_INPUT_MAX (256U * 1024U)

struct agent_env {
	char *words[AGENT_ENV_MAX + 1]; /* owned, "NAME=VALUE"; NULL ends */
	size_t count;
};

/* goal NULL: the manifest's. input: an object, or NULL. RESULT_TOO_LONG:
 * goal, input and steps do not fit. */
enum result agent_env_start(struct agent_env *env,
    const struct agent_package *package, const char *goal, const json_t *input);

/* environment: the provider file's part of that name (provider.h). */
enum result agent_env_provider(
    struct agent_env *env, const char *provider, const json_t *environment);

/* NAME=VALUE, copied. */
enum result agent_env_add(
    struct agent_env *env, const char *name, const char *value);

void agent_env_clear(struct agent_env *env);

#endif
