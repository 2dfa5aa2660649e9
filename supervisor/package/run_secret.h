/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secrets of one run: what the entry asks for, the consent to it, the
 * values (a variable of the caller's, else one that `agentnode secret set`
 * stored), and the sealed memfd that init adds to the workload's
 * environment. Decided before anything starts. Used by mcp_run_plan and the
 * plans of tool packs.
 */
#ifndef SUPERVISOR_PACKAGE_RUN_SECRET_H
#define SUPERVISOR_PACKAGE_RUN_SECRET_H

#include <jansson.h>
#include <stdbool.h>

#include "supervisor/package/run_entry.h"
#include "supervisor/package/secret_need.h"

struct run_secret {
	struct secret_need need; /* count 0: none, and all else is NULL */
	bool has_block;
	int block_fd;    /* owned while has_block; init_go.h */
	json_t *names;   /* owned; of what is given, for the record */
	time_t until;    /* the consent to them ends; 0: never */
	json_t *sources; /* owned; name -> "environment" or a backend */
};

/* After run_entry_boundary. once: the caller consents to this run alone.
 * Codes: credentials_network, credentials_consent_missing, _expired,
 * _revoked, _unreadable, credentials_missing (neither set nor stored),
 * credentials_empty, credentials_too_long, credentials_unavailable (memory
 * cannot be locked, or the keychain cannot be asked), not_runnable (a name that
 * may not be). run_secret_clear in any case. */
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
/* Fetch what is stored for it and consented to, for a run_secret_make that
 * must not wait for a keychain. Faults likewise. */
void run_secret_prefetch(const char *slug, const json_t *entry);

#endif
