/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about rates and their answers. Called by ledger.c and the loop.
 * It must never answer `synced` for a call that is not in the database.
 */
#include "supervisor/ledger/ledger_rate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/ledger/budget_lock.h"
#include "supervisor/ledger/rate.h"

#define LEDGER_RATE_QUEUE 64U
#define LEDGER_RATE_PAUSE_MS 1U
#define LEDGER_RATE_TIMEOUT_MS 2000U

struct ledger_rate_ask {
	uint64_t id;
	char package[65];
	int64_t count;
	struct rate_limits limits;
	uint64_t deadline_ms; /* for the database */
	uint64_t patience_ms; /* until then for room */
	uint64_t due_ms;      /* of the next try; 0: answered */
};

struct ledger_rate {
	int dir_fd; /* borrowed */
	ledger_rate_send *send;
	void *context;
	struct rate *rate;   /* NULL: not open yet */
	unsigned losses;     /* budget_lock's, when it was opened */
	struct event *again; /* the next try */
	struct ledger_rate_ask queue[LEDGER_RATE_QUEUE];
	size_t queued;
};

static void
ledger_rate_answer(
    struct ledger_rate *rate, uint64_t id, const char *code, const char *detail)
{
	struct ipc_message message;

	ipc_message_init(
	    &message, code[0] == '\0' ? IPC_SYNCED : IPC_FAILED, id);
	if (code[0] != '\0')
		message.body =
		    json_pack("{s:s, s:s}", "code", code, "detail", detail);
	rate->send(&message, rate->context);
	ipc_message_clear(&message);
}

static void
ledger_rate_refuse(struct ledger_rate *rate, const struct ledger_rate_ask *ask,
    const struct rate_refusal *refusal)
{
	char detail[256];

	if (refusal->retry_ms == 0)
		(void)snprintf(detail, sizeof(detail),
		    "%" PRId64 " calls at once are more than the %" PRId64
		    " per %s",
		    ask->count, refusal->most,
		    rate_window_text(refusal->window));
	else
		(void)snprintf(detail, sizeof(detail),
		    "%s had its %" PRId64 " calls per %s; there is room "
		    "again in %" PRId64 ".%" PRId64 " s",
		    ask->package, refusal->most,
		    rate_window_text(refusal->window), refusal->retry_ms / 1000,
		    refusal->retry_ms % 1000 / 100);
	ledger_rate_answer(rate, ask->id, "guard_rate_limit", detail);
}

static void
ledger_rate_fail(struct ledger_rate *rate, const struct ledger_rate_ask *ask,
    enum result result, const char *detail)
{
	const char *code =
	    result == RESULT_NEED_MORE ? "rate_locked" : "rate_failed";

	log_event(LOG_ERROR_LEVEL, "rate_failed", LOG_TEXT("code", code),
	    LOG_TEXT("detail", detail));
	ledger_rate_answer(rate, ask->id, code, detail);
}

/* Another ledger writes, or there is room soon, and there is time. */
static bool
ledger_rate_waits(struct ledger_rate_ask *ask, enum result result,
    const struct rate_refusal *refusal)
{
	uint64_t now = event_loop_now_ms();
	bool waits = false;

	if (result == RESULT_NEED_MORE) {
		ask->due_ms = now + LEDGER_RATE_PAUSE_MS;
		waits = now < ask->deadline_ms;
	} else if (result == RESULT_REFUSED && refusal->retry_ms > 0) {
		ask->due_ms = now + (uint64_t)refusal->retry_ms;
		ask->deadline_ms = ask->due_ms + LEDGER_RATE_TIMEOUT_MS;
		waits = ask->due_ms <= ask->patience_ms;
	}
	return waits;
}

