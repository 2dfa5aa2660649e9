/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the clock when something ends; see run_term.h. It must never let
 * a run go on that would not be started any more.
 */
#include "supervisor/mcp/run_term.h"

#include <stdlib.h>
#include <sys/time.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/policy/config_watch.h"

/* A timer counts on while the clock may be set: look again. */
#define RUN_TERM_LOOK_S 60

struct run_term {
	struct event_base *base;
	struct event *clock;
	struct config_watch *watch; /* NULL: somebody else watches */
	const struct run_entry *run;
	time_t secrets_until; /* 0: no end */
	run_term_over *over;  /* NULL: it was called */
	void *context;
};

static void
run_term_end(struct run_term *term, const char *code, const char *detail)
{
	run_term_over *over = term->over;

	term->over = NULL;
	(void)event_del(term->clock);
	log_event(LOG_WARN_LEVEL, "run_term", LOG_TEXT("code", code),
	    LOG_TEXT("detail", detail));
	if (over != NULL)
		over(term->context, code, detail);
}

/* The next instant to look at; 0: none. */
static time_t
run_term_next(const struct run_term *term)
{
	time_t trust = term->run->trust.expires;
	time_t secrets = term->secrets_until;

	if (trust == 0 || (secrets != 0 && secrets < trust))
		return secrets;
	return trust;
}

/* False: nobody would look at the clock. */
static bool
run_term_arm(struct run_term *term)
{
	time_t next = run_term_next(term);
	struct timeval when = {RUN_TERM_LOOK_S, 0}, end = {next, 0}, now;

	if (next == 0)
		return true;
	(void)gettimeofday(&now, NULL);
	if (next - now.tv_sec < RUN_TERM_LOOK_S)
		timersub(&end, &now, &when);
	/* time() may be a tick behind: look again then. */
	if (when.tv_sec < 0 || (when.tv_sec == 0 && when.tv_usec < 1000))
		when = (struct timeval){0, 1000};
	return event_add(term->clock, &when) == 0;
}

static void
run_term_on_clock(evutil_socket_t fd, short what, void *context)
{
	struct run_term *term = context;
	time_t now = time(NULL);

	(void)fd;
	(void)what;
	if (term->over == NULL)
		return;
	if (term->run->trust.expires != 0 && now >= term->run->trust.expires)
		run_term_end(term, "trust_expired",
		    "its attestation expired while it ran");
	else if (term->secrets_until != 0 && now >= term->secrets_until)
		run_term_end(term, "credentials_consent_expired",
		    "the consent to its secrets expired while it ran");
	else if (!run_term_arm(term))
		run_term_end(term, "internal",
		    "the end of its attestation or consent cannot be watched");
}

bool
run_term_config(struct run_term *term, const struct config *config)
{
	if (term->over == NULL)
		return false;
	if (run_entry_still(term->run, config))
		return true;
	run_term_end(term, "policy_changed",
	    "the configuration would not start it any more: its tier, where "
	    "it may run, or what proves it");
	return false;
}

static void
run_term_on_changed(bool lost, void *context)
{
	struct run_term *term = context;
	struct json_fault fault = {""};
	struct config *config = NULL;

	if (term->over == NULL)
		return;
	if (lost || config_load(&config, &fault) != RESULT_OK) {
		run_term_end(term, "policy_unavailable",
		    fault.text[0] != '\0'
			? fault.text
			: "the configuration cannot be watched any more");
		return;
	}
	(void)run_term_config(term, config);
	config_free(&config);
}

enum result
run_term_watch(struct run_term *term, struct json_fault *fault)
{
	return config_watch_new(
	    term->base, run_term_on_changed, term, &term->watch, fault);
}

enum result
run_term_new(struct event_base *base, const struct run_entry *run,
    time_t secrets_until, run_term_over *over, void *context,
    struct run_term **term_r)
{
	struct run_term *term = calloc(1, sizeof(*term));

	*term_r = NULL;
	if (term == NULL)
		return RESULT_NO_MEMORY;
	term->base = base;
	term->run = run;
	term->secrets_until = secrets_until;
	term->over = over;
	term->context = context;
	term->clock = event_new(base, -1, 0, run_term_on_clock, term);
	if (term->clock == NULL || !run_term_arm(term)) {
		if (term->clock != NULL)
			event_free(term->clock);
		free(term);
		return RESULT_NO_MEMORY;
	}
	*term_r = term;
	return RESULT_OK;
}

void
run_term_free(struct run_term **term)
{
	struct run_term *gone = *term;

	if (gone == NULL)
		return;
	*term = NULL;
	config_watch_free(&gone->watch);
	event_free(gone->clock);
	free(gone);
}
