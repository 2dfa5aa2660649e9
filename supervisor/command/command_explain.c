/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode explain`: where packages may run (the whole table), and what
 * one package may do and why. Called by command_dispatch. It changes
 * nothing and starts nothing.
 */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/explain_facts.h"
#include "supervisor/policy/boundary_table.h"

#define COMMAND_EXPLAIN_WIDTH 68U
#define COMMAND_EXPLAIN_TEXT_MAX 4096U

struct command_explain {
	bool json, matrix;
	const char *slug, *lockfile;
};

static bool
command_explain_parse(int argc, char **argv, struct command_explain *explain_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"matrix", no_argument, NULL, 'm'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option;

	*explain_r = (struct command_explain){.json = false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			explain_r->json = true;
		else if (option == 'm')
			explain_r->matrix = true;
		else if (option == 'l')
			explain_r->lockfile = optarg;
		else
			return false;
	}
	explain_r->slug = optind < argc ? argv[optind] : NULL;
	return explain_r->matrix ? optind == argc && explain_r->lockfile == NULL
				 : argc - optind == 1;
}

static int
command_explain_matrix(const struct command_explain *explain)
{
	json_t *table;
	int code;

	if (!explain->json) {
		boundary_table_print(stdout);
		return COMMAND_DONE;
	}
	table = boundary_table_json();
	if (table == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	code = command_print_json(table);
	json_decref(table);
	return code;
}

/* A topic, and its text, escaped and cut into lines that fit. */
static void
command_explain_line(const char *topic, const char *foreign)
{
	size_t width = COMMAND_EXPLAIN_WIDTH, len, cut;
	char clean[COMMAND_EXPLAIN_TEXT_MAX];
	const char *text = clean;

	log_clean(foreign, strlen(foreign), clean, sizeof(clean));
	len = strlen(text);

	while (len > 0) {
		cut = len;
		if (len > width) {
			for (cut = width; cut > 0 && text[cut] != ' '; cut--)
				;
			if (cut == 0)
				cut = strcspn(text, " ");
		}
		printf("%-9s %.*s\n", topic, (int)cut, text);
		topic = "";
		text += cut;
		text += strspn(text, " ");
		len = strlen(text);
	}
}

static int
command_explain_package(const struct command_explain *explain)
{
	struct explain_facts facts;
	const json_t *line;
	size_t i;
	int code = COMMAND_DONE;

	if (explain_facts_make(explain->slug, explain->lockfile, &facts) !=
	    RESULT_OK)
		code = command_fault(facts.result, &facts.fault);
	else if (explain->json)
		code = command_print_json(facts.answer);
	else
		json_array_foreach(
		    json_object_get(facts.answer, "words"), i, line)
		    command_explain_line(
			json_string_value(json_object_get(line, "about")),
			json_string_value(json_object_get(line, "text")));
	explain_facts_clear(&facts);
	return code;
}

static int
command_explain_run(int argc, char **argv)
{
	struct command_explain explain;

	if (!command_explain_parse(argc, argv, &explain))
		return command_option_fault("explain");
	return explain.matrix ? command_explain_matrix(&explain)
			      : command_explain_package(&explain);
}

extern const struct command command_explain_rows[];
const struct command command_explain_rows[] = {
    {"explain", "what a package may do, where it runs, and why",
	"Usage: agentnode explain SLUG [--lockfile FILE] [--json]\n"
	"       agentnode explain --matrix [--json]\n\n"
	"Says in words what an installed package may do on this host: its\n"
	"tier and what proves it, where it runs and why, what it reaches,\n"
	"its tools, its secrets by name, its limits, its LLM. With --matrix:\n"
	"where packages of every kind and tier run under every policy.\n\n"
	"Options:\n"
	"  --matrix          the whole table of decisions\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            the same as one JSON object\n\n"
	"Example:\n"
	"  agentnode explain server-memory\n",
	command_explain_run},
    {NULL, NULL, NULL, NULL},
};
