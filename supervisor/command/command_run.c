/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode run`: options to a run of a tool; the story is in pack_run.c.
 * Called by command_dispatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/auth_option.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/pack_run.h"
#include "supervisor/package/slug.h"

#define COMMAND_RUN_INPUT_MAX (1U << 20)
#define COMMAND_RUN_TIMEOUT_MAX 86400L

/* --json-input FILE or -, an object. */
static int
command_run_input(struct pack_run_plan_options *options, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int file FD_CLEANUP = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct json_fault fault = {""};
	enum result result;
	char *text = NULL;
	size_t len = 0;

	if (!is_stdin && file < 0)
		return command_error(COMMAND_USAGE, "--json-input %s: %s", path,
		    strerror(errno));
	result = fd_read_all(
	    is_stdin ? STDIN_FILENO : file, COMMAND_RUN_INPUT_MAX, &text, &len);
	if (result == RESULT_OK)
		result = json_field_parse(text, len, &options->input, &fault);
	free(text);
	if (result != RESULT_OK)
		return command_error(COMMAND_USAGE, "--json-input %s: %s", path,
		    fault.text[0] != '\0'
			? fault.text
			: "it cannot be read, or is longer than 1 MiB");
	if (json_is_object(options->input))
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "--json-input %s must hold a JSON object, as {\"name\":\"value\"}",
	    path);
}

static int
command_run_timeout(struct pack_run_plan_options *options, const char *text)
{
	char *end = NULL;
	long seconds;

	errno = 0;
	seconds = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || seconds < 1 ||
	    seconds > COMMAND_RUN_TIMEOUT_MAX)
		return command_error(COMMAND_USAGE,
		    "--timeout '%s' must be 1 to %ld seconds", text,
		    COMMAND_RUN_TIMEOUT_MAX);
	options->timeout_s = (unsigned)seconds;
	return COMMAND_DONE;
}

static int
command_run_arg(struct pack_run_plan_options *options, const char *word)
{
	if (options->arg_count == PACK_RUN_PLAN_ARGS_MAX)
		return command_error(COMMAND_USAGE,
		    "--arg can be given at most %u times",
		    PACK_RUN_PLAN_ARGS_MAX);
	options->args[options->arg_count++] = word;
	return COMMAND_DONE;
}

static int
command_run_option(struct pack_run_plan_options *options, int option)
{
	switch (option) {
	case 'a':
		return command_run_arg(options, optarg);
	case 'i':
		if (options->input != NULL)
			return command_error(
			    COMMAND_USAGE, "--json-input is given twice");
		return command_run_input(options, optarg);
	case 't':
		return command_run_timeout(options, optarg);
	case 'l':
		options->lockfile = optarg;
		return COMMAND_DONE;
	case 'j':
		options->json = true;
		return COMMAND_DONE;
	case 'v':
		options->verbose = true;
		return COMMAND_DONE;
	case 'o':
		options->consent_once = true;
		return COMMAND_DONE;
	case 'p':
		return auth_option_secrets(optarg);
	default:
		return command_option_fault("run");
	}
}

/* SLUG or SLUG/TOOL. */
static int
command_run_name(struct pack_run_plan_options *options, char *word)
{
	char *slash = strchr(word, '/');

	if (slash != NULL) {
		*slash = '\0';
		options->tool = slash + 1;
	}
	options->slug = word;
	if (!slug_is_valid(word))
		return command_error(
		    COMMAND_USAGE, "'%.60s' is no slug: " SLUG_RULE, word);
	if (options->tool != NULL && options->tool[0] == '\0')
		return command_error(
		    COMMAND_USAGE, "there is no tool behind the slash");
	return COMMAND_DONE;
}

static int
command_run_parse(int argc, char **argv, struct pack_run_plan_options *options)
{
	static const struct option known[] = {
	    {"arg", required_argument, NULL, 'a'},
	    {"json-input", required_argument, NULL, 'i'},
	    {"timeout", required_argument, NULL, 't'},
	    {"lockfile", required_argument, NULL, 'l'},
	    {"json", no_argument, NULL, 'j'},
	    {"consent-once", no_argument, NULL, 'o'},
	    {"secrets-passphrase-fd", required_argument, NULL, 'p'},
	    {"verbose", no_argument, NULL, 'v'}, {NULL, 0, NULL, 0}};
	int option, code = COMMAND_DONE;

	while (code == COMMAND_DONE &&
	       (option = command_option_next(argc, argv, "", known)) != -1)
		code = command_run_option(options, option);
	if (code == COMMAND_DONE && optind + 1 != argc)
		return command_option_fault("run");
	return code == COMMAND_DONE ? command_run_name(options, argv[optind])
				    : code;
}

static int
command_run_run(int argc, char **argv)
{
	struct pack_run_plan_options options;
	int code;

	memset(&options, 0, sizeof(options));
	code = command_run_parse(argc, argv, &options);
	if (code == COMMAND_DONE)
		code = pack_run(&options);
	json_decref(options.input);
	return code;
}

extern const struct command command_run_rows[];
const struct command command_run_rows[] = {
    {"run", "run a tool of an installed tool pack in its sandbox",
	"Usage: agentnode run SLUG[/TOOL] [--arg NAME=VALUE]...\n"
	"         [--json-input FILE] [--timeout SECONDS] [--lockfile FILE]\n"
	"         [--json] [--verbose] [--consent-once]\n"
	"         [--secrets-passphrase-fd N]\n\n"
	"The tool's function is called in a sandbox of its own, with the "
	"network\n"
	"that its manifest declares: none, or the hosts it names and that "
	"were\n"
	"agreed to. TOOL may be left out when the pack has one. The result is\n"
	"one line of JSON on standard output; what the tool prints goes to "
	"the\n"
	"log.\n\n"
	"  --arg NAME=VALUE     an argument: text, or JSON where the tool's\n"
	"                       input_schema says another type\n"
	"  --json-input FILE    an object with arguments; - is standard input\n"
	"  --timeout SECONDS    less than packs.timeout_s\n"
	"  --lockfile FILE      instead of the one in force\n"
	"  --json               a report: result or error, exit, duration,\n"
	"                       memory\n"
	"  --verbose            what the tool prints, to standard error\n"
	"  --consent-once       give it its secrets, this time (`agentnode\n"
	"                       consent add` does for longer)\n"
	"  --secrets-passphrase-fd N\n"
	"                       of secrets.enc, read from this descriptor\n\n"
	"Exit code 0: there is a result; 1: the tool failed; 125: it never\n"
	"started; 137: it was ended (time, memory, or a result too long).\n\n"
	"Example: agentnode run word-count --arg text='three small words'\n",
	command_run_run},
    {NULL, NULL, NULL, NULL},
};
