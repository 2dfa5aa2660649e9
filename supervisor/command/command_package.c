/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode list|info`: what the lockfile says is installed, of every kind
 * (`mcp list` shows the servers alone). Called by command_dispatch. It
 * changes nothing, and starts nothing.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/living_run.h"
#include "supervisor/command/mcp_state.h"
#include "supervisor/command/package_verdict.h"
#include "supervisor/host/host_run.h"
#include "supervisor/command/registry_info.h"
#include "supervisor/package/lockfile.h"

struct command_package_options {
	bool json, registry;
	const char *lockfile;
	char path[PATH_MAX]; /* of the lockfile in force */
};

static bool
command_package_parse(
    int argc, char **argv, struct command_package_options *options_r)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
	    {"lockfile", required_argument, NULL, 'l'},
	    {"registry", no_argument, NULL, 'r'}, {NULL, 0, NULL, 0}};
	int option;

	*options_r = (struct command_package_options){.json = false};
	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'j')
			options_r->json = true;
		else if (option == 'l')
			options_r->lockfile = optarg;
		else if (option == 'r')
			options_r->registry = true;
		else
			return false;
	}
	return true;
}

/* COMMAND_DONE, or the exit code after its sentence. */
static int
command_package_load(struct command_package_options *options,
    struct lockfile **lockfile_r, struct package_verdict_host *host_r)
{
	struct json_fault fault = {""};
	enum result result = package_verdict_open(host_r, &fault);

	*lockfile_r = NULL;
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	result = lockfile_path(
	    options->lockfile, options->path, sizeof(options->path), &fault);
	if (result == RESULT_OK)
		result = lockfile_load(options->path, lockfile_r, &fault);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static const char *
command_package_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* What both commands say of an entry. It can run when it is whole, its tier
 * may, and the user of this host agreed to it. */
static json_t *
command_package_row(const struct package_verdict_host *host, const char *slug,
    const json_t *entry)
{
	struct package_verdict verdict;

	package_verdict_make(host, slug, entry, &verdict);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, "
			 "s:s, s:s, s:s, s:s*}",
	    "package", slug, "version", command_package_text(entry, "version"),
	    "type", command_package_text(entry, "package_type"), "runtime",
	    command_package_text(entry, "runtime"), "tier",
	    tier_name(verdict.tier), "claimed_tier", verdict.claim, "source",
	    verdict.source, "installed_at",
	    command_package_text(entry, "installed_at"), "consent",
	    verdict.agreed, "runnable", verdict.runnable, "code", verdict.code,
	    "fault", verdict.fault.text, "place", verdict.place, "boundary",
	    strcmp(verdict.place, "host") == 0 ? HOST_RUN_WORDS : NULL);
}

/* ---- list ---- */

static json_t *
command_package_rows_of(
    const struct package_verdict_host *host, const struct lockfile *lockfile)
{
	json_t *rows = json_array(), *entry;
	const char *slug;

	json_object_foreach((json_t *)lockfile_entries(lockfile), slug, entry)
	{
		if (json_array_append_new(
			rows, command_package_row(host, slug, entry)) == 0)
			continue;
		json_decref(rows);
		rows = NULL;
		break;
	}
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
		const char *claim = command_package_text(row, "claimed_tier");

		bool on_host = json_object_get(row, "boundary") != NULL;

		printf("%-32s  %-12s  %-10s  %-10s  %s%s%s%s%s\n",
		    command_package_text(row, "package"),
		    command_package_text(row, "version"),
		    command_package_text(row, "type"),
		    command_package_text(row, "tier"),
		    good ? "" : "cannot run: ",
		    command_package_text(row, good ? "source" : "fault"),
		    claim[0] != '\0' ? "; the lockfile claims " : "", claim,
		    on_host ? "; on the host: " HOST_RUN_WORDS : "");
	}
	if (json_array_size(rows) == 0)
		fprintf(stderr, "nothing is installed in %s\n", path);
}

static int
command_package_list(int argc, char **argv)
{
	struct command_package_options options;
	struct package_verdict_host host;
	struct lockfile *lockfile;
	json_t *rows = NULL, *answer;
	int code;

	if (!command_package_parse(argc, argv, &options) || options.registry ||
	    optind != argc)
		return command_option_fault("list");
	code = command_package_load(&options, &lockfile, &host);
	if (code == COMMAND_DONE)
		rows = command_package_rows_of(&host, lockfile);
	package_verdict_close(&host);
	lockfile_free(&lockfile);
	if (code != COMMAND_DONE)
		return code;
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
	} copies[] = {{"build_mode", "build_mode"},
	    {"env_keys", "mcp_env_keys"},
	    {"env_requirements", "env_requirements"},
	    {"entrypoint", "entrypoint"}, {"command", "mcp_preinstall_command"},
	    {"words", "mcp_command"}, {"allow", "mcp_allowed_domains"},
	    {"tools", "tools"}, {"files", "files"}, {"state", "state"},
	    {"env", "env"}, {"permissions", "permissions"}, {"agent", "agent"},
	    {"volume", json_object_get(entry, "mcp_sandbox_volume") != NULL
			   ? "mcp_sandbox_volume"
			   : "sandbox_volume"},
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
	    "runtime", "tier", "claimed_tier", "source", "installed_at",
	    "place", "boundary", "volume", "hash", "run", "fault"};
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
	struct package_verdict_host host;
	struct lockfile *lockfile;
	const json_t *entry = NULL;
	json_t *row = NULL;
	int code;

	if (!command_package_parse(argc, argv, &options) || argc - optind != 1)
		return command_option_fault("info");
	if (options.registry)
		return registry_info_print(argv[optind], options.json);
	code = command_package_load(&options, &lockfile, &host);
	if (code == COMMAND_DONE)
		entry = lockfile_entry(lockfile, argv[optind]);
	if (entry != NULL)
		row = command_package_row(&host, argv[optind], entry);
	package_verdict_close(&host);
	if (code == COMMAND_DONE && entry == NULL)
		code = command_error(COMMAND_NO,
		    "'%.64s' is not installed in %s; 'agentnode list' shows "
		    "what is, --registry what the registry has",
		    argv[optind], options.path);
	else if (code == COMMAND_DONE && row == NULL)
		code = command_error(COMMAND_INTERNAL, "out of memory");
	else if (code == COMMAND_DONE)
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
	"One line per package of the lockfile: name, version, type, tier, and\n"
	"from what it was installed, or why it cannot run. The tier is what "
	"an\n"
	"attestation proves; what the lockfile claims beyond is said.\n\n"
	"Options:\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            {\"lockfile\", \"packages\": [...]}\n\n"
	"Example:\n"
	"  agentnode list\n",
	command_package_list},
    {"info", "show one installed package",
	"Usage: agentnode info SLUG [--lockfile FILE] [--json]\n"
	"       agentnode info SLUG --registry [--json]\n\n"
	"What it is made of, what it may reach, what it keeps, and whether it\n"
	"runs right now; or which versions the registry of registry.path has,\n"
	"and which tier is proven of each.\n\n"
	"Options:\n"
	"  --registry        what can be installed, not what is\n"
	"  --lockfile FILE   instead of ./agentnode.lock or\n"
	"                    AGENTNODE_HOME/agentnode.lock\n"
	"  --json            all of it as one object\n\n"
	"Example:\n"
	"  agentnode info server-memory\n",
	command_package_info},
    {NULL, NULL, NULL, NULL},
};
