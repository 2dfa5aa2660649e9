/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode mcp install`: options to a checked request, the services an
 * installation needs, and what is printed. The story is in
 * supervisor/package/install.c. Called by command_dispatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "egress-proxy/policy_entry.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/install_services.h"
#include "supervisor/command/secret_consent.h"
#include "supervisor/package/env_entry.h"
#include "supervisor/package/install.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/package/registry_server.h"
#include "supervisor/policy/secret_grant.h"
#include "supervisor/policy/suffix_check.h"

#define COMMAND_MCP_INSTALL_LIST_MAX 64U
#define COMMAND_MCP_INSTALL_SIZE_MAX (64ULL << 30)

struct command_mcp_install {
	struct install_request request;
	struct install install;
	struct install_services services;
	json_t *allow, *tools, *args, *env, *secrets; /* owned */
	char files[4096], lockfile[4096];
	const char *name, *lockfile_option;
	const char *export;   /* --export: a file for a registry; NULL */
	const char *lifetime; /* of the consent to the secrets; NULL: 90d */
	bool json;
	int code; /* of the first wrong option */
};

/* --allow ENTRY: typing it is the consent to a wildcard. */
static int
command_mcp_install_allow(struct command_mcp_install *run, const char *text)
{
	char why[SUFFIX_CHECK_WHY_MAX] = "";
	enum policy_entry_fault fault;
	struct policy_entry entry;

	fault = policy_entry_parse(
	    text, strlen(text), POLICY_ENTRY_FROM_CONSENTED, &entry);
	if (fault != POLICY_ENTRY_OK)
		return command_error(COMMAND_USAGE, "--allow '%s' %s", text,
		    policy_entry_fault_text(fault, entry.name_fault));
	if (suffix_check_entry(&entry, why) != RESULT_OK)
		return command_error(
		    COMMAND_USAGE, "--allow '%s' %s", text, why);
	if (json_array_size(run->allow) >= COMMAND_MCP_INSTALL_LIST_MAX)
		return command_error(COMMAND_USAGE,
		    "--allow can be given at most %u times",
		    COMMAND_MCP_INSTALL_LIST_MAX);
	(void)json_array_append_new(run->allow, json_string(entry.text));
	return COMMAND_DONE;
}

static int
command_mcp_install_tool(struct command_mcp_install *run, const char *text)
{
	json_t *tool = json_string(text);

	if (tool == NULL || text[0] == '\0' || strlen(text) > 128 ||
	    json_array_size(run->tools) >= COMMAND_MCP_INSTALL_LIST_MAX) {
		json_decref(tool);
		return command_error(COMMAND_USAGE,
		    "--tool takes a tool's name, at most %u times",
		    COMMAND_MCP_INSTALL_LIST_MAX);
	}
	if (run->tools == NULL)
		run->tools = json_array();
	(void)json_array_append_new(run->tools, tool);
	run->request.tools = run->tools;
	return COMMAND_DONE;
}

/* --env NAME=VALUE, kept in the lockfile. A value is never repeated. */
static int
command_mcp_install_env(struct command_mcp_install *run, const char *text)
{
	char name[ENV_ENTRY_NAME_MAX + 1];
	size_t len = strcspn(text, "=");
	enum env_entry_verdict verdict;

	if (text[len] != '=')
		return command_error(
		    COMMAND_USAGE, "--env takes NAME=VALUE, and has no '='");
	(void)snprintf(name, sizeof(name), "%.*s",
	    len < sizeof(name) ? (int)len : (int)sizeof(name) - 1, text);
	verdict = env_entry_judge(text, len, text + len + 1);
	if (verdict != ENV_ENTRY_OK)
		return command_error(COMMAND_USAGE, "--env '%s' %s", name,
		    env_entry_text(verdict));
	if (json_object_get(run->env, name) != NULL ||
	    json_object_size(run->env) >= ENV_ENTRY_MAX)
		return command_error(COMMAND_USAGE,
		    "--env '%s': each name once, and at most %u of them", name,
		    ENV_ENTRY_MAX);
	if (json_object_set_new(run->env, name, json_string(text + len + 1)) !=
	    0)
		return command_error(COMMAND_USAGE,
		    "--env '%s' must have a value that is UTF-8", name);
	return COMMAND_DONE;
}

/* --secret NAME: typing it is the consent to it. */
static int
command_mcp_install_secret(struct command_mcp_install *run, const char *text)
{
	enum env_entry_verdict verdict =
	    env_entry_judge(text, strlen(text), "");
	size_t i;

	if (verdict != ENV_ENTRY_OK && verdict != ENV_ENTRY_SECRET)
		return command_error(COMMAND_USAGE, "--secret '%.80s' %s", text,
		    env_entry_text(verdict));
	for (i = 0; i < json_array_size(run->secrets); i++)
		if (strcmp(json_string_value(json_array_get(run->secrets, i)),
			text) == 0)
			break;
	if (i < json_array_size(run->secrets) || i == SECRET_NEED_MAX)
		return command_error(COMMAND_USAGE,
		    "--secret '%s': each name once, and at most %u of them",
		    text, SECRET_NEED_MAX);
	(void)json_array_append_new(run->secrets, json_string(text));
	return COMMAND_DONE;
}

static int
command_mcp_install_files(struct command_mcp_install *run, const char *text)
{
	char *path = realpath(text, NULL);
	int code = COMMAND_DONE;

	if (path == NULL || strlen(path) >= sizeof(run->files))
		code = command_error(COMMAND_USAGE, "--files '%s': %s", text,
		    path == NULL ? strerror(errno) : "too long");
	else
		memcpy(run->files, path, strlen(path) + 1);
	free(path);
	run->request.files = run->files;
	return code;
}

/* "64m": a number and k, m or g. */
static int
command_mcp_install_state(struct command_mcp_install *run, const char *text)
{
	unsigned long long size;
	char *end = NULL;

	errno = 0;
	size = strtoull(text, &end, 10);
	if (*end == 'k' || *end == 'm' || *end == 'g') {
		size <<= *end == 'k' ? 10 : *end == 'm' ? 20 : 30;
		end++;
	}
	if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' ||
	    size == 0 || strlen(text) > 12 ||
	    size > COMMAND_MCP_INSTALL_SIZE_MAX)
		return command_error(COMMAND_USAGE,
		    "--state '%s' is no size: use a number with k, m or g, as "
		    "in 16m",
		    text);
	run->request.state_size = size;
	return COMMAND_DONE;
}

/* One option; the exit code says whether it is right. */
static int
command_mcp_install_option(struct command_mcp_install *run, int option)
{
	switch (option) {
	case 'a':
		return command_mcp_install_allow(run, optarg);
	case 't':
		return command_mcp_install_tool(run, optarg);
	case 'f':
		return command_mcp_install_files(run, optarg);
	case 'v':
		return command_mcp_install_env(run, optarg);
	case 's':
		return command_mcp_install_state(run, optarg);
	case 'k':
		return command_mcp_install_secret(run, optarg);
	case 'c':
		run->lifetime = optarg;
		return COMMAND_DONE;
	case 'n':
		run->name = optarg;
		return COMMAND_DONE;
	case 'e':
		run->request.entry = optarg;
		return COMMAND_DONE;
	case 'l':
		run->lockfile_option = optarg;
		return COMMAND_DONE;
	case 'o':
		run->export = optarg;
		return COMMAND_DONE;
	case 'x':
		run->request.allow_scripts = true;
		return COMMAND_DONE;
	case 'j':
		run->json = true;
		return COMMAND_DONE;
	default:
		return command_option_fault("mcp install");
	}
}

/* What only means something together. */
static int
command_mcp_install_both(const struct command_mcp_install *run)
{
	time_t expires;
	size_t i;

	if (!secret_grant_lifetime(run->lifetime, 0, &expires) ||
	    (run->lifetime != NULL && json_array_size(run->secrets) == 0))
		return command_error(COMMAND_USAGE,
		    "--secret-for is the lifetime of the consent to --secret: "
		    "one of " SECRET_GRANT_LIFETIMES);
	for (i = 0; i < json_array_size(run->secrets); i++) {
		const char *name =
		    json_string_value(json_array_get(run->secrets, i));

		if (json_object_get(run->env, name) != NULL)
			return command_error(COMMAND_USAGE,
			    "'%s' is given with --env and as --secret", name);
	}
	return COMMAND_DONE;
}

static int
command_mcp_install_options(
    struct command_mcp_install *run, int argc, char **argv)
{
	static const struct option known[] = {
	    {"allow", required_argument, NULL, 'a'},
	    {"tool", required_argument, NULL, 't'},
	    {"files", required_argument, NULL, 'f'},
	    {"state", required_argument, NULL, 's'},
	    {"env", required_argument, NULL, 'v'},
	    {"secret", required_argument, NULL, 'k'},
	    {"secret-for", required_argument, NULL, 'c'},
	    {"name", required_argument, NULL, 'n'},
	    {"entry", required_argument, NULL, 'e'},
	    {"lockfile", required_argument, NULL, 'l'},
	    {"export", required_argument, NULL, 'o'},
	    {"allow-scripts", no_argument, NULL, 'x'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	int option, code = COMMAND_DONE;

	while (code == COMMAND_DONE &&
	       (option = command_option_next(argc, argv, "", known)) != -1)
		code = command_mcp_install_option(run, option);
	if (code == COMMAND_DONE && optind >= argc)
		code = command_option_fault("mcp install");
	return code == COMMAND_DONE ? command_mcp_install_both(run) : code;
}

/* --export: the file says nothing of these. */
static int
command_mcp_install_exports(const struct command_mcp_install *run)
{
	const struct install_request *request = &run->request;

	if (run->export == NULL ||
	    (request->pin.kind != PIN_DIR && !request->allow_scripts &&
		request->files == NULL && request->state_size == 0 &&
		json_object_size(run->env) + json_array_size(run->secrets) +
			json_array_size(run->args) ==
		    0))
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "--export is for packages of npm and pypi, with --allow and "
	    "--tool alone: a registry serves no folder, script, file, state, "
	    "variable, secret or argument");
}

/* The pin, and the arguments behind it. */
static int
command_mcp_install_pin(struct command_mcp_install *run, int argc, char **argv)
{
	char sentence[512];
	enum pin_verdict verdict = pin_parse(argv[optind], &run->request.pin);

	if (verdict != PIN_OK) {
		pin_explain(verdict, argv[optind], sentence, sizeof(sentence));
		return command_error(COMMAND_USAGE, "%s", sentence);
	}
	if (run->request.entry != NULL && run->request.pin.kind != PIN_DIR)
		return command_error(COMMAND_USAGE,
		    "--entry is for folders: a package says itself what its "
		    "command is");
	for (int i = optind + 1; i < argc; i++) {
		json_t *word = json_string(argv[i]);

		if (word == NULL || strlen(argv[i]) > 4096 || i > 128) {
			json_decref(word);
			return command_error(COMMAND_USAGE,
			    "argument %d of the server is not usable",
			    i - optind);
		}
		(void)json_array_append_new(run->args, word);
	}
	return COMMAND_DONE;
}

/* --name, or a slug from the name of the package or folder. */
static int
command_mcp_install_slug(struct command_mcp_install *run)
{
	const struct pin *pin = &run->request.pin;
	char *path = NULL;
	const char *from = pin->name;
	bool derived;

	if (run->name != NULL) {
		if (!slug_is_valid(run->name))
			return command_error(COMMAND_USAGE,
			    "--name '%s' must be " SLUG_RULE, run->name);
		(void)snprintf(run->request.slug, sizeof(run->request.slug),
		    "%s", run->name);
		return COMMAND_DONE;
	}
	if (pin->kind == PIN_DIR) {
		path = realpath(pin->path, NULL);
		if (path == NULL)
			return command_error(COMMAND_USAGE, "%s: %s", pin->path,
			    strerror(errno));
		from = strrchr(path, '/') + 1;
	}
	derived = slug_derive(from, run->request.slug);
	free(path);
	if (derived)
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "no short name can be made of '%s': give one with --name", from);
}

static int
command_mcp_install_parse(
    struct command_mcp_install *run, int argc, char **argv)
{
	struct json_fault fault = {""};
	enum result result;
	int code = command_mcp_install_options(run, argc, argv);

	if (code == COMMAND_DONE)
		code = command_mcp_install_pin(run, argc, argv);
	if (code == COMMAND_DONE)
		code = command_mcp_install_exports(run);
	if (code == COMMAND_DONE)
		code = command_mcp_install_slug(run);
	if (code != COMMAND_DONE)
		return code;
	run->request.allow = run->allow;
	run->request.args = run->args;
	run->request.env = run->env;
	run->request.secrets = run->secrets;
	run->request.lockfile = run->lockfile;
	result = lockfile_path(
	    run->lockfile_option, run->lockfile, sizeof(run->lockfile), &fault);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static int
command_mcp_install_done(struct command_mcp_install *run, json_t *entry)
{
	if (!run->json) {
		printf("%s %s installed (%zu dependencies), %s\n",
		    run->request.slug,
		    json_string_value(json_object_get(entry, "version")),
		    json_array_size(json_object_get(entry, "dependencies")),
		    json_string_value(json_object_get(entry, "artifact_hash")));
		return COMMAND_DONE;
	}
	return install_services_answer(&run->request, entry);
}

/* To its secrets, once it is there. Without it the server does not run. */
static int
command_mcp_install_consent(struct command_mcp_install *run, json_t *entry)
{
	struct json_fault fault = {""};
	struct secret_need need;
	enum result result = secret_need_read(
	    run->request.slug, entry, BOUNDARY_MCP, &need, &fault);

	if (result != RESULT_OK)
		return command_error(COMMAND_REFUSED, "%s", fault.text);
	if (need.count == 0)
		return COMMAND_DONE;
	return secret_consent_give(
	    &run->services.ledger, &need, run->lifetime, run->request.lockfile);
}

/* What a registry can serve of it, into a new file. */
static int
command_mcp_install_export(struct command_mcp_install *run, json_t *entry)
{
	json_t *server;
	int fd, code = COMMAND_DONE;

	if (run->export == NULL)
		return COMMAND_DONE;
	fd = open(run->export, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return command_error(COMMAND_CONFIG,
		    "--export %.200s: %s; it is installed", run->export,
		    strerror(errno));
	server = registry_server_make(entry);
	if (server == NULL ||
	    json_dumpfd(server, fd, JSON_INDENT(1) | JSON_SORT_KEYS) != 0 ||
	    fsync(fd) != 0)
		code = command_error(COMMAND_CONFIG,
		    "--export %.200s: cannot be written; it is installed",
		    run->export);
	json_decref(server);
	(void)close(fd);
	return code;
}

static int
command_mcp_install_run(struct command_mcp_install *run)
{
	json_t *entry = NULL;
	int code = install_services_lockfile(run->lockfile);

	run->install.request = &run->request;
	if (code == COMMAND_DONE)
		code = install_services_open(&run->services, &run->install);
	if (code != COMMAND_DONE)
		return code;
	if (install_run(&run->install, &entry) != RESULT_OK)
		return install_services_failed(
		    &run->install, run->request.slug, run->json);
	code = command_mcp_install_consent(run, entry);
	if (code == COMMAND_DONE)
		code = command_mcp_install_export(run, entry);
	if (code == COMMAND_DONE)
		code = command_mcp_install_done(run, entry);
	json_decref(entry);
	return code;
}

static int
command_mcp_install(int argc, char **argv)
{
	struct command_mcp_install *run = calloc(1, sizeof(*run));
	int code;

	if (run == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	run->allow = json_array();
	run->args = json_array();
	run->env = json_object();
	run->secrets = json_array();
	code = command_mcp_install_parse(run, argc, argv);
	if (code == COMMAND_DONE)
		code = command_mcp_install_run(run);
	install_services_close(&run->services);
	json_decref(run->allow);
	json_decref(run->tools);
	json_decref(run->args);
	json_decref(run->env);
	json_decref(run->secrets);
	free(run);
	return code;
}

extern const struct command command_mcp_install_rows[];
const struct command command_mcp_install_rows[] = {
    {"mcp install", "install an MCP server, pinned, into a sealed volume",
	"Usage: agentnode mcp install npm:NAME@X.Y.Z | pypi:NAME==X.Y.Z | "
	"./FOLDER\n"
	"         [--allow HOST[:PORT]]... [--tool NAME]... [--files DIR]\n"
	"         [--state SIZE] [--env NAME=VALUE]... [--secret NAME]...\n"
	"         [--secret-for LIFETIME] [--name SLUG] [--entry PATH]\n"
	"         [--allow-scripts] [--export FILE] [--lockfile FILE] "
	"[--json]\n"
	"         [-- ARGUMENT...]\n\n"
	"Fetches in a sandbox that reaches the package registry only, runs no\n"
	"scripts of packages, records every dependency with its integrity, "
	"and\n"
	"writes agentnode.lock. The server itself reaches nothing but what\n"
	"--allow names.\n\n"
	"  --allow HOST      TLS host (port 443 unless given) it may reach\n"
	"  --tool NAME       expose this tool only (repeatable)\n"
	"  --files DIR       copy this folder to /files at every start\n"
	"  --state SIZE      keep /state between runs, at most SIZE\n"
	"  --env NAME=VALUE  set this variable at every run; not for secrets\n"
	"  --secret NAME     give it this variable of agentnode's environment\n"
	"                    at every run: a consent, kept without the value\n"
	"  --secret-for LIFETIME   of that consent: 7d, 30d, 90d, forever\n"
	"  --name SLUG       short name; made from the package's else\n"
	"  --entry PATH      folders: the file to start\n"
	"  --allow-scripts   run the packages' install scripts, in the "
	"sandbox\n"
	"  --export FILE     write what a registry serves of it ('trust sign "
	"index\n"
	"                    --kind mcp')\n"
	"  --lockfile FILE   instead of the one in force\n\n"
	"Example: agentnode mcp install npm:@modelcontextprotocol/"
	"server-memory@2025.4.25\n"
	"         --state 1m --env MEMORY_FILE_PATH=/state/memory.jsonl\n",
	command_mcp_install},
    {NULL, NULL, NULL, NULL},
};
