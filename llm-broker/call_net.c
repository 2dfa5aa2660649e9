/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What call.c has done for it, on real sockets: lanes, the ledger, the end
 * of descriptors. Called through the table at the end. Must never step a
 * call itself before it returns.
 */
#include "llm-broker/call_net.h"

#include <string.h>
#include <sys/socket.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "llm-broker/call_report.h"

struct call_io *
call_net_of(struct call *call)
{
	return (struct call_io *)(void *)call;
}

/* Calls that were not reported yet. */
static uint64_t
call_net_open(const struct call_io_shared *shared)
{
	const struct call_io_counters *counters = &shared->counters;

	return counters->calls - counters->served - counters->refused;
}

bool
call_net_is_alone(const struct call_io_shared *shared)
{
	return quick_wait_is_lone(&shared->quick) && call_net_open(shared) == 1;
}

void
call_net_unwait(struct call_io *io)
{
	if (io->waits)
		TAILQ_REMOVE(&io->shared->again, io, wait);
	io->waits = 0;
}

void
call_net_wait(struct call_io *io)
{
	static const struct timeval now = {0, 0};

	if (io->waits)
		return;
	io->waits = 1;
	if (TAILQ_EMPTY(&io->shared->again))
		(void)event_add(io->shared->again_event, &now);
	TAILQ_INSERT_TAIL(&io->shared->again, io, wait);
}

static uint64_t
call_net_now(struct call *call)
{
	(void)call;
	return event_loop_now_ms();
}

static uint64_t
call_net_next_number(struct call *call)
{
	struct call_io_shared *shared = call_net_of(call)->shared;

	shared->counters.calls++;
	quick_wait_begin(&shared->quick, call_net_open(shared));
	return ++shared->next_number;
}

static enum result
call_net_reserve(struct call *call)
{
	struct call_io_shared *shared = call_net_of(call)->shared;

	return shared->ledger.reserve(call, shared->context);
}

static void
call_net_settle(struct call *call)
{
	struct call_io_shared *shared = call_net_of(call)->shared;

	shared->ledger.settle(call, shared->context);
}

static void
call_net_forget(struct call *call)
{
	struct call_io_shared *shared = call_net_of(call)->shared;

	shared->ledger.forget(call, shared->context);
}

static uint32_t
call_net_ms(uint64_t ms)
{
	return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

/* The first write is call_io.c's, once this has returned. */
static enum result
call_net_ask(struct call *call)
{
	struct call_io *io = call_net_of(call);
	const struct call_request_result *request =
	    call_request_result(call->request);
	const struct grant_limits *limits =
	    grant_limits_borrow(call->run->grant);
	const struct lane_request ask = {
	    .provider = provider_name(call->provider),
	    .head = request->head,
	    .head_len = request->head_len,
	    .body = request->body,
	    .body_len = request->body_len,
	    .first_byte_ms = call_net_ms(limits->first_byte_ms),
	    .idle_ms = call_net_ms(limits->idle_ms),
	    .number = call->number};
	enum result result = RESULT_CLOSED;

	if (io->shared->lanes != NULL)
		result = lane_client_take(io->shared->lanes, io, &io->lane);
	if (result != RESULT_OK)
		return result;
	lane_client_begin(io->lane, &ask);
	/* Not to be read before the loop says so (lane_client.h). */
	io->lane_can = CALL_NET_CAN_WRITE;
	return RESULT_OK;
}

static void
call_net_release_lane(struct call *call, enum lane_release how)
{
	lane_client_release(&call_net_of(call)->lane, how);
}

static void
call_net_drop_lane(struct call *call)
{
	lane_client_drop(&call_net_of(call)->lane);
}

/* A fault is seen by the flush that follows. */
static void
call_net_push(struct call *call)
{
	struct call_io *io = call_net_of(call);
	struct buffer *out = &call->out;
	ssize_t count;

	if (out->len == 0 || !(io->agent_can & CALL_NET_CAN_WRITE))
		return;
	count = send(io->fd, buffer_bytes_borrow(out), out->len, MSG_NOSIGNAL);
	if (count <= 0)
		return;
	buffer_consume(out, (size_t)count);
	call->down_bytes += (uint64_t)count;
}

static void
call_net_linger(struct call *call)
{
	(void)shutdown(call_net_of(call)->fd, SHUT_WR);
}

static void
call_net_close_agent(struct call *call, bool reset)
{
	struct call_io *io = call_net_of(call);

	call_net_unwait(io);
	(void)event_del(&io->event);
	if (reset)
		fd_reset(&io->fd);
	else
		fd_close(&io->fd);
}

static void
call_net_report(struct call *call)
{
	struct call_io_shared *shared = call_net_of(call)->shared;

	if (call->code == CALL_OK)
		shared->counters.served++;
	else
		shared->counters.refused++;
	shared->counters.redacted += call->redacted;
	call_report_write(call, event_loop_now_ms());
	if (shared->on_report != NULL)
		shared->on_report(call, shared->context);
	if (call_net_open(shared) == 0)
		quick_wait_expect(&shared->quick, quick_wait_now_ns());
}

const struct call_actions call_net_actions = {
    .now_ms = call_net_now,
    .next_number = call_net_next_number,
    .reserve = call_net_reserve,
    .settle = call_net_settle,
    .forget_reserve = call_net_forget,
    .ask = call_net_ask,
    .release_lane = call_net_release_lane,
    .drop_lane = call_net_drop_lane,
    .push = call_net_push,
    .linger = call_net_linger,
    .close_agent = call_net_close_agent,
    .report = call_net_report,
};
