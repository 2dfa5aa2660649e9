/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads runs/ID.jsonl. Called by agent_run and command_runs. It
 * must never put what an agent or a provider said into a line, nor end a run
 * because its record cannot be written: the audit chain has the sums.
 */
#include "supervisor/policy/run_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/ledger/audit_record.h"
#include "supervisor/policy/run_counts.h"
#include "supervisor/policy/run_files.h"

#define RUN_RECORD_END_ROOM 16384U /* kept for the last line */
#define RUN_RECORD_MODELS_MAX 64U

struct run_record {
	int fd; /* -1: writing failed */
	size_t bytes;
	bool is_truncated;
	char run[RUN_FILES_ID_MAX + 1];
	char package[65];
	json_t *llm; /* what was granted; NULL: nothing */
	struct run_counts counts;
};

static int64_t
run_record_now_ms(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return 0;
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
run_record_failed(struct run_record *record, const char *detail)
{
	log_event(LOG_ERROR_LEVEL, "run_record_failed",
	    LOG_TEXT("run", record->run), LOG_TEXT("detail", detail));
	fd_close(&record->fd);
}

static void
run_record_put(struct run_record *record, const char *text, size_t len)
{
	if (fd_write_all(record->fd, text, len) != RESULT_OK)
		run_record_failed(record, strerror(errno));
	else
		record->bytes += len;
}

/* Takes the fields; ts and event come first. */
static void
run_record_line(
    struct run_record *record, const char *event, json_t *fields, size_t room)
{
	char ts[AUDIT_RECORD_TS_MAX];
	json_t *line;
	char *text;
	size_t len;

	audit_record_time(run_record_now_ms(), ts);
	line = json_pack("{s:s, s:s}", "ts", ts, "event", event);
	if (line != NULL && fields != NULL)
		(void)json_object_update(line, fields);
	json_decref(fields);
	text = line != NULL ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (text == NULL || record->fd < 0) {
		free(text);
		return;
	}
	len = strlen(text);
	text[len++] = '\n'; /* in place of the NUL */
	if (record->bytes + len + room <= RUN_RECORD_MAX)
		run_record_put(record, text, len);
	else if (!record->is_truncated) {
		record->is_truncated = true;
		run_record_line(record, "truncated", NULL, 0);
	}
	free(text);
}

/* "openai/gpt-4o-mini": what may be used, bounded. */
static json_t *
run_record_models(const json_t *grant)
{
	const json_t *rows = json_object_get(grant, "providers"), *models;
	json_t *list = json_array();
	char name[RUN_COUNTS_NAME_MAX];
	size_t i, j;

	for (i = 0; i < json_array_size(rows); i++) {
		const char *provider = json_string_value(
		    json_object_get(json_array_get(rows, i), "name"));

		models = json_object_get(json_array_get(rows, i), "models");
		for (j = 0; j < (models == NULL ? 1 : json_array_size(models));
		     j++) {
			if (json_array_size(list) == RUN_RECORD_MODELS_MAX)
				return list;
			(void)snprintf(name, sizeof(name), "%s/%s", provider,
			    models == NULL
				? "*"
				: json_string_value(json_array_get(models, j)));
			(void)json_array_append_new(list, json_string(name));
		}
	}
	return list;
}

json_t *
run_record_granted(const json_t *grant)
{
	const json_t *limits = json_object_get(grant, "limits");

	if (grant == NULL)
		return NULL;
	return json_pack("{s:b, s:O?, s:O?, s:O?, s:o, s:O?}", "enabled", 1,
	    "max_calls", json_object_get(limits, "requests"), "max_input_chars",
	    json_object_get(limits, "input_chars"), "max_output_chars",
	    json_object_get(limits, "output_chars"), "allowed_models",
	    run_record_models(grant), "opt_in",
	    json_object_get(grant, "opt_in"));
}

static enum result
run_record_open_file(
    const char *home, const char *run, int *fd_r, struct json_fault *fault)
{
	struct state_dir base, runs;
	enum result result;

	result = state_dir_open(home, STATE_DIR_OURS, &base, fault);
	if (result == RESULT_OK)
		result = state_dir_sub(&base, RUN_RECORD_DIR, &runs, fault);
	state_dir_close(&base);
	if (result != RESULT_OK)
		return result;
	run_files_expire(
	    &runs, RUN_RECORD_KEPT - 1, RUN_RECORD_DAYS, time(NULL));
	result = run_files_make(&runs, run, fd_r, fault);
	state_dir_close(&runs);
	return result;
}

enum result
run_record_open(const char *home, const struct run_record_facts *facts,
    struct run_record **record_r, struct json_fault *fault)
{
	struct run_record *record = calloc(1, sizeof(*record));
	enum result result;

	*record_r = NULL;
	if (record == NULL)
		return RESULT_NO_MEMORY;
	record->fd = -1;
	(void)snprintf(record->run, sizeof(record->run), "%s", facts->run);
	(void)snprintf(
	    record->package, sizeof(record->package), "%s", facts->package);
	record->llm = run_record_granted(facts->grant);
	result = run_record_open_file(home, facts->run, &record->fd, fault);
	if (result != RESULT_OK) {
		run_record_free(&record);
		return result;
	}
	run_record_line(record, "start",
	    json_pack("{s:s, s:s, s:s, s:O?}", "run", facts->run, "package",
		facts->package, "version",
		facts->version != NULL ? facts->version : "", "llm",
		record->llm),
	    RUN_RECORD_END_ROOM);
	*record_r = record;
	return RESULT_OK;
}

/* The message without the sandbox; a model that was not served is a word of
 * the agent's. */
void
run_record_usage(struct run_record *record, const json_t *usage)
{
	const char *code = json_string_value(json_object_get(usage, "code"));
	json_t *fields = json_copy((json_t *)(uintptr_t)usage);

	run_counts_usage(&record->counts, usage);
	(void)json_object_del(fields, "sandbox");
	if (code == NULL || code[0] != '\0')
		(void)json_object_del(fields, "model");
	run_record_line(record, "usage", fields, RUN_RECORD_END_ROOM);
}

void
run_record_tool(struct run_record *record, const struct run_record_tool *tool)
{
	run_counts_tool(&record->counts, tool->code, tool->refused);
	run_record_line(record, "tool",
	    json_pack("{s:s, s:s?, s:s, s:b, s:I}", "package", tool->package,
		"tool", tool->tool, "code", tool->code, "refused",
		(int)tool->refused, "ms", (json_int_t)tool->ms),
	    RUN_RECORD_END_ROOM);
}

void
run_record_refusal(struct run_record *record, const char *part,
    const char *code, int64_t count)
{
	run_record_line(record, "refusal",
	    json_pack("{s:s, s:s, s:I}", "part", part, "code", code, "count",
		(json_int_t)count),
	    RUN_RECORD_END_ROOM);
}

json_t *
run_record_finish(
    struct run_record *record, const struct run_record_outcome *outcome)
{
	json_t *llm = run_counts_json(&record->counts), *fields;

	if (record->llm != NULL)
		(void)json_object_update(llm, record->llm);
	else
		(void)json_object_set_new(llm, "enabled", json_false());
	fields = json_pack("{s:s, s:s, s:s, s:b, s:s, s:i, s:i, s:o, s:I, s:I,"
			   " s:I}",
	    "run", record->run, "package", record->package, "source",
	    "agent_sandbox", "sandbox", 1, "code", outcome->code, "exit_code",
	    outcome->exit_code, "signal", outcome->signal, "llm", llm,
	    "tool_calls", (json_int_t)record->counts.tool_calls,
	    "tool_refusals", (json_int_t)record->counts.tool_refusals,
	    "tool_errors", (json_int_t)record->counts.tool_errors);
	if (fields != NULL)
		run_record_line(record, "end",
		    json_pack("{s:s, s:i, s:i, s:o, s:I, s:I, s:I}", "code",
			outcome->code, "exit_code", outcome->exit_code,
			"signal", outcome->signal, "llm",
			run_counts_json(&record->counts), "tool_calls",
			(json_int_t)record->counts.tool_calls, "tool_refusals",
			(json_int_t)record->counts.tool_refusals, "tool_errors",
			(json_int_t)record->counts.tool_errors),
		    0);
	return fields;
}

void
run_record_free(struct run_record **record)
{
	struct run_record *gone = *record;

	*record = NULL;
	if (gone == NULL)
		return;
	fd_close(&gone->fd);
	json_decref(gone->llm);
	free(gone);
}

static enum result
run_record_split(
    const char *bytes, size_t len, json_t *lines, struct json_fault *fault)
{
	const char *end;
	json_t *line;

	while ((end = memchr(bytes, '\n', len)) != NULL) {
		size_t size = (size_t)(end - bytes);

		if (json_field_parse(bytes, size, &line, fault) != RESULT_OK)
			return RESULT_BAD;
		if (json_array_append_new(lines, line) != 0)
			return RESULT_NO_MEMORY;
		bytes += size + 1;
		len -= size + 1;
	}
	return RESULT_OK;
}

enum result
run_record_read(const struct state_dir *home, const char *run, json_t **lines_r,
    struct json_fault *fault)
{
	char name[RUN_FILES_NAME_MAX], *bytes = NULL;
	struct state_dir runs = {.fd = -1};
	enum result result = RESULT_NOT_FOUND;
	size_t len = 0;

	*lines_r = NULL;
	if (run_files_name(run, name))
		result = run_files_folder(home, &runs, fault);
	if (result == RESULT_OK)
		result = state_dir_read(&runs, name, STATE_DIR_OURS,
		    2 * RUN_RECORD_MAX, &bytes, &len, fault);
	state_dir_close(&runs);
	if (result != RESULT_OK)
		return result;
	*lines_r = json_array();
	result = run_record_split(bytes, len, *lines_r, fault);
	free(bytes);
	if (result != RESULT_OK) {
		json_decref(*lines_r);
		*lines_r = NULL;
	}
	return result;
}
