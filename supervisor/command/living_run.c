/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the audit chain for runs of one package (see the header). Called by
 * command_package.c and command_remove.c; it changes nothing.
 */
#include "supervisor/command/living_run.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/command/audit_files.h"
#include "supervisor/ledger/audit_verify.h"

/* Runs that have not ended; more are not looked at one by one. */
#define LIVING_RUN_MAX 100000U

struct living_run {
	const char *package;
	json_t *open; /* run id -> true */
	bool full;
};

static void
living_run_each(const json_t *record, void *context)
{
	const char *event = json_string_value(json_object_get(record, "event"));
	const json_t *fields = json_object_get(record, "fields");
	const char *id = json_string_value(json_object_get(fields, "run"));
	const char *package =
	    json_string_value(json_object_get(fields, "package"));
	struct living_run *runs = context;

	if (event == NULL || id == NULL || package == NULL ||
	    strcmp(package, runs->package) != 0)
		return;
	if (strcmp(event, "removal") == 0 || strcmp(event, "refusal") == 0)
		(void)json_object_del(runs->open, id);
	else if (strcmp(event, "launch") == 0 &&
		 (json_object_size(runs->open) >= LIVING_RUN_MAX ||
		     json_object_set_new(runs->open, id, json_true()) != 0))
		runs->full = true;
}

/* The first of them whose supervisor lives. */
static enum result
living_run_pick(
    json_t *open, char id_r[RUN_LOCK_ID_MAX], struct json_fault *fault)
{
	struct engine_files files;
	const char *id;
	json_t *value;

	if (json_object_size(open) == 0)
		return RESULT_OK;
	if (engine_files_prepare(&files, fault->text, sizeof(fault->text)) !=
	    RESULT_OK)
		return RESULT_SYSTEM;
	json_object_foreach(open, id, value)
	{
		if (!run_lock_is_alive(&files, id))
			continue;
		(void)snprintf(id_r, RUN_LOCK_ID_MAX, "%s", id);
		break;
	}
	return RESULT_OK;
}

enum result
living_run_find(
    const char *package, char id_r[RUN_LOCK_ID_MAX], struct json_fault *fault)
{
	struct living_run runs = {.package = package, .open = json_object()};
	struct audit_verify_report report;
	struct audit_files files;
	enum result result;

	id_r[0] = '\0';
	if (runs.open == NULL)
		return RESULT_NO_MEMORY;
	result = audit_files_open(&files, fault);
	if (result == RESULT_OK)
		result = audit_verify_files(files.dir_fd, files.key,
		    living_run_each, &runs, &report, fault);
	audit_files_close(&files);
	if (result == RESULT_OK && runs.full)
		result = RESULT_TOO_LONG;
	if (result == RESULT_OK)
		result = living_run_pick(runs.open, id_r, fault);
	json_decref(runs.open);
	return result;
}
