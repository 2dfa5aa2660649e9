/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens what installations need; see install_services.h. It must never
 * change anything by itself.
 */
#include "supervisor/command/install_services.h"

#include <stdio.h>
#include <unistd.h>

#include "supervisor/command/command.h"
#include "supervisor/package/lockfile.h"

static void
install_services_progress(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

int
install_services_lockfile(const char *path)
{
	struct json_fault fault = {""};
	struct lockfile *lockfile = NULL;
	enum result result = lockfile_load(path, &lockfile, &fault);

	lockfile_free(&lockfile);
	if (result == RESULT_OK || result == RESULT_NOT_FOUND)
		return COMMAND_DONE;
	return command_fault(result, &fault);
}

int
install_services_open(
    struct install_services *services, struct install *install)
{
	struct engine_host_fault engine = {"", ""};
	struct json_fault fault = {""};
	enum result result = config_load(&services->config, &fault);
	int code;

	if (result != RESULT_OK)
		return command_fault(result, &fault);
	if (engine_host_open(services->config,
		config_text(services->config, "sandbox.image"), &services->host,
		&engine) != RESULT_OK)
		return command_error(COMMAND_UNAVAILABLE, "%s", engine.detail);
	services->has_host = true;
	install->config = services->config;
	install->host = &services->host;
	install->progress = install_services_progress;
	install->watch_fd = STDERR_FILENO;
	code = command_ledger_open(&services->ledger);
	install->base = services->ledger.base;
	install->audit = services->ledger.audit;
	return code;
}

void
install_services_close(struct install_services *services)
{
	command_ledger_close(&services->ledger);
	if (services->has_host)
		engine_host_close(&services->host);
	services->has_host = false;
	config_free(&services->config);
}

static int
install_services_exit(enum result result)
{
	if (result == RESULT_NOT_FOUND) /* build_failed: the registry said no */
		return COMMAND_NO;
	if (result == RESULT_SYSTEM || result == RESULT_CLOSED)
		return COMMAND_UNAVAILABLE;
	return command_exit_of(result);
}

int
install_services_failed(
    const struct install *install, const char *slug, bool json)
{
	const struct install_fault *fault = &install->fault;
	json_t *object;

	if (json) {
		object = json_pack("{s:b,s:s,s:s,s:s}", "ok", 0, "package",
		    slug, "code", fault->code, "detail", fault->detail);
		(void)command_print_json(object);
		json_decref(object);
	}
	return command_error(install_services_exit(fault->result), "%s (%s)",
	    fault->detail, fault->code);
}

int
install_services_answer(const struct install_request *request, json_t *entry)
{
	json_t *object = json_pack("{s:b,s:s,s:s,s:O}", "ok", 1, "package",
	    request->slug, "lockfile", request->lockfile, "entry", entry);
	int code = command_print_json(object);

	json_decref(object);
	return code;
}
