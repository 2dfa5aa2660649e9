/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of a running sandbox after the configuration has changed: what
 * it had, minus what is no longer permitted. Pure; used by egress_live.c.
 * The result never lets anything through that the policy did not.
 */
#ifndef SUPERVISOR_ENGINE_EGRESS_NARROW_H
#define SUPERVISOR_ENGINE_EGRESS_NARROW_H

#include <jansson.h>
#include <stdbool.h>

#include "common/result.h"

/* What the configuration says now; lists of canonical texts, borrowed, NULL
 * where nothing is set. */
struct egress_narrow_host {
	const json_t *allow;        /* egress.allow */
	const json_t *deny;         /* egress.deny */
	const json_t *extra_ranges; /* egress.extra_ranges: name -> [CIDR] */
	const json_t *ech;          /* egress.ech_allow */
	const json_t *own; /* the host's addresses now; NULL: as before */
	/* The team policy's word on one canonical entry. */
	bool (*permits)(const void *context, const char *entry);
	const void *context;
};

/* policy: the object in force (allow, deny, extra_ranges, own, ech).
 * configured: those of its allow entries that are there because of
 * egress.allow alone; they go when that no longer covers them. Caller owns
 * *next_r, which is equal to policy when nothing changes.
 *
 * allow, extra_ranges, ech: only less. A range stays as it is or goes, since
 * a smaller one can open what the larger did not (host_policy.h). deny: only
 * more. own: only more, since one that is gone may come back any time; of new
 * ones those that the policy could open (no link-local ones). A network in
 * allow or extra_ranges that would open more with them goes whole. */
enum result egress_narrow(const json_t *policy, const json_t *configured,
    const struct egress_narrow_host *host, json_t **next_r);

/* What is in a and not in b; NULL without memory. Caller owns. */
json_t *egress_narrow_without(const json_t *a, const json_t *b);

#endif
