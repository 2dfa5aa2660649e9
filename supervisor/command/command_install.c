/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode install`: a folder or an archive with a manifest into a sealed
 * volume, as a tool pack or an agent. What it asks for is shown first and
 * agreed to once. Called by command_dispatch.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "supervisor/command/command.h"
#include "supervisor/command/command_option.h"
#include "supervisor/command/install_ask.h"
#include "supervisor/command/install_server.h"
#include "supervisor/command/install_services.h"
#include "supervisor/command/install_slug.h"
#include "supervisor/command/secret_consent.h"
#include "supervisor/package/install_pack.h"
#include "supervisor/package/lockfile.h"

struct command_install {
	struct install_request request;
	struct install_pack_source source;
	struct install install;
	struct install_services services;
	struct install_slug registry; /* where it comes from a registry */
	json_t *allow;                /* owned; empty */
	char lockfile[4096];
	char wheels[PATH_MAX];
	const char *lockfile_option;
	const char *name; /* SLUG[@VERSION] of a registry; NULL */
	bool json, yes;
};

static int
command_install_wheels(struct command_install *run, const char *folder)
{
	if (realpath(folder, run->wheels) == NULL)
		return command_error(
		    COMMAND_USAGE, "--wheels %.200s: %m", folder);
	run->source.wheels = run->wheels;
	return COMMAND_DONE;
}

static int
command_install_option(struct command_install *run, int option)
{
	switch (option) {
	case 'l':
		run->lockfile_option = optarg;
		return COMMAND_DONE;
	case 'j':
		run->json = true;
		return COMMAND_DONE;
	case 'y':
		run->yes = true;
		return COMMAND_DONE;
	case 's':
		run->request.allow_scripts = true;
		return COMMAND_DONE;
	case 'b':
		run->source.sandbox = true;
		return COMMAND_DONE;
	case 'w':
		return command_install_wheels(run, optarg);
	default:
		return command_option_fault("install");
	}
}

static int
command_install_options(struct command_install *run, int argc, char **argv)
{
	static const struct option known[] = {
	    {"lockfile", required_argument, NULL, 'l'},
	    {"json", no_argument, NULL, 'j'}, {"yes", no_argument, NULL, 'y'},
	    {"allow-scripts", no_argument, NULL, 's'},
	    {"sandbox", no_argument, NULL, 'b'},
	    {"wheels", required_argument, NULL, 'w'}, {NULL, 0, NULL, 0}};
	struct json_fault fault = {""};
	enum result result;
	int option, code;

	while ((option = command_option_next(argc, argv, "", known)) != -1) {
		code = command_install_option(run, option);
		if (code != COMMAND_DONE)
			return code;
	}
	if (optind + 1 != argc)
		return command_option_fault("install");
	result = lockfile_path(
	    run->lockfile_option, run->lockfile, sizeof(run->lockfile), &fault);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

/* A file by its name; whether it is an archive is found out by reading. */
static int
command_install_archive(struct command_install *run, const char *path)
{
	struct stat status;

	run->source.archive_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (run->source.archive_fd < 0 ||
	    fstat(run->source.archive_fd, &status) != 0)
		return command_error(COMMAND_CONFIG, "%.200s: %m", path);
	if (!S_ISREG(status.st_mode))
		return command_error(COMMAND_USAGE,
		    "%.200s is neither a folder nor an archive file", path);
	return COMMAND_DONE;
}

static int
command_install_place(struct command_install *run, const char *text)
{
	struct stat status;
	enum pin_verdict verdict = pin_parse(text, &run->request.pin);

	if (verdict == PIN_OK && run->request.pin.kind == PIN_DIR &&
	    stat(text, &status) == 0 && S_ISDIR(status.st_mode)) {
		run->source.folder = run->request.pin.path;
		return COMMAND_DONE;
	}
	if (registry_is_name(text)) {
		run->name = text;
		return COMMAND_DONE;
	}
	if (strchr(text, '/') != NULL && strncmp(text, "npm:", 4) != 0 &&
	    strncmp(text, "pypi:", 5) != 0)
		return command_install_archive(run, text);
	return command_error(COMMAND_USAGE,
	    "'%.100s' is no folder, archive or SLUG[@VERSION]: write "
	    "./FOLDER, ./FILE.tar.gz or /PATH; packages of npm and pypi are "
	    "MCP "
	    "servers, 'agentnode mcp install' installs them",
	    text);
}

/* A slug that is taken by something else: clients may name it. */
static enum result
command_install_other(struct command_install *run, struct install *install)
{
	const char *slug = install->request->slug;
	const char *type = json_string_value(json_object_get(
	    install->request->pack->read.manifest, "package_type"));
	struct json_fault fault = {""};
	struct lockfile *lockfile = NULL;
	const char *old, *runtime;
	const json_t *entry;
	bool other;

	if (lockfile_load(run->lockfile, &lockfile, &fault) != RESULT_OK)
		return RESULT_OK; /* there is none: it was looked at */
	entry = lockfile_entry(lockfile, slug);
	old = json_string_value(json_object_get(entry, "package_type"));
	runtime = json_string_value(json_object_get(entry, "runtime"));
	other = entry != NULL &&
		(old == NULL || strcmp(old, type) != 0 ||
		    (runtime != NULL && strcmp(runtime, "mcp") == 0));
	lockfile_free(&lockfile);
	if (!other)
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_REFUSED, "slug_taken",
	    "%s is installed as something else; 'agentnode remove %s' first",
	    slug, slug);
}

static enum result
command_install_agree(struct install *install, void *context)
{
	struct command_install *run = context;
	enum result result = command_install_other(run, install);

	if (result == RESULT_OK)
		result = install_ask(install, run->yes);
	return result;
}

static int
command_install_done(
    struct command_install *run, const char *slug, json_t *entry)
{
	struct install_request shown = run->request;

	if (run->json) {
		(void)snprintf(shown.slug, sizeof(shown.slug), "%s", slug);
		return install_services_answer(&shown, entry);
	}
	printf("%s %s installed, %s\n", slug,
	    json_string_value(json_object_get(entry, "version")),
	    json_string_value(json_object_get(entry, "artifact_hash")));
	return COMMAND_DONE;
}

/* From a registry, a folder or an archive. */
static enum result
command_install_story(
    struct command_install *run, char slug_r[SLUG_MAX + 1], json_t **entry_r)
{
	struct install *install = &run->install;
	struct install_request *request = &run->request;
	struct registry_item *item = &run->registry.item;
	enum result result = RESULT_OK;

	if (run->name != NULL)
		result = install_slug_open(
		    &run->registry, run->name, install, request, &run->source);
	if (result == RESULT_OK && item->server.root != NULL) {
		(void)snprintf(slug_r, SLUG_MAX + 1, "%s", item->slug);
		if (run->source.wheels != NULL)
			return install_fault_set(&install->fault,
			    RESULT_REFUSED, "registry_server",
			    "--wheels: an MCP server's packages come from "
			    "npm or pypi");
		return install_server_run(
		    install, request, item, run->yes, entry_r);
	}
	if (result == RESULT_OK)
		result = install_pack_run(
		    install, request, &run->source, slug_r, entry_r);
	return result;
}

static int
command_install_run(struct command_install *run, const char *place)
{
	char slug[SLUG_MAX + 1] = "";
	json_t *entry = NULL;
	int code = install_services_lockfile(run->lockfile);

	run->request.lockfile = run->lockfile;
	run->request.allow = run->allow;
	run->source.ask = command_install_agree;
	run->source.context = run;
	run->source.source = "local";
	if (code == COMMAND_DONE)
		code = install_services_open(&run->services, &run->install);
	if (code != COMMAND_DONE)
		return code;
	if (command_install_story(run, slug, &entry) != RESULT_OK)
		return install_services_failed(
		    &run->install, slug[0] != '\0' ? slug : place, run->json);
	code = secret_consent_install(
	    &run->services.ledger, slug, entry, run->yes, run->lockfile);
	if (code == COMMAND_DONE)
		code = command_install_done(run, slug, entry);
	json_decref(entry);
	return code;
}

static int
command_install(int argc, char **argv)
{
	struct command_install *run = calloc(1, sizeof(*run));
	int code;

	if (run == NULL)
		return command_error(COMMAND_INTERNAL, "out of memory");
	run->source.archive_fd = -1;
	run->registry.item.fd = -1;
	run->allow = json_array();
	code = command_install_options(run, argc, argv);
	if (code == COMMAND_DONE)
		code = command_install_place(run, argv[optind]);
	if (code == COMMAND_DONE)
		code = command_install_run(run, argv[optind]);
	install_services_close(&run->services);
	install_slug_close(&run->registry);
	if (run->name == NULL)
		fd_close(&run->source.archive_fd);
	json_decref(run->allow);
	free(run);
	return code;
}

extern const struct command command_install_rows[];
const struct command command_install_rows[] = {
    {"install", "install a tool pack or an agent into a sealed volume",
	"Usage: agentnode install ./FOLDER | ./FILE.tar.gz | SLUG[@VERSION]\n"
	"           [--yes] [--sandbox] [--wheels DIR] [--allow-scripts]\n"
	"           [--lockfile FILE] [--json]\n\n"
	"The folder or archive holds agentnode.yaml and the code. Nothing of "
	"it runs.\nIts dependencies are fetched in a build sandbox by their "
	"hashes\n(requirements.txt, or package-lock.json). What the manifest "
	"asks for is\nshown; a tool pack is installed when you say yes to "
	"it, an agent by\nthis command.\n\n"
	"SLUG is a package, or an MCP server, of the registry that "
	"registry.path names: its "
	"signed index\nand its attestation are checked first, then the hash "
	"of what it serves. Only\nsuch a package has a tier above "
	"unverified.\n\n"
	"  --yes             agree to what a tool pack asks for, and give it "
	"the\n"
	"                    secrets that it names, for 90 days\n"
	"  --sandbox         build for the sandbox what the policy lets run on "
	"the\n                    host (curated and trusted tool packs)\n"
	"  --wheels DIR      python: take the dependencies from these files\n"
	"  --allow-scripts   run install scripts, inside the build sandbox\n"
	"  --lockfile FILE   instead of the one in force\n\n"
	"Example: agentnode install ./my-tools --yes\n",
	command_install},
    {NULL, NULL, NULL, NULL},
};
