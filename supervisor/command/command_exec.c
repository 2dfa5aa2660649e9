/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode exec`: options to a request; the story is in exec_run.c.
 * Called by command_dispatch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/exec_run.h"
#include "supervisor/policy/config_idn.h"

static const struct option command_exec_known[] = {
    {"boundary", required_argument, NULL, 'b'},
    {"input", required_argument, NULL, 'i'},
    {"allow", required_argument, NULL, 'a'},
    {"env", required_argument, NULL, 'e'},
    {"timeout", required_argument, NULL, 't'},
    {"max-output", required_argument, NULL, 'm'},
    {"mode", required_argument, NULL, 'o'},
    {"workspace", required_argument, NULL, 'w'},
    {"approval", required_argument, NULL, 'v'},
    {"protect", required_argument, NULL, 'p'},
    {"writable", required_argument, NULL, 'r'},
    {"image", required_argument, NULL, 'g'}, {"json", no_argument, NULL, 'j'},
    {"i-know", no_argument, NULL, 'k'}, {NULL, 0, NULL, 0}};

static bool
command_exec_allow(struct exec_request *request, const char *text,
    struct exec_request_fault *fault)
{
	char entry[EXEC_REQUEST_ENTRY_MAX], why[CONFIG_IDN_WHY_MAX];

	if (config_idn_entry(text, false, entry, sizeof(entry), why))
		return exec_request_allow(request, entry, fault);
	(void)snprintf(
	    fault->text, sizeof(fault->text), "%.200s: %s", text, why);
	return false;
}

/* One option; false: fault says why not, "" when it is none of ours. */
static bool
command_exec_option(struct exec_request *request, int option, char *value,
    struct exec_request_fault *fault)
{
	switch (option) {
	case 'b':
		return exec_request_boundary(request, value, fault);
	case 'i':
		return exec_request_input(request, value, fault);
	case 'a':
		return command_exec_allow(request, value, fault);
	case 'e':
		return exec_request_env(request, value, getenv("HOME"), fault);
	case 't':
		return exec_request_timeout(request, value, fault);
	case 'm':
		return exec_request_output(request, value, fault);
	case 'o':
		return exec_request_mode(request, value, fault);
	case 'w':
		request->native.workspace = value;
		return true;
	case 'v':
		return exec_request_approval(request, value, fault);
	case 'p':
		return exec_request_protect(request, value, fault);
	case 'r':
		return exec_request_writable(request, value, fault);
	case 'g':
		request->image = value;
		return true;
	case 'j':
		request->json = true;
		return true;
	case 'k':
		request->i_know = true;
		return true;
	default:
		return false;
	}
}

static const char *
command_exec_name(int option)
{
	for (const struct option *row = command_exec_known; row->name != NULL;
	     row++) {
		if (row->val == option)
			return row->name;
	}
	return "";
}

static int
command_exec_parse(int argc, char **argv, struct exec_request *request)
{
	struct exec_request_fault fault = {""};
	int option;

	/* "+": the first word that is no option begins the command. */
	while ((option = command_option_next(
		    argc, argv, "+", command_exec_known)) != -1) {
		if (command_exec_option(request, option, optarg, &fault))
			continue;
		if (fault.text[0] == '\0')
			return command_option_fault("exec");
		return command_error(COMMAND_USAGE, "--%s %s",
		    command_exec_name(option), fault.text);
	}
	if (optind >= argc || strcmp(argv[optind - 1], "--") != 0)
		return command_option_fault("exec");
	request->argv = (const char *const *)argv + optind;
	return COMMAND_DONE;
}

static int
command_exec_run(int argc, char **argv)
{
	struct exec_request *request = calloc(1, sizeof(*request));
	int code;

	if (request == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	code = command_exec_parse(argc, argv, request);
	if (code == COMMAND_DONE)
		code = exec_run(request);
	free(request);
	return code;
}

extern const struct command command_exec_rows[];
const struct command command_exec_rows[] = {
    {"exec", "run any command with nothing but what it is handed",
	"Usage: agentnode exec [--boundary container|native|policy]\n"
	"         [--input FILE]... [--allow ENTRY]... [--env NAME=VALUE]...\n"
	"         [--timeout 10s] [--max-output 8k] [--json] [--i-know]\n"
	"         [--image IMAGE] [--mode MODE] [--workspace DIR]\n"
	"         [--protect PATH]... [--writable DIR]... [--approval WHEN]\n"
	"         -- COMMAND [ARGUMENT]...\n"
	"\n"
	"The command gets no variable of yours, no network and an empty "
	"scratch\n"
	"directory, which is its HOME and TMPDIR. Files are copied in, and "
	"what it\n"
	"leaves comes back as text: exit status, both outputs, and every "
	"regular\n"
	"file at the top of the scratch directory that it was not given or "
	"that it\n"
	"changed. At its end or at the time limit all that it started dies, "
	"and\n"
	"the scratch directory is gone.\n"
	"\n"
	"  --boundary container  a hardened container of its own\n"
	"  --boundary native     the operating system's own walls; no engine, "
	"no\n"
	"                        image: the command sees /usr and what --mode "
	"says\n"
	"  --boundary policy     on the host, which is a policy and no "
	"boundary\n"
	"  --input FILE          a file of the current directory, by its "
	"plain\n"
	"                        name; NAME=PATH takes one from elsewhere\n"
	"  --allow ENTRY         what it reaches; may be repeated; not of "
	"policy\n"
	"  --env NAME=VALUE      a variable; one that is named like a "
	"credential,\n"
	"                        a proxy or a loader's is refused\n"
	"  --timeout 10s         its time: 250ms, 10s, 2m, 1h "
	"(exec.timeout_s)\n"
	"  --max-output 8k       what is shown of each output and file\n"
	"                        (exec.output_max)\n"
	"  --image IMAGE         NAME@sha256:DIGEST instead of sandbox.image\n"
	"  --mode MODE           native: read-only (the workspace can be "
	"read),\n"
	"                        workspace-write (and written, but for what "
	"runs\n"
	"                        code on the host), danger-full-access\n"
	"  --workspace DIR       with --mode; the current directory if left "
	"out\n"
	"  --protect PATH        one more that cannot be written in the "
	"workspace\n"
	"  --writable DIR        one more that can be written\n"
	"  --approval on-request  native: ask on the terminal about a host "
	"that\n"
	"                        was refused, then run it again; or never\n"
	"  --json                one JSON object\n"
	"  --i-know              hand over what --env refuses, or full access; "
	"the\n"
	"                        result says so\n"
	"\n"
	"Exit code: the command's own; 128 and its signal; 124 at the time\n"
	"limit; 125 when it never started; 137 when it was ended otherwise.\n\n"
	"Example: agentnode exec --timeout 5s -- python3 -c 'print(6 * 7)'\n",
	command_exec_run},
    {NULL, NULL, NULL, NULL},
};
