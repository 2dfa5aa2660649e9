/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode audit show|stats|verify`: reads the chain that agentnode-ledger
 * writes. Called by command_dispatch. It changes nothing.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/command/audit_files.h"
#include "supervisor/command/audit_filter.h"
#include "supervisor/command/audit_stats.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/ledger/audit_verify.h"

#define COMMAND_AUDIT_LINE_MAX 4096U

/* What show gathers: the last records, in a ring. */
struct command_audit_ring {
	const struct audit_filter *filter;
	json_t **items;
	size_t size, next, count;
};

static void
command_audit_print(const json_t *record)
{
	char *fields = json_dumps(json_object_get(record, "fields"),
	    JSON_COMPACT | JSON_PRESERVE_ORDER);
	char safe[COMMAND_AUDIT_LINE_MAX];

	if (fields == NULL)
		return;
	log_clean(fields, strlen(fields), safe, sizeof(safe));
	printf("%6" JSON_INTEGER_FORMAT "  %s  %-16s %s\n",
	    json_integer_value(json_object_get(record, "seq")),
	    json_string_value(json_object_get(record, "ts")),
	    json_string_value(json_object_get(record, "event")), safe);
	free(fields);
}

static void
command_audit_keep(const json_t *record, void *context)
{
	struct command_audit_ring *ring = context;

	if (!audit_filter_takes(ring->filter, record))
		return;
	json_decref(ring->items[ring->next]);
	ring->items[ring->next] = json_incref((json_t *)record);
	ring->next = (ring->next + 1) % ring->size;
	if (ring->count < ring->size)
		ring->count++;
}

static int
command_audit_print_ring(const struct command_audit_ring *ring, bool json)
{
	size_t first = (ring->next + ring->size - ring->count) % ring->size, i;
	json_t *answer, *records = json_array(), *record;
	int code = COMMAND_DONE;

	for (i = 0; i < ring->count; i++) {
		record = ring->items[(first + i) % ring->size];
		if (json)
			json_array_append(records, record);
		else
			command_audit_print(record);
	}
	if (json) {
		answer = json_pack("{s:O}", "records", records);
		code = command_print_json(answer);
		json_decref(answer);
	}
	json_decref(records);
	return code;
}

/* Shows what is right, then says what is not. */
static int
command_audit_show_files(
    const struct audit_files *files, const struct audit_filter *options)
{
	struct command_audit_ring ring = {options, NULL, 0, 0, 0};
	struct audit_verify_report report;
	struct json_fault fault = {""};
	enum result result;
	int code;
	size_t i;

	ring.size = options->last != 0 ? options->last : AUDIT_FILTER_LAST_MAX;
	ring.items = calloc(ring.size, sizeof(json_t *));
	if (ring.items == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	result = audit_verify_files(files->dir_fd, files->key,
	    command_audit_keep, &ring, &report, &fault);
	code = command_audit_print_ring(&ring, options->json);
	for (i = 0; i < ring.size; i++)
		json_decref(ring.items[i]);
	free(ring.items);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	return code;
}

static int
command_audit_show(int argc, char **argv)
{
	struct audit_filter options;
	struct audit_files files;
	struct json_fault fault = {""};
	enum result result;
	int code;

	if (!audit_filter_parse(argc, argv, "jlecps", &options))
		return command_option_fault("audit show");
	result = audit_files_open(&files, &fault);
	if (result != RESULT_OK)
		code = command_fault(result, &fault);
	else
		code = command_audit_show_files(&files, &options);
	audit_files_close(&files);
	return code;
}

static int
command_audit_stats(int argc, char **argv)
{
	struct audit_filter options;
	struct audit_files files;
	struct json_fault fault = {""};
	enum result result;
	int code;

	if (!audit_filter_parse(argc, argv, "jecps", &options))
		return command_option_fault("audit stats");
	result = audit_files_open(&files, &fault);
	if (result != RESULT_OK)
		code = command_fault(result, &fault);
	else
		code = audit_stats_run(&files, &options);
	audit_files_close(&files);
	return code;
}

static int
command_audit_verify_json(enum result result,
    const struct audit_verify_report *report, const struct json_fault *fault)
{
	json_t *answer;

	answer = json_pack("{s:b, s:I, s:I, s:I, s:I, s:b, s:s, s:s, s:o}",
	    "ok", result == RESULT_OK, "records", (json_int_t)report->records,
	    "first", (json_int_t)report->first, "torn_bytes",
	    (json_int_t)report->torn_bytes, "unsealed",
	    (json_int_t)report->unsealed, "sealed", report->sealed, "detail",
	    fault->text, "file", report->file, "line",
	    report->line != 0 ? json_integer((json_int_t)report->line)
			      : json_null());
	command_print_json(answer);
	json_decref(answer);
	return result == RESULT_OK ? COMMAND_DONE : COMMAND_NO;
}

static int
command_audit_verify_text(enum result result,
    const struct audit_verify_report *report, const struct json_fault *fault)
{
	if (result != RESULT_OK)
		return command_error(COMMAND_NO, "%s",
		    fault->text[0] != '\0' ? fault->text : result_text(result));
	printf("audit: %" PRIu64 " records, whole and in order%s\n",
	    report->records,
	    report->sealed ? ", sealed with this host's key" : "");
	if (report->first > 1)
		printf("audit: the %" PRIu64 " records before were dropped by "
		       "rotation, and the chain names the last of them\n",
		    report->first - 1);
	if (report->unsealed > 0)
		printf("audit: a writer died behind the seal (%" PRIu64
		       " records); the next run says so in the chain\n",
		    report->unsealed);
	if (report->torn_bytes > 0)
		printf("audit: a writer died in a record (%" PRIu64
		       " bytes); the next run repairs it\n",
		    report->torn_bytes);
	return COMMAND_DONE;
}

static int
command_audit_verify(int argc, char **argv)
{
	struct audit_verify_report report = {0};
	struct audit_filter options;
	struct audit_files files;
	struct json_fault fault = {""};
	enum result result;

	if (!audit_filter_parse(argc, argv, "j", &options))
		return command_option_fault("audit verify");
	result = audit_files_open(&files, &fault);
	if (result == RESULT_OK)
		result = audit_verify_files(
		    files.dir_fd, files.key, NULL, NULL, &report, &fault);
	audit_files_close(&files);
	if (options.json)
		return command_audit_verify_json(result, &report, &fault);
	return command_audit_verify_text(result, &report, &fault);
}

const struct command command_audit_rows[] = {
    {"audit show", "print the audit records",
	"Usage: agentnode audit show [--event E] [--code C] [--package P]\n"
	"                            [--since T] [--last N] [--json]\n\n"
	"Prints the records of launches, refusals, removals and other\n"
	"decisions, oldest first, and checks the chain on the way: what\n"
	"stands behind a wrong record is not shown (exit 6).\n\n"
	"Options:\n"
	"  --event E     only this event, such as refusal\n"
	"  --code C      only records with this code\n"
	"  --package P   only records of this package\n"
	"  --since T     only since then: 2026-01-02, 2026-01-02T03:04:05Z\n"
	"                (UTC), or so long ago: 90s, 15m, 24h, 7d\n"
	"  --last N      only the last N of them (at most 100000)\n"
	"  --json        {\"records\": [...]}\n\n"
	"Example:\n"
	"  agentnode audit show --event refusal --since 24h\n",
	command_audit_show},
    {"audit stats", "count the audit records",
	"Usage: agentnode audit stats [--event E] [--code C] [--package P]\n"
	"                             [--since T] [--json]\n\n"
	"How often each event, and of each how often which code. Checks the\n"
	"chain on the way: what stands behind a wrong record is not counted\n"
	"(exit 6).\n\n"
	"Options:\n"
	"  --event E, --code C, --package P, --since T   as for audit show\n"
	"  --json        {\"records\", \"first\", \"last\", \"complete\", "
	"\"events\"}\n\n"
	"Example:\n"
	"  agentnode audit stats --since 7d\n",
	command_audit_stats},
    {"audit verify", "check the chain of audit records",
	"Usage: agentnode audit verify [--json]\n\n"
	"Reads every record of every file and compares each hash, the order,\n"
	"the end with audit.head, and its seal with this host's key. Exits 0\n"
	"when all fit, 1 with the first wrong line named.\n\n"
	"Options:\n"
	"  --json     {\"ok\", \"records\", \"first\", \"file\", "
	"\"line\",\n"
	"             \"torn_bytes\", \"sealed\", \"unsealed\", "
	"\"detail\"}\n\n"
	"Example:\n"
	"  agentnode audit verify\n",
	command_audit_verify},
    {NULL, NULL, NULL, NULL},
};
