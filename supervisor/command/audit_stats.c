/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode audit stats`: how often each event, and of it each code. Called
 * by command_audit.c.
 */
#include "supervisor/command/audit_stats.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/ledger/audit_verify.h"

/* Events and codes come from our own processes, few and short. */
#define AUDIT_STATS_ROWS_MAX 4096U

struct audit_stats {
	const struct audit_filter *filter;
	json_t *events; /* event -> {"count", "codes": {code -> count}} */
	json_int_t records;
	char first[AUDIT_FILTER_TIME_MAX], last[AUDIT_FILTER_TIME_MAX];
	bool full;
};

static void
audit_stats_count(json_t *object, const char *key)
{
	(void)json_object_set_new(object, key,
	    json_integer(json_integer_value(json_object_get(object, key)) + 1));
}

static json_t *
audit_stats_row(struct audit_stats *stats, const char *event)
{
	json_t *row = json_object_get(stats->events, event);

	if (row != NULL)
		return row;
	if (json_object_size(stats->events) >= AUDIT_STATS_ROWS_MAX)
		return NULL;
	row = json_pack("{s:i, s:{}}", "count", 0, "codes");
	(void)json_object_set_new(stats->events, event, row);
	return row;
}

static void
audit_stats_each(const json_t *record, void *context)
{
	struct audit_stats *stats = context;
	const char *event = json_string_value(json_object_get(record, "event"));
	const char *ts = json_string_value(json_object_get(record, "ts"));
	const char *code = json_string_value(
	    json_object_get(json_object_get(record, "fields"), "code"));
	json_t *row, *codes;

	if (!audit_filter_takes(stats->filter, record))
		return;
	stats->records++;
	if (stats->first[0] == '\0')
		(void)snprintf(stats->first, sizeof(stats->first), "%s", ts);
	(void)snprintf(stats->last, sizeof(stats->last), "%s", ts);
	row = audit_stats_row(stats, event);
	if (row == NULL) {
		stats->full = true;
		return;
	}
	audit_stats_count(row, "count");
	codes = json_object_get(row, "codes");
	if (code == NULL || code[0] == '\0')
		return;
	if (json_object_get(codes, code) == NULL &&
	    json_object_size(codes) >= AUDIT_STATS_ROWS_MAX)
		stats->full = true;
	else
		audit_stats_count(codes, code);
}

static void
audit_stats_print(const struct audit_stats *stats)
{
	const char *event, *code;
	json_t *row, *count;
	void *at;

	printf("%" JSON_INTEGER_FORMAT " records", stats->records);
	if (stats->records > 0)
		printf(", %s to %s", stats->first, stats->last);
	printf("\n");
	for (at = json_object_iter(stats->events); at != NULL;
	     at = json_object_iter_next(stats->events, at)) {
		event = json_object_iter_key(at);
		row = json_object_iter_value(at);
		printf("%8" JSON_INTEGER_FORMAT "  %s\n",
		    json_integer_value(json_object_get(row, "count")), event);
		json_object_foreach(json_object_get(row, "codes"), code, count)
		    printf("%8" JSON_INTEGER_FORMAT "    %.60s\n",
			json_integer_value(count), code);
	}
	if (stats->full)
		printf("some kinds were too many to be counted\n");
}

static int
audit_stats_answer(const struct audit_stats *stats)
{
	json_t *answer = json_pack("{s:I, s:s, s:s, s:b, s:O}", "records",
	    stats->records, "first", stats->first, "last", stats->last,
	    "complete", !stats->full, "events", stats->events);
	int code = command_print_json(answer);

	json_decref(answer);
	return code;
}

int
audit_stats_run(
    const struct audit_files *files, const struct audit_filter *filter)
{
	struct audit_stats stats = {.filter = filter, .events = json_object()};
	struct audit_verify_report report;
	struct json_fault fault = {""};
	enum result result = RESULT_NO_MEMORY;
	int code = COMMAND_DONE;

	if (stats.events != NULL)
		result = audit_verify_files(files->dir_fd, files->key,
		    audit_stats_each, &stats, &report, &fault);
	if (filter->json)
		code = audit_stats_answer(&stats);
	else
		audit_stats_print(&stats);
	json_decref(stats.events);
	return result == RESULT_OK ? code : command_fault(result, &fault);
}
