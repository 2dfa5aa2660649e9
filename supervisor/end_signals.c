/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that end a run; see end_signals.h. Called by the stories of exec,
 * MCP servers, packs and agents and by what waits for a person or a tool; must
 * never leave one of its signals to its default.
 */
#include "supervisor/end_signals.h"

/* signal(7): "Term", and SIGQUIT. Not SIGKILL, nor those of a fault, nor the
 * two that are an errno for us. */
static const int end_signals_numbers[END_SIGNALS_COUNT] = {SIGINT, SIGTERM,
    SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU,
    SIGIO, SIGPWR, SIGSTKFLT};

enum result
end_signals_new(struct end_signals *signals_r, struct event_base *base,
    event_callback_fn came, void *context)
{
	*signals_r = (struct end_signals){.events = {NULL}};
	for (size_t i = 0; i < END_SIGNALS_COUNT; i++) {
		signals_r->events[i] =
		    evsignal_new(base, end_signals_numbers[i], came, context);
		if (signals_r->events[i] == NULL ||
		    event_add(signals_r->events[i], NULL) != 0)
			return RESULT_NO_MEMORY;
	}
	return RESULT_OK;
}

void
end_signals_free(struct end_signals *signals)
{
	for (size_t i = 0; i < END_SIGNALS_COUNT; i++) {
		if (signals->events[i] != NULL)
			event_free(signals->events[i]);
		signals->events[i] = NULL;
	}
}

void
end_signals_mask(sigset_t *set_r)
{
	(void)sigemptyset(set_r);
	for (size_t i = 0; i < END_SIGNALS_COUNT; i++)
		(void)sigaddset(set_r, end_signals_numbers[i]);
}
