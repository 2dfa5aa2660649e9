/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentnode install`: a folder with a manifest into a sealed volume, as an
 * agent. What it asks for is shown first; installing it is the consent.
 * Called by command_dispatch.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/command/command.h"
#include "supervisor/command/install_services.h"
#include "supervisor/package/install_agent.h"
#include "supervisor/package/lockfile.h"

struct command_install {
	struct install_request request;
	struct install install;
	struct install_services services;
	json_t *manifest; /* owned */
	json_t *allow;    /* owned; empty */
	char lockfile[4096];
	const char *lockfile_option;
	bool json;
};

static int
command_install_options(struct command_install *run, int argc, char **argv)
{
	static const struct option known[] = {
	    {"lockfile", required_argument, NULL, 'l'},
	    {"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct json_fault fault = {""};
	enum result result;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'l')
			run->lockfile_option = optarg;
		else if (option == 'j')
			run->json = true;
		else
			return command_option_fault("install");
	}
	if (optind + 1 != argc)
		return command_option_fault("install");
	result = lockfile_path(
	    run->lockfile_option, run->lockfile, sizeof(run->lockfile), &fault);
	return result == RESULT_OK ? COMMAND_DONE
				   : command_fault(result, &fault);
}

static int
command_install_folder(struct command_install *run, const char *text)
{
	enum pin_verdict verdict = pin_parse(text, &run->request.pin);

	if (verdict == PIN_OK && run->request.pin.kind == PIN_DIR)
		return COMMAND_DONE;
	return command_error(COMMAND_USAGE,
	    "'%.100s' is no folder: write ./FOLDER or /PATH; packages of npm "
	    "and pypi are MCP servers, 'agentnode mcp install' installs them",
	    text);
}

static const json_t *
command_install_part(const json_t *manifest, const char *part, const char *key)
{
	return json_object_get(
	    json_object_get(json_object_get(manifest, "agent"), part), key);
}

/* One list as words behind a label. */
static void
command_install_show(const char *label, const json_t *list, const char *none)
{
	size_t i, count = json_array_size(list);

	fprintf(stderr, "  %-10s", label);
	if (count == 0)
		fprintf(stderr, "%s", none);
	for (i = 0; i < count; i++)
		fprintf(stderr, "%s%s", i > 0 ? ", " : "",
		    json_string_value(json_array_get(list, i)));
	fprintf(stderr, "\n");
}

static void
command_install_summary(const json_t *manifest)
{
	const json_t *network = json_object_get(
	    json_object_get(manifest, "permissions"), "network");

	fprintf(stderr, "%s %s by %s\n",
	    json_string_value(json_object_get(manifest, "package_id")),
	    json_string_value(json_object_get(manifest, "version")),
	    json_string_value(json_object_get(manifest, "publisher")));
	command_install_show(
	    "reaches", json_object_get(network, "allowed_domains"), "no host");
	command_install_show("tools",
	    command_install_part(manifest, "tool_access", "allowed_packages"),
	    "none");
	if (json_is_true(
		command_install_part(manifest, "llm_access", "enabled")))
		command_install_show("models",
		    command_install_part(
			manifest, "llm_access", "allowed_models"),
		    "any that the host allows");
	else
		command_install_show("models", NULL, "no access");
}

static int
command_install_manifest(struct command_install *run)
{
	struct install_request *request = &run->request;

	if (install_agent_manifest(
		&run->install, request->pin.path, &run->manifest) != RESULT_OK)
		return install_services_failed(&run->install,
		    request->slug[0] != '\0' ? request->slug
					     : request->pin.path,
		    run->json);
	(void)snprintf(request->slug, sizeof(request->slug), "%s",
	    json_string_value(json_object_get(run->manifest, "package_id")));
	(void)snprintf(request->pin.version, sizeof(request->pin.version), "%s",
	    json_string_value(json_object_get(run->manifest, "version")));
	request->shown = run->manifest;
	command_install_summary(run->manifest);
	return COMMAND_DONE;
}

/* A slug that is taken by something else: clients may name it. */
static int
command_install_other(const struct command_install *run)
{
	struct json_fault fault = {""};
	struct lockfile *lockfile = NULL;
	const json_t *entry;
	const char *type;
	bool other;

	if (lockfile_load(run->lockfile, &lockfile, &fault) != RESULT_OK)
		return COMMAND_DONE; /* there is none: it was looked at */
	entry = lockfile_entry(lockfile, run->request.slug);
	type = json_string_value(json_object_get(entry, "package_type"));
	other = entry != NULL && (type == NULL || strcmp(type, "agent") != 0);
	lockfile_free(&lockfile);
	if (!other)
		return COMMAND_DONE;
	return command_error(COMMAND_REFUSED,
	    "%s is installed as something else; 'agentnode remove %s' first",
	    run->request.slug, run->request.slug);
}

static int
command_install_done(struct command_install *run, json_t *entry)
{
	if (!run->json) {
		printf("%s %s installed, %s\n", run->request.slug,
		    json_string_value(json_object_get(entry, "version")),
		    json_string_value(json_object_get(entry, "artifact_hash")));
		return COMMAND_DONE;
	}
	return install_services_answer(&run->request, entry);
}

static int
command_install_run(struct command_install *run)
{
	json_t *entry = NULL;
	int code = install_services_lockfile(run->lockfile);

	run->request.lockfile = run->lockfile;
	run->request.allow = run->allow;
	run->request.is_agent = true;
	run->install.request = &run->request;
	if (code == COMMAND_DONE)
		code = install_services_open(&run->services, &run->install);
	if (code == COMMAND_DONE)
		code = command_install_manifest(run);
	if (code == COMMAND_DONE)
		code = command_install_other(run);
	if (code != COMMAND_DONE)
		return code;
	if (install_run(&run->install, &entry) != RESULT_OK)
		return install_services_failed(
		    &run->install, run->request.slug, run->json);
	code = command_install_done(run, entry);
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
	run->allow = json_array();
	code = command_install_options(run, argc, argv);
	if (code == COMMAND_DONE)
		code = command_install_folder(run, argv[optind]);
	if (code == COMMAND_DONE)
		code = command_install_run(run);
	install_services_close(&run->services);
	json_decref(run->manifest);
	json_decref(run->allow);
	free(run);
	return code;
}

extern const struct command command_install_rows[];
const struct command command_install_rows[] = {
    {"install", "install an agent from a folder into a sealed volume",
	"Usage: agentnode install ./FOLDER [--lockfile FILE] [--json]\n\n"
	"FOLDER holds agentnode.yaml and everything the agent needs "
	"(node_modules,\nPython packages). It is read as it is; nothing of it "
	"runs. What the\nmanifest asks for is shown, and installing it is the "
	"consent to it.\n\n"
	"  --lockfile FILE   instead of the one in force\n\n"
	"Example: agentnode install ./my-agent\n",
	command_install},
    {NULL, NULL, NULL, NULL},
};
