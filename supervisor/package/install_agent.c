/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents as packages; see install_agent.h. The supervisor never opens the
 * manifest: agentnode-unpack reads it, and what comes back is checked again.
 */
#include "supervisor/package/install_agent.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "egress-proxy/policy_entry.h"
#include "supervisor/package/install_entry.h"
#include "supervisor/package/install_facts.h"
#include "supervisor/package/manifest.h"
#include "supervisor/package/unpack_call.h"

#define INSTALL_AGENT_TIMEOUT_S 60U

static enum result
install_agent_fault(struct install *install, const char *detail)
{
	return install_fault_set(&install->fault, RESULT_BAD,
	    "manifest_invalid", MANIFEST_FILE ": %s", detail);
}

/* Names only, TLS: what a manifest may ask for without a person's word. */
static enum result
install_agent_domains(struct install *install, const json_t *manifest)
{
	const json_t *list = json_object_get(
	    json_object_get(
		json_object_get(manifest, "permissions"), "network"),
	    "allowed_domains");
	enum policy_entry_fault fault;
	struct policy_entry entry;
	char detail[256];
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		fault = policy_entry_parse(
		    text, strlen(text), POLICY_ENTRY_FROM_MANIFEST, &entry);
		if (fault == POLICY_ENTRY_OK)
			continue;
		(void)snprintf(detail, sizeof(detail),
		    "permissions.network.allowed_domains[%zu] '%.80s' %s", i,
		    text, policy_entry_fault_text(fault, entry.name_fault));
		return install_agent_fault(install, detail);
	}
	return RESULT_OK;
}

static enum result
install_agent_judge(struct install *install, const json_t *manifest)
{
	struct json_fault fault = {""};
	const char *type;

	manifest_check(manifest, &fault);
	if (fault.text[0] != '\0')
		return install_agent_fault(install, fault.text);
	type = json_string_value(json_object_get(manifest, "package_type"));
	if (strcmp(type, "agent") != 0)
		return install_fault_set(&install->fault, RESULT_REFUSED,
		    "package_type",
		    "the folder is a %s: this version installs agents, and "
		    "MCP servers with 'agentnode mcp install'",
		    type);
	return install_agent_domains(install, manifest);
}

static enum result
install_agent_take(
    struct install *install, const json_t *answer, json_t **manifest_r)
{
	json_t *manifest = json_object_get(answer, "manifest");
	enum result result = install_agent_judge(install, manifest);

	*manifest_r = result == RESULT_OK ? json_incref(manifest) : NULL;
	return result;
}

enum result
install_agent_manifest(
    struct install *install, const char *folder, json_t **manifest_r)
{
	int root FD_CLEANUP = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unpack_call_spec spec = {.job = UNPACK_JOB_MANIFEST,
	    .roots = &root,
	    .root_count = 1,
	    .timeout_s = INSTALL_AGENT_TIMEOUT_S,
	    .keep_uid = true};
	char detail[512] = "";
	json_t *answer = NULL;
	enum result result;

	*manifest_r = NULL;
	if (root < 0)
		return install_fault_set(&install->fault, RESULT_BAD,
		    "folder_unusable", "%s: %m", folder);
	spec.options = json_pack("{s:i}", "root", 0);
	result = unpack_call_wait(
	    install->config, &spec, &answer, detail, sizeof(detail));
	if (result != RESULT_OK)
		return install_fault_set(&install->fault,
		    result == RESULT_REFUSED ? RESULT_BAD : result,
		    "manifest_invalid", "%s", detail);
	result = install_agent_take(install, answer, manifest_r);
	json_decref(answer);
	return result;
}

/* Who it says it is, and nobody else. */
static enum result
install_agent_name(struct install *install, struct install_facts *facts)
{
	const char *slug =
	    json_string_value(json_object_get(facts->manifest, "package_id"));
	const char *version =
	    json_string_value(json_object_get(facts->manifest, "version"));

	if (strcmp(slug, install->request->slug) != 0 ||
	    !json_equal(install->request->shown, facts->manifest))
		return install_agent_fault(
		    install, "it changed while the folder was read");
	(void)snprintf(facts->name, sizeof(facts->name), "%s", slug);
	(void)snprintf(facts->version, sizeof(facts->version), "%s", version);
	(void)snprintf(facts->manager, sizeof(facts->manager), "local");
	return RESULT_OK;
}

enum result
install_agent_facts(struct install *install, int root_fd, const char *hash,
    struct install_facts *facts_r)
{
	json_t *answer = NULL;
	enum result result;

	(void)hash;
	result = install_facts_ask(install, UNPACK_JOB_MANIFEST,
	    json_pack("{s:i}", "root", 0), root_fd, -1, &answer);
	if (result == RESULT_OK)
		result =
		    install_agent_take(install, answer, &facts_r->manifest);
	json_decref(answer);
	if (result == RESULT_OK)
		result = install_agent_name(install, facts_r);
	facts_r->dependencies = json_array();
	if (result != RESULT_OK)
		install_facts_clear(facts_r);
	return result;
}

json_t *
install_agent_entry(const struct install_tree *tree,
    const struct install_facts *facts, const struct volume *volume)
{
	json_t *entry = manifest_agent_entry(facts->manifest);
	char now[32];
	json_t *more;

	install_entry_time(now, sizeof(now));
	more = json_pack("{s:s,s:s,s:b,s:s,s:s,s:s,s:s,s:s}", "trust_level",
	    "unverified", "artifact_hash", tree->hash, "sandboxed", 1,
	    "sandbox_volume", volume->name, "volume_content_hash", tree->hash,
	    "volume_host_path", volume->path, "installed_at", now, "source",
	    "local");
	if (entry == NULL || more == NULL ||
	    json_object_update(entry, more) != 0) {
		json_decref(entry);
		entry = NULL;
	}
	json_decref(more);
	return entry;
}
