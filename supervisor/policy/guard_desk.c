/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates and records of calls. Called by gate_part and the runs. It must
 * never answer "may be made" for calls that the ledger has not counted, nor
 * answer a denial before its record is on disk.
 */
#include "supervisor/policy/guard_desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/policy/guard_plan.h"

#define GUARD_DESK_NAME_MAX 128U
#define GUARD_DESK_TEXT_MAX 512U
#define GUARD_DESK_TOOLS_MAX 256U /* named in the sum */
/* A client that is a little too fast is slowed down, not refused. */
#define GUARD_DESK_WAIT_MS 2000

struct guard_desk_row {
	struct guard_desk *desk; /* NULL: free */
	uint64_t id;
	char tool[GUARD_DESK_NAME_MAX + 1];
	char code[64], actions[GUARD_PLAN_WORDS_MAX];
	char detail[GUARD_DESK_TEXT_MAX];
	int64_t count;
};

struct guard_desk {
	struct audit *audit;
	char kind[16], package[64], agent[64], run[64];
	struct guard_rates rates;
	guard_desk_answer *answer;
	void *context;
	struct guard_desk_row rows[GUARD_DESK_WAITING_MAX];
	json_t *tools; /* owned: calls made, by tool */
	uint64_t allowed, denied;
	/* Of a configuration that changed; object NULL: it did not. */
	json_t *object;
	struct guard_plan plan;
	bool unknown; /* it cannot be read */
	void (*done)(void *context);
	void *done_context;
	bool finished;
};

static void
guard_desk_reply(
    struct guard_desk_row *row, const char *code, const char *detail)
{
	struct guard_desk *desk = row->desk;
	uint64_t id = row->id;

	row->desk = NULL;
	if (desk->answer != NULL)
		desk->answer(id, code, detail, desk->context);
}

/* --- denials ------------------------------------------------------------ */

/* Another record would say nothing new. */
static bool
guard_desk_is_recorded(uint64_t number)
{
	return number <= GUARD_DESK_RECORDS_MAX || (number & (number - 1)) == 0;
}

static void
guard_desk_on_denied(enum result result, const char *detail, void *context)
{
	struct guard_desk_row *row = context;

	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "guard_record",
		    LOG_TEXT("detail", detail));
	guard_desk_reply(row, row->code, row->detail);
}

static void
guard_desk_deny(struct guard_desk_row *row)
{
	struct guard_desk *desk = row->desk;
	json_t *fields;

	desk->denied += (uint64_t)row->count;
	log_event(LOG_WARN_LEVEL, "guard_denied",
	    LOG_REQUEST(NULL, 'm', row->id), LOG_TEXT("package", desk->package),
	    LOG_TEXT("tool", row->tool), LOG_TEXT("code", row->code),
	    LOG_TEXT("actions", row->actions));
	if (!guard_desk_is_recorded(desk->denied)) {
		guard_desk_reply(row, row->code, row->detail);
		return;
	}
	fields = json_pack(
	    "{s:s, s:s, s:s, s:s*, s:s*, s:s, s:s, s:s, s:s, s:I, s:I}", "kind",
	    desk->kind, "package", desk->package, "tool", row->tool, "agent",
	    desk->agent[0] != '\0' ? desk->agent : NULL, "run",
	    desk->run[0] != '\0' ? desk->run : NULL, "decision", "deny", "code",
	    row->code, "actions", row->actions, "detail", row->detail, "count",
	    (json_int_t)row->count, "number", (json_int_t)desk->denied);
	if (fields == NULL ||
	    audit_submit(desk->audit, "guard_decision", fields,
		guard_desk_on_denied, row) != RESULT_OK)
		guard_desk_on_denied(
		    RESULT_SYSTEM, "it could not be submitted", row);
	json_decref(fields);
}

/* --- calls -------------------------------------------------------------- */

