/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the LLM of a run; see llm_plan.h. Called before anything starts; it
 * must never grant what llm_policy did not, nor let a package say where a
 * key is sent.
 */
#include "supervisor/agent/llm_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/agent/provider_files.h"
#include "supervisor/engine/egress_plan.h"
#include "supervisor/policy/llm_policy.h"

#define LLM_PLAN_CA "/etc/ssl/certs/ca-certificates.crt"
#define LLM_PLAN_SERVERS_MAX 512U

void
llm_plan_init(struct llm_part_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	for (size_t i = 0; i < LLM_PART_CA_MAX; i++)
		plan->ca_fds[i] = -1;
	plan->passphrase_fd = -1;
}

void
llm_plan_clear(struct llm_part_plan *plan)
{
	json_decref(plan->broker_options);
	json_decref(plan->key_options);
	json_decref(plan->grant);
	json_decref(plan->limits);
	for (size_t i = 0; i < LLM_PART_CA_MAX; i++)
		fd_close(&plan->ca_fds[i]);
	llm_plan_init(plan);
}

/* Opened here, since llm-key opens nothing; *index_r is what its options
 * say: descriptor 0 of its message is the log. */
static enum result
llm_plan_ca(struct llm_part_plan *plan, const char *path, json_int_t *index_r,
    struct json_fault *fault)
{
	if (plan->ca_count == LLM_PART_CA_MAX) {
		json_field_fault(fault,
		    "llm.upstream names more than %u CA bundles",
		    LLM_PART_CA_MAX - 1);
		return RESULT_TOO_LONG;
	}
	plan->ca_fds[plan->ca_count] = open(path, O_RDONLY | O_CLOEXEC);
	if (plan->ca_fds[plan->ca_count] < 0) {
		json_field_fault(
		    fault, "the CA bundle %.150s: %s", path, strerror(errno));
		return RESULT_NOT_FOUND;
	}
	*index_r = (json_int_t)++plan->ca_count;
	return RESULT_OK;
}

static const json_t *
llm_plan_upstream(const struct config *config, const char *name)
{
	return json_object_get(config_json(config, "llm.upstream"), name);
}

/* What llm-key needs to know of one provider. */
static enum result
llm_plan_key_row(const struct config *config, const json_t *provider,
    struct llm_part_plan *plan, json_t *rows, struct json_fault *fault)
{
	const json_t *upstream = json_object_get(provider, "upstream");
	const char *name = json_string_value(json_object_get(provider, "name"));
	const json_t *change = llm_plan_upstream(config, name);
	const char *own_ca =
	    json_string_value(json_object_get(upstream, "ca_file"));
	const json_t *cidrs = json_object_get(change, "cidrs");
	const char *ca = json_string_value(json_object_get(change, "ca"));
	const json_t *key = json_object_get(provider, "key");
	const json_t *port = json_object_get(upstream, "port");
	json_t *row = json_pack("{s:s, s:O, s:I, s:O, s:O*, s:O*}", "name",
	    name, "host", json_object_get(upstream, "host"), "port",
	    port != NULL ? json_integer_value(port) : 443, "key",
	    key != NULL ? key : json_null(), "cidrs",
	    cidrs != NULL ? cidrs : json_object_get(upstream, "cidrs"), "tls",
	    json_object_get(upstream, "tls"));
	enum result result = row == NULL ? RESULT_NO_MEMORY : RESULT_OK;
	json_int_t index = 0;

	if (ca == NULL)
		ca = own_ca;
	if (result == RESULT_OK && ca != NULL)
		result = llm_plan_ca(plan, ca, &index, fault);
	if (index > 0)
		(void)json_object_set_new(row, "ca_fd", json_integer(index));
	if (result == RESULT_OK && json_array_append(rows, row) != 0)
		result = RESULT_NO_MEMORY;
	json_decref(row);
	if (result == RESULT_OK && key != NULL && !json_is_null(key) &&
	    plan->key_count < LLM_PART_PROVIDERS_MAX)
		(void)snprintf(plan->keys[plan->key_count++],
		    sizeof(plan->keys[0]), "%s", name);
	return result;
}

/* The file's object with the host's changes: where it is, never how the key
 * is sent. */
static json_t *
llm_plan_changed(const struct config *config, const json_t *provider)
{
	const char *name = json_string_value(json_object_get(provider, "name"));
	const json_t *change = llm_plan_upstream(config, name);
	json_t *copy = json_deep_copy(provider);
	json_t *upstream = json_object_get(copy, "upstream");
	static const char *const keys[] = {"host", "port", "tls"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *value = json_object_get(change, keys[i]);

		if (value != NULL)
			(void)json_object_set(upstream, keys[i], value);
	}
	return copy;
}

static enum result
llm_plan_rows(const struct config *config, const json_t *providers,
    struct llm_part_plan *plan, json_t *broker_rows, json_t *key_rows,
    struct json_fault *fault)
{
	enum result result = RESULT_OK;
	const json_t *provider;
	size_t i;

