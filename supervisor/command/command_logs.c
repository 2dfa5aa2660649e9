/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode logs`: the lines of all our processes in the order of their
 * times, of one run or one request, and what is added while one watches.
 * Called by command_dispatch. Whatever is in a file, no control byte reaches
 * the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/audit_filter.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/logs/logs_follow.h"

#define COMMAND_LOGS_LAST 100U

struct command_logs_options {
	bool follow, json, names, has_last;
	size_t last;
	const char *process, *run, *request;
	char since[AUDIT_FILTER_TIME_MAX];
};

/* What stands in a line as sandbox, run or request. */
static bool
command_logs_is_id(const char *text)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	size_t len = strnlen(text, LOGS_LINE_ID_MAX + 1);

	return len > 0 && len <= LOGS_LINE_ID_MAX && strspn(text, known) == len;
}

static bool
command_logs_set(struct command_logs_options *options, int option)
{
	char *end;

	switch (option) {
	case 'f':
		return options->follow = true;
	case 'j':
		return options->json = true;
	case 'n':
		return options->names = true;
	case 'p':
		options->process = optarg;
		return true;
	case 'r':
		options->run = optarg;
		return command_logs_is_id(optarg);
	case 'q':
		options->request = optarg;
		return command_logs_is_id(optarg);
	case 's':
		return audit_filter_since(optarg, options->since);
	case 'l':
		errno = 0;
		options->last = strtoul(optarg, &end, 10);
		options->has_last = true;
		return errno == 0 && end != optarg && *end == '\0' &&
		       strchr("0123456789", optarg[0]) != NULL &&
		       options->last <= LOGS_VIEW_LAST_MAX;
	default:
		return false;
	}
}

/* All lines of what was asked for by name; else the last of all. */
static void
command_logs_default(struct command_logs_options *options)
{
	bool asked = options->run != NULL || options->request != NULL ||
		     options->since[0] != '\0';

	if (!options->has_last)
		options->last = asked ? SIZE_MAX : COMMAND_LOGS_LAST;
}

static bool
command_logs_parse(
    int argc, char **argv, struct command_logs_options *options_r)
{
	static const struct option known[] = {
	    {"last", required_argument, NULL, 'l'},
	    {"process", required_argument, NULL, 'p'},
	    {"run", required_argument, NULL, 'r'},
	    {"request", required_argument, NULL, 'q'},
	    {"since", required_argument, NULL, 's'},
	    {"follow", no_argument, NULL, 'f'},
	    {"json", no_argument, NULL, 'j'}, {"names", no_argument, NULL, 'n'},
	    {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_logs_options){.last = 0};
	while ((option = command_option_next(argc, argv, "", known)) != -1)
		if (!command_logs_set(options_r, option))
			return false;
	if (argc - optind > 1 ||
	    (optind < argc && options_r->process != NULL) ||
	    (options_r->names && options_r->follow))
		return false;
	if (optind < argc)
		options_r->process = argv[optind];
	command_logs_default(options_r);
	return true;
}

/* --- names -------------------------------------------------------------- */

static void
command_logs_name(const char *name, void *context)
{
	(void)context;
	puts(name);
}

static void
command_logs_collect(const char *name, void *context)
{
	json_array_append_new(context, json_string(name));
}

static int
command_logs_list(const struct state_dir *dir, bool json)
{
	struct json_fault fault = {""};
	json_t *names = json_array(), *answer;
	enum result result;
	int code = COMMAND_DONE;

	result = log_files_list(dir,
	    json ? command_logs_collect : command_logs_name, names, &fault);
	if (result != RESULT_OK)
		code = command_fault(result, &fault);
	else if (json) {
		answer = json_pack("{s:O}", "logs", names);
		code = command_print_json(answer);
		json_decref(answer);
	}
	json_decref(names);
	return code;
}

/* --- lines -------------------------------------------------------------- */

/* "egress-proxy" stands for "agentnode-egress-proxy" where that is one. */
static void
command_logs_full_name(
    const struct state_dir *dir, const char *process, char *name_r, size_t size)
{
	char file[STATE_DIR_NAME_MAX];
	struct stat status;

	snprintf(file, sizeof(file), "agentnode-%s" LOG_FILES_END, process);
	snprintf(name_r, size, "%s%s",
	    fstatat(dir->fd, file, &status, AT_SYMLINK_NOFOLLOW) == 0
		? "agentnode-"
		: "",
	    process);
}

/* Files last written before the time are not read; 0: all. */
static int64_t
command_logs_seconds(const char *since)
{
	struct tm parts;

	memset(&parts, 0, sizeof(parts));
	if (since[0] == '\0' || strptime(since, "%Y-%m-%d", &parts) == NULL)
		return 0;
	return (int64_t)timegm(&parts);
}

static int
command_logs_result(enum result result, const struct json_fault *fault,
    const struct command_logs_options *options, uint64_t shown)
{
	/* Whether the reader left or the disk is full, command_flush knows. */
	if (result == RESULT_CLOSED)
		return COMMAND_DONE;
	if (result != RESULT_OK)
		return fault->text[0] != '\0'
			   ? command_fault(result, fault)
			   : command_error(COMMAND_INTERNAL,
				 "the logs cannot be shown: out of memory");
	if (shown == 0 && options->request != NULL)
		return command_error(
		    COMMAND_NO, "no line has request %s", options->request);
	if (shown == 0 && options->run != NULL)
		return command_error(
		    COMMAND_NO, "no line has run %s", options->run);
	return COMMAND_DONE;
}

static int
command_logs_show(const struct state_dir *dir,
    const struct logs_view_spec *spec,
    const struct command_logs_options *options)
{
	struct json_fault fault = {""};
	FD_CLEANUP int watch = -1;
	struct logs_view *view = NULL;
	enum result result = RESULT_OK;
	int code;

	if (options->follow)
		result = logs_follow_watch(dir, &watch, &fault);
	if (result == RESULT_OK)
		result = logs_view_new(dir, spec, &view, &fault);
	if (result == RESULT_NOT_FOUND)
		return command_error(COMMAND_NO,
		    "there is no log of '%s'; 'agentnode logs --names' lists "
		    "them",
		    options->process);
	if (result == RESULT_OK)
		result = logs_view_show(view, options->follow, &fault);
	if (result == RESULT_OK && options->follow)
		result = logs_follow(view, watch, STDOUT_FILENO, &fault);
	code = command_logs_result(
	    result, &fault, options, view != NULL ? logs_view_shown(view) : 0);
	logs_view_free(&view);
	return code;
}

static int
command_logs_in(
    const struct state_dir *dir, const struct command_logs_options *options)
{
	char name[STATE_DIR_NAME_MAX];
	struct logs_view_spec spec = {
	    .filter = {options->run, options->request,
		options->since[0] != '\0' ? options->since : NULL},
	    .since_s = command_logs_seconds(options->since),
	    .last = options->last,
	    .json = options->json,
	    .out = stdout};

	if (options->names)
		return command_logs_list(dir, options->json);
	if (options->process != NULL) {
		if (!log_files_is_name(options->process))
			return command_error(COMMAND_USAGE,
			    "'%s' is no name of a process", options->process);
		command_logs_full_name(
		    dir, options->process, name, sizeof(name));
		spec.process = name;
	}
	return command_logs_show(dir, &spec, options);
}

static int
command_logs_run(int argc, char **argv)
{
	struct command_logs_options options;
	struct json_fault fault = {""};
	char path[STATE_DIR_PATH_MAX + 8];
	struct state_dir home, dir;
	enum result result;
	int code;

	if (!command_logs_parse(argc, argv, &options))
		return command_option_fault("logs");
	result = state_dir_home(false, &home, &fault);
	if (result != RESULT_OK && result != RESULT_NOT_FOUND)
		return command_fault(result, &fault);
	snprintf(path, sizeof(path), "%s/" LOG_FILES_DIR, home.path);
	state_dir_close(&home);
	result = state_dir_open(path, STATE_DIR_OURS, &dir, &fault);
	if (result == RESULT_NOT_FOUND)
		return command_error(
		    COMMAND_NO, "there are no logs yet: nothing has run");
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	code = command_logs_in(&dir, &options);
	state_dir_close(&dir);
	return code;
}

const struct command command_logs_rows[] = {
    {"logs", "print what our processes logged",
	"Usage: agentnode logs [--process P] [--run ID] [--request ID]\n"
	"                      [--since T] [--last N] [--follow] [--json]\n"
	"       agentnode logs --names [--json]\n\n"
	"The lines of all processes in the order of their times, through all\n"
	"files that rotation keeps. docs/operating.md names every event. The\n"
	"files lie in AGENTNODE_HOME/log, one JSON object per line.\n\n"
	"Options:\n"
	"  --process P   only the log of this process (also without\n"
	"                --process): egress-proxy, gate, ledger, ...\n"
	"  --run ID      only lines of this run and of its requests\n"
	"  --request ID  only lines of one request, in whatever process;\n"
	"                the id stands in them as request: RUN.c1 is a\n"
	"                connection, RUN.l1 a call of a model, RUN.t1 one of\n"
	"                a tool, RUN.m1 one of an MCP client\n"
	"  --since T     only lines from this time on: 2026-01-02,\n"
	"                2026-01-02T03:04:05Z, or so long ago: 90s, 15m, 24h\n"
	"  --last N      only the last N lines; 100 unless run, request or\n"
	"                since says what is wanted\n"
	"  --follow      go on printing what is added\n"
	"  --json        one JSON object per line\n"
	"  --names       the names of the logs there are\n\n"
	"Examples:\n"
	"  agentnode logs --follow\n"
	"  agentnode logs egress-proxy --since 1h\n"
	"  agentnode logs --run 5c1f0a9be2d74386 --json\n",
	command_logs_run},
    {NULL, NULL, NULL, NULL},
};
