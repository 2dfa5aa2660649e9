/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a run may last, beside its own end: until its attestation or the
 * consent to its secrets expires, and while the configuration would still
 * start it. Used by every kind of run: MCP servers, tool packs, agents and
 * the tools of agents.
 */
#ifndef SUPERVISOR_MCP_RUN_TERM_H
#define SUPERVISOR_MCP_RUN_TERM_H

#include <event2/event.h>
#include <time.h>

#include "supervisor/package/run_entry.h"

struct run_term; /* opaque */

/* It is over: trust_expired, credentials_consent_expired, policy_changed or
 * policy_unavailable. Once, from the loop; the term may be freed inside. */
typedef void run_term_over(void *context, const char *code, const char *detail);

/* run has been judged (run_entry_boundary) and is borrowed; secrets_until
 * is 0 when no consent ends. Clocks that are set are noticed within a
 * minute. */
enum result run_term_new(struct event_base *base, const struct run_entry *run,
    time_t secrets_until, run_term_over *over, void *context,
    struct run_term **term_r);
void run_term_free(struct run_term **term);

/* Watch the configuration, for who does not watch it anyway. */
enum result run_term_watch(struct run_term *term, struct json_fault *fault);
/* This is the configuration now: false when it is over. */
bool run_term_config(struct run_term *term, const struct config *config);

#endif
