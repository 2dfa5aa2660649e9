/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a sandbox and what it is made of. Private to sandbox.c
 * (the story), sandbox_steps.c (what each state does) and sandbox_inside.c
 * (what comes from the container); nobody else includes it.
 */
#ifndef SUPERVISOR_SANDBOX_STATE_H
#define SUPERVISOR_SANDBOX_STATE_H

#include "supervisor/engine/container_end.h"
#include "supervisor/engine/egress_live.h"
#include "supervisor/engine/egress_part.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_gc.h"
#include "supervisor/engine/process_watch.h"
#include "supervisor/engine/wiring.h"
#include "supervisor/policy/audit.h"
#include "supervisor/sandbox.h"
#include "supervisor/sandbox_plan.h"
#include "supervisor/start_clock.h"

enum sandbox_state {
	SANDBOX_NEW,       /* nothing was done */
	SANDBOX_AUDIT,     /* the launch record is on its way to disk */
	SANDBOX_HELLO,     /* parts and engine started; init not heard yet */
	SANDBOX_LISTENERS, /* init heard; listeners and report are coming */
	SANDBOX_CHECKS,    /* report fits; proxy and volume hashes awaited */
	SANDBOX_IMPORT,    /* trees go in, one after the other */
	SANDBOX_RUNNING,   /* the workload lives */
	SANDBOX_EXPORT,    /* it ended; trees come out */
	SANDBOX_BYE,       /* init was told to exit */
	SANDBOX_KILL,      /* everything in the control group is killed */
	SANDBOX_CLIENT,    /* all dead; the engine's client cleans up */
	SANDBOX_REMOVE,    /* the engine's record is removed, verified */
	SANDBOX_RECORD,    /* the removal record is on its way to disk */
	SANDBOX_END        /* on_end is due, or was called */
};

struct sandbox {
	struct event_base *base;
	struct audit *audit;
	struct sandbox_handlers handlers;
	void *context;

	struct start_clock *clock; /* or NULL */
	enum sandbox_state state;  /* assigned in sandbox_enter alone */
	struct sandbox_plan plan;
	struct sandbox_outcome outcome;

	struct wiring *wiring;
	struct native_launcher **launcher; /* the caller's; taken, or NULL */
	struct engine_call *client;
	bool client_ended, client_clean; /* by itself, without complaint */
	bool link_over; /* the way in ended before init's first word */
	struct process_watch *monitor, *init;
	pid_t init_pid; /* 0: not heard yet */
	struct cgroup cgroup;
	struct egress_part *egress;
	struct egress_live *live; /* keeps its policy narrow */
	struct volume_check *volumes;
	struct docker_look *look;
	struct container_end *end;
	struct engine_gc *leftovers; /* of dead supervisors */

	bool egress_ready, volumes_good, reported;
	bool ledger_waits;    /* its start is not over */
	bool recorded;        /* the launch record is on disk */
	unsigned ports_ready; /* bit per port */
	bool leftovers_gone;
	bool ended;       /* on_end was called */
	bool stopping;    /* INIT_KILL was sent */
	size_t next_tree; /* of plan.trees */
	struct event *deadline, *wall, *later;
};

/* Change the state: log it, arm its deadline, do what it does first. */
void sandbox_enter(
    struct sandbox *sandbox, enum sandbox_state state, const char *why);
/* The only way to a bad end: the first code stays. */
void sandbox_close(
    struct sandbox *sandbox, const char *code, const char *detail);

/* What init says, and its end (sandbox_inside.c). */
extern const struct wiring_handlers sandbox_inside_handlers;

/* The engine's client (sandbox_client.c). */
enum result sandbox_client_start(
    struct sandbox *sandbox, char *detail_r, size_t detail_size);
void sandbox_client_joined(struct sandbox *sandbox);

/* What a state does when it is entered (sandbox_steps.c). */
void sandbox_steps_audit(struct sandbox *sandbox);
void sandbox_steps_launch(struct sandbox *sandbox);
void sandbox_steps_start(struct sandbox *sandbox);
void sandbox_steps_look(struct sandbox *sandbox);
void sandbox_steps_checks(struct sandbox *sandbox);
void sandbox_steps_tree(struct sandbox *sandbox);
void sandbox_steps_go(struct sandbox *sandbox);
void sandbox_steps_ready(struct sandbox *sandbox);
void sandbox_steps_bye(struct sandbox *sandbox);
void sandbox_steps_kill(struct sandbox *sandbox);
void sandbox_steps_record(struct sandbox *sandbox);

#endif
