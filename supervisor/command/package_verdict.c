/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One answer about an entry; see package_verdict.h. It must never call
 * runnable what a run would refuse, as far as a lockfile can tell.
 */
#include "supervisor/command/package_verdict.h"

#include <stdio.h>
#include <string.h>

#include "supervisor/agent/agent_package.h"
#include "supervisor/mcp/mcp_package.h"
#include "supervisor/pack/pack_package.h"

enum result
package_verdict_open(
    struct package_verdict_host *host_r, struct json_fault *fault)
{
	host_r->config = NULL;
	mcp_consent_open(&host_r->consent);
	return config_load(&host_r->config, fault);
}

void
package_verdict_close(struct package_verdict_host *host)
{
	mcp_consent_close(&host->consent);
	config_free(&host->config);
}

static const char *
package_verdict_text(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));

	return text != NULL ? text : "";
}

/* Is the entry whole, as its kind needs it? */
static bool
package_verdict_whole(const char *slug, const json_t *entry,
    struct package_verdict *verdict, struct json_fault *fault)
{
	struct mcp_package package;
	struct agent_package agent;
	struct pack_package pack;

	if (verdict->kind == BOUNDARY_MCP) {
		if (mcp_package_read(slug, entry, &package, fault) != RESULT_OK)
			return false;
		mcp_package_source(
		    &package, verdict->source, sizeof(verdict->source));
		return true;
	}
	(void)snprintf(verdict->source, sizeof(verdict->source), "%s",
	    package_verdict_text(entry, "source"));
	if (verdict->kind == BOUNDARY_AGENT)
		return agent_package_read(slug, entry, &agent, fault) ==
		       RESULT_OK;
	if (verdict->kind == BOUNDARY_TOOLPACK)
		return pack_package_read(slug, entry, &pack, fault) ==
		       RESULT_OK;
	return verdict->kind == BOUNDARY_SKILL;
}

void
package_verdict_make(const struct package_verdict_host *host, const char *slug,
    const json_t *entry, struct package_verdict *verdict_r)
{
	struct run_entry run = {
	    .config = host->config, .entry = entry, .slug = slug};
	struct json_fault broken = {""}, missing = {""};
	const char *claim = package_verdict_text(entry, "trust_level");
	bool allowed = run_entry_boundary(&run) == RESULT_OK;
	bool whole;

	memset(verdict_r, 0, sizeof(*verdict_r));
	verdict_r->kind = run.kind;
	verdict_r->tier = run.trust.tier;
	verdict_r->claim =
	    strcmp(claim, tier_name(run.trust.tier)) != 0 ? claim : "";
	(void)snprintf(
	    verdict_r->code, sizeof(verdict_r->code), "%s", run.code);
	whole = package_verdict_whole(slug, entry, verdict_r, &broken);
	verdict_r->agreed =
	    mcp_consent_given(&host->consent, slug, entry, &missing);
	verdict_r->runnable = whole && allowed && verdict_r->agreed;
	verdict_r->place = !allowed                     ? "refused"
			   : run.kind == BOUNDARY_SKILL ? "nothing"
			   : run.on_host                ? "host"
							: "sandbox";
	if (!whole && broken.text[0] != '\0')
		verdict_r->fault = broken;
	else if (!allowed)
		verdict_r->fault = run.fault;
	else if (!verdict_r->agreed)
		verdict_r->fault = missing;
}
