/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the code of a package runs, as run_entry decided: its sandbox, or
 * the host. One way for both, so that what starts a package asks the same
 * questions of it in either. Used by pack_run and tool_session.
 */
#ifndef SUPERVISOR_HOST_WORK_PLACE_H
#define SUPERVISOR_HOST_WORK_PLACE_H

#include <event2/event.h>

#include "common/result.h"
#include "supervisor/package/run_entry.h"
#include "supervisor/policy/audit.h"
#include "supervisor/sandbox.h"

struct work_place; /* opaque */

struct work_place_spec {
	/* Decided: on_host and verdict say where; config is in it. */
	const struct run_entry *run;
	/* As for the sandbox. On the host it becomes the same there: /pack
	 * is the sealed folder, the words are those of the host's own
	 * interpreter, and the environment is PATH, LANG, a HOME and TMPDIR
	 * of the package's, what is named here, and, without any egress,
	 * proxy variables that lead nowhere. */
	const struct sandbox_spec *sandbox;
};

struct work_place_handlers {
	void (*on_go)(void *context); /* may be NULL */
	void (*on_end)(const struct sandbox_outcome *outcome, void *context);
};

/* Every failure comes through on_end, once, never before this returns; but
 * RESULT_NO_MEMORY. */
enum result work_place_start(struct event_base *base, struct audit *audit,
    const struct work_place_spec *spec,
    const struct work_place_handlers *handlers, void *context,
    struct work_place **place_r);
/* As sandbox_stop and host_run_stop. */
void work_place_stop(
    struct work_place *place, const char *code, const char *detail);
const char *work_place_id(const struct work_place *place); /* 16 hex, or "" */
/* After on_end. Accepts NULL, clears. */
void work_place_free(struct work_place **place);

/* What it is called in results: "sandbox" or "host". */
const char *work_place_name(const struct run_entry *run);

#endif