static void
guard_desk_count(struct guard_desk *desk, const char *tool, int64_t count)
{
	json_t *sum = json_object_get(desk->tools, tool);

	desk->allowed += (uint64_t)count;
	if (sum != NULL)
		(void)json_integer_set(sum, json_integer_value(sum) + count);
	else if (json_object_size(desk->tools) < GUARD_DESK_TOOLS_MAX)
		(void)json_object_set_new(
		    desk->tools, tool, json_integer(count));
}

static void
guard_desk_on_rate(enum result result, const char *detail, void *context)
{
	struct guard_desk_row *row = context;

	if (result == RESULT_OK) {
		guard_desk_count(row->desk, row->tool, row->count);
		guard_desk_reply(row, "", "");
		return;
	}
	(void)snprintf(row->code, sizeof(row->code), "%s",
	    result == RESULT_REFUSED ? GUARD_CODE_RATE
				     : GUARD_CODE_UNAVAILABLE);
	if (result == RESULT_REFUSED)
		(void)snprintf(row->detail, sizeof(row->detail),
		    "Guard: %s; guard.rate_limits sets how many", detail);
	else
		(void)snprintf(row->detail, sizeof(row->detail),
		    "Guard cannot count this call: %s", detail);
	guard_desk_deny(row);
}

static struct guard_desk_row *
guard_desk_free_row(struct guard_desk *desk)
{
	for (size_t i = 0; i < GUARD_DESK_WAITING_MAX; i++) {
		if (desk->rows[i].desk == NULL)
			return &desk->rows[i];
	}
	return NULL;
}

static void
guard_desk_rate(struct guard_desk_row *row)
{
	const struct guard_rates *rates = &row->desk->rates;
	const struct audit_rate rate = {row->count, rates->burst, rates->minute,
	    rates->hour, GUARD_DESK_WAIT_MS};

	if (audit_rate_take(row->desk->audit, row->desk->package, &rate,
		guard_desk_on_rate, row) != RESULT_OK)
		guard_desk_on_rate(
		    RESULT_CLOSED, "the ledger is not there", row);
}

void
guard_desk_rules(
    struct guard_desk *desk, json_t *plan, const struct guard_rates *rates)
{
	struct json_fault fault = {""};

	json_decref(desk->object);
	desk->object = plan;
	desk->unknown = plan == NULL || guard_plan_read(plan, desk->package,
					    &desk->plan, &fault) != RESULT_OK;
	if (!desk->unknown)
		desk->rates = *rates;
}

/* What the gate let pass by the rules it began with. */
static void
guard_desk_judge(struct guard_desk_row *row)
{
	const struct guard_desk *desk = row->desk;
	struct guard_verdict verdict;

	if (desk->unknown) {
		(void)snprintf(
		    row->code, sizeof(row->code), "%s", GUARD_CODE_UNAVAILABLE);
		(void)snprintf(row->detail, sizeof(row->detail),
		    "Guard's rules cannot be read any more; 'agentnode config "
		    "list' says why");
		return;
	}
	if (desk->object == NULL)
		return;
	if (row->count > 1) { /* only one of them is named */
		(void)snprintf(
		    row->code, sizeof(row->code), "%s", GUARD_CODE_UNAVAILABLE);
		(void)snprintf(row->detail, sizeof(row->detail),
		    "Guard's rules were narrowed while this runs; send calls "
		    "one by one, not as a batch");
		return;
	}
	guard_plan_judge(&desk->plan, row->tool, &verdict);
	if (verdict.code[0] == '\0')
		return;
	(void)snprintf(row->code, sizeof(row->code), "%s", verdict.code);
	guard_plan_sentence(
	    &desk->plan, row->tool, &verdict, row->detail, sizeof(row->detail));
}

