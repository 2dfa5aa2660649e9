/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one run of one tool needs, read and decided before anything is
 * started: may it run at all, its command, its network, its request. Used
 * by pack_run; the parts below serve pack_serve, too.
 */
#ifndef SUPERVISOR_PACK_PACK_RUN_PLAN_H
#define SUPERVISOR_PACK_PACK_RUN_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/pack/pack_package.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/package/run_secret.h"
#include "supervisor/sandbox.h"

#define PACK_RUN_PLAN_ARGS_MAX 256U
#define PACK_RUN_PLAN_WORDS_MAX 10U

struct pack_run_plan_options {
	const char *slug;
	const char *tool;                         /* NULL: the only one */
	const char *lockfile;                     /* --lockfile, or NULL */
	json_t *input;                            /* --json-input, or NULL */
	const char *args[PACK_RUN_PLAN_ARGS_MAX]; /* --arg */
	size_t arg_count;
	unsigned timeout_s; /* --timeout; 0: packs.timeout_s */
	bool verbose, json;
	bool consent_once; /* to its secrets, for this run */
};

struct pack_run_plan {
	struct run_entry run; /* the rest borrows from it */
	struct pack_package package;
	struct pack_function function;
	struct sandbox_spec spec; /* streams are added later */
	struct run_secret secret; /* owned */
	json_t *egress;           /* owned */
	bool network_denied;      /* it asks for an open one and has none */
	char *shim;               /* owned */
	const char *argv[PACK_RUN_PLAN_WORDS_MAX];
	json_t *arguments; /* owned */
	int request_fd;    /* owned; a sealed memfd */
};

/* On failure run.code and run.fault say why; pack_run_plan_clear in any case.
 */
enum result pack_run_plan_make(
    const struct pack_run_plan_options *options, struct pack_run_plan *plan_r);
void pack_run_plan_clear(struct pack_run_plan *plan);

/* The options object of the gate's config message; NULL: no memory. */
json_t *pack_run_plan_gate(const struct pack_run_plan *plan, bool json);

/* Parts; each sets code and fault of run. */

/* Tier and place, consent; image, or what the host needs. */
enum result pack_run_plan_allowed(
    struct run_entry *run, const struct pack_package *package);
/* The sealed allowlist of a restricted pack; of an unrestricted one that the
 * host's owner names, his own; else NULL: no network at all. */
enum result pack_run_plan_egress(struct run_entry *run,
    const struct pack_package *package, json_t **egress_r, bool *denied_r);
/* Everything of spec but argv, image, streams and egress. */
void pack_run_plan_spec(
    const struct pack_package *package, struct sandbox_spec *spec);
/* The words before those of this run, and the text among them. */
enum result pack_run_plan_words(struct run_entry *run,
    const struct pack_package *package, const char **argv, size_t *count_r,
    char **shim_r);
/* {"name"?,"module"|"file","functions"}; NULL: no memory. */
json_t *pack_run_plan_called(
    const struct pack_package *package, const struct pack_function *function);

#endif
