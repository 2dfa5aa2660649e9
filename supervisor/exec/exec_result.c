/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a command; see exec_result.h. Called by exec_run; must never
 * say that a run was contained by what does not contain.
 */
#include "supervisor/exec/exec_result.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/host/host_run.h"

#define EXEC_RESULT_KILLED 137
#define EXEC_RESULT_NOT_STARTED 125

static const char *
exec_result_note(const struct exec_request *request, bool started)
{
	if (request->boundary == EXEC_POLICY)
		return HOST_RUN_WORDS ": environment, scratch directory and "
				      "proxy variables only; the disk and the "
				      "network are the caller's";
	if (request->native.mode == NATIVE_DANGER && started)
		return "danger-full-access: the command could change every "
		       "file that its user may change";
	return "";
}

static bool
exec_result_is_boundary(const struct exec_request *request)
{
	return request->boundary != EXEC_POLICY &&
	       request->native.mode != NATIVE_DANGER;
}

/* What was handed over; what was refused was not. */
static json_t *
exec_result_known(const struct exec_request *request, bool started)
{
	json_t *known = json_array();

	if (!request->i_know || !started)
		return known;
	for (size_t i = 0; i < request->env_count; i++) {
		if (request->env_verdicts[i] == EXEC_ENV_OK)
			continue;
		(void)json_array_append_new(known,
		    json_pack("{s:s, s:s%, s:s}", "option", "--env", "name",
			request->env[i], strcspn(request->env[i], "="), "why",
			exec_env_word(request->env_verdicts[i])));
	}
	if (request->native.mode == NATIVE_DANGER)
		(void)json_array_append_new(
		    known, json_pack("{s:s, s:s, s:s}", "option", "--mode",
			       "name", exec_native_mode_name(NATIVE_DANGER),
			       "why", "full_access"));
	return known;
}

/* "stdout" with what collect says of it; empty when nothing was collected. */
static bool
exec_result_stream(json_t *result, const json_t *collected, const char *name)
{
	const json_t *from = json_object_get(collected, name);
	json_t *text = json_object_get(from, "text");
	json_t *bytes = json_object_get(from, "bytes");
	char key[64];
	bool good =
	    json_object_set_new(result, name,
		text != NULL ? json_incref(text) : json_string("")) == 0;

	(void)snprintf(key, sizeof(key), "%s_bytes", name);
	good = json_object_set_new(result, key,
		   bytes != NULL ? json_incref(bytes) : json_integer(0)) == 0 &&
	       good;
	(void)snprintf(key, sizeof(key), "%s_truncated", name);
	good = json_object_set_new(result, key,
		   json_boolean(json_is_true(
		       json_object_get(from, "truncated")))) == 0 &&
	       good;
	(void)snprintf(key, sizeof(key), "%s_escaped", name);
	return json_object_set_new(result, key,
		   json_boolean(
		       json_is_true(json_object_get(from, "escaped")))) == 0 &&
	       good;
}

static json_t *
exec_result_skipped(const json_t *collected)
{
	json_t *skipped = json_object_get(collected, "skipped");

	if (skipped != NULL)
		return json_incref(skipped);
	return json_pack("{s:i, s:i, s:b, s:i, s:i, s:i, s:i, s:[]}",
	    "directories", 0, "below", 0, "below_complete", true, "links", 0,
	    "special", 0, "unreadable", 0, "more", 0, "names");
}

static bool
exec_result_files(json_t *result, const json_t *collected)
{
	json_t *files = json_object_get(collected, "files");
	const char *fault =
	    json_string_value(json_object_get(collected, "fault"));

	return json_object_set_new(result, "files",
		   files != NULL ? json_incref(files) : json_array()) == 0 &&
	       json_object_set_new(result, "files_complete",
		   json_boolean(json_is_true(
		       json_object_get(collected, "complete")))) == 0 &&
	       json_object_set_new(result, "files_fault",
		   json_string(fault != NULL ? fault : "was not read")) == 0 &&
	       json_object_set_new(
		   result, "skipped", exec_result_skipped(collected)) == 0;
}

/* Grants that were in force: answers of this time, and lasting ones. */
static json_t *
exec_result_granted(const struct exec_request *request)
{
	json_t *granted = json_array();

	for (size_t i = 0; i < request->allow_count; i++) {
		if (request->granted[i])
			(void)json_array_append_new(
			    granted, json_string(request->allow[i]));
	}
	return granted;
}

/* "native": what is special about that boundary, or null; "denied": hosts,
 * and in that boundary paths that the command complained of. */
static bool
exec_result_native(json_t *result, const struct exec_result_facts *facts)
{
	const struct native_view *view = facts->native->view;
	const json_t *hints = json_object_get(facts->collected, "hints");
	json_t *native =
	    view != NULL ? exec_native_facts(facts->native) : json_null();

	if (view != NULL)
		(void)json_object_set_new(
		    native, "granted", exec_result_granted(facts->request));
	return json_object_set_new(result, "native", native) == 0 &&
	       json_object_set_new(result, "denied",
		   native_denied_json(facts->denied, view, hints)) == 0;
}

/* How it ended: its own code or signal, unless we ended it. */
static bool
exec_result_end(json_t *result, const struct exec_result_facts *facts)
{
	const struct sandbox_outcome *outcome = facts->outcome;
	bool own = outcome->started && facts->code[0] == '\0';

	return json_object_set_new(result, "exit_code",
		   own && !facts->timed_out && outcome->signal == 0
		       ? json_integer(outcome->exit_code)
		       : json_null()) == 0 &&
	       json_object_set_new(result, "signal",
		   own && outcome->signal != 0 ? json_integer(outcome->signal)
					       : json_null()) == 0;
}

json_t *
exec_result_make(const struct exec_result_facts *facts)
{
	const struct exec_request *request = facts->request;
	const struct sandbox_outcome *outcome = facts->outcome;
	json_t *result = json_pack("{s:b, s:s, s:s, s:b, s:s, s:b, s:b, s:s, "
				   "s:s, s:I, s:I, s:i, s:o}",
	    "ok", exec_result_code(facts) == 0, "run", facts->run, "boundary",
	    exec_request_boundary_name(request->boundary), "is_boundary",
	    exec_result_is_boundary(request), "note",
	    exec_result_note(request, outcome->started), "started",
	    outcome->started, "timed_out", facts->timed_out, "code",
	    facts->code, "detail", facts->detail, "duration_ms",
	    (json_int_t)facts->duration_ms, "peak_memory",
	    (json_int_t)outcome->peak_memory, "oom_kills",
	    (int)outcome->oom_kills, "i_know",
	    exec_result_known(request, outcome->started));

	if (result != NULL && exec_result_end(result, facts) &&
	    exec_result_stream(result, facts->collected, "stdout") &&
	    exec_result_stream(result, facts->collected, "stderr") &&
	    exec_result_files(result, facts->collected) &&
	    exec_result_native(result, facts))
		return result;
	json_decref(result);
	return NULL;
}

int
exec_result_code(const struct exec_result_facts *facts)
{
	const struct sandbox_outcome *outcome = facts->outcome;

	if (!outcome->started)
		return EXEC_RESULT_NOT_STARTED;
	if (facts->timed_out)
		return EXEC_RESULT_TIMED_OUT;
	if (facts->code[0] != '\0')
		return EXEC_RESULT_KILLED;
	return outcome->signal != 0 ? 128 + outcome->signal
				    : outcome->exit_code;
}
