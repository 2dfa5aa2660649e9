/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode guard show|set|unset|check`: the rules, their changes, and what
 * they say of one tool. Called by command_dispatch. check must never leave a
 * trace: no record, no rate, nothing started.
 */
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/guard_say.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/guard_make.h"

#define COMMAND_GUARD_TARGET_MAX 256U

struct command_guard {
	bool json;
	const char *tool, *action, *lockfile;
};

/* The options that are allowed are the ones whose letters are in which. */
static bool
command_guard_parse(
    int argc, char **argv, const char *which, struct command_guard *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"tool", required_argument, NULL, 't'},
	    {"action", required_argument, NULL, 'a'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_guard){.json = false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == '?' || strchr(which, option) == NULL)
			return false;
		if (option == 'j')
			options_r->json = true;
		else if (option == 't')
			options_r->tool = optarg;
		else if (option == 'a')
			options_r->action = optarg;
		else
			options_r->lockfile = optarg;
	}
	return true;
}

static int
command_guard_bad_action(int code, const char *word)
{
	return command_error(code,
	    "'%s' is no action; they are read, compute, write_local, "
	    "write_external, delete, execute, credential_use, "
	    "network_egress and unknown",
	    word);
}

/* --- show --------------------------------------------------------------- */

static json_t *
command_guard_actions(const struct config *config)
{
	json_t *rows = json_array();
	char key[64];

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		enum guard_action action = (enum guard_action)i;

		(void)snprintf(
		    key, sizeof(key), "guard.%s", guard_action_name(action));
		(void)json_array_append_new(rows,
		    json_pack("{s:s, s:s, s:s}", "action",
			guard_action_name(action), "answer",
			guard_answer_name(guard_make_global(config, action)),
			"origin", config_origin(config, key)));
	}
	return rows;
}

static json_t *
command_guard_override(const struct config *config, const char *target)
{
	json_t *answers = json_object();
	enum guard_answer answer;

	for (unsigned i = 0; i < GUARD_ACTION_COUNT; i++) {
		enum guard_action action = (enum guard_action)i;

		if (guard_make_override(config, target, action, &answer))
			(void)json_object_set_new(answers,
			    guard_action_name(action),
			    json_string(guard_answer_name(answer)));
	}
	return answers;
}

/* As they hold: the team's beside the user's. */
static json_t *
command_guard_overrides(const struct config *config)
{
	const json_t *lists[] = {config_json(config, "guard.tool_overrides"),
	    config_ceiling(config, "guard.tool_overrides")};
	json_t *all = json_object(), *unused;
	const char *target;

	for (size_t i = 0; i < 2; i++)
		json_object_foreach((json_t *)lists[i], target, unused)(void)
		    json_object_set_new(
			all, target, command_guard_override(config, target));
	return all;
}

static json_t *
command_guard_rate(const struct config *config, const char *slug, bool agent)
{
	struct guard_rates rates = guard_make_rates(config, slug, agent);

	return json_pack("{s:I, s:I, s:I}", "calls_per_minute",
	    (json_int_t)rates.minute, "calls_per_hour", (json_int_t)rates.hour,
	    "burst_size", (json_int_t)rates.burst);
}

static json_t *
command_guard_rates(const struct config *config)
{
	const json_t *own = config_json(config, "guard.rate_limits");
	json_t *packages = json_object(), *unused;
	const char *slug;

	json_object_foreach((json_t *)own, slug, unused)
	{
		if (strcmp(slug, "default") != 0)
			(void)json_object_set_new(packages, slug,
			    command_guard_rate(config, slug, false));
	}
	return json_pack("{s:o, s:o, s:o}", "toolpack",
	    command_guard_rate(config, "default", false), "agent",
	    command_guard_rate(config, "default", true), "packages", packages);
}

static void
command_guard_print(const json_t *rules)
{
	const json_t *rate =
	    json_object_get(json_object_get(rules, "rate_limits"), "toolpack");
	const char *target, *action;
	json_t *row, *answers, *answer;
	size_t i;

	printf("strict: %s\n",
	    json_is_true(json_object_get(rules, "strict")) ? "on" : "off");
	json_array_foreach(json_object_get(rules, "actions"), i, row) printf(
	    "%-16s%-8s%s\n", json_string_value(json_object_get(row, "action")),
	    json_string_value(json_object_get(row, "answer")),
	    json_string_value(json_object_get(row, "origin")));
	json_object_foreach(json_object_get(rules, "tool_overrides"), target,
	    answers) json_object_foreach(answers, action, answer)
	    printf("%s: %s %s\n", target, action, json_string_value(answer));
	printf("calls of a tool pack: %d in a second, %d in a minute, %d in "
	       "an hour\n",
	    (int)json_integer_value(json_object_get(rate, "burst_size")),
	    (int)json_integer_value(json_object_get(rate, "calls_per_minute")),
	    (int)json_integer_value(json_object_get(rate, "calls_per_hour")));
}

static int
command_guard_show(int argc, char **argv)
{
	struct command_guard options;
	struct json_fault fault = {""};
	struct config *config = NULL;
	enum result result;
	json_t *rules;

	if (!command_guard_parse(argc, argv, "j", &options) || optind != argc)
		return command_option_fault("guard show");
	result = config_load(&config, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	rules = json_pack("{s:b, s:o, s:o, s:O, s:o}", "strict",
	    config_bool(config, "guard.strict"), "actions",
	    command_guard_actions(config), "tool_overrides",
	    command_guard_overrides(config), "agent_overrides",
	    config_json(config, "guard.agent_overrides"), "rate_limits",
	    command_guard_rates(config));
	if (options.json)
		command_print_json(rules);
	else
		command_guard_print(rules);
	json_decref(rules);
	config_free(&config);
	return COMMAND_DONE;
}

/* --- set and unset ------------------------------------------------------ */

struct command_guard_edit {
	const char *target, *action, *answer; /* answer NULL: take it out */
};

static void
command_guard_on_edit(json_t *overrides, void *context)
{
	const struct command_guard_edit *edit = context;
	json_t *row = json_object_get(overrides, edit->target);

	if (row == NULL && edit->answer != NULL) {
		(void)json_object_set_new(
		    overrides, edit->target, json_object());
		row = json_object_get(overrides, edit->target);
	}
	if (edit->answer != NULL)
		(void)json_object_set_new(
		    row, edit->action, json_string(edit->answer));
	else
		(void)json_object_del(row, edit->action);
	if (json_object_size(row) == 0)
		(void)json_object_del(overrides, edit->target);
}

/* What holds now: the team policy may have the last word. */
static int
command_guard_changed(const char *action, const char *target)
{
	struct json_fault fault = {""};
	struct config *config = NULL;
	enum guard_action which;
	enum guard_answer answer;
	enum result result = config_load(&config, &fault);

	if (result != RESULT_OK)
		return command_fault(result, &fault);
	(void)guard_action_parse(action, &which);
	answer = guard_make_global(config, which);
	if (target != NULL)
		(void)guard_make_override(config, target, which, &answer);
	printf("%s%s%s: %s\n", target != NULL ? target : "",
	    target != NULL ? " " : "", action, guard_answer_name(answer));
	if (config_bool(config, "guard.strict"))
		fprintf(
		    stderr, "guard.strict is on: no other rule widens it.\n");
	config_free(&config);
	return COMMAND_DONE;
}

static int
command_guard_change(const char *action, const char *answer, const char *target)
{
	struct command_guard_edit edit = {target, action, answer};
	struct json_fault fault = {""};
	char key[64];
	enum result result;

	(void)snprintf(key, sizeof(key), "guard.%s", action);
	if (target != NULL)
		result = config_edit("guard.tool_overrides",
		    command_guard_on_edit, &edit, &fault);
	else
		result = config_set(key, answer, &fault);
	return result == RESULT_OK ? command_guard_changed(action, target)
				   : command_fault(result, &fault);
}

/* ACTION, and for set its ANSWER; the exit code says whether they are. */
static int
command_guard_words(char **words, int count)
{
	enum guard_action action;
	enum guard_answer answer;

	if (!guard_action_parse(words[0], &action))
		return command_guard_bad_action(COMMAND_USAGE, words[0]);
	if (count > 1 && !guard_answer_parse(words[1], &answer))
		return command_error(COMMAND_USAGE,
		    "'%s' is no answer; they are allow, prompt and deny",
		    words[1]);
	return COMMAND_DONE;
}

static int
command_guard_set(int argc, char **argv)
{
	struct command_guard options;
	int code;

	if (!command_guard_parse(argc, argv, "t", &options) ||
	    argc - optind != 2)
		return command_option_fault("guard set");
	code = command_guard_words(argv + optind, 2);
	return code != COMMAND_DONE ? code
				    : command_guard_change(argv[optind],
					  argv[optind + 1], options.tool);
}

static int
command_guard_unset(int argc, char **argv)
{
	struct command_guard options;
	int code;

	if (!command_guard_parse(argc, argv, "t", &options) ||
	    argc - optind != 1)
		return command_option_fault("guard unset");
	code = command_guard_words(argv + optind, 1);
	return code != COMMAND_DONE
		   ? code
		   : command_guard_change(argv[optind], NULL, options.tool);
}

/* --- check -------------------------------------------------------------- */

static int
command_guard_check(int argc, char **argv)
{
	char slug[COMMAND_GUARD_TARGET_MAX];
	struct command_guard options;
	enum guard_action action;
	const char *slash;

	if (!command_guard_parse(argc, argv, "jal", &options) ||
	    argc - optind != 1)
		return command_option_fault("guard check");
	slash = strchr(argv[optind], '/');
	if (slash == NULL || slash[1] == '\0' ||
	    (size_t)(slash - argv[optind]) >= sizeof(slug))
		return command_error(COMMAND_NO,
		    "'%s' must be a package and its tool, as in "
		    "files/delete_file",
		    argv[optind]);
	if (options.action != NULL &&
	    !guard_action_parse(options.action, &action))
		return command_guard_bad_action(COMMAND_NO, options.action);
	(void)snprintf(slug, sizeof(slug), "%.*s", (int)(slash - argv[optind]),
	    argv[optind]);
	return guard_say(&(struct guard_say_ask){.slug = slug,
	    .tool = slash + 1,
	    .action = options.action,
	    .lockfile = options.lockfile,
	    .json = options.json});
}

const struct command command_guard_rows[] = {
    {"guard show", "what Guard answers to which action",
	"Usage: agentnode guard show [--json]\n\n"
	"Prints the answer to every action and where it comes from, the\n"
	"answers for single tools, and the rates, as they hold: what the team\n"
	"policy takes away is taken away.\n\n"
	"Example: agentnode guard show\n",
	command_guard_show},
    {"guard set", "change what Guard answers to an action",
	"Usage: agentnode guard set ACTION ANSWER [--tool SLUG/TOOL]\n\n"
	"ACTION is read, compute, write_local, write_external, delete,\n"
	"execute, credential_use, network_egress or unknown; ANSWER is allow,\n"
	"prompt or deny. A prompt is answered by the consent that installing\n"
	"the package was; without one, where nobody can be asked, it is a\n"
	"denial. For servers that run already what is narrower counts at "
	"once,\n"
	"what is wider with their next run.\n\n"
	"  --tool SLUG/TOOL   for this tool only; wins over the answer for\n"
	"                     all\n\n"
	"Example: agentnode guard set delete deny --tool files/delete_file\n",
	command_guard_set},
    {"guard unset", "take an answer back to its default",
	"Usage: agentnode guard unset ACTION [--tool SLUG/TOOL]\n\n"
	"Example: agentnode guard unset delete --tool files/delete_file\n",
	command_guard_unset},
    {"guard check", "would this tool be called, and why",
	"Usage: agentnode guard check SLUG/TOOL [--action ACTION] [--json]\n"
	"         [--lockfile FILE]\n\n"
	"Starts nothing, records nothing, counts nothing. Exits 0 whatever\n"
	"the decision is, 1 when the package is not installed or ACTION is\n"
	"none.\n\n"
	"  --action ACTION   as if the tool declared this action\n"
	"  --json            slug, tool_name, action_types, risk_level,\n"
	"                    decision, source, reason, guard_chain and more\n\n"
	"Example: agentnode guard check files/delete_file\n",
	command_guard_check},
    {NULL, NULL, NULL, NULL},
};
