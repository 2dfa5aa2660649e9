/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode list|info`: what the lockfile says is installed, of every kind
 * (`mcp list` shows the servers alone). Called by command_dispatch. It
 * changes nothing, and starts nothing.
 */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/agent/agent_package.h"
#include "supervisor/command/command.h"
#include "supervisor/command/living_run.h"
#include "supervisor/command/mcp_consent.h"
#include "supervisor/mcp/mcp_package.h"
#include "supervisor/command/mcp_state.h"
#include "supervisor/package/lockfile.h"

/* Without an attestation, whatever the lockfile claims. */
#define COMMAND_PACKAGE_TIER "unverified"

struct command_package_options {
	bool json;
	const char *lockfile;
	char path[PATH_MAX]; /* of the lockfile in force */
};

static bool
command_package_parse(
    int argc, char **argv, struct command_package_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"lockfile", required_argument, NULL, 'l'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_package_options){.json = false};
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'l')
			options_r->lockfile = optarg;
		else
			return false;
	}
	return true;
}

/* COMMAND_DONE, or the exit code after its sentence. */
static int
command_package_load(
    struct command_package_options *options, struct lockfile **lockfile_r)
{
	struct json_fault fault = {""};
	enum result result;

	*lockfile_r = NULL;
	result = lockfile_path(
	    options->lockfile, options->path, sizeof(options->path), &fault);
	if (result == RESULT_OK)
		result = lockfile_load(options->path, lockfile_r, &fault);
	if (result == RESULT_NOT_FOUND)
		return command_error(COMMAND_NO,
		    "there is no lockfile %s; 'agentnode mcp install' makes "
		    "one",
		    options->path);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static const char *
command_package_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* Is the entry whole, whatever kind it is? Its source, if it has one. */
static bool
command_package_whole(const char *slug, const json_t *entry, char *source_r,
    size_t size, struct json_fault *fault)
{
	struct mcp_package package;
	struct agent_package agent;

	if (agent_package_is_agent(entry)) {
		(void)snprintf(source_r, size, "%s",
		    command_package_text(entry, "source"));
		return agent_package_read(slug, entry, &agent, fault) ==
		       RESULT_OK;
	}
	if (mcp_package_read(slug, entry, &package, fault) != RESULT_OK)
		return false;
	mcp_package_source(&package, source_r, size);
	return true;
}

/* What both commands say of an entry. It can run when it is whole and the
 * user of this host agreed to it. */
static json_t *
command_package_row(
    const struct mcp_consent *consent, const char *slug, const json_t *entry)
{
	struct json_fault fault = {""}, missing = {""};
	char source[512] = "";
	bool good =
	    command_package_whole(slug, entry, source, sizeof(source), &fault);
	bool agreed = mcp_consent_given(consent, slug, entry, &missing);

	if (good && !agreed)
		fault = missing;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:s}",
	    "package", slug, "version", command_package_text(entry, "version"),
	    "type", command_package_text(entry, "package_type"), "runtime",
	    command_package_text(entry, "runtime"), "tier",
	    COMMAND_PACKAGE_TIER, "source", source, "installed_at",
	    command_package_text(entry, "installed_at"), "consent", agreed,
	    "runnable", good && agreed, "fault", fault.text);
}

/* ---- list ---- */

static json_t *
command_package_rows_of(const struct lockfile *lockfile)
{
	json_t *rows = json_array(), *entry;
	struct mcp_consent consent;
	const char *slug;

	mcp_consent_open(&consent);
	json_object_foreach((json_t *)lockfile_entries(lockfile), slug, entry)
	{
		if (json_array_append_new(
			rows, command_package_row(&consent, slug, entry)) == 0)
			continue;
		json_decref(rows);
		rows = NULL;
		break;
	}
	mcp_consent_close(&consent);
	return rows;
}

static void
command_package_print_rows(const json_t *rows, const char *path)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		bool good = json_is_true(json_object_get(row, "runnable"));

		printf("%-32s  %-12s  %-10s  %s%s\n",
		    command_package_text(row, "package"),
		    command_package_text(row, "version"),
		    command_package_text(row, "type"),
		    good ? "" : "cannot run: ",
		    command_package_text(row, good ? "source" : "fault"));
	}
	if (json_array_size(rows) == 0)
		fprintf(stderr, "nothing is installed in %s\n", path);
}

static int
command_package_list(int argc, char **argv)
{
	struct command_package_options options;
	struct lockfile *lockfile;
	json_t *rows, *answer;
	int code;

	if (!command_package_parse(argc, argv, &options) || optind != argc)
		return command_option_fault("list");
	code = command_package_load(&options, &lockfile);
	if (code != COMMAND_DONE)
		return code;
	rows = command_package_rows_of(lockfile);
	lockfile_free(&lockfile);
	if (rows == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	if (options.json) {
		answer = json_pack(
		    "{s:s, s:O}", "lockfile", options.path, "packages", rows);
		code = command_print_json(answer);
		json_decref(answer);
	} else
		command_package_print_rows(rows, options.path);
	json_decref(rows);
	return code;
}

/* ---- info ---- */

/* The entry's own words, or what stands for none. */
static json_t *
command_package_copy(const json_t *entry, const char *key)
{
	const json_t *value = json_object_get(entry, key);

	return value != NULL ? json_deep_copy(value) : json_null();
}

static json_t *
command_package_saved(const char *slug, json_t *row)
{
	struct mcp_state state;
	struct json_fault fault = {""};
	uint64_t bytes = 0;
	json_t *saved = json_null();

	if (mcp_state_open(slug, false, &state, &fault) == RESULT_OK &&
	    mcp_state_size(&state, slug, &bytes))
		saved = json_integer((json_int_t)bytes);
	else if (fault.text[0] != '\0')
		(void)json_object_set_new(
		    row, "fault", json_string(fault.text));
	mcp_state_close(&state);
	return saved;
}

static bool
command_package_is_there(const json_t *entry)
{
	const char *path = command_package_text(entry, "volume_host_path");
	int fd FD_CLEANUP = -1;

	if (path[0] != '/')
		return false;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0;
}

static int
command_package_fill(const char *slug, const json_t *entry, json_t *row)
{
	const struct {
		const char *name, *key;
	} copies[] = {{"claimed_tier", "trust_level"},
	    {"command", "mcp_preinstall_command"}, {"words", "mcp_command"},
	    {"allow", "mcp_allowed_domains"}, {"tools", "tools"},
	    {"files", "files"}, {"state", "state"}, {"env", "env"},
	    {"permissions", "permissions"}, {"agent", "agent"},
	    {"volume", agent_package_is_agent(entry) ? "sandbox_volume"
						     : "mcp_sandbox_volume"},
	    {"hash", "volume_content_hash"},
	    {"volume_path", "volume_host_path"},
	    {"dependencies", "dependencies"}};
	struct json_fault fault = {""};
	char run[RUN_LOCK_ID_MAX];
	enum result result = living_run_find(slug, run, &fault);
	int failed = 0;

	if (result != RESULT_OK)
		return command_fault(result, &fault);
	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		failed |= json_object_set_new(row, copies[i].name,
		    command_package_copy(entry, copies[i].key));
	failed |= json_object_set_new(
	    row, "volume_there", json_boolean(command_package_is_there(entry)));
	failed |= json_object_set_new(
	    row, "saved_bytes", command_package_saved(slug, row));
	failed |= json_object_set_new(
	    row, "run", run[0] != '\0' ? json_string(run) : json_null());
	return failed == 0 ? COMMAND_DONE
			   : command_error(COMMAND_INTERNAL, "out of memory");
}

static void
command_package_print_list(const char *title, const json_t *list)
{
	size_t i;

	if (json_array_size(list) == 0)
		return;
	printf("%-14s", title);
	for (i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		const char *text = json_is_object(item)
				       ? command_package_text(item, "name")
				       : json_string_value(item);

		printf("%s %s", i == 0 ? "" : ",", text != NULL ? text : "?");
	}
	printf("\n");
}

/* JSON, ASCII only: a value is free text. */
static void
command_package_print_env(const json_t *env)
{
	char *text =
	    json_is_object(env) ? json_dumps(env, JSON_ENSURE_ASCII) : NULL;

	if (text != NULL)
		printf("%-14s %s\n", "sets", text);
	free(text);
}

static void
command_package_print(const json_t *row)
{
	static const char *const texts[] = {"package", "version", "type",
	    "runtime", "tier", "source", "installed_at", "volume", "hash",
	    "run", "fault"};
	const json_t *saved = json_object_get(row, "saved_bytes");

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (command_package_text(row, texts[i])[0] != '\0')
			printf("%-14s %s\n", texts[i],
			    command_package_text(row, texts[i]));
	}
	if (command_package_text(row, "volume")[0] != '\0' &&
	    !json_is_true(json_object_get(row, "volume_there")))
		printf("%-14s not there: install it again\n", "volume");
	printf("%-14s %s\n", "consent",
	    json_is_true(json_object_get(row, "consent")) ? "yes" : "no");
	command_package_print_list("command", json_object_get(row, "command"));
	command_package_print_list("reaches", json_object_get(row, "allow"));
	command_package_print_env(json_object_get(row, "env"));
	command_package_print_list("tools", json_object_get(row, "tools"));
	command_package_print_list(
	    "dependencies", json_object_get(row, "dependencies"));
	if (json_is_integer(saved))
		printf("%-14s %" JSON_INTEGER_FORMAT " bytes\n", "saved state",
		    json_integer_value(saved));
}

static int
command_package_info(int argc, char **argv)
{
	struct command_package_options options;
	struct mcp_consent consent;
	struct lockfile *lockfile;
	const json_t *entry;
	json_t *row;
	int code;

	if (!command_package_parse(argc, argv, &options) || argc - optind != 1)
		return command_option_fault("info");
	code = command_package_load(&options, &lockfile);
	if (code != COMMAND_DONE)
		return code;
	entry = lockfile_entry(lockfile, argv[optind]);
	mcp_consent_open(&consent);
	row = entry != NULL ? command_package_row(&consent, argv[optind], entry)
			    : NULL;
	mcp_consent_close(&consent);
	if (entry == NULL)
		code = command_error(COMMAND_NO,
		    "'%.64s' is not installed in %s; 'agentnode list' shows "
		    "what is",
		    argv[optind], options.path);
	else if (row == NULL)
		code = command_error(COMMAND_INTERNAL, "out of memory");
	else
		code = command_package_fill(argv[optind], entry, row);
	if (code == COMMAND_DONE && options.json)
		code = command_print_json(row);
	else if (code == COMMAND_DONE)
		command_package_print(row);
	json_decref(row);
	lockfile_free(&lockfile);
	return code;
}

extern const struct command command_package_rows[];
const struct command command_package_rows[] = {
    {"list", "list what is installed",
	"Usage: agentnode list [--lockfile FILE] [--json]\n\n"
	"One line per package of the lockfile: name, version, type, and from\n"
	"what it was installed, or why it cannot run.\n\n"
	"Options:\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            {\"lockfile\", \"packages\": [...]}\n\n"
	"Example:\n"
	"  agentnode list\n",
	command_package_list},
    {"info", "show one installed package",
	"Usage: agentnode info SLUG [--lockfile FILE] [--json]\n\n"
	"What it is made of, what it may reach, what it keeps, and whether it\n"
	"runs right now.\n\n"
	"Options:\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            all of it as one object\n\n"
	"Example:\n"
	"  agentnode info server-memory\n",
	command_package_info},
    {NULL, NULL, NULL, NULL},
};
