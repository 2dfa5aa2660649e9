/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode audit-argv`: the ways a container command line, or an existing
 * container, lets the host leak in. Called by command_dispatch; runs no
 * engine, opens no file but the one --inspect names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/argv/argv_inspect.h"
#include "supervisor/argv/argv_judge.h"
#include "supervisor/command/argv_report.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"

struct command_audit_argv {
	bool json;
	const char *inspect; /* file, or NULL */
	json_t *leaks, *hardening;
	const char *source, *engine, *command;
	const char *image; /* of a command line; borrowed */
};

static int
command_audit_argv_options(
    struct command_audit_argv *audit, int argc, char **argv)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"inspect", required_argument, NULL, 'i'}, {NULL, 0, NULL, 0}};
	int option;

	while ((option = command_option_next(argc, argv, "+", known)) != -1) {
		if (option == 'j')
			audit->json = true;
		else if (option == 'i')
			audit->inspect = optarg;
		else
			return command_option_fault("audit-argv");
	}
	if (audit->inspect != NULL ? optind != argc : optind == argc)
		return command_option_fault("audit-argv");
	return COMMAND_DONE;
}

static int
command_audit_argv_fault(enum result result, const struct argv_fault *fault)
{
	return command_error(
	    result == RESULT_BAD ? COMMAND_USAGE : COMMAND_INTERNAL, "%s",
	    fault->text[0] != '\0' ? fault->text : result_text(result));
}

/* Judge and keep. */
static int
command_audit_argv_judge(struct command_audit_argv *audit,
    const struct argv_items *items, const char *container)
{
	struct argv_findings findings;
	struct argv_fault fault;
	enum result result = argv_judge(items, &findings, &fault);

	if (result == RESULT_OK)
		result = argv_report_add(
		    audit->leaks, audit->hardening, &findings, container);
	argv_finding_clear(&findings);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_audit_argv_fault(result, &fault);
}

static int
command_audit_argv_line(
    struct command_audit_argv *audit, const char *const *words, size_t count)
{
	struct argv_line line;
	struct argv_items items;
	struct argv_fault fault;
	enum result result = argv_words_read(words, count, &line, &fault);
	int code;

	if (result != RESULT_OK)
		return command_audit_argv_fault(result, &fault);
	audit->source = "command_line";
	audit->engine = argv_words_engine(line.engine);
	audit->command = line.command == ARGV_RUN ? "run" : "create";
	audit->image = words[line.image - 1];
	result = argv_items_of_line(&line, &items, &fault);
	code = result == RESULT_OK
		   ? command_audit_argv_judge(audit, &items, NULL)
		   : command_audit_argv_fault(result, &fault);
	argv_items_clear(&items);
	argv_words_clear(&line);
	return code;
}

/* The whole file, or standard input for "-". */
static int
command_audit_argv_read(const char *path, char **text_r, size_t *len_r)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int file FD_CLEANUP = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	enum result result;

	if (!is_stdin && file < 0)
		return command_error(
		    COMMAND_USAGE, "--inspect %s: %s", path, strerror(errno));
	result = fd_read_all(is_stdin ? STDIN_FILENO : file,
	    ARGV_INSPECT_BYTES_MAX, text_r, len_r);
	if (result == RESULT_OK)
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "--inspect %s: it cannot be read, or is longer than 4 MiB", path);
}

static int
command_audit_argv_inspect(struct command_audit_argv *audit)
{
	struct argv_inspect *inspect = NULL;
	struct argv_fault fault;
	char *text = NULL;
	size_t len = 0;
	enum result result;
	int code = command_audit_argv_read(audit->inspect, &text, &len);

	if (code != COMMAND_DONE)
		return code;
	result = argv_inspect_parse(text, len, &inspect, &fault);
	free(text);
	if (result != RESULT_OK)
		return command_error(
		    result == RESULT_BAD ? COMMAND_USAGE : COMMAND_INTERNAL,
		    "--inspect %s: %s", audit->inspect,
		    fault.text[0] != '\0' ? fault.text : result_text(result));
	audit->source = "inspect";
	audit->engine =
	    argv_words_engine(argv_inspect_items_borrow(inspect, 0)->engine);
	for (size_t i = 0;
	     i < argv_inspect_count(inspect) && code == COMMAND_DONE; i++)
		code = command_audit_argv_judge(audit,
		    argv_inspect_items_borrow(inspect, i),
		    argv_inspect_name_borrow(inspect, i));
	argv_inspect_free(&inspect);
	return code;
}

static int
command_audit_argv_json(const struct command_audit_argv *audit, bool clean)
{
	json_t *value = json_pack("{s:b, s:s, s:s, s:s?, s:o, s:O, s:O}", "ok",
	    clean, "source", audit->source, "engine", audit->engine, "command",
	    audit->command, "image",
	    audit->image != NULL ? argv_report_text(audit->image) : json_null(),
	    "findings", audit->leaks, "hardening", audit->hardening);
	int code;

	if (value == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	code = command_print_json(value);
	json_decref(value);
	return code;
}

static int
command_audit_argv_print(const struct command_audit_argv *audit)
{
	size_t leaks = json_array_size(audit->leaks);
	size_t hardening = json_array_size(audit->hardening);
	bool clean = leaks == 0 && hardening == 0;
	int code = COMMAND_DONE;

	if (audit->json) {
		code = command_audit_argv_json(audit, clean);
	} else if (clean) {
		printf("no finding\n");
	} else {
		if (leaks > 0)
			printf("the host leaks in:\n");
		argv_report_print(stdout, audit->leaks);
		if (hardening > 0)
			printf("hardening that is missing:\n");
		argv_report_print(stdout, audit->hardening);
	}
	if (code != COMMAND_DONE)
		return code;
	return clean ? COMMAND_DONE : COMMAND_NO;
}

static int
command_audit_argv_run(int argc, char **argv)
{
	struct command_audit_argv audit = {
	    .leaks = json_array(), .hardening = json_array()};
	int code = command_audit_argv_options(&audit, argc, argv);

	if (code == COMMAND_DONE && audit.inspect != NULL)
		code = command_audit_argv_inspect(&audit);
	else if (code == COMMAND_DONE)
		code = command_audit_argv_line(&audit,
		    (const char *const *)argv + optind,
		    (size_t)(argc - optind));
	if (code == COMMAND_DONE)
		code = command_audit_argv_print(&audit);
	json_decref(audit.leaks);
	json_decref(audit.hardening);
	return code;
}

const struct command command_audit_argv_rows[] = {
    {"audit-argv", "name the leaks of a docker or podman command line",
	"Usage: agentnode audit-argv [--json] -- ENGINE [OPTION]... run "
	"[OPTION]...\n"
	"                            IMAGE [WORD]...\n"
	"       agentnode audit-argv [--json] --inspect FILE\n"
	"Reads a command line of docker, podman or nerdctl (run, create,\n"
	"container run) with the engine's own option grammar, and names each\n"
	"way the host leaks in and each wall that is missing: code, the words\n"
	"it was found in, why it matters, what to write instead. Nothing is\n"
	"run. Words behind the image belong to the program inside. Begin with\n"
	"the engine: sudo or env before it are refused.\n\n"
	"Options:\n"
	"  --inspect FILE  what docker inspect or podman inspect printed\n"
	"                  (\"-\": standard input)\n"
	"  --json          the findings as JSON\n\n"
	"Exit codes: 0 no finding, 1 findings, 2 the words are no command\n"
	"line it knows (an option that is not in its tables, too).\n\n"
	"Example:\n"
	"  agentnode audit-argv -- docker run -v /home/dev/project:/work \\\n"
	"      -e AWS_SECRET_ACCESS_KEY python:3.12-slim\n",
	command_audit_argv_run},
    {NULL, NULL, NULL, NULL},
};