/* False: it waits, until its due_ms. */
static bool
ledger_rate_try(struct ledger_rate *rate, struct ledger_rate_ask *ask)
{
	struct rate_refusal refusal = {0, 0, 0};
	struct json_fault fault = {""};
	enum result result = RESULT_OK;

	if (rate->rate == NULL) {
		rate->losses = budget_lock_losses();
		result = rate_open(rate->dir_fd, &rate->rate, &fault);
	}
	if (result == RESULT_OK)
		result = rate_take(rate->rate, ask->package, ask->count,
		    &ask->limits, &refusal);
	if (ledger_rate_waits(ask, result, &refusal))
		return false;
	if (rate->rate == NULL) {
		ledger_rate_fail(rate, ask, result, fault.text);
		return true;
	}
	if (result == RESULT_OK)
		ledger_rate_answer(rate, ask->id, "", "");
	else if (result == RESULT_REFUSED)
		ledger_rate_refuse(rate, ask, &refusal);
	else
		ledger_rate_fail(rate, ask, result, rate_detail(rate->rate));
	/* A connection that had a fault may wait for a lock of its own. */
	if (result == RESULT_SYSTEM || rate->losses != budget_lock_losses())
		rate_free(&rate->rate);
	return true;
}

/* What waits stays in its order; the timer is for the first that is due. */
static void
ledger_rate_arm(struct ledger_rate *rate)
{
	uint64_t now = event_loop_now_ms(), next = UINT64_MAX;
	struct timeval pause;
	size_t kept = 0;

	for (size_t i = 0; i < rate->queued; i++) {
		if (rate->queue[i].due_ms == 0)
			continue;
		if (rate->queue[i].due_ms < next)
			next = rate->queue[i].due_ms;
		if (kept != i)
			rate->queue[kept] = rate->queue[i];
		kept++;
	}
	rate->queued = kept;
	if (kept == 0)
		return;
	pause = event_loop_timeval(next > now ? next - now : 0);
	(void)event_add(rate->again, &pause);
}

static void
ledger_rate_on_again(evutil_socket_t fd, short what, void *context)
{
	struct ledger_rate *rate = context;
	uint64_t now = event_loop_now_ms();

	(void)fd;
	(void)what;
	for (size_t i = 0; i < rate->queued; i++) {
		struct ledger_rate_ask *ask = &rate->queue[i];

		if (ask->due_ms <= now && ledger_rate_try(rate, ask))
			ask->due_ms = 0;
	}
	ledger_rate_arm(rate);
}

/* The catalogue has bounded the numbers. */
static int64_t
ledger_rate_number(const struct ipc_message *message, const char *key)
{
	return json_integer_value(json_object_get(message->body, key));
}

void
ledger_rate_take(struct ledger_rate *rate, struct ipc_message *message)
{
	static const char *const windows[RATE_WINDOWS] = {
	    "second", "minute", "hour"};
	struct ledger_rate_ask *ask = &rate->queue[rate->queued];

	if (rate->queued == LEDGER_RATE_QUEUE) {
		ledger_rate_answer(rate, message->id, "rate_busy",
		    "too many calls wait for the database");
		return;
	}
	ask->id = message->id;
	(void)snprintf(ask->package, sizeof(ask->package), "%s",
	    json_string_value(json_object_get(message->body, "package")));
	ask->count = ledger_rate_number(message, "count");
	for (unsigned i = 0; i < RATE_WINDOWS; i++)
		ask->limits.most[i] = ledger_rate_number(message, windows[i]);
	ask->deadline_ms = event_loop_now_ms() + LEDGER_RATE_TIMEOUT_MS;
	ask->patience_ms = event_loop_now_ms() +
			   (uint64_t)ledger_rate_number(message, "wait_ms");
	ask->due_ms = event_loop_now_ms();
	rate->queued++;
	ledger_rate_on_again(-1, 0, rate);
}

enum result
ledger_rate_new(struct event_base *base, int dir_fd, ledger_rate_send *send,
    void *context, struct ledger_rate **rate_r)
{
	struct ledger_rate *rate = calloc(1, sizeof(*rate));

	*rate_r = rate;
	if (rate == NULL)
		return RESULT_NO_MEMORY;
	rate->dir_fd = dir_fd;
	rate->send = send;
	rate->context = context;
	rate->again = event_new(base, -1, 0, ledger_rate_on_again, rate);
	if (rate->again != NULL)
		return RESULT_OK;
	ledger_rate_free(rate_r);
	return RESULT_NO_MEMORY;
}

void
ledger_rate_free(struct ledger_rate **rate)
{
	if (*rate == NULL)
		return;
	if ((*rate)->again != NULL)
		event_free((*rate)->again);
	rate_free(&(*rate)->rate);
	free(*rate);
	*rate = NULL;
}