void
guard_desk_ask(struct guard_desk *desk, const struct guard_desk_ask *ask)
{
	struct guard_desk_row *row = guard_desk_free_row(desk);

	if (row == NULL) {
		if (desk->answer != NULL)
			desk->answer(ask->id, GUARD_CODE_UNAVAILABLE,
			    "too many calls wait for Guard", desk->context);
		return;
	}
	row->desk = desk;
	row->id = ask->id;
	row->count = ask->count;
	(void)snprintf(row->tool, sizeof(row->tool), "%s", ask->tool);
	(void)snprintf(row->code, sizeof(row->code), "%s", ask->code);
	(void)snprintf(row->actions, sizeof(row->actions), "%s", ask->actions);
	(void)snprintf(row->detail, sizeof(row->detail), "%s", ask->detail);
	if (row->code[0] == '\0')
		guard_desk_judge(row);
	if (row->code[0] != '\0')
		guard_desk_deny(row);
	else
		guard_desk_rate(row);
}

/* --- from start to end -------------------------------------------------- */

enum result
guard_desk_new(struct audit *audit, const struct guard_desk_spec *spec,
    struct guard_desk **desk_r)
{
	struct guard_desk *desk = calloc(1, sizeof(*desk));

	*desk_r = desk;
	if (desk == NULL)
		return RESULT_NO_MEMORY;
	desk->audit = audit;
	desk->rates = spec->rates;
	(void)snprintf(desk->kind, sizeof(desk->kind), "%s", spec->kind);
	(void)snprintf(
	    desk->package, sizeof(desk->package), "%s", spec->package);
	(void)snprintf(desk->agent, sizeof(desk->agent), "%s",
	    spec->agent != NULL ? spec->agent : "");
	(void)snprintf(desk->run, sizeof(desk->run), "%s", spec->run);
	desk->tools = json_object();
	if (desk->tools != NULL)
		return RESULT_OK;
	guard_desk_free(desk_r);
	return RESULT_NO_MEMORY;
}

void
guard_desk_on_answer(
    struct guard_desk *desk, guard_desk_answer *answer, void *context)
{
	desk->answer = answer;
	desk->context = context;
}

static void
guard_desk_on_finished(enum result result, const char *detail, void *context)
{
	struct guard_desk *desk = context;

	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "guard_record",
		    LOG_TEXT("detail", detail));
	desk->finished = true;
	if (desk->done != NULL)
		desk->done(desk->done_context);
}

void
guard_desk_finish(
    struct guard_desk *desk, void (*done)(void *context), void *context)
{
	json_t *fields;

	if (desk->done != NULL)
		return;
	desk->done = done;
	desk->done_context = context;
	if (desk->allowed == 0 && desk->denied == 0) {
		guard_desk_on_finished(RESULT_OK, "", desk);
		return;
	}
	fields = json_pack("{s:s, s:s, s:s*, s:s*, s:I, s:I, s:O}", "kind",
	    desk->kind, "package", desk->package, "agent",
	    desk->agent[0] != '\0' ? desk->agent : NULL, "run",
	    desk->run[0] != '\0' ? desk->run : NULL, "allowed",
	    (json_int_t)desk->allowed, "denied", (json_int_t)desk->denied,
	    "tools", desk->tools);
	if (fields == NULL || audit_submit(desk->audit, "guard_calls", fields,
				  guard_desk_on_finished, desk) != RESULT_OK)
		guard_desk_on_finished(
		    RESULT_SYSTEM, "it could not be submitted", desk);
	json_decref(fields);
}

bool
guard_desk_is_finished(const struct guard_desk *desk)
{
	return desk->finished;
}

void
guard_desk_free(struct guard_desk **desk)
{
	struct guard_desk *gone = *desk;

	if (gone == NULL)
		return;
	*desk = NULL;
	audit_forget(gone->audit, gone);
	for (size_t i = 0; i < GUARD_DESK_WAITING_MAX; i++)
		audit_forget(gone->audit, &gone->rows[i]);
	json_decref(gone->tools);
	json_decref(gone->object);
	free(gone);
}
