/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode probe`: what a task that means harm finds, behind a boundary
 * or, for comparison, on the host. The sandboxed one answers in fixed-size
 * records; the one on the host is only started, with the caller's own
 * environment, which is the point; that behind a policy is the command of an
 * `exec --boundary policy` like any other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/child.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/exec_run.h"
#include "supervisor/engine/selftest.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/config_idn.h"

#define COMMAND_PROBE_PROGRAM "agentnode-probe"
#define COMMAND_PROBE_ALLOW_MAX 64U
#define COMMAND_PROBE_WORDS 16U
#define COMMAND_PROBE_ENTRY_MAX 320U
#define COMMAND_PROBE_OUTPUT (64U << 10) /* of its report */

struct command_probe {
	bool json, on_host, by_policy; /* the two report themselves */
	enum selftest_boundary boundary;
	json_t *allow; /* canonical entries */
	const char *words[COMMAND_PROBE_WORDS];
	size_t word_count;
	char path[4096]; /* of the program */
	int fault;       /* exit code, 0: none so far */
};

static void
command_probe_word(
    struct command_probe *probe, const char *option, const char *value)
{
	if (probe->word_count + 3 > COMMAND_PROBE_WORDS) {
		probe->fault = command_option_fault("probe");
		return;
	}
	probe->words[probe->word_count++] = option;
	probe->words[probe->word_count++] = value;
}

static void
command_probe_allow(struct command_probe *probe, const char *text)
{
	char canonical[COMMAND_PROBE_ENTRY_MAX], why[CONFIG_IDN_WHY_MAX];

	if (!config_idn_entry(text, false, canonical, sizeof(canonical), why))
		probe->fault =
		    command_error(COMMAND_CONFIG, "--allow %s: %s", text, why);
	else if (json_array_size(probe->allow) >= COMMAND_PROBE_ALLOW_MAX ||
		 json_array_append_new(probe->allow, json_string(canonical)) !=
		     0)
		probe->fault = command_option_fault("probe");
}

static void
command_probe_boundary(struct command_probe *probe, const char *word)
{
	probe->on_host = strcmp(word, "host") == 0;
	probe->by_policy = strcmp(word, "policy") == 0;
	probe->boundary = SELFTEST_CONTAINER;
	if (strcmp(word, "native") == 0)
		probe->boundary = SELFTEST_NATIVE;
	else if (!probe->on_host && !probe->by_policy &&
		 strcmp(word, "container") != 0)
		probe->fault = command_error(COMMAND_USAGE,
		    "--boundary '%.40s' must be container, native, policy or "
		    "host",
		    word);
}

static void
command_probe_options(struct command_probe *probe, int argc, char **argv)
{
	static const struct option known[] = {{"json", 0, NULL, 'j'},
	    {"on-host", 0, NULL, 'H'}, {"boundary", 1, NULL, 'b'},
	    {"allow", 1, NULL, 'a'}, {"url", 1, NULL, 'u'},
	    {"raw", 1, NULL, 'r'}, {"metadata", 1, NULL, 'm'},
	    {"resolver", 1, NULL, 'n'}, {NULL, 0, NULL, 0}};
	int option;

	while (probe->fault == 0 &&
	       (option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			probe->json = true;
		else if (option == 'H')
			command_probe_boundary(probe, "host");
		else if (option == 'b')
			command_probe_boundary(probe, optarg);
		else if (option == 'a')
			command_probe_allow(probe, optarg);
		else if (option == 'u')
			command_probe_word(probe, "--url", optarg);
		else if (option == 'r')
			command_probe_word(probe, "--raw", optarg);
		else if (option == 'm')
			command_probe_word(probe, "--metadata", optarg);
		else if (option == 'n')
			command_probe_word(probe, "--resolver", optarg);
		else
			probe->fault = command_option_fault("probe");
	}
	if (probe->fault == 0 &&
	    (optind != argc || ((probe->on_host || probe->by_policy) &&
				   json_array_size(probe->allow) > 0)))
		probe->fault = command_option_fault("probe");
}

/* By agentnode-host: our environment is not its own, and the end of it is
 * the end of all that it started. */
static int
command_probe_by_policy(struct command_probe *probe)
{
	struct exec_request *request = calloc(1, sizeof(*request));
	int code;

	if (request == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	command_probe_word(probe, "--scratch", ".");
	request->boundary = EXEC_POLICY;
	request->max_output = COMMAND_PROBE_OUTPUT;
	request->argv = probe->words;
	code = exec_run(request);
	free(request);
	return code;
}

/* Becomes the probe; comes back only when that failed. */
static int
command_probe_on_host(struct command_probe *probe)
{
	(void)execv(probe->words[0], (char *const *)probe->words);
	return command_error(
	    COMMAND_INTERNAL, "%s: %s", probe->words[0], strerror(errno));
}

static int
command_probe_reporting(struct command_probe *probe)
{
	if (child_program_path(COMMAND_PROBE_PROGRAM, probe->path,
		sizeof(probe->path)) != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE,
		    COMMAND_PROBE_PROGRAM " is not installed beside agentnode");
	probe->words[0] = probe->path;
	return probe->by_policy ? command_probe_by_policy(probe)
				: command_probe_on_host(probe);
}

/* A list of rows as one object of facts. */
static json_t *
command_probe_object(const json_t *rows)
{
	json_t *object = json_object();

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *name =
		    json_string_value(json_object_get(row, "name"));
		const char *text =
		    json_string_value(json_object_get(row, "detail"));
		bool yes = strcmp(text, "true") == 0;

		(void)json_object_set_new(object, name,
		    yes || strcmp(text, "false") == 0 ? json_boolean(yes)
						      : json_string(text));
	}
	return object;
}

static int
command_probe_print(const struct command_probe *probe, const json_t *rows)
{
	int code = COMMAND_DONE;

	if (probe->json) {
		json_t *object = command_probe_object(rows);

		code = command_print_json(object);
		json_decref(object);
		return code;
	}
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		printf("%-19s %s\n",
		    json_string_value(json_object_get(row, "name")),
		    json_string_value(json_object_get(row, "detail")));
	}
	return code;
}

static int
command_probe_sealed(struct command_probe *probe)
{
	struct json_fault fault = {""};
	struct config *config = NULL;
	json_t *egress = NULL, *rows = NULL;
	char detail[640] = "";
	enum result result = config_load(&config, &fault);
	int code;

	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (probe->boundary == SELFTEST_CONTAINER &&
	    config_text(config, "sandbox.image") == NULL) {
		config_free(&config);
		return command_error(COMMAND_UNAVAILABLE,
		    "no sandbox image is pinned; run 'agentnode sandbox "
		    "build'");
	}
	if (json_array_size(probe->allow) > 0)
		egress =
		    json_pack("{s:O, s:[]}", "allow", probe->allow, "deny");
	probe->words[probe->word_count++] = "--records";
	result = selftest_facts(config, probe->boundary, probe->words, egress,
	    &rows, detail, sizeof(detail));
	code = result == RESULT_OK
		   ? command_probe_print(probe, rows)
		   : command_error(COMMAND_UNAVAILABLE, "%s",
			 detail[0] != '\0' ? detail : result_text(result));
	json_decref(rows);
	json_decref(egress);
	config_free(&config);
	return code;
}

static int
command_probe_run(int argc, char **argv)
{
	struct command_probe probe = {
	    .words = {COMMAND_PROBE_PROGRAM, "--report"}, .word_count = 2};
	int code;

	probe.allow = json_array();
	command_probe_options(&probe, argc, argv);
	if (probe.fault != 0)
		code = probe.fault;
	else if (probe.on_host || probe.by_policy)
		code = command_probe_reporting(&probe);
	else
		code = command_probe_sealed(&probe);
	json_decref(probe.allow);
	return code;
}

const struct command command_probe_rows[] = {
    {"probe", "show what a task that means harm finds in a sandbox",
	"Usage: agentnode probe [--boundary BOUNDARY] [--allow ENTRY]...\n"
	"                       [--url URL] [--json]\n"
	"       agentnode probe --boundary host|policy [--url URL]\n"
	"Looks for credentials below HOME and below every home that the\n"
	"password database names, and in the environment; opens a URL by the\n"
	"proxy variables and by a socket of its own, asks a name server, "
	"dials\n"
	"a raw and the metadata address; writes outside its scratch, looks "
	"for\n"
	"the engine's socket and forks past its limit; prints what came of\n"
	"each, names only. Behind a boundary of its own, or on the host as an\n"
	"ordinary program, to compare.\n"
	"\n"
	"  --boundary BOUNDARY  container (the default): a sandbox; native: "
	"the\n"
	"                      operating system's walls, read-only; policy: "
	"a\n"
	"                      command of exec's boundary of that name; "
	"host: none.\n"
	"                      The last two always answer as JSON\n"
	"  --allow ENTRY       what it reaches; may be repeated\n"
	"  --url URL           the URL it opens\n"
	"  --raw ADDRESS       dialled on port 443 (1.1.1.1)\n"
	"  --metadata ADDRESS  dialled on port 80 (169.254.169.254)\n"
	"  --resolver ADDRESS  asked for a name on port 53 (8.8.8.8)\n"
	"  --json              one JSON object\n"
	"  --on-host           the same as --boundary host\n"
	"\n"
	"Example:\n"
	"  agentnode probe --allow api.example.com \\\n"
	"      --url https://api.example.com/\n",
	command_probe_run},
    {NULL, NULL, NULL, NULL}};
