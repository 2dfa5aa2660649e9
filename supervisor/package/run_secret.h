/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secrets of one run: what the entry asks for, the consent to it, the
 * values from the caller's environment, and the block that init adds to the
 * workload's environment. Decided before anything starts. Used by
 * mcp_run_plan and the plans of tool packs.
 */
#ifndef SUPERVISOR_PACKAGE_RUN_SECRET_H
#define SUPERVISOR_PACKAGE_RUN_SECRET_H

#include <jansson.h>
#include <stdbool.h>

#include "common/secret.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/package/secret_need.h"

struct run_secret {
	struct secret_need need; /* count 0: none, and all else is NULL */
	struct secret *block;    /* owned; sandbox_spec.secret */
	json_t *names;           /* owned; of what is given, for the record */
};

/* After run_entry_boundary. once: the caller consents to this run alone.
 * Codes: credentials_network, credentials_consent_missing, _expired,
 * _revoked, _unreadable, credentials_missing (the variable is not set),
 * credentials_empty, credentials_too_long, credentials_unavailable (memory
 * cannot be locked), not_runnable (a name that may not be). run_secret_clear
 * in any case. */
enum result run_secret_make(
    struct run_entry *run, bool once, struct run_secret *secret_r);
void run_secret_clear(struct run_secret *secret);

/* A variable that is one of them may not be said another way; RESULT_REFUSED
 * with code bad_args. entry is "NAME=VALUE". */
enum result run_secret_clash(
    struct run_entry *run, const struct run_secret *secret, const char *entry);

/* Take what an entry asks for out of our environment, without asking for
 * consent: nothing that starts later shows it. Faults are left to the run. */
void run_secret_hide(const char *slug, const json_t *entry);

#endif
