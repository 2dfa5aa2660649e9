/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans one command; see exec_plan.h. Called by exec_run; must never take
 * anything out of our own environment, nor plan a network that was not
 * asked for.
 */
#include "supervisor/exec/exec_plan.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/native/native_grant.h"

#define EXEC_PLAN_SHOWN_MAX 256U
#define EXEC_PLAN_ENTRIES_MAX 4096U /* listed by name */

static enum result
exec_plan_fail(struct exec_plan *plan, enum result result, const char *code,
    const char *detail)
{
	if (detail != NULL)
		json_field_fault(&plan->run.fault, "%s", detail);
	return run_entry_fail(&plan->run, result, code);
}

static enum result
exec_plan_config(struct exec_plan *plan)
{
	struct run_entry *run = &plan->run;
	enum result result =
	    config_home(run->home, sizeof(run->home), &run->fault);

	if (result == RESULT_OK)
		result = config_load(&run->config, &run->fault);
	return result == RESULT_OK
		   ? RESULT_OK
		   : exec_plan_fail(plan, result, "bad_config", NULL);
}

static uint64_t
exec_plan_size(const struct exec_plan *plan, const char *key)
{
	return (uint64_t)config_int(plan->run.config, key);
}

static enum result
exec_plan_numbers(struct exec_plan *plan, const struct exec_request *request)
{
	uint64_t most = 1000U * exec_plan_size(plan, "exec.timeout_max_s");

	plan->scratch = exec_plan_size(plan, "exec.scratch_size");
	plan->files = exec_plan_size(plan, "exec.files_max");
	plan->total = exec_plan_size(plan, "exec.files_size");
	plan->text = request->max_output != 0
			 ? request->max_output
			 : exec_plan_size(plan, "exec.output_max");
	plan->timeout_ms = request->timeout_ms;
	if (plan->timeout_ms == 0) {
		plan->timeout_ms =
		    1000U * exec_plan_size(plan, "exec.timeout_s");
		if (plan->timeout_ms > most)
			plan->timeout_ms = most;
	}
	if (plan->timeout_ms <= most)
		return RESULT_OK;
	json_field_fault(&plan->run.fault,
	    "--timeout is longer than exec.timeout_max_s, which is %llu s",
	    (unsigned long long)(most / 1000U));
	return exec_plan_fail(plan, RESULT_REFUSED, "bad_args", NULL);
}

static enum result
exec_plan_image(struct exec_plan *plan, const struct exec_request *request)
{
	if (request->boundary != EXEC_CONTAINER)
		return RESULT_OK;
	if (request->image == NULL)
		return run_entry_image(&plan->run);
	plan->run.image = request->image;
	return RESULT_OK;
}

/* What a person allowed for this workspace for good; who says that nobody is
 * to approve means those too. */
static enum result
exec_plan_granted(struct exec_plan *plan, struct exec_request *request)
{
	const struct native_view *view = plan->native.view;
	struct exec_request_fault fault = {""};
	json_t *entries = NULL;
	enum result result = RESULT_OK;

	if (view == NULL || view->workspace[0] == '\0' ||
	    (request->has_approval &&
		request->approval == NATIVE_APPROVAL_NEVER))
		return RESULT_OK;
	result = native_grant_load(view->workspace, &entries, &plan->run.fault);
	for (size_t i = 0; result == RESULT_OK && i < json_array_size(entries);
	     i++) {
		const char *entry =
		    json_string_value(json_array_get(entries, i));

		if (!exec_request_grant(request, entry, &fault)) {
			json_field_fault(&plan->run.fault, "%s", fault.text);
			result = RESULT_TOO_LONG;
		}
	}
	json_decref(entries);
	return result == RESULT_OK
		   ? RESULT_OK
		   : exec_plan_fail(plan, result, "bad_grants", NULL);
}

/* Nothing without an entry. A grant opens what it names: the configuration's
 * entries come with an --allow alone. Who is to be asked needs a proxy that
 * says what was refused: one that lets nothing through. */
