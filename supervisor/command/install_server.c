/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A registry's MCP server, installed; see install_server.h. It must never
 * give a tier to an entry whose packages are not exactly the attested ones,
 * nor install one that nobody agreed to.
 */
#include "supervisor/command/install_server.h"

#include <string.h>
#include <time.h>

#include "egress-proxy/policy_entry.h"
#include "supervisor/command/install_ask.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/policy/suffix_check.h"

/* A slug that is taken by something else: clients may name it. */
static enum result
install_server_other(struct install *install)
{
	const struct install_request *request = install->request;
	struct lockfile *lockfile = NULL;
	struct json_fault fault = {""};
	const json_t *entry;
	const char *runtime;
	bool other;

	if (lockfile_load(request->lockfile, &lockfile, &fault) != RESULT_OK)
		return RESULT_OK; /* there is none: it was looked at */
	entry = lockfile_entry(lockfile, request->slug);
	runtime = json_string_value(json_object_get(entry, "runtime"));
	other =
	    entry != NULL && (runtime == NULL || strcmp(runtime, "mcp") != 0);
	lockfile_free(&lockfile);
	if (!other)
		return RESULT_OK;
	return install_fault_set(&install->fault, RESULT_REFUSED, "slug_taken",
	    "%s is installed as something else; 'agentnode remove %s' first",
	    request->slug, request->slug);
}

/* A wildcard over what many own is not agreed to by anybody. */
static enum result
install_server_allow(struct install *install, const json_t *allow)
{
	char why[SUFFIX_CHECK_WHY_MAX] = "";
	struct policy_entry entry;
	const char *text;

	for (size_t i = 0; i < json_array_size(allow); i++) {
		text = json_string_value(json_array_get(allow, i));
		if (policy_entry_parse(text, strlen(text),
			POLICY_ENTRY_FROM_CONSENTED,
			&entry) == POLICY_ENTRY_OK &&
		    suffix_check_entry(&entry, why) == RESULT_OK)
			continue;
		return install_fault_set(&install->fault, RESULT_REFUSED,
		    "registry_server", "mcp_allowed_domains[%zu] '%s' %s", i,
		    text, why);
	}
	return RESULT_OK;
}

/* The packages first; then the entry is what was attested, or is not. */
static enum result
install_server_attest(struct install *install, json_t *entry, void *context)
{
	const struct registry_item *item = context;
	struct json_fault fault = {""};
	struct trust_verdict verdict;
	enum result result = registry_server_fits(
	    &item->server, json_object_get(entry, "dependencies"), &fault);

	if (result != RESULT_OK)
		return install_fault_set(&install->fault, result,
		    "registry_integrity", "%s", fault.text);
	if (json_object_set_new(entry, "artifact_hash",
		json_string(item->artifact_hash)) != 0 ||
	    registry_item_mark(item, entry) != RESULT_OK)
		return RESULT_NO_MEMORY;
	result = trust_prove(
	    install->config, item->slug, entry, time(NULL), &verdict, &fault);
	if (result == RESULT_OK && verdict.tier == item->trust.tier)
		return RESULT_OK;
	if (result == RESULT_OK)
		result = RESULT_MISMATCH;
	return install_fault_set(&install->fault, result,
	    verdict.code[0] != '\0' ? verdict.code : "trust_tier", "%s",
	    fault.text);
}

enum result
install_server_run(struct install *install, struct install_request *request,
    const struct registry_item *item, bool yes, json_t **entry_r)
{
	enum result result;

	*entry_r = NULL;
	request->pin = item->server.pin;
	request->allow = item->server.allow;
	request->tools = item->server.tools;
	request->attest = install_server_attest;
	request->context = (void *)(uintptr_t)item;
	install->request = request;
	if (request->allow_scripts)
		return install_fault_set(&install->fault, RESULT_REFUSED,
		    "registry_server",
		    "--allow-scripts: a script could change what is attested; "
		    "a registry's MCP server is installed without them");
	result = install_server_other(install);
	if (result == RESULT_OK)
		result = install_server_allow(install, item->server.allow);
	if (result == RESULT_OK)
		result = install_ask_server(install, item, yes);
	if (result == RESULT_OK)
		result = install_run(install, entry_r);
	return result;
}
