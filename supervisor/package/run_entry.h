/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every run begins with, whatever kind of package it is: configuration,
 * lockfile, the entry, the user's consent to it, the tier, the image. Read
 * once and handed on as one object. Used by mcp_run_plan and agent_plan.
 */
#ifndef SUPERVISOR_PACKAGE_RUN_ENTRY_H
#define SUPERVISOR_PACKAGE_RUN_ENTRY_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "egress-proxy/policy_entry.h"
#include "supervisor/package/lockfile.h"
#include "supervisor/policy/config.h"

#define RUN_ENTRY_PATH_MAX 4096U
#define RUN_ENTRY_CODE_MAX 64U
#define RUN_ENTRY_SHOWN_MAX 60U
/* Without an attestation, whatever the lockfile says. */
#define RUN_ENTRY_TIER "unverified"

struct run_entry {
	struct config *config;     /* owned */
	struct lockfile *lockfile; /* owned */
	const json_t *entry;       /* of the lockfile */
	const char *slug, *image;  /* borrowed; image is the configuration's */
	char home[RUN_ENTRY_PATH_MAX];
	char path[RUN_ENTRY_PATH_MAX]; /* of the lockfile */
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

/* RESULT_REFUSED with code consent_missing and no sentence yet: the caller
 * says what the entry asks for (run_entry_shown is the lockfile's path, cut
 * to its end). */
enum result run_entry_consent(struct run_entry *run);
const char *run_entry_shown(const struct run_entry *run);

/* Tier and image, in this order. */
enum result run_entry_trust(struct run_entry *run);
enum result run_entry_image(struct run_entry *run);

/* Which hosts a run is to reach: those of its entry, judged as what they
 * are, and the operator's --allow. */
struct run_entry_hosts {
	const json_t *domains; /* of the entry, or NULL */
	const char *field;     /* its name, for sentences */
	enum policy_entry_asker asker;
	const char *const *allow;
	size_t allow_count;
};

/* As sandbox_spec.egress wants it, with the configuration's apart from the
 * others; caller owns it. NULL: no entry at all, which is no network at
 * all. */
enum result run_entry_egress(struct run_entry *run,
    const struct run_entry_hosts *hosts, json_t **egress_r);

#endif
