/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which of its run's lists a call stands, and how many stand there.
 * Called by call.c alone, when a state is entered. The counts are changed
 * here and nowhere else.
 */
#include "llm-broker/call_place.h"

static enum call_list
call_place_of(enum call_state state)
{
	switch (state) {
	case CALL_STATE_NEW:
	case CALL_STATE_IDLE:
	case CALL_STATE_REQUEST:
		return CALL_LIST_WAITING;
	case CALL_STATE_RESERVE:
	case CALL_STATE_ASK:
	case CALL_STATE_RELAY:
	case CALL_STATE_DRAIN:
		return CALL_LIST_RUNNING;
	case CALL_STATE_LINGER:
	case CALL_STATE_CLOSED:
	case CALL_STATE_COUNT:
		break;
	}
	return CALL_LIST_LEAVING;
}

void
call_place_leave(struct call *call)
{
	struct call_run *run = call->run;

	TAILQ_REMOVE(&run->lists[call->list], call, link);
	run->counts[call->list]--;
}

void
call_place_take(struct call *call, enum call_state state)
{
	struct call_run *run = call->run;
	enum call_list list = call_place_of(state);

	call->list = list;
	TAILQ_INSERT_TAIL(&run->lists[list], call, link);
	run->counts[list]++;
}
