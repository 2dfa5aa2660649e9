/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode config get|set|unset|list`: the keys of the configuration,
 * their values and where these come from. Called by command_dispatch.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/egress_lint.h"

struct command_config_options {
	bool json, origin;
};

/* Options of all four; false after a wrong one. */
static bool
command_config_parse(
    int argc, char **argv, struct command_config_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"origin", no_argument, NULL, 'o'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_config_options){false, false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'o')
			options_r->origin = true;
		else
			return false;
	}
	return true;
}

static int
command_config_unknown(const char *name)
{
	const char *nearest = config_table_nearest(name);

	if (nearest != NULL)
		return command_error(COMMAND_USAGE,
		    "there is no key '%s'; the nearest is '%s'", name, nearest);
	return command_error(COMMAND_USAGE,
	    "there is no key '%s'; 'agentnode config list' shows all", name);
}

static json_t *
command_config_row(const struct config *config, const struct config_key *key)
{
	const json_t *value = config_json(config, key->name);

	return json_pack("{s:s, s:s, s:O?, s:s, s:s?}", "key", key->name,
	    "type", config_table_type_text(key->type), "value", value, "origin",
	    config_origin(config, key->name), "default", key->default_text);
}

/* Load or say why not. */
static int
command_config_load(struct config **config_r)
{
	struct json_fault fault = {""};
	enum result result = config_load(config_r, &fault);

	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static int
command_config_print_one(const struct config *config,
    const struct config_key *key, const struct command_config_options *options)
{
	json_t *row;
	char *text;
	int code;

	if (options->json) {
		row = command_config_row(config, key);
		code = command_print_json(row);
		json_decref(row);
		return code;
	}
	if (config_json(config, key->name) == NULL)
		return command_error(COMMAND_NO, "%s is not set", key->name);
	text = config_typed(config, key->name);
	if (text == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	if (options->origin)
		printf("%s\t%s\n", text, config_origin(config, key->name));
	else
		puts(text);
	free(text);
	return COMMAND_DONE;
}

static int
command_config_get(int argc, char **argv)
{
	struct command_config_options options;
	const struct config_key *key;
	struct config *config;
	int code;

	if (!command_config_parse(argc, argv, &options) || argc - optind != 1)
		return command_option_fault("config get");
	key = config_table_find(argv[optind]);
	if (key == NULL)
		return command_config_unknown(argv[optind]);
	code = command_config_load(&config);
	if (code != COMMAND_DONE)
		return code;
	code = command_config_print_one(config, key, &options);
	config_free(&config);
	return code;
}

static int
command_config_list_json(const struct config *config)
{
	const struct config_key *key;
	json_t *answer, *rows = json_array();
	int code;

	for (key = config_table; key->name != NULL; key++)
		json_array_append_new(rows, command_config_row(config, key));
	answer = json_pack("{s:o}", "keys", rows);
	code = command_print_json(answer);
	json_decref(answer);
	return code;
}

static int
command_config_list(int argc, char **argv)
{
	struct command_config_options options;
	const struct config_key *key;
	struct config *config;
	char *text;
	int code;

	if (!command_config_parse(argc, argv, &options) || argc != optind)
		return command_option_fault("config list");
	code = command_config_load(&config);
	if (code != COMMAND_DONE)
		return code;
	if (options.json)
		code = command_config_list_json(config);
	for (key = config_table; !options.json && key->name != NULL; key++) {
		text = config_typed(config, key->name);
		if (options.origin)
			printf("%-12s", config_origin(config, key->name));
		printf("%s = %s\n", key->name, text != NULL ? text : "");
		free(text);
	}
	config_free(&config);
	return code;
}

/* What the operator should know about what was put on the list. */
static void
command_config_lint(const struct config *config, const char *name)
{
	const json_t *list;
	const char *entry, *said;
	size_t i;

	if (strcmp(name, "egress.allow") != 0)
		return;
	list = config_json(config, name);
	for (i = 0; i < json_array_size(list); i++) {
		entry = json_string_value(json_array_get(list, i));
		said = entry != NULL ? egress_lint_entry(entry) : NULL;
		if (said != NULL)
			fprintf(stderr, "Note: %s %s.\n", entry, said);
	}
}

/* Show what holds now: names may have been converted, and the environment
 * or the team policy may have the last word. */
static int
command_config_show(const char *name, bool was_set)
{
	struct config *config;
	const char *origin;
	char *text;
	int code;

	code = command_config_load(&config);
	if (code != COMMAND_DONE)
		return code;
	text = config_typed(config, name);
	origin = config_origin(config, name);
	printf("%s = %s\n", name, text != NULL ? text : "");
	if (was_set && strcmp(origin, "policy") == 0)
		fprintf(stderr, "The team policy narrows this value.\n");
	else if (was_set && strcmp(origin, "environment") == 0)
		fprintf(stderr, "The environment's %s overrides it here.\n",
		    config_table_find(name)->environment);
	if (was_set)
		command_config_lint(config, name);
	free(text);
	config_free(&config);
	return COMMAND_DONE;
}

static int
command_config_change(const char *name, const char *text)
{
	struct json_fault fault = {""};
	enum result result;

	if (config_table_find(name) == NULL)
		return command_config_unknown(name);
	result = config_set(name, text, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	return command_config_show(name, text != NULL);
}

static int
command_config_set(int argc, char **argv)
{
	struct command_config_options options;

	if (!command_config_parse(argc, argv, &options) || argc - optind != 2 ||
	    options.json || options.origin)
		return command_option_fault("config set");
	return command_config_change(argv[optind], argv[optind + 1]);
}

static int
command_config_unset(int argc, char **argv)
{
	struct command_config_options options;

	if (!command_config_parse(argc, argv, &options) || argc - optind != 1 ||
	    options.json || options.origin)
		return command_option_fault("config unset");
	return command_config_change(argv[optind], NULL);
}

const struct command command_config_rows[] = {
    {"config get", "print one value",
	"Usage: agentnode config get [--origin] [--json] KEY\n\n"
	"Prints the value in force; exits 1 when the key is not set.\n\n"
	"Options:\n"
	"  --origin   also print where the value comes from\n"
	"  --json     one object: key, type, value, origin, default\n\n"
	"Example:\n"
	"  agentnode config get sandbox.memory\n",
	command_config_get},
    {"config set", "set one value in config.json",
	"Usage: agentnode config set KEY VALUE\n\n"
	"Checks the value, writes AGENTNODE_HOME/config.json and prints what\n"
	"is in force now. Lists are comma-separated or a JSON array, sizes\n"
	"take k, m and g. Put '--' before a value that begins with '-'.\n\n"
	"Example:\n"
	"  agentnode config set egress.allow api.example.com,*.example.org\n",
	command_config_set},
    {"config unset", "take one value out of config.json",
	"Usage: agentnode config unset KEY\n\n"
	"The default, the environment or the team policy holds again.\n\n"
	"Example:\n"
	"  agentnode config unset sandbox.memory\n",
	command_config_unset},
    {"config list", "print all values",
	"Usage: agentnode config list [--origin] [--json]\n\n"
	"Options:\n"
	"  --origin   first column: default, user, environment or policy\n"
	"  --json     {\"keys\": [...]}, each as 'config get --json'\n\n"
	"Example:\n"
	"  agentnode config list --origin\n",
	command_config_list},
    {NULL, NULL, NULL, NULL},
};
