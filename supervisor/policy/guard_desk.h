/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where Guard's questions about one package of one run end: of calls that
 * the plan lets pass the rate is taken (shared by all processes), a denial
 * is put on record, and only then there is an answer. Used by gate_part for
 * what the gate asks, and by what starts a package for one call.
 */
#ifndef SUPERVISOR_POLICY_GUARD_DESK_H
#define SUPERVISOR_POLICY_GUARD_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/guard_make.h"

#define GUARD_DESK_WAITING_MAX 64U
/* Denials of a run with a record each; then only those whose number is a
 * power of two have one, and it says which number it is. */
#define GUARD_DESK_RECORDS_MAX 64U

struct guard_desk; /* opaque */

struct guard_desk_spec {
	const char *kind;    /* "mcp", "tool", "run" */
	const char *package; /* its slug */
	const char *agent;   /* who calls; NULL: no agent */
	const char *run;     /* id of the run, or "" */
	struct guard_rates rates;
};

/* One question. Texts may be foreign; they are copied. */
struct guard_desk_ask {
	uint64_t id;
	const char *tool;
	const char *code; /* of the verdict; "": it lets them pass */
	const char *actions, *detail;
	int64_t count; /* calls, 1 to 64 */
};

/* code "": they may be made, and are counted. Once per question, and maybe
 * before guard_desk_ask returns. */
typedef void guard_desk_answer(
    uint64_t id, const char *code, const char *detail, void *context);

/* spec's texts are copied; audit must outlive the desk. */
enum result guard_desk_new(struct audit *audit,
    const struct guard_desk_spec *spec, struct guard_desk **desk_r);
/* Who is answered. */
void guard_desk_on_answer(
    struct guard_desk *desk, guard_desk_answer *answer, void *context);
/* From now on calls are judged by this plan too (taken), and have these
 * rates. plan NULL: the rules cannot be known, and no call is made. */
void guard_desk_rules(
    struct guard_desk *desk, json_t *plan, const struct guard_rates *rates);
void guard_desk_ask(struct guard_desk *desk, const struct guard_desk_ask *ask);

/* The run is over: how many calls were made and denied goes on record, if
 * there were any. done is called once, maybe before this returns. */
void guard_desk_finish(
    struct guard_desk *desk, void (*done)(void *context), void *context);
bool guard_desk_is_finished(const struct guard_desk *desk);

/* Accepts NULL, clears. */
void guard_desk_free(struct guard_desk **desk);

#endif