static enum result
exec_plan_egress(struct exec_plan *plan, const struct exec_request *request)
{
	const char *allow[EXEC_REQUEST_ALLOW_MAX];
	struct run_entry_hosts hosts = {.allow = allow,
	    .allow_count = request->allow_count,
	    .named = exec_request_only_granted(request)};
	enum result result = RESULT_OK;

	for (size_t i = 0; i < request->allow_count; i++)
		allow[i] = request->allow[i];
	if (request->allow_count > 0)
		result = run_entry_egress(&plan->run, &hosts, &plan->egress);
	else if (request->approval == NATIVE_APPROVAL_ON_REQUEST)
		plan->egress = json_pack("{s:[], s:[]}", "allow", "deny");
	plan->spec.egress = plan->egress;
	return result;
}

/* Ours, unless the request says (and knows) otherwise. */
static void
exec_plan_env(struct exec_plan *plan, const struct exec_request *request)
{
	static const char *const names[] = {"HOME", "TMPDIR"};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i]) + 1;
		bool said = false;

		(void)snprintf(plan->own[i], sizeof(plan->own[i]), "%s=%s",
		    names[i], plan->place);
		for (size_t j = 0; j < request->env_count; j++)
			said |=
			    strncmp(request->env[j], plan->own[i], len) == 0;
		if (!said)
			plan->env[count++] = plan->own[i];
	}
	for (size_t i = 0; i < request->env_count; i++)
		plan->env[count++] = request->env[i];
	plan->spec.env = plan->env;
}

/* Names and numbers: neither a value nor what the command is told. */
static enum result
exec_plan_record(struct exec_plan *plan, const struct exec_request *request)
{
	char command[EXEC_PLAN_SHOWN_MAX];
	json_t *known = json_array();
	size_t words = 0;

	log_clean(request->argv[0], strlen(request->argv[0]), command,
	    sizeof(command));
	while (request->argv[words] != NULL)
		words++;
	for (size_t i = 0; i < request->env_count; i++) {
		if (request->env_verdicts[i] != EXEC_ENV_OK)
			(void)json_array_append_new(
			    known, json_stringn(request->env[i],
				       strcspn(request->env[i], "=")));
	}
	plan->record = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}",
	    "boundary", exec_request_boundary_name(request->boundary),
	    "command", command, "words", (json_int_t)words, "inputs",
	    (json_int_t)request->input_count, "input_bytes",
	    (json_int_t)plan->input.bytes, "timeout_ms",
	    (json_int_t)plan->timeout_ms, "i_know", known);
	plan->spec.record = plan->policy.spec.record = plan->record;
	return plan->record != NULL ? RESULT_OK
				    : exec_plan_fail(plan, RESULT_NO_MEMORY,
					  "internal", "out of memory");
}

static void
exec_plan_spec(struct exec_plan *plan, const struct exec_request *request)
{
	struct sandbox_spec *spec = &plan->spec;

	spec->kind = "exec";
	spec->package = EXEC_PLAN_NAME;
	spec->version = "";
	spec->image = plan->run.image;
	spec->argv = request->argv;
	spec->cwd = plan->place;
	if (plan->native.view != NULL) {
		spec->view = plan->native.view;
		spec->ledger_later = true;
		spec->cwd = plan->native.view->cwd;
	} else {
		/* The command's own programs run there: nothing sealed is in
		 * it. */
		spec->tmpfs[0] =
		    (struct sandbox_tmpfs){plan->place, plan->scratch, true};
	}
	spec->stdin_fd = spec->stdout_fd = spec->stderr_fd = -1;
}

static enum result
exec_plan_input(struct exec_plan *plan, const struct exec_request *request)
{
	struct exec_request_fault fault = {""};
	enum result result =
	    exec_input_read(request, plan->scratch / 2, &plan->input, &fault);

	if (result != RESULT_OK)
		return exec_plan_fail(plan, result, "bad_input", fault.text);
	/* Whole, so that it can be compared. */
	plan->largest =
	    plan->input.largest > plan->text ? plan->input.largest : plan->text;
	return RESULT_OK;
}

