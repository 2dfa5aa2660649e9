/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode agent run`: options to a run; the story is in agent_run.c.
 * Called by command_dispatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "egress-proxy/policy_entry.h"
#include "supervisor/command/agent_run.h"
#include "supervisor/command/auth_option.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/suffix_check.h"

static int
command_agent_allow(struct agent_run_options *options, const char *text)
{
	char why[SUFFIX_CHECK_WHY_MAX] = "";
	struct policy_entry entry;
	enum policy_entry_fault fault = policy_entry_parse(
	    text, strlen(text), POLICY_ENTRY_FROM_HOST, &entry);

	if (fault != POLICY_ENTRY_OK)
		return command_error(COMMAND_USAGE, "--allow '%s' %s", text,
		    policy_entry_fault_text(fault, entry.name_fault));
	if (suffix_check_entry(&entry, why) != RESULT_OK)
		return command_error(
		    COMMAND_USAGE, "--allow '%s' %s", text, why);
	if (options->allow_count == AGENT_PLAN_ALLOW_MAX)
		return command_error(COMMAND_USAGE,
		    "--allow can be given at most %u times",
		    AGENT_PLAN_ALLOW_MAX);
	options->allow[options->allow_count++] = text;
	return COMMAND_DONE;
}

static int
command_agent_input(struct agent_run_options *options, const char *text)
{
	struct json_fault fault = {""};

	json_decref(options->input);
	options->input = NULL;
	if (json_field_parse(text, strlen(text), &options->input, &fault) !=
	    RESULT_OK)
		return command_error(COMMAND_USAGE, "--input: %s", fault.text);
	if (json_is_object(options->input))
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "--input must be a JSON object, as in '{\"name\":\"value\"}'");
}

static int
command_agent_passphrase(struct agent_run_options *options, const char *text)
{
	char *end = NULL;
	long fd;

	errno = 0;
	fd = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || fd < 0 || fd > 65535 ||
	    fcntl((int)fd, F_GETFD) < 0)
		return command_error(COMMAND_USAGE,
		    "--passphrase-fd %s is no open descriptor", text);
	/* Its own copy: 0 and 1 are let go before it is read. */
	fd_close(&options->passphrase_fd);
	options->passphrase_fd = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
	if (options->passphrase_fd < 0)
		return command_error(COMMAND_USAGE, "--passphrase-fd %s: %s",
		    text, strerror(errno));
	return COMMAND_DONE;
}

static int
command_agent_option(struct agent_run_options *options, int option)
{
	switch (option) {
	case 'g':
		options->goal = optarg;
		return COMMAND_DONE;
	case 'i':
		return command_agent_input(options, optarg);
	case 'a':
		return command_agent_allow(options, optarg);
	case 'l':
		options->lockfile = optarg;
		return COMMAND_DONE;
	case 'p':
		return command_agent_passphrase(options, optarg);
	case 's':
		return auth_option_secrets(optarg);
	case 'v':
		options->verbose = true;
		return COMMAND_DONE;
	default:
		return command_option_fault("agent run");
	}
}

static int
command_agent_parse(int argc, char **argv, struct agent_run_options *options)
{
	static const struct option known[] = {
	    {"goal", required_argument, NULL, 'g'},
	    {"input", required_argument, NULL, 'i'},
	    {"allow", required_argument, NULL, 'a'},
	    {"lockfile", required_argument, NULL, 'l'},
	    {"passphrase-fd", required_argument, NULL, 'p'},
	    {"secrets-passphrase-fd", required_argument, NULL, 's'},
	    {"verbose", no_argument, NULL, 'v'}, {NULL, 0, NULL, 0}};
	int option, code = COMMAND_DONE;

	while (code == COMMAND_DONE &&
	       (option = command_option_next(argc, argv, "", known)) != -1)
		code = command_agent_option(options, option);
	if (code == COMMAND_DONE && optind + 1 != argc)
		return command_option_fault("agent run");
	if (code != COMMAND_DONE)
		return code;
	options->slug = argv[optind];
	if (!slug_is_valid(options->slug))
		return command_error(COMMAND_USAGE,
		    "'%.60s' is no slug: " SLUG_RULE, options->slug);
	return COMMAND_DONE;
}

static int
command_agent_run(int argc, char **argv)
{
	struct agent_run_options options = {
	    .passphrase_fd = -1, .raw = isatty(STDOUT_FILENO) == 0};
	int code = command_agent_parse(argc, argv, &options);

	if (code == COMMAND_DONE)
		code = agent_run(&options);
	fd_close(&options.passphrase_fd);
	json_decref(options.input);
	return code;
}

extern const struct command command_agent_rows[];
const struct command command_agent_rows[] = {
    {"agent run", "run an installed agent in its sandbox",
	"Usage: agentnode agent run SLUG [--goal TEXT] [--input JSON]\n"
	"         [--allow ENTRY]... [--lockfile FILE] [--passphrase-fd N] "
	"[--verbose]\n"
	"         [--secrets-passphrase-fd N]\n\n"
	"The agent reaches the language models that its manifest asks for and\n"
	"the host grants (agent_sandbox.llm), the tools of the packages its\n"
	"manifest lists, and the hosts it declared; nothing else. No key "
	"enters\n"
	"the sandbox. Agents are off until agent_sandbox.enabled is true.\n\n"
	"  --goal TEXT          instead of the manifest's goal\n"
	"  --input JSON         an object: the function's named arguments\n"
	"  --allow ENTRY        one more host for this run\n"
	"  --lockfile FILE      instead of the one in force\n"
	"  --passphrase-fd N    of keys.enc, read from this descriptor\n"
	"  --secrets-passphrase-fd N\n"
	"                       of secrets.enc, likewise\n"
	"  --verbose            the agent's own output to standard error\n\n"
	"The result is one line of JSON on standard output; a program's own\n"
	"output is passed on instead.\n\n"
	"Example: agentnode agent run my-agent --input '{\"topic\":\"tea\"}'\n",
	command_agent_run},
    {NULL, NULL, NULL, NULL},
};