	for (i = 0; i < json_array_size(providers) && result == RESULT_OK;
	     i++) {
		json_t *changed;

		provider = json_array_get(providers, i);
		changed = llm_plan_changed(config, provider);
		result = changed == NULL ? RESULT_NO_MEMORY
					 : llm_plan_key_row(config, changed,
					       plan, key_rows, fault);
		if (result == RESULT_OK &&
		    json_array_append(broker_rows, changed) != 0)
			result = RESULT_NO_MEMORY;
		json_decref(changed);
	}
	return result;
}

/* Around the rows: what both processes are told besides. */
static enum result
llm_plan_wrap(const struct config *config, struct llm_part_plan *plan,
    json_t *broker_rows, json_t *key_rows, struct json_fault *fault)
{
	const char *level = config_text(config, "log.level");
	const char *bundle = config_text(config, "llm.ca_bundle");
	bool no_landlock = config_override(config, "no_landlock");
	char servers[LLM_PLAN_SERVERS_MAX];
	json_t *own = json_array();
	json_int_t ca = 0;
	enum result result = egress_plan_own(own);

	if (result == RESULT_OK) {
		result = egress_plan_servers(config, servers, sizeof(servers));
		if (result != RESULT_OK)
			json_field_fault(fault,
			    "no name server is known: set egress.resolver to "
			    "ADDRESS:PORT");
	}
	if (result == RESULT_OK)
		result = llm_plan_ca(
		    plan, bundle != NULL ? bundle : LLM_PLAN_CA, &ca, fault);
	if (result == RESULT_OK) {
		plan->broker_options = json_pack("{s:O, s:i, s:s, s:b}",
		    "providers", broker_rows, "port", AGENT_ENV_LLM_PORT,
		    "log_level", level, "no_landlock", no_landlock);
		plan->key_options =
		    json_pack("{s:O, s:s, s:I, s:O, s:s*, s:s, s:b}",
			"providers", key_rows, "resolver", servers, "ca_fd", ca,
			"own", own, "upstream_proxy",
			config_text(config, "egress.upstream_proxy"),
			"log_level", level, "no_landlock", no_landlock);
		if (plan->broker_options == NULL || plan->key_options == NULL)
			result = RESULT_NO_MEMORY;
	}
	json_decref(own);
	return result;
}

enum result
llm_plan_options(const struct config *config, const json_t *providers,
    struct llm_part_plan *plan, struct json_fault *fault)
{
	json_t *broker_rows = json_array(), *key_rows = json_array();
	enum result result = RESULT_NO_MEMORY;

	if (broker_rows != NULL && key_rows != NULL)
		result = llm_plan_rows(
		    config, providers, plan, broker_rows, key_rows, fault);
	if (result == RESULT_OK)
		result =
		    llm_plan_wrap(config, plan, broker_rows, key_rows, fault);
	json_decref(broker_rows);
	json_decref(key_rows);
	return result;
}

/* The provider files that the grant names. */
static enum result
llm_plan_granted(const json_t *grant, const json_t *files, json_t *list,
    struct json_fault *fault)
{
	const json_t *rows = json_object_get(grant, "providers");
	size_t i;

	for (i = 0; i < json_array_size(rows); i++) {
		const char *name = json_string_value(
		    json_object_get(json_array_get(rows, i), "name"));
		json_t *file = json_object_get(files, name);

		if (file == NULL) {
			json_field_fault(
			    fault, "there is no provider file for %.40s", name);
			return RESULT_NOT_FOUND;
		}
		if (json_array_append(list, file) != 0)
			return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

enum result
llm_plan_make(const struct config *config, const char *home,
    const struct agent_package *package, struct llm_part_plan *plan_r,
    bool *granted_r, struct json_fault *fault)
{
	json_t *files = NULL, *list = json_array();
	enum result result;

	*granted_r = false;
	if (!json_is_true(json_object_get(package->llm, "enabled"))) {
		json_decref(list);
		return RESULT_OK;
	}
	result = provider_files_load(home, &files, fault);
	if (result == RESULT_OK)
		result = llm_policy_make(config, package->llm,
		    package->max_iterations, files, &plan_r->grant,
		    &plan_r->limits, fault);
	if (result == RESULT_OK && plan_r->grant != NULL) {
		result = llm_plan_granted(plan_r->grant, files, list, fault);
		if (result == RESULT_OK)
			result = llm_plan_options(config, list, plan_r, fault);
		*granted_r = result == RESULT_OK;
	}
	json_decref(files);
	json_decref(list);
	return result;
}

enum result
llm_plan_environment(const struct llm_part_plan *plan, struct agent_env *env)
{
	const json_t *rows = json_object_get(plan->broker_options, "providers");
	enum result result = agent_env_add(
	    env, "AGENTNODE_LLM_SOCKET", "/run/agentnode/llm.sock");
	size_t i;

	for (i = 0; i < json_array_size(rows) && result == RESULT_OK; i++) {
		const json_t *row = json_array_get(rows, i);

		result = agent_env_provider(env,
		    json_string_value(json_object_get(row, "name")),
		    json_object_get(row, "environment"));
	}
	return result;
}