static enum result
exec_plan_policy(struct exec_plan *plan, const struct exec_request *request)
{
	const char *code = "";
	enum result result = exec_policy_begin(
	    request, plan->input.fd, &plan->policy, &code, &plan->run.fault);

	return result == RESULT_OK ? RESULT_OK
				   : exec_plan_fail(plan, result, code, NULL);
}

/* Late: it holds places on the host. */
static enum result
exec_plan_places(struct exec_plan *plan, const struct exec_request *request)
{
	char fault[EXEC_REQUEST_FAULT_MAX] = "";
	enum result result;

	plan->place = EXEC_PLAN_SCRATCH;
	if (request->boundary == EXEC_POLICY)
		return exec_plan_policy(plan, request);
	if (request->boundary != EXEC_NATIVE)
		return RESULT_OK;
	result = exec_native_begin(&request->native, plan->run.home,
	    plan->scratch, &plan->native, fault, sizeof(fault));
	plan->place = plan->native.scratch;
	if (result == RESULT_OK)
		return RESULT_OK;
	return exec_plan_fail(plan, result, "view_refused",
	    fault[0] != '\0' ? fault : "the view cannot be made");
}

enum result
exec_plan_begin(struct exec_request *request, struct exec_plan *plan_r)
{
	struct exec_request_fault fault = {""};
	const char *code = exec_request_check(request, &fault);
	enum result result;

	memset(plan_r, 0, sizeof(*plan_r));
	plan_r->run.slug = EXEC_PLAN_NAME;
	plan_r->input.fd = plan_r->policy.closed = plan_r->policy.results = -1;
	plan_r->policy.scratch.fd = plan_r->policy.scratch.above = -1;
	result = exec_plan_config(plan_r);
	if (result == RESULT_OK && code != NULL)
		result =
		    exec_plan_fail(plan_r, RESULT_REFUSED, code, fault.text);
	if (result == RESULT_OK)
		result = exec_plan_numbers(plan_r, request);
	return result;
}

enum result
exec_plan_finish(struct exec_request *request, struct exec_plan *plan)
{
	enum result result = exec_plan_image(plan, request);

	if (result == RESULT_OK)
		result = exec_plan_input(plan, request);
	if (result == RESULT_OK)
		result = exec_plan_places(plan, request);
	if (result == RESULT_OK)
		result = exec_plan_granted(plan, request);
	if (result == RESULT_OK)
		result = exec_plan_egress(plan, request);
	if (result == RESULT_OK) {
		exec_plan_env(plan, request);
		exec_plan_spec(plan, request);
		result = exec_plan_record(plan, request);
	}
	return result;
}

struct init_results_bound
exec_plan_bound(const struct exec_plan *plan)
{
	return (struct init_results_bound){
	    2 * plan->scratch, plan->largest, EXEC_PLAN_ENTRIES_MAX};
}

void
exec_plan_trees(struct exec_plan *plan, int results_fd)
{
	struct init_results_bound bound = exec_plan_bound(plan);
	struct sandbox_tree *tree = plan->spec.trees;

	if (plan->input.count > 0)
		*tree++ = (struct sandbox_tree){.path = plan->place,
		    .fd = plan->input.fd,
		    .max_bytes = plan->input.bytes,
		    .max_files = EXEC_REQUEST_INPUTS_MAX};
	*tree = (struct sandbox_tree){.path = plan->place,
	    .fd = results_fd,
	    .is_export = true,
	    .is_results = true,
	    .max_bytes = bound.bytes,
	    .max_files = bound.entries,
	    .max_file = bound.file_bytes};
}

void
exec_plan_clear(struct exec_plan *plan)
{
	exec_input_close(&plan->input);
	exec_native_clear(&plan->native);
	exec_policy_end(&plan->policy);
	json_decref(plan->egress);
	json_decref(plan->record);
	plan->egress = plan->record = NULL;
	config_free(&plan->run.config);
}
