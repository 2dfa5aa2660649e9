/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every run begins with, whatever kind of package it is: configuration,
 * lockfile, the entry, the user's consent to it, the tier, the image. Read
 * once and handed on as one object. Used by mcp_run_plan, agent_plan, explain
 * and doctor.
 */
#ifndef SUPERVISOR_PACKAGE_RUN_ENTRY_H
#define SUPERVISOR_PACKAGE_RUN_ENTRY_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "egress-proxy/policy_entry.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/policy/boundary.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/trust.h"

#define RUN_ENTRY_PATH_MAX 4096U
#define RUN_ENTRY_CODE_MAX 64U
#define RUN_ENTRY_SHOWN_MAX 60U
/* build_mode says host: the policy has changed, or it was never ours. */
#define RUN_ENTRY_STALE "host_build_stale"

struct run_entry {
	struct config *config;     /* owned */
	struct lockfile *lockfile; /* owned */
	const json_t *entry;       /* of the lockfile */
	json_t *agreed;            /* owned: Guard's part of the consent */
	const char *slug, *image;  /* borrowed; image is the configuration's */
	char home[RUN_ENTRY_PATH_MAX];
	char path[RUN_ENTRY_PATH_MAX]; /* of the lockfile */
	/* Since run_entry_boundary; before it nothing is allowed. */
	enum boundary_kind kind;
	struct trust_verdict trust;
	struct boundary_verdict verdict;
	/* It runs on the host: it may, and was built for it. */
	bool on_host;
	char code[RUN_ENTRY_CODE_MAX]; /* why not, when something failed */
	struct json_fault fault;
};

/* Configuration, home, lockfile, entry. lockfile is the option or NULL. On
 * failure code and fault say why; run_entry_clear in any case. */
enum result run_entry_open(
    const char *slug, const char *lockfile, struct run_entry *run_r);
void run_entry_clear(struct run_entry *run);

/* Set the code; returns result. The fault is set by the caller before. */
enum result run_entry_fail(
    struct run_entry *run, enum result result, const char *code);

/* Which tier is it, and where may it run? Attestation and signature,
 * trust.minimum_trust_level, sandbox.host_trust_policy, the switch of
 * agents, and what it was built for. Before consent and image are asked. */
enum result run_entry_boundary(struct run_entry *run);
/* The same question of a configuration read anew, for what runs already:
 * false when it would not have been started. */
bool run_entry_still(const struct run_entry *run, const struct config *config);

/* RESULT_REFUSED with code consent_missing and no sentence yet: the caller
 * says what the entry asks for (run_entry_shown is the lockfile's path, cut
 * to its end). */
enum result run_entry_consent(struct run_entry *run);
const char *run_entry_shown(const struct run_entry *run);

enum result run_entry_image(struct run_entry *run);

/* Which hosts a run is to reach: those of its entry, judged as what they
 * are, and the operator's --allow. */
struct run_entry_hosts {
	const json_t *domains; /* of the entry, or NULL */
	const char *field;     /* its name, for sentences */
	enum policy_entry_asker asker;
	const char *const *allow;
	size_t allow_count;
	/* A package with secrets: its consent names its hosts, so no others
	 * are added, not even the configuration's. */
	bool sealed;
	/* Grants of a person: nothing that they do not name is added. */
	bool named;
};

/* As sandbox_spec.egress wants it, with the configuration's apart from the
 * others; caller owns it. NULL: no entry at all, which is no network at
 * all. */
enum result run_entry_egress(struct run_entry *run,
    const struct run_entry_hosts *hosts, json_t **egress_r);

#endif
