/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode argv`: the hardened command line that would be run, to read, to
 * compare, or to take along. Called by command_dispatch; starts nothing.
 */
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "supervisor/argv/argv_quote.h"
#include "supervisor/command/argv_plan.h"
#include "supervisor/command/argv_report.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/package/slug.h"

#define COMMAND_ARGV_LINE_MAX (4U << 20)

static int
command_argv_engine(const char *name, enum argv_engine *engine_r)
{
	if (strcmp(name, "podman") == 0)
		*engine_r = ARGV_PODMAN;
	else if (strcmp(name, "docker") == 0)
		*engine_r = ARGV_DOCKER;
	else
		return command_error(COMMAND_USAGE,
		    "--engine '%.40s' must be podman or docker", name);
	return COMMAND_DONE;
}

static int
command_argv_options(
    struct argv_plan_options *options, bool *json_r, int argc, char **argv)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"engine", required_argument, NULL, 'e'},
	    {"image", required_argument, NULL, 'i'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option, code = COMMAND_DONE;

	while (code == COMMAND_DONE &&
	       (option = command_option_next(argc, argv, "+", known)) != -1) {
		if (option == 'j')
			*json_r = true;
		else if (option == 'e')
			code = command_argv_engine(optarg, &options->engine);
		else if (option == 'i')
			options->image = optarg;
		else if (option == 'l')
			options->lockfile = optarg;
		else
			code = command_option_fault("argv");
	}
	return code;
}

/* SLUG unless there is an image, then the words behind "--". */
static int
command_argv_words(struct argv_plan_options *options, int argc, char **argv)
{
	bool ended = optind > 0 && strcmp(argv[optind - 1], "--") == 0;
	int at = optind;

	if (options->image == NULL) {
		if (at >= argc || ended)
			return command_option_fault("argv");
		options->slug = argv[at++];
		if (!slug_is_valid(options->slug))
			return command_error(COMMAND_USAGE,
			    "'%.60s' is no slug: " SLUG_RULE, options->slug);
		ended = at < argc && strcmp(argv[at], "--") == 0;
		at += ended ? 1 : 0;
	}
	if (at < argc && !ended)
		return command_option_fault("argv");
	options->words = (const char *const *)argv + at;
	options->word_count = (size_t)(argc - at);
	return COMMAND_DONE;
}

static int
command_argv_json(const struct argv_port *port)
{
	json_t *list = json_array();
	int code = COMMAND_DONE;

	for (size_t i = 0; i < port->count && code == COMMAND_DONE; i++) {
		if (json_array_append_new(
			list, argv_report_text(port->words[i])) != 0)
			code = command_error(COMMAND_INTERNAL, "out of memory");
	}
	if (code == COMMAND_DONE)
		code = command_print_json(list);
	json_decref(list);
	return code;
}

static int
command_argv_line(const struct argv_port *port)
{
	int code = COMMAND_DONE;
	struct buffer line;

	buffer_init(&line, COMMAND_ARGV_LINE_MAX);
	if (argv_quote_words(&line, (const char *const *)port->words,
		port->count) == RESULT_OK)
		printf("%.*s\n", (int)line.len,
		    (const char *)buffer_bytes_borrow(&line));
	else
		code = command_error(
		    COMMAND_INTERNAL, "the command line is too long");
	buffer_free(&line);
	return code;
}

static int
command_argv_run(int argc, char **argv)
{
	static struct argv_port port;
	struct argv_plan_options options = {.engine = ARGV_PODMAN};
	bool json = false;
	int code = command_argv_options(&options, &json, argc, argv);

	if (code == COMMAND_DONE)
		code = command_argv_words(&options, argc, argv);
	if (code == COMMAND_DONE)
		code = argv_plan_make(&options, &port);
	if (code == COMMAND_DONE)
		code =
		    json ? command_argv_json(&port) : command_argv_line(&port);
	argv_port_clear(&port);
	return code;
}

const struct command command_argv_rows[] = {
    {"argv", "print the hardened command line that would be run",
	"Usage: agentnode argv [--engine podman|docker] [--json] SLUG\n"
	"                      [-- WORD...]\n"
	"       agentnode argv [--engine podman|docker] [--json] --image "
	"IMAGE\n"
	"                      [-- PROGRAM [WORD]...]\n"
	"Decides what a run of an installed MCP server or tool pack would\n"
	"decide, or takes an image by digest, and prints the engine's command\n"
	"line with every hardening flag, quoted for a shell. Nothing is\n"
	"started. What only the supervisor can hand over is not in it: the\n"
	"control socket, the proxy behind the allowlist, secrets. The line\n"
	"passes audit-argv.\n\n"
	"Options:\n"
	"  --image IMAGE    NAME@sha256:DIGEST, no package\n"
	"  --engine ENGINE  podman (default), or spelled for docker\n"
	"  --lockfile FILE  instead of the lockfile found by rule\n"
	"  --json           the words as a JSON array\n\n"
	"Example:\n"
	"  agentnode argv --engine docker fetch-server\n",
	command_argv_run},
    {NULL, NULL, NULL, NULL},
};
