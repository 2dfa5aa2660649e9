/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision of boundary.h. Called before every run. Pure: it must never
 * look at anything but its input, and never answer host for a community
 * tier.
 */
#include "supervisor/policy/boundary.h"

#include <stddef.h>
#include <string.h>

static struct boundary_verdict
boundary_refused(const char *code, const char *reason, const char *remedy)
{
	return (struct boundary_verdict){
	    BOUNDARY_REFUSED, code, reason, remedy, ""};
}

static struct boundary_verdict
boundary_sandbox(const char *reason)
{
	return (struct boundary_verdict){BOUNDARY_SANDBOX, "", reason, "", ""};
}

static struct boundary_verdict
boundary_host(const char *reason, const char *warning)
{
	return (struct boundary_verdict){
	    BOUNDARY_HOST, "", reason, "", warning};
}

static bool
boundary_is_known(const struct boundary_input *input)
{
	return (unsigned)input->kind < BOUNDARY_KIND_COUNT &&
	       (unsigned)input->tier < TIER_COUNT &&
	       (unsigned)input->policy < BOUNDARY_POLICY_COUNT &&
	       (unsigned)input->minimum < TIER_COUNT &&
	       input->minimum != TIER_UNKNOWN;
}

/* Does the host's policy let this tier out of the sandbox? */
static bool
boundary_is_host_tier(enum boundary_policy policy, enum tier tier)
{
	switch (policy) {
	case BOUNDARY_DEFAULT:
		return tier == TIER_CURATED || tier == TIER_TRUSTED;
	case BOUNDARY_CURATED_ONLY:
		return tier == TIER_CURATED;
	case BOUNDARY_NONE:
	case BOUNDARY_POLICY_COUNT:
		break;
	}
	return false;
}

/* What runs code, of a tier that is not too low. */
static struct boundary_verdict
boundary_code(enum boundary_policy policy, enum tier tier)
{
	if (tier_is_community(tier))
		return boundary_sandbox(
		    "packages of community tiers run in the sandbox or not at "
		    "all");
	if (!boundary_is_host_tier(policy, tier))
		return boundary_sandbox(
		    "sandbox.host_trust_policy keeps this tier in the sandbox");
	if (tier == TIER_CURATED)
		return boundary_host(
		    "sandbox.host_trust_policy lets curated packages run on "
		    "the host",
		    "");
	return boundary_host(
	    "sandbox.host_trust_policy lets trusted packages run on the host",
	    "a trusted package on the host is held by policy, not by a "
	    "boundary; 'agentnode config set sandbox.host_trust_policy "
	    "curated_only' keeps trusted packages in the sandbox");
}

struct boundary_verdict
boundary_decide(const struct boundary_input *input)
{
	enum tier tier = input->tier;

	if (!boundary_is_known(input))
		return boundary_refused(BOUNDARY_UNKNOWN,
		    "its kind or tier, or the host's policy, is none that is "
		    "known",
		    "install it again");
	if (tier == TIER_UNKNOWN)
		tier = TIER_UNVERIFIED;
	if (tier < input->minimum)
		return boundary_refused(BOUNDARY_TOO_LOW,
		    "its tier is below trust.minimum_trust_level",
		    "install a version with an attestation, or lower "
		    "trust.minimum_trust_level");
	if (input->kind == BOUNDARY_SKILL)
		return boundary_host("a skill runs no code", "");
	if (input->kind == BOUNDARY_AGENT && tier_is_community(tier) &&
	    !input->agents_enabled)
		return boundary_refused(BOUNDARY_AGENTS_OFF,
		    "agents of community tiers are off on this host",
		    "'agentnode config set agent_sandbox.enabled true' turns "
		    "them on, AGENTNODE_AGENT_SANDBOX=1 does for one shell");
	return boundary_code(input->policy, tier);
}

static const char *const boundary_kinds[BOUNDARY_KIND_COUNT] = {
    "skill", "toolpack", "mcp", "agent"};
static const char *const boundary_policies[BOUNDARY_POLICY_COUNT] = {
    "default", "curated_only", "none"};
static const char *const boundary_places[] = {"refused", "sandbox", "host"};

const char *
boundary_kind_name(enum boundary_kind kind)
{
	return (unsigned)kind < BOUNDARY_KIND_COUNT ? boundary_kinds[kind]
						    : "unknown";
}

const char *
boundary_policy_name(enum boundary_policy policy)
{
	return (unsigned)policy < BOUNDARY_POLICY_COUNT
		   ? boundary_policies[policy]
		   : "unknown";
}

const char *
boundary_place_name(enum boundary_place place)
{
	return (unsigned)place <= BOUNDARY_HOST ? boundary_places[place]
						: boundary_places[0];
}

bool
boundary_kind_parse(
    const char *package_type, const char *runtime, enum boundary_kind *kind_r)
{
	static const struct {
		const char *type, *runtime;
		enum boundary_kind kind;
	} rows[] = {
	    {"skill", "none", BOUNDARY_SKILL},
	    {"toolpack", "python", BOUNDARY_TOOLPACK},
	    {"toolpack", "node", BOUNDARY_TOOLPACK},
	    {"toolpack", "mcp", BOUNDARY_MCP},
	    {"agent", "python", BOUNDARY_AGENT},
	    {"agent", "node", BOUNDARY_AGENT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (package_type == NULL || runtime == NULL ||
		    strcmp(rows[i].type, package_type) != 0 ||
		    strcmp(rows[i].runtime, runtime) != 0)
			continue;
		*kind_r = rows[i].kind;
		return true;
	}
	*kind_r = BOUNDARY_KIND_COUNT;
	return false;
}

bool
boundary_policy_parse(const char *name, enum boundary_policy *policy_r)
{
	for (unsigned i = 0; i < BOUNDARY_POLICY_COUNT; i++) {
		if (name == NULL || strcmp(boundary_policies[i], name) != 0)
			continue;
		*policy_r = (enum boundary_policy)i;
		return true;
	}
	*policy_r = BOUNDARY_POLICY_COUNT;
	return false;
}
