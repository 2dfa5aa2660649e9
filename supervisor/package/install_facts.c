/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a tree by way of agentnode-unpack; see install_facts.h. What
 * comes back was checked there letter by letter; it is parsed strictly
 * here all the same.
 */
#include "supervisor/package/install_facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "supervisor/package/unpack_call.h"

#define INSTALL_FACTS_TIMEOUT_S 600U

enum result
install_facts_ask(struct install *install, const char *job, json_t *options,
    int root_fd, int list_fd, json_t **result_r)
{
	struct unpack_call_spec spec = {.job = job,
	    .options = options,
	    .roots = &root_fd,
	    .root_count = 1,
	    .fds = &list_fd,
	    .fd_count = list_fd < 0 ? 0 : 1,
	    .timeout_s = INSTALL_FACTS_TIMEOUT_S};
	char detail[512] = "";
	enum result result = unpack_call_wait(
	    install->config, &spec, result_r, detail, sizeof(detail));

	if (result == RESULT_OK)
		return RESULT_OK;
	return install_fault_set(
	    &install->fault, result, "package_invalid", "%s", detail);
}

enum result
install_facts_verify(struct install *install, int root_fd, const char *hash)
{
	json_t *total = NULL;
	const char *got;
	enum result result = install_facts_ask(install, UNPACK_JOB_HASH_TREE,
	    json_pack("{s:i}", "root", 0), root_fd, -1, &total);

	if (result != RESULT_OK)
		return result;
	got = json_string_value(json_object_get(total, "hash"));
	if (got == NULL || strcmp(got, hash) != 0)
		result = install_fault_set(&install->fault, RESULT_MISMATCH,
		    "integrity_volume",
		    "the volume holds %s instead of %s: it was changed, or "
		    "the engine did not store what it was given",
		    got == NULL ? "nothing" : got, hash);
	json_decref(total);
	return result;
}

enum result
install_facts_list(struct install *install, int list_fd, json_t **list_r)
{
	struct json_fault fault = {""};
	char *bytes = NULL;
	size_t len = 0;
	enum result result = RESULT_SYSTEM;

	if (lseek(list_fd, 0, SEEK_SET) == 0)
		result = fd_read_all(list_fd, UNPACK_LIST_MAX, &bytes, &len);
	if (result == RESULT_OK)
		result = json_field_parse(bytes, len, list_r, &fault);
	free(bytes);
	if (result == RESULT_OK && json_is_array(*list_r))
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_INTERNAL,
	    "unpack_failed", "the list of dependencies is unusable");
}

/* npm and pypi: the pin says what it must be. */
static enum result
install_facts_package(struct install *install, int root_fd,
    struct install_facts *facts_r, json_t **result_r)
{
	const struct pin *pin = &install->request->pin;
	bool npm = pin->kind == PIN_NPM;
	int list FD_CLEANUP =
	    memfd_create("agentnode-dependencies", MFD_CLOEXEC);
	enum result result;

	if (list < 0)
		return install_fault_set(&install->fault, RESULT_SYSTEM,
		    "no_descriptors", "memfd_create: %m");
	result = install_facts_ask(install,
	    npm ? UNPACK_JOB_NPM_DESCRIBE : UNPACK_JOB_PIP_DESCRIBE,
	    json_pack("{s:i,s:s,s:s}", "root", 0, "package", pin->name,
		"version", pin->version),
	    root_fd, list, result_r);
	if (result == RESULT_OK)
		result =
		    install_facts_list(install, list, &facts_r->dependencies);
	(void)snprintf(facts_r->manager, sizeof(facts_r->manager), "%s",
	    npm ? "npm" : "pypi");
	(void)snprintf(facts_r->runner, sizeof(facts_r->runner), "%s",
	    npm ? "node" : "python");
	(void)snprintf(facts_r->name, sizeof(facts_r->name), "%s", pin->name);
	(void)snprintf(
	    facts_r->version, sizeof(facts_r->version), "%s", pin->version);
	return result;
}

/* A local folder says itself what it is; its version is its content. */
static enum result
install_facts_dir(struct install *install, int root_fd, const char *hash,
    struct install_facts *facts_r, json_t **result_r)
{
	const char *entry = install->request->entry;
	json_t *options = json_pack("{s:i,s:s*}", "root", 0, "entry", entry);
	enum result result = install_facts_ask(
	    install, UNPACK_JOB_DIR_DESCRIBE, options, root_fd, -1, result_r);
	const char *runner;

	if (result != RESULT_OK)
		return result;
	runner = json_string_value(json_object_get(*result_r, "runner"));
	(void)snprintf(facts_r->manager, sizeof(facts_r->manager), "local");
	(void)snprintf(facts_r->runner, sizeof(facts_r->runner), "%s",
	    runner != NULL && strcmp(runner, "node") == 0 ? "node" : "python");
	(void)snprintf(
	    facts_r->name, sizeof(facts_r->name), "%s", install->request->slug);
	(void)snprintf(facts_r->version, sizeof(facts_r->version), "0+%.12s",
	    hash + strlen("sha256:"));
	facts_r->dependencies = json_array();
	return RESULT_OK;
}

enum result
install_facts_read(struct install *install, int root_fd, const char *hash,
    struct install_facts *facts_r)
{
	json_t *object = NULL;
	const char *entry;
	enum result result;

	*facts_r = (struct install_facts){.dependencies = NULL};
	if (install->request->pack != NULL)
		return RESULT_OK; /* known, and sealed by the hash */
	if (install->request->pin.kind == PIN_DIR)
		result =
		    install_facts_dir(install, root_fd, hash, facts_r, &object);
	else
		result =
		    install_facts_package(install, root_fd, facts_r, &object);
	entry = json_string_value(json_object_get(object, "entry"));
	if (result == RESULT_OK && entry == NULL)
		result = install_fault_set(&install->fault, RESULT_INTERNAL,
		    "unpack_failed", "agentnode-unpack named no command");
	if (result == RESULT_OK)
		(void)snprintf(
		    facts_r->entry, sizeof(facts_r->entry), "%s", entry);
	json_decref(object);
	if (result != RESULT_OK)
		install_facts_clear(facts_r);
	return result;
}

void
install_facts_clear(struct install_facts *facts)
{
	json_decref(facts->dependencies);
	facts->dependencies = NULL;
}
