/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a run on the host and what it is made of. Private to
 * host_run.c (the story) and host_run_parts.c (what some states do).
 */
#ifndef SUPERVISOR_HOST_RUN_STATE_H
#define SUPERVISOR_HOST_RUN_STATE_H

#include "supervisor/engine/process_watch.h"
#include "supervisor/host/host_group.h"
#include "supervisor/host/host_plan.h"
#include "supervisor/policy/audit.h"

#define HOST_RUN_SWEEP_MS 20U
#define HOST_RUN_SWEEPS 250U /* 5 s */

enum host_run_state {
	HOST_RUN_NEW,     /* nothing was started */
	HOST_RUN_HELLO,   /* agentnode-host lives; its tree is hashed */
	HOST_RUN_AUDIT,   /* the launch record is on its way to disk */
	HOST_RUN_RUNNING, /* the command lives */
	HOST_RUN_STOP,    /* it was told to end everything */
	HOST_RUN_KILL,    /* it did not: it is killed */
	HOST_RUN_SWEEP,   /* it ended; is there something in its group? */
	HOST_RUN_RECORD,  /* the removal record is on its way to disk */
	HOST_RUN_END      /* on_end is due, or was called */
};

struct host_run {
	struct event_base *base;
	struct audit *audit;
	struct host_run_handlers handlers;
	void *context;
	enum host_run_state state; /* assigned in host_run_enter alone */
	struct host_plan plan;
	struct sandbox_outcome outcome;
	int control;                 /* owned; -1 after its end */
	struct process_watch *watch; /* of agentnode-host */
	struct volume_check *check;
	struct host_group group; /* where its group is, if it made one */
	bool host_dead, tree_good, hello, launched, has_status, is_grouped;
	bool in_order;       /* it was told to stop, which is no fault */
	bool guarded, ended; /* the guard ended the tree; on_end was called */
	unsigned sweeps;
	struct event *input, *deadline, *later;
};

/* Change the state: log it, arm its deadline, do what it does first. */
void host_run_enter(
    struct host_run *run, enum host_run_state state, const char *why);
/* The only way to a bad end: the first code stays. */
void host_run_close(struct host_run *run, const char *code, const char *detail);
void host_run_fault(struct host_run *run, const char *code, const char *detail);
enum result host_run_tell(struct host_run *run, enum host_type type);
/* agentnode-host died, says something, or ended its socket. */
void host_run_on_death(int exit_code, int number, void *context);
void host_run_on_input(evutil_socket_t fd, short what, void *context);
/* Hello and files: one of them is there now. */
void host_run_ready(struct host_run *run);

/* What a state does when it is entered (host_run_parts.c). */
void host_run_parts_start(struct host_run *run);
void host_run_parts_audit(struct host_run *run);
void host_run_parts_sweep(struct host_run *run);
void host_run_parts_record(struct host_run *run);

#endif
