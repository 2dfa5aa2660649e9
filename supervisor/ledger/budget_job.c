/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and their batches. Called by ledger_budget.c. It must never give a
 * job a result before the transaction it was done in is committed.
 */
#include <string.h>

#include "supervisor/ledger/budget_job.h"

static void
budget_job_read_report(struct budget_job *job, struct json_fault *fault)
{
	static const char *const keys[] = {"since_day", "by", "offset", NULL};
	static const char *const columns[] = {
	    "day", "agent", "provider", "model"};
	const json_t *usage = NULL;
	const char *by = "day";
	unsigned i;

	json_field_object(json_object_get(job->body, "values"), "values",
	    "usage", &usage, fault);
	json_field_only(usage, "values.usage", keys, fault);
	json_field_int_opt(usage, "values.usage", "since_day", 0,
	    BUDGET_LIMIT_MAX, &job->query.since_day, fault);
	json_field_int_opt(usage, "values.usage", "offset", 0, BUDGET_LIMIT_MAX,
	    &job->query.offset, fault);
	json_field_string_opt(usage, "values.usage", "by", 16, &by, fault);
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(by, columns[i]) == 0) {
			job->query.by = (enum budget_report_by)i;
			return;
		}
	json_field_fault(fault, "values.usage.by: '%s' is not known", by);
}

void
budget_job_take(struct budget_job *job, const struct budget_wire_ask *ask)
{
	job->id = ask->call;
	job->ask = *ask;
	memcpy(job->amounts.values, ask->amounts, sizeof(ask->amounts));
}

void
budget_job_read(struct budget_job *job, struct json_fault *fault)
{
	switch (job->kind) {
	case BUDGET_JOB_OPEN:
		budget_limits_read(json_object_get(job->body, "limits"),
		    "limits", &job->limits, fault);
		return;
	case BUDGET_JOB_REPORT:
		budget_job_read_report(job, fault);
		return;
	case BUDGET_JOB_RESERVE:
	case BUDGET_JOB_SETTLE:
	case BUDGET_JOB_CLOSE:
		return;
	}
}

static const char *
budget_job_text(const struct budget_job *job, const char *key)
{
	return json_string_value(json_object_get(job->body, key));
}

static enum result
budget_job_reserve(struct budget *budget, struct budget_job *job)
{
	struct budget_wish wish = {.call = (int64_t)job->id,
	    .provider = job->ask.provider,
	    .model = job->ask.model,
	    .most = job->amounts,
	    .calls = job->ask.calls};
	enum result result =
	    budget_reserve(budget, *job->run, &wish, &job->refusal);

	job->calls = (uint64_t)wish.calls;
	return result;
}

static enum result
budget_job_settle(struct budget *budget, const struct budget_job *job)
{
	const struct budget_done done = {.call = (int64_t)job->id,
	    .calls = job->ask.calls,
	    .unused = job->ask.unused,
	    .served = job->ask.served,
	    .estimated = job->ask.estimated,
	    .used = job->amounts};

	return budget_settle(budget, *job->run, &done);
}

static enum result
budget_job_do(struct budget *budget, struct budget_job *job)
{
	if (job->kind == BUDGET_JOB_REPORT)
		return budget_report(budget, &job->query, &job->rows);
	if (job->kind == BUDGET_JOB_OPEN)
		return budget_run_open(budget, budget_job_text(job, "sandbox"),
		    budget_job_text(job, "package"), &job->limits, job->run);
	/* Its run could not be opened or is closed: there is no budget. */
	if (*job->run == NULL)
		return job->kind == BUDGET_JOB_CLOSE ? RESULT_OK
						     : RESULT_CLOSED;
	if (job->kind == BUDGET_JOB_CLOSE)
		return budget_run_close(budget, *job->run);
	return job->kind == BUDGET_JOB_RESERVE ? budget_job_reserve(budget, job)
					       : budget_job_settle(budget, job);
}

/* Answers to one job, after which the others go on. */
static bool
budget_job_is_answer(enum result result)
{
	return result == RESULT_OK || result == RESULT_REFUSED ||
	       result == RESULT_EXISTS || result == RESULT_NOT_FOUND ||
	       result == RESULT_CLOSED;
}

/* A run that was opened or closed in this batch. */
static void
budget_job_finish(struct budget_job *job, enum result result)
{
	if (result != RESULT_OK)
		job->result = result;
	if (job->run != NULL && *job->run != NULL &&
	    ((job->kind == BUDGET_JOB_OPEN && result != RESULT_OK) ||
		(job->kind == BUDGET_JOB_CLOSE && result == RESULT_OK)))
		budget_run_free(job->run);
}

enum result
budget_job_batch(struct budget *budget, int64_t now_s, struct budget_job **jobs,
    size_t count)
{
	enum result result = budget_begin(budget, now_s);
	size_t i;

	if (result != RESULT_OK) {
		for (i = 0; i < count; i++)
			jobs[i]->result = result;
		return result;
	}
	for (i = 0; i < count && result == RESULT_OK; i++) {
		jobs[i]->result = budget_job_do(budget, jobs[i]);
		if (!budget_job_is_answer(jobs[i]->result))
			result = jobs[i]->result;
	}
	if (result == RESULT_OK)
		result = budget_commit(budget);
	else
		budget_abort(budget);
	/* begin has the lock already, and no answer is the whole batch's */
	if (result == RESULT_NEED_MORE ||
	    (result != RESULT_OK && budget_job_is_answer(result)))
		result = RESULT_INTERNAL;
	for (i = 0; i < count; i++)
		budget_job_finish(jobs[i], result);
	return result;
}

void
budget_job_clear(struct budget_job *job)
{
	json_decref(job->body);
	json_decref(job->rows);
	memset(job, 0, sizeof(*job));
}
