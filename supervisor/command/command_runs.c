/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode runs list|show`: the sandboxes there were and are, as the
 * audit chain and the records of agents tell them. Called by command_dispatch.
 * It changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/audit_files.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/ledger/audit_verify.h"
#include "supervisor/policy/run_record.h"

#define COMMAND_RUNS_LAST 50U
#define COMMAND_RUNS_LAST_MAX 100000U
/* Runs kept while reading; older ones than these are forgotten. */
#define COMMAND_RUNS_KEPT 100000U

struct command_runs_options {
	bool json;
	size_t last;
};

static bool
command_runs_parse(
    int argc, char **argv, struct command_runs_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"last", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	unsigned long last = COMMAND_RUNS_LAST;
	char *end = NULL;
	int option;

	*options_r = (struct command_runs_options){false, 0};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		errno = 0;
		if (option == 'j')
			options_r->json = true;
		else if (option == 'l')
			last = strtoul(optarg, &end, 10);
		else
			return false;
		if (option == 'l' && (errno != 0 || *end != '\0'))
			return false;
	}
	options_r->last = last;
	return last > 0 && last <= COMMAND_RUNS_LAST_MAX;
}

/* A launch makes a row; removal or refusal of the same run completes it, and
 * agent_run has what an agent did. */
static void
command_runs_each(const json_t *record, void *context)
{
	const char *event = json_string_value(json_object_get(record, "event"));
	const json_t *fields = json_object_get(record, "fields");
	const char *run = json_string_value(json_object_get(fields, "run"));
	json_t *rows = context, *row;

	if (run == NULL)
		return;
	row = json_object_get(rows, run);
	if (row == NULL) {
		if (json_object_size(rows) >= COMMAND_RUNS_KEPT)
			return;
		row = json_object();
		json_object_set_new(rows, run, row);
	}
	if (strcmp(event, "launch") == 0)
		json_object_set(row, "launch", (json_t *)record);
	else if (strcmp(event, "removal") == 0 || strcmp(event, "refusal") == 0)
		json_object_set(row, "end", (json_t *)record);
	else if (strcmp(event, "agent_run") == 0)
		json_object_set(row, "agent", (json_t *)record);
}

static json_t *
command_runs_field(const json_t *row, const char *name)
{
	static const char *const records[] = {"launch", "end"};
	json_t *value;
	size_t i;

	for (i = 0; i < 2; i++) {
		value = json_object_get(
		    json_object_get(json_object_get(row, records[i]), "fields"),
		    name);
		if (value != NULL)
			return value;
	}
	return NULL;
}

/* "running", "ended", "refused", or "lost": its supervisor died first. */
static const char *
command_runs_status(
    const json_t *row, const char *run, const struct engine_files *files)
{
	const json_t *end = json_object_get(row, "end");
	const char *event = json_string_value(json_object_get(end, "event"));

	if (event != NULL && strcmp(event, "refusal") == 0)
		return "refused";
	if (event != NULL)
		return "ended";
	return files != NULL && run_lock_is_alive(files, run) ? "running"
							      : "lost";
}

static json_t *
command_runs_row(
    const json_t *row, const char *run, const struct engine_files *files)
{
	const json_t *launch = json_object_get(row, "launch");
	const json_t *end = json_object_get(row, "end");
	const json_t *agent =
	    json_object_get(json_object_get(row, "agent"), "fields");

	return json_pack("{s:s, s:O?, s:O?, s:O?, s:s, s:O?, s:O?, s:O?, s:O?,"
			 " s:O?, s:O?, s:O?}",
	    "run", run, "kind", command_runs_field(row, "kind"), "package",
	    command_runs_field(row, "package"), "version",
	    command_runs_field(row, "version"), "status",
	    command_runs_status(row, run, files), "started",
	    json_object_get(launch, "ts"), "ended", json_object_get(end, "ts"),
	    "code", command_runs_field(row, "code"), "exit_code",
	    command_runs_field(row, "exit_code"), "signal",
	    command_runs_field(row, "signal"), "llm_calls",
	    json_object_get(json_object_get(agent, "llm"), "calls"),
	    "tool_calls", json_object_get(agent, "tool_calls"));
}

/* All runs of the chain, by id in the order of their first record. */
static int
command_runs_read(json_t **rows_r)
{
	struct audit_verify_report report;
	struct json_fault fault = {""};
	struct audit_files files;
	enum result result;

	*rows_r = json_object();
	result = audit_files_open(&files, &fault);
	if (result == RESULT_OK)
		result = audit_verify_files(files.dir_fd, files.key,
		    command_runs_each, *rows_r, &report, &fault);
	audit_files_close(&files);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	json_decref(*rows_r);
	*rows_r = NULL;
	return command_fault(result, &fault);
}

static const char *
command_runs_shown(const json_t *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row, name));

	return text != NULL && text[0] != '\0' ? text : "-";
}

static void
command_runs_print_row(const json_t *row)
{
	const json_t *calls = json_object_get(row, "llm_calls");
	const json_t *tools = json_object_get(row, "tool_calls");

	printf("%-16s  %-24s  %-8s  %-8s  %-24s  %s",
	    command_runs_shown(row, "run"), command_runs_shown(row, "started"),
	    command_runs_shown(row, "status"), command_runs_shown(row, "kind"),
	    command_runs_shown(row, "package"),
	    command_runs_shown(row, "code"));
	if (json_is_integer(calls))
		printf("  llm %" JSON_INTEGER_FORMAT
		       " tools %" JSON_INTEGER_FORMAT,
		    json_integer_value(calls), json_integer_value(tools));
	putchar('\n');
}

static int
command_runs_print(const json_t *list, bool json)
{
	const json_t *row;
	json_t *answer;
	size_t i;
	int code;

	if (json) {
		answer = json_pack("{s:O}", "runs", list);
		code = command_print_json(answer);
		json_decref(answer);
		return code;
	}
	json_array_foreach(list, i, row) command_runs_print_row(row);
	return COMMAND_DONE;
}

static int
command_runs_list(int argc, char **argv)
{
	struct command_runs_options options;
	struct engine_files files;
	json_t *rows, *list, *row;
	char detail[256];
	const char *run;
	size_t skip;
	bool have;
	int code;

	if (!command_runs_parse(argc, argv, &options) || optind != argc)
		return command_option_fault("runs list");
	code = command_runs_read(&rows);
	if (code != COMMAND_DONE)
		return code;
	list = json_array();
	have =
	    engine_files_prepare(&files, detail, sizeof(detail)) == RESULT_OK;
	skip = json_object_size(rows) > options.last
		   ? json_object_size(rows) - options.last
		   : 0;
	json_object_foreach(rows, run, row)
	{
		if (skip > 0)
			skip--;
		else
			json_array_append_new(list,
			    command_runs_row(row, run, have ? &files : NULL));
	}
	code = command_runs_print(list, options.json);
	json_decref(list);
	json_decref(rows);
	return code;
}

/* The lines of runs/RUN.jsonl; null when there are none. */
static int
command_runs_record(const char *run, json_t **lines_r)
{
	struct json_fault fault = {""};
	struct state_dir home;
	enum result result = state_dir_home(false, &home, &fault);

	*lines_r = NULL;
	if (result == RESULT_OK)
		result = run_record_read(&home, run, lines_r, &fault);
	state_dir_close(&home);
	return result == RESULT_OK || result == RESULT_NOT_FOUND
		   ? COMMAND_DONE
		   : command_fault(result, &fault);
}

static int
command_runs_show_one(const char *run, const json_t *row)
{
	json_t *answer, *lines;
	int code;

	if (row == NULL)
		return command_error(COMMAND_NO,
		    "there is no run '%.64s'; 'agentnode runs list' shows them",
		    run);
	code = command_runs_record(run, &lines);
	if (code != COMMAND_DONE)
		return code;
	answer = json_pack("{s:s, s:O?, s:O?, s:O?, s:o?}", "run", run,
	    "launch", json_object_get(row, "launch"), "end",
	    json_object_get(row, "end"), "agent", json_object_get(row, "agent"),
	    "record", lines);
	code = command_print_json(answer);
	json_decref(answer);
	return code;
}

static int
command_runs_show(int argc, char **argv)
{
	struct command_runs_options options;
	json_t *rows;
	int code;

	if (!command_runs_parse(argc, argv, &options) || argc - optind != 1)
		return command_option_fault("runs show");
	code = command_runs_read(&rows);
	if (code != COMMAND_DONE)
		return code;
	code = command_runs_show_one(
	    argv[optind], json_object_get(rows, argv[optind]));
	json_decref(rows);
	return code;
}

const struct command command_runs_rows[] = {
    {"runs list", "list the sandboxes there were and are",
	"Usage: agentnode runs list [--last N] [--json]\n\n"
	"One line per run: id, start, status (running, ended, refused, or\n"
	"lost: its supervisor died before it could record the end), kind,\n"
	"package, code, and for an agent the calls it made (LLM, tools). It "
	"is\n"
	"read from the audit chain.\n\n"
	"Options:\n"
	"  --last N   only the last N runs (50)\n"
	"  --json     {\"runs\": [...]}\n\n"
	"Example:\n"
	"  agentnode runs list --last 10\n",
	command_runs_list},
    {"runs show", "print the records of one run",
	"Usage: agentnode runs show RUN [--json]\n\n"
	"Prints as JSON the records of the audit chain: launch, end and, for\n"
	"an agent, the sums of its calls; and the lines of its own record\n"
	"(AGENTNODE_HOME/runs/RUN.jsonl) while that is kept.\n\n"
	"Options:\n"
	"  --json     the same: it is JSON anyway\n\n"
	"Example:\n"
	"  agentnode runs show 0123456789abcdef\n",
	command_runs_show},
    {NULL, NULL, NULL, NULL},
};
