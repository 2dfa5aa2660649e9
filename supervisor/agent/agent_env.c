/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environments of agents; see agent_env.h. Everything in here is meant to
 * be read by the agent: it must never hold a key.
 */
#include "supervisor/agent/agent_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGENT_ENV_URL_MAX 160U

enum result
agent_env_add(struct agent_env *env, const char *name, const char *value)
{
	size_t size = strlen(name) + strlen(value) + 2;
	char *word;

	if (env->count == AGENT_ENV_MAX)
		return RESULT_TOO_LONG;
	word = malloc(size);
	if (word == NULL)
		return RESULT_NO_MEMORY;
	(void)snprintf(word, size, "%s=%s", name, value);
	env->words[env->count++] = word;
	env->words[env->count] = NULL;
	return RESULT_OK;
}

static enum result
agent_env_add_json(struct agent_env *env, const char *name, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);
	enum result result = RESULT_NO_MEMORY;

	if (text != NULL && strlen(text) > AGENT_ENV_INPUT_MAX)
		result = RESULT_TOO_LONG;
	else if (text != NULL)
		result = agent_env_add(env, name, text);
	free(text);
	return result;
}

/* What agentnode_agent.py and .mjs read. */
static enum result
agent_env_function(struct agent_env *env, const struct agent_package *package,
    const char *goal, const json_t *input)
{
	json_t *plan =
	    json_pack("{s:s, s:O*, s:s*, s:O*}", "goal", goal, "input", input,
		"entrypoint", package->entrypoint, "steps", package->steps);
	enum result result =
	    plan == NULL ? RESULT_NO_MEMORY
			 : agent_env_add_json(env, "AGENTNODE_AGENT", plan);

	json_decref(plan);
	return result;
}

enum result
agent_env_start(struct agent_env *env, const struct agent_package *package,
    const char *goal, const json_t *input)
{
	json_t *given =
	    input != NULL ? json_incref((json_t *)input) : json_object();
	enum result result;

	if (goal == NULL)
		goal = package->goal;
	result = agent_env_add(env, "PYTHONDONTWRITEBYTECODE", "1");
	if (result == RESULT_OK)
		result = agent_env_add(env, "PYTHONUNBUFFERED", "1");
	if (result == RESULT_OK)
		result = agent_env_add(
		    env, "NODE_PATH", AGENT_PACKAGE_PACK "/node_modules");
	if (result == RESULT_OK && package->command == NULL)
		result = agent_env_function(env, package, goal, given);
	if (result == RESULT_OK && package->command != NULL)
		result = agent_env_add(env, "AGENTNODE_GOAL", goal);
	if (result == RESULT_OK && package->command != NULL)
		result = agent_env_add_json(env, "AGENTNODE_INPUT", given);
	json_decref(given);
	return result;
}

/* Each name of a list, or the one name. */
static enum result
agent_env_names(struct agent_env *env, const json_t *names, const char *value)
{
	enum result result = RESULT_OK;
	size_t i;

	if (json_is_string(names))
		return agent_env_add(env, json_string_value(names), value);
	for (i = 0; i < json_array_size(names) && result == RESULT_OK; i++)
		result = agent_env_add(
		    env, json_string_value(json_array_get(names, i)), value);
	return result;
}

enum result
agent_env_provider(
    struct agent_env *env, const char *provider, const json_t *environment)
{
	const char *suffix =
	    json_string_value(json_object_get(environment, "suffix"));
	const char *placeholder =
	    json_string_value(json_object_get(environment, "placeholder"));
	char url[AGENT_ENV_URL_MAX];
	enum result result;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s%s",
	    AGENT_ENV_LLM_PORT, provider, suffix != NULL ? suffix : "");
	result =
	    agent_env_names(env, json_object_get(environment, "base_url"), url);
	if (result == RESULT_OK && placeholder != NULL)
		result = agent_env_names(
		    env, json_object_get(environment, "key"), placeholder);
	return result;
}

void
agent_env_clear(struct agent_env *env)
{
	while (env->count > 0)
		free(env->words[--env->count]);
	env->words[0] = NULL;
}
