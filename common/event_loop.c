/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libevent base of a process. Called once by each main; must never
 * leave anything for libevent to open or read after confinement.
 */
#include "common/event_loop.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "common/ipc.h"
#include "common/log.h"

static enum result
event_loop_make(int flags, struct event_base **base_r)
{
	struct event_config *config = event_config_new();

	flags |= EVENT_BASE_FLAG_IGNORE_ENV | EVENT_BASE_FLAG_NOLOCK;
	*base_r = NULL;
	if (config == NULL)
		return RESULT_NO_MEMORY;
	/* Who left is an EPIPE of a call and a limit of files an EFBIG, never
	 * the end of us; splice(2) has no MSG_NOSIGNAL. */
	if (signal(SIGPIPE, SIG_IGN) != SIG_ERR &&
	    signal(SIGXFSZ, SIG_IGN) != SIG_ERR &&
	    event_config_set_flag(config, flags) == 0 &&
	    event_config_require_features(config, EV_FEATURE_O1) == 0)
		*base_r = event_base_new_with_config(config);
	event_config_free(config);
	return *base_r == NULL ? RESULT_SYSTEM : RESULT_OK;
}

enum result
event_loop_new(struct event_base **base_r)
{
	return event_loop_make(0, base_r);
}

/* What libevent could not tell the kernel of in a batch is lost, and nobody
 * else hears so: the process would wait for ever, deaf. */
static void
event_loop_lost(int severity, const char *text)
{
	if (severity >= EVENT_LOG_WARN)
		log_fatal(IPC_EXIT_CRASH, "event_lost", text);
}

enum result
event_loop_new_batched(struct event_base **base_r)
{
	event_set_log_callback(event_loop_lost);
	return event_loop_make(EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST, base_r);
}

uint64_t
event_loop_now_ms(void)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail on Linux */
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

enum result
event_loop_run(struct event_base *base)
{
	if (event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) < 0)
		return RESULT_INTERNAL;
	return event_base_got_break(base) ? RESULT_OK : RESULT_INTERNAL;
}

void
event_loop_stop(struct event_base *base)
{
	(void)event_base_loopbreak(base); /* fails only for NULL */
}

struct timeval
event_loop_timeval(uint64_t ms)
{
	return (struct timeval){.tv_sec = (time_t)(ms / 1000),
	    .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}
