/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may run where: one pure function. Its table (boundary_table.c, the
 * golden file of the test, `agentnode explain --matrix`, docs/trust.md) is
 * the documentation. Used by run_entry, install, explain and doctor.
 */
#ifndef SUPERVISOR_POLICY_BOUNDARY_H
#define SUPERVISOR_POLICY_BOUNDARY_H

#include <stdbool.h>

#include "supervisor/policy/tier.h"

enum boundary_kind {
	BOUNDARY_SKILL, /* prompt only: runs no code */
	BOUNDARY_TOOLPACK,
	BOUNDARY_MCP,
	BOUNDARY_AGENT,
	BOUNDARY_KIND_COUNT
};

/* sandbox.host_trust_policy: which tiers may run on the host. */
enum boundary_policy {
	BOUNDARY_DEFAULT, /* curated and trusted */
	BOUNDARY_CURATED_ONLY,
	BOUNDARY_NONE,
	BOUNDARY_POLICY_COUNT
};

enum boundary_place {
	BOUNDARY_REFUSED = 0, /* what an unknown value means */
	BOUNDARY_SANDBOX,
	BOUNDARY_HOST
};

struct boundary_input {
	enum boundary_kind kind;
	enum tier tier;    /* as trust_judge says */
	enum tier minimum; /* trust.minimum_trust_level, for every kind */
	enum boundary_policy policy;
	bool agents_enabled; /* agent_sandbox.enabled */
};

/* Fixed texts, never NULL: code is "" or why it is refused, reason a
 * sentence without its full stop; remedy and warning are "" or one. HOST
 * says what a package may, not what it does: what was built for the
 * sandbox runs in the sandbox. */
struct boundary_verdict {
	enum boundary_place place;
	const char *code, *reason, *remedy, *warning;
};

#define BOUNDARY_TOO_LOW "trust_too_low"
#define BOUNDARY_AGENTS_OFF "agent_sandbox_disabled"
#define BOUNDARY_UNKNOWN "boundary_unknown" /* a value that is none */

/* A tier that is no tier counts as unverified. */
struct boundary_verdict boundary_decide(const struct boundary_input *input);

/* "skill", "toolpack", "mcp", "agent"; "default", ...; "refused", ... */
const char *boundary_kind_name(enum boundary_kind kind);
const char *boundary_policy_name(enum boundary_policy policy);
const char *boundary_place_name(enum boundary_place place);
/* False: no such word (nothing may be run). */
bool boundary_kind_parse(
    const char *package_type, const char *runtime, enum boundary_kind *kind_r);
bool boundary_policy_parse(const char *name, enum boundary_policy *policy_r);

#endif
