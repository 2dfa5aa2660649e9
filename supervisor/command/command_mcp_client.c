/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode mcp config|import`: the two ways between a client's
 * configuration and the lockfile. Called by command_dispatch; it must
 * never write to a client's file, nor print a value of its environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "supervisor/child.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/mcp_import.h"
#include "supervisor/mcp/mcp_package.h"
#include "supervisor/command/mcp_toml.h"
#include "supervisor/package/lockfile.h"

#define COMMAND_MCP_CLIENT_WORDS_MAX 128U

/* A client: how its file looks and where it is. */
struct command_mcp_client {
	const char *name;
	const char *key; /* of the object of servers; NULL: TOML */
	bool type;       /* wants "type":"stdio" */
	const char *where;
};

static const struct command_mcp_client command_mcp_clients[] = {
    {"claude-desktop", "mcpServers", false,
	"claude_desktop_config.json (Settings, Developer, Edit Config)"},
    {"claude-code", "mcpServers", true,
	".mcp.json of the project, or ~/.claude.json"},
    {"cursor", "mcpServers", false, "~/.cursor/mcp.json"},
    {"vscode", "servers", true, ".vscode/mcp.json of the workspace"},
    {"codex", NULL, false, "~/.codex/config.toml"},
    {NULL, NULL, false, NULL},
};

struct command_mcp_client_options {
	const struct command_mcp_client *client;
	const char *lockfile, *slug;
	/* Options of run that go into the snippet as they are. */
	const char *words[COMMAND_MCP_CLIENT_WORDS_MAX];
	size_t word_count;
	char **args;
	int arg_count;
};

static const struct command_mcp_client *
command_mcp_client_find(const char *name)
{
	const struct command_mcp_client *client;

	for (client = command_mcp_clients; client->name != NULL; client++) {
		if (strcmp(client->name, name) == 0)
			return client;
	}
	return NULL;
}

static bool
command_mcp_client_word(struct command_mcp_client_options *options,
    const char *option, const char *value)
{
	if (options->word_count + 2 > COMMAND_MCP_CLIENT_WORDS_MAX)
		return false;
	options->words[options->word_count++] = option;
	if (value != NULL)
		options->words[options->word_count++] = value;
	return true;
}

static bool
command_mcp_client_parse(
    int argc, char **argv, struct command_mcp_client_options *options_r)
{
	static const struct option known[] = {
	    {"client", required_argument, NULL, 'c'},
	    {"lockfile", required_argument, NULL, 'l'},
	    {"verbose", no_argument, NULL, 'v'},
	    {"allow", required_argument, NULL, 'a'},
	    {"env", required_argument, NULL, 'e'}, {NULL, 0, NULL, 0}};
	bool good = true;
	int option;

	memset(options_r, 0, sizeof(*options_r));
	while (good &&
	       (option = command_option_next(argc, argv, "", known)) != -1) {
		if (option == 'c')
			good = (options_r->client =
				       command_mcp_client_find(optarg)) != NULL;
		else if (option == 'l')
			options_r->lockfile = optarg;
		else if (option == 'v')
			good = command_mcp_client_word(
			    options_r, "--verbose", NULL);
		else if (option == 'a')
			good = command_mcp_client_word(
			    options_r, "--allow", optarg);
		else if (option == 'e')
			good =
			    command_mcp_client_word(options_r, "--env", optarg);
		else
			good = false;
	}
	if (!good || optind == argc || options_r->client == NULL)
		return false;
	options_r->slug = argv[optind];
	options_r->args = argv + optind + 1;
	options_r->arg_count = argc - optind - 1;
	return true;
}

/* --- config ------------------------------------------------------------- */

/* The words behind agentnode, as a client has to give them. */
static json_t *
command_mcp_client_args(
    const struct command_mcp_client_options *options, const char *lockfile)
{
	json_t *args =
	    json_pack("[s, s, s, s]", "mcp", "run", "--lockfile", lockfile);
	int i;

	for (size_t k = 0; k < options->word_count; k++)
		(void)json_array_append_new(
		    args, json_string(options->words[k]));
	(void)json_array_append_new(args, json_string(options->slug));
	if (options->arg_count > 0)
		(void)json_array_append_new(args, json_string("--"));
	for (i = 0; i < options->arg_count; i++)
		(void)json_array_append_new(
		    args, json_string(options->args[i]));
	return args;
}

static json_t *
command_mcp_client_server(const struct command_mcp_client_options *options,
    const char *program, const char *lockfile)
{
	const char *home = getenv("AGENTNODE_HOME");
	json_t *server = json_object();

	if (options->client->type)
		(void)json_object_set_new(server, "type", json_string("stdio"));
	(void)json_object_set_new(server, "command", json_string(program));
	(void)json_object_set_new(
	    server, "args", command_mcp_client_args(options, lockfile));
	/* Clients start servers with an environment of their own. */
	if (home != NULL)
		(void)json_object_set_new(
		    server, "env", json_pack("{s:s}", "AGENTNODE_HOME", home));
	return server;
}

/* JSON's strings and lists are TOML's too. */
static int
command_mcp_client_toml(const char *slug, const json_t *server)
{
	const char *key;
	json_t *value;

	printf("[mcp_servers.%s]\n", slug);
	json_object_foreach((json_t *)server, key, value)
	{
		char *text;

		if (json_is_object(value))
			continue;
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
		if (text == NULL)
			return command_error(COMMAND_INTERNAL, "out of memory");
		printf("%s = %s\n", key, text);
		free(text);
	}
	value =
	    json_object_get(json_object_get(server, "env"), "AGENTNODE_HOME");
	if (value != NULL) {
		char *text =
		    json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

		printf("env = { AGENTNODE_HOME = %s }\n",
		    text != NULL ? text : "\"\"");
		free(text);
	}
	return COMMAND_DONE;
}

static int
command_mcp_client_print(const struct command_mcp_client_options *options,
    const char *program, const char *lockfile)
{
	json_t *server = command_mcp_client_server(options, program, lockfile);
	json_t *object;
	int code;

	if (options->client->key == NULL) {
		code = command_mcp_client_toml(options->slug, server);
		json_decref(server);
	} else {
		object = json_pack(
		    "{s:{s:o}}", options->client->key, options->slug, server);
		code = object == NULL
			   ? command_error(COMMAND_INTERNAL, "out of memory")
			   : command_print_json(object);
		json_decref(object);
	}
	if (isatty(STDERR_FILENO) == 1)
		fprintf(stderr, "put this into %s\n", options->client->where);
	return code;
}

static int
command_mcp_client_config(int argc, char **argv)
{
	struct command_mcp_client_options options;
	struct json_fault fault = {""};
	struct mcp_package package;
	struct lockfile *lockfile = NULL;
	char path[PATH_MAX], program[PATH_MAX];
	const json_t *entry;
	enum result result;

	if (!command_mcp_client_parse(argc, argv, &options))
		return command_option_fault("mcp config");
	result = lockfile_path(options.lockfile, path, sizeof(path), &fault);
	if (result == RESULT_OK)
		result = lockfile_load(path, &lockfile, &fault);
	if (result != RESULT_OK)
		return command_fault(result, &fault);
	entry = lockfile_entry(lockfile, options.slug);
	if (entry == NULL)
		json_field_fault(
		    &fault, "%.60s is not in %.150s", options.slug, path);
	else
		(void)mcp_package_read(options.slug, entry, &package, &fault);
	lockfile_free(&lockfile);
	if (fault.text[0] != '\0')
		return command_error(COMMAND_NO, "%s", fault.text);
	if (child_command_path(program, sizeof(program)) != RESULT_OK)
		return command_error(
		    COMMAND_INTERNAL, "our own path is not known");
	return command_mcp_client_print(&options, program, path);
}

/* --- import ------------------------------------------------------------- */

static bool
command_mcp_client_is_folder(const char *path, void *context)
{
	struct stat status;

	(void)context;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Names only: values may be keys. */
static json_t *
command_mcp_client_env(const json_t *server)
{
	json_t *names = json_array(), *value;
	const char *name;

	json_object_foreach(json_object_get(server, "env"), name, value)(void)
	    json_array_append_new(names, json_string(name));
	return names;
}

static void
command_mcp_client_show(
    const char *name, const struct mcp_import_row *row, const json_t *env)
{
	char shown[128];
	const json_t *item;
	size_t i;

	log_escape(name, strlen(name), shown, sizeof(shown));
	printf("%s: %s\n", shown, mcp_import_status_text(row->status));
	if (row->reason[0] != '\0') {
		char reason[600];

		log_escape(
		    row->reason, strlen(row->reason), reason, sizeof(reason));
		printf("  %s\n", reason);
	}
	if (row->command[0] != '\0')
		printf("  %s\n", row->command);
	json_array_foreach(env, i, item)
	{
		log_escape(json_string_value(item), json_string_length(item),
		    shown, sizeof(shown));
		printf("%s%s", i == 0 ? "  environment: " : ", ", shown);
	}
	if (json_array_size(env) > 0)
		printf(" (not taken over: keys do not belong into a client's "
		       "file)\n");
}

static int
command_mcp_client_servers(const json_t *servers, bool as_json)
{
	json_t *list = json_array(), *server, *object;
	struct mcp_import_row row;
	const char *name;
	int code = COMMAND_DONE;

	json_object_foreach((json_t *)servers, name, server)
	{
		json_t *env = command_mcp_client_env(server);

		mcp_import_judge(
		    name, server, command_mcp_client_is_folder, NULL, &row);
		if (row.status == MCP_IMPORT_PIN ||
		    row.status == MCP_IMPORT_REFUSED)
			code = COMMAND_NO;
		if (!as_json)
			command_mcp_client_show(name, &row, env);
		(void)json_array_append_new(list,
		    json_pack("{s:s, s:s, s:s, s:s, s:O}", "name", name,
			"status", mcp_import_status_text(row.status), "command",
			row.command, "reason", row.reason, "env", env));
		json_decref(env);
	}
	object = json_pack("{s:o}", "servers", list);
	if (as_json && object != NULL && command_print_json(object) != 0)
		code = COMMAND_INTERNAL;
	json_decref(object);
	return code;
}

static int
command_mcp_client_import(int argc, char **argv)
{
	static const struct option known[] = {
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct json_fault fault = {""};
	FD_CLEANUP int fd = -1;
	bool as_json = false;
	json_t *servers = NULL;
	char *bytes = NULL;
	size_t len = 0;
	int option, code;

	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		if (option != 'j')
			return command_option_fault("mcp import");
		as_json = true;
	}
	if (argc - optind != 1)
		return command_option_fault("mcp import");
	fd = open(argv[optind], O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 ||
	    fd_read_all(fd, MCP_TOML_BYTES_MAX, &bytes, &len) != RESULT_OK)
		return command_error(COMMAND_CONFIG, "%s: %s", argv[optind],
		    fd < 0 ? strerror(errno) : "not a file of at most 1 MiB");
	if (mcp_import_read(bytes, len, &servers, &fault) != RESULT_OK)
		code = command_error(
		    COMMAND_CONFIG, "%s: %s", argv[optind], fault.text);
	else
		code = command_mcp_client_servers(servers, as_json);
	json_decref(servers);
	free(bytes);
	return code;
}

const struct command command_mcp_client_rows[] = {
    {"mcp config", "print a client's snippet for an installed server",
	"Usage: agentnode mcp config SLUG --client CLIENT [--lockfile FILE]\n"
	"         [--verbose] [--allow ENTRY]... [--env NAME=VALUE]...\n"
	"         [-- WORD...]\n"
	"\n"
	"Prints what goes into the client's file; it holds the absolute paths\n"
	"of agentnode and of the lockfile.\n"
	"\n"
	"Options:\n"
	"  --client CLIENT   claude-desktop, claude-code, cursor, vscode or\n"
	"                    codex\n"
	"  --lockfile FILE   use this lockfile\n"
	"  --verbose, --allow ENTRY, --env NAME=VALUE, -- WORD...\n"
	"                    are passed on to 'mcp run'\n"
	"\n"
	"Example:\n"
	"  agentnode mcp config server-everything --client cursor\n",
	command_mcp_client_config},
    {"mcp import", "say how to install what a client's file runs",
	"Usage: agentnode mcp import [--json] FILE\n"
	"\n"
	"Reads an MCP client's configuration (JSON, or TOML of codex) and\n"
	"says for each server which command installs it pinned. Environment\n"
	"variables are named, their values are not read. Nothing is changed.\n"
	"Exits 0 when every server can be installed as it stands, 1 when one\n"
	"has to be pinned first or cannot run in a sandbox.\n"
	"\n"
	"Options:\n"
	"  --json   {\"servers\": [{name, status, command, reason, env}]}\n"
	"\n"
	"Example:\n"
	"  agentnode mcp import ~/.cursor/mcp.json\n",
	command_mcp_client_import},
    {NULL, NULL, NULL, NULL},
};
