/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode mcp run|tools|list`: installed MCP servers in use. Called by
 * command_dispatch; the story of a run is in mcp_run.c. run and tools hand
 * the standard streams to agentnode-gate and read nothing themselves.
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/command/auth_option.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/package_verdict.h"
#include "supervisor/mcp/mcp_package.h"
#include "supervisor/command/mcp_run.h"
#include "supervisor/package/lockfile.h"

static const struct option command_mcp_known[] = {
    {"lockfile", required_argument, NULL, 'l'},
    {"verbose", no_argument, NULL, 'v'}, {"json", no_argument, NULL, 'j'},
    {"allow", required_argument, NULL, 'a'},
    {"env", required_argument, NULL, 'e'},
    {"consent-once", no_argument, NULL, 'o'},
    {"timing", no_argument, NULL, 't'},
    {"secrets-passphrase-fd", required_argument, NULL, 'p'},
    {NULL, 0, NULL, 0}};

/* One option; false when it is one too many. */
static bool
command_mcp_option(struct mcp_run_options *options, int option, char *value)
{
	switch (option) {
	case 'l':
		options->lockfile = value;
		return true;
	case 'v':
		options->verbose = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'o':
		options->consent_once = true;
		return true;
	case 't':
		options->timing = true;
		return true;
	case 'p':
		return auth_option_secrets(value) == COMMAND_DONE;
	case 'a':
		if (options->allow_count == MCP_RUN_ALLOW_MAX)
			return false;
		options->allow[options->allow_count++] = value;
		return true;
	case 'e':
		if (options->env_count == MCP_RUN_ENV_MAX)
			return false;
		options->env[options->env_count++] = value;
		return true;
	default:
		return false;
	}
}

static bool
command_mcp_has_dashes(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0)
			return true;
	}
	return false;
}

/* Options, the slug, and behind "--" words for the server. */
static bool
command_mcp_parse(int argc, char **argv, struct mcp_run_options *options_r)
{
	bool dashes = command_mcp_has_dashes(argc, argv);
	int option;

	memset(options_r, 0, sizeof(*options_r));
	while ((option = command_option_next(
		    argc, argv, "", command_mcp_known)) != -1) {
		if (!command_mcp_option(options_r, option, optarg))
			return false;
	}
	if (optind == argc || (argc - optind > 1 && !dashes))
		return false;
	options_r->slug = argv[optind];
	options_r->args = argv + optind + 1;
	options_r->arg_count = (size_t)(argc - optind - 1);
	return true;
}

static int
command_mcp_run(int argc, char **argv)
{
	struct mcp_run_options options;

	if (!command_mcp_parse(argc, argv, &options) || options.json)
		return command_option_fault("mcp run");
	return mcp_run(&options);
}

static int
command_mcp_tools(int argc, char **argv)
{
	struct mcp_run_options options;

	if (!command_mcp_parse(argc, argv, &options))
		return command_option_fault("mcp tools");
	options.list_tools = true;
	return mcp_run(&options);
}

/* --- list --------------------------------------------------------------- */

static json_t *
command_mcp_list_row(const struct package_verdict_host *host, const char *slug,
    const json_t *entry)
{
	struct package_verdict verdict;
	struct mcp_package package;
	struct json_fault fault = {""};
	bool good =
	    mcp_package_read(slug, entry, &package, &fault) == RESULT_OK;
	json_t *row;

	package_verdict_make(host, slug, entry, &verdict);
	row = json_pack("{s:s, s:s?, s:s, s:s, s:b, s:b, s:s}", "name", slug,
	    "version", package.version, "tier", tier_name(verdict.tier),
	    "source", verdict.source, "consent", verdict.agreed, "runnable",
	    verdict.runnable, "fault", verdict.fault.text);
	if (row == NULL || !good)
		return row;
	(void)json_object_set_new(row, "allow",
	    package.domains == NULL ? json_array()
				    : json_deep_copy(package.domains));
	if (package.tools != NULL)
		(void)json_object_set_new(
		    row, "tools", json_deep_copy(package.tools));
	if (package.files_dir != NULL)
		(void)json_object_set_new(
		    row, "files", json_string(package.files_dir));
	if (package.state_size > 0)
		(void)json_object_set_new(row, "state_bytes",
		    json_integer((json_int_t)package.state_size));
	return row;
}

static void
command_mcp_list_allow(const json_t *allow)
{
	const json_t *item;
	size_t i;

	if (json_array_size(allow) == 0) {
		printf("  no network");
		return;
	}
	printf("  reaches");
	json_array_foreach(allow, i, item)
	    printf("%s %s", i == 0 ? "" : ",", json_string_value(item));
}

static void
command_mcp_list_print(const json_t *row)
{
	const json_t *tools = json_object_get(row, "tools");
	const json_t *files = json_object_get(row, "files");

	printf("%s", json_string_value(json_object_get(row, "name")));
	if (!json_is_true(json_object_get(row, "runnable"))) {
		printf("  cannot run: %s\n",
		    json_string_value(json_object_get(row, "fault")));
		return;
	}
	printf("  %s", json_string_value(json_object_get(row, "source")));
	command_mcp_list_allow(json_object_get(row, "allow"));
	if (tools != NULL)
		printf("  %zu tools allowed", json_array_size(tools));
	if (files != NULL)
		printf("  files of %s", json_string_value(files));
	if (json_object_get(row, "state_bytes") != NULL)
		printf("  keeps state");
	printf("\n");
}

static json_t *
command_mcp_list_rows(
    const struct package_verdict_host *host, const struct lockfile *lockfile)
{
	json_t *rows = json_array();
	const char *slug;
	json_t *entry;

	json_object_foreach((json_t *)lockfile_entries(lockfile), slug, entry)
	{
		if (mcp_package_is_server(entry))
			(void)json_array_append_new(
			    rows, command_mcp_list_row(host, slug, entry));
	}
	return rows;
}

static int
command_mcp_list_show(
    const struct lockfile *lockfile, const char *path, bool as_json)
{
	struct package_verdict_host host;
	struct json_fault fault = {""};
	enum result result = package_verdict_open(&host, &fault);
	json_t *rows = NULL, *object;
	const json_t *row;
	int code = COMMAND_DONE;
	size_t i;

	if (result == RESULT_OK)
		rows = command_mcp_list_rows(&host, lockfile);
	package_verdict_close(&host);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (as_json) {
		object =
		    json_pack("{s:s, s:O}", "lockfile", path, "servers", rows);
		code = object == NULL
			   ? command_error(COMMAND_INTERNAL, "out of memory")
			   : command_print_json(object);
		json_decref(object);
	} else {
		json_array_foreach(rows, i, row) command_mcp_list_print(row);
		if (json_array_size(rows) == 0)
			fprintf(stderr,
			    "no MCP server is installed in %s; 'agentnode mcp "
			    "install' installs one\n",
			    path);
	}
	json_decref(rows);
	return code;
}

static int
command_mcp_list(int argc, char **argv)
{
	struct mcp_run_options options;
	struct json_fault fault = {""};
	struct lockfile *lockfile = NULL;
	char path[4096];
	enum result result;
	int option, code;

	memset(&options, 0, sizeof(options));
	while ((option = command_option_next(
		    argc, argv, "", command_mcp_known)) != -1) {
		if ((option != 'l' && option != 'j') ||
		    !command_mcp_option(&options, option, optarg))
			return command_option_fault("mcp list");
	}
	if (optind != argc)
		return command_option_fault("mcp list");
	result = lockfile_path(options.lockfile, path, sizeof(path), &fault);
	if (result == RESULT_OK)
		result = lockfile_load(path, &lockfile, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	code = command_mcp_list_show(lockfile, path, options.json);
	lockfile_free(&lockfile);
	return code;
}

const struct command command_mcp_rows[] = {
    {"mcp run", "run an installed MCP server in its sandbox, on stdio",
	"Usage: agentnode mcp run [--lockfile FILE] [--verbose] [--timing]\n"
	"         [--allow ENTRY]... [--env NAME=VALUE]... [--consent-once]\n"
	"         [--secrets-passphrase-fd N] SLUG [-- WORD...]\n"
	"\n"
	"Speaks MCP on standard input and output, as the server would; this\n"
	"is the command an MCP client is configured with (see 'mcp config').\n"
	"The server sees no host, no key and no network but its allowlist.\n"
	"Exits with the server's own code; 125 when it never started, with\n"
	"the code on standard error.\n"
	"\n"
	"Options:\n"
	"  --lockfile FILE   use this lockfile\n"
	"  --verbose         copy the server's standard error to ours\n"
	"  --timing          at the end, say on standard error where the time\n"
	"                    of the start went, up to the first answer\n"
	"  --allow ENTRY     reach this destination too, this time\n"
	"  --env NAME=VALUE  set a variable for the server; not for secrets\n"
	"  --consent-once    give it its secrets, this time (`agentnode\n"
	"                    consent add` does for longer)\n"
	"  --secrets-passphrase-fd N\n"
	"                    of secrets.enc, read from this descriptor\n"
	"  -- WORD...        words for the server, behind those of install\n"
	"\n"
	"Example:\n"
	"  agentnode mcp run server-everything\n",
	command_mcp_run},
    {"mcp tools", "list the tools of an installed MCP server",
	"Usage: agentnode mcp tools [--json] [--lockfile FILE] [--verbose]\n"
	"         [--allow ENTRY]... [--env NAME=VALUE]... SLUG [-- WORD...]\n"
	"\n"
	"Starts the server in its sandbox, asks for its tools and ends it.\n"
	"Tools outside the allowlist are marked.\n"
	"\n"
	"Options:\n"
	"  --json            {\"tools\": [{name, description, allowed}]}\n"
	"  --lockfile FILE   use this lockfile\n"
	"  --verbose         copy the server's standard error to ours\n"
	"  --allow ENTRY     reach this destination too, this time\n"
	"  --env NAME=VALUE  set a variable for the server\n"
	"\n"
	"Example:\n"
	"  agentnode mcp tools server-everything\n",
	command_mcp_tools},
    {"mcp list", "list the installed MCP servers",
	"Usage: agentnode mcp list [--json] [--lockfile FILE]\n"
	"\n"
	"One line per server: what it is, what it reaches, what it keeps.\n"
	"\n"
	"Options:\n"
	"  --json            lockfile and servers as one object\n"
	"  --lockfile FILE   use this lockfile\n"
	"\n"
	"Example:\n"
	"  agentnode mcp list\n",
	command_mcp_list},
    {NULL, NULL, NULL, NULL},
};
