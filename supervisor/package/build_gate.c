/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of a build; see build_gate.h. Must never read the build's
 * output, and never wait for ever for a gate that says nothing.
 */
#include "supervisor/package/build_gate.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event_loop.h"
#include "common/fd.h"
#include "supervisor/engine/gate_part.h"
#include "supervisor/gate/gate.h"
#include "supervisor/policy/config.h"
#include "supervisor/policy/log_files.h"

/* Longer than the gate itself waits for anything. */
#define BUILD_GATE_WAIT_MS (GATE_END_WAIT_MS + GATE_DRAIN_WAIT_MS + 5000U)

struct build_gate {
	struct gate_part *part;
	struct event *deadline;
	int output_fd, watch_fd; /* owned until the gate has them */
	build_gate_end *on_end;  /* NULL once called */
	void *context;
	bool full;
	char reason[GATE_BUILD_REASON_MAX];
};

static void
build_gate_finish(struct build_gate *gate, const char *fault)
{
	build_gate_end *on_end = gate->on_end;

	gate->on_end = NULL;
	(void)event_del(gate->deadline);
	if (on_end != NULL)
		on_end(fault, gate->context);
}

static void
build_gate_on_done(const struct gate_part_said *said, void *context)
{
	struct build_gate *gate = context;

	gate->full = said->full;
	(void)snprintf(gate->reason, sizeof(gate->reason), "%.*s",
	    (int)sizeof(gate->reason) - 1, said->detail);
	build_gate_finish(gate, NULL);
}

static void
build_gate_on_part_end(const char *detail, void *context)
{
	build_gate_finish(context, detail);
}

static void
build_gate_on_deadline(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	build_gate_finish(context, "agentnode-gate does not come to an end");
}

static enum result
build_gate_log(int *fd_r, struct json_fault *fault)
{
	char home[STATE_DIR_PATH_MAX];
	enum result result = config_home(home, sizeof(home), fault);

	if (result == RESULT_OK)
		result = log_files_open(home, "agentnode-gate", fd_r, fault);
	return result;
}

static enum result
build_gate_part(struct build_gate *gate, struct event_base *base,
    const struct config *config, const struct build_gate_spec *spec,
    struct json_fault *fault)
{
	static const struct gate_part_handlers handlers = {
	    .on_done = build_gate_on_done, .on_end = build_gate_on_part_end};
	const struct gate_part_stream rows[] = {
	    {"work_out", &gate->output_fd},
	    {"client_err", &gate->watch_fd},
	};
	json_t *options;
	int log_fd FD_CLEANUP = -1;
	enum result result = build_gate_log(&log_fd, fault);

	if (result != RESULT_OK)
		return result;
	options = json_pack("{s:s, s:s, s:s, s:b}", "mode", "build", "label",
	    spec->label, "log_level", config_text(config, "log.level"),
	    "no_landlock", config_override(config, "no_landlock"));
	if (options == NULL)
		return RESULT_NO_MEMORY;
	result = gate_part_start(base, spec->sandbox_id, options, log_fd, rows,
	    sizeof(rows) / sizeof(rows[0]), &handlers, gate, &gate->part);
	if (result != RESULT_OK)
		json_field_fault(fault, "agentnode-gate does not start");
	return result;
}

enum result
build_gate_start(struct event_base *base, const struct config *config,
    const struct build_gate_spec *spec, build_gate_end *on_end, void *context,
    struct build_gate **gate_r, struct json_fault *fault)
{
	struct build_gate *gate = calloc(1, sizeof(*gate));
	int output_fd = spec->output_fd;
	enum result result;

	*gate_r = NULL;
	if (gate == NULL) {
		fd_close(&output_fd);
		return RESULT_NO_MEMORY;
	}
	*gate = (struct build_gate){.output_fd = output_fd,
	    .watch_fd = -1,
	    .on_end = on_end,
	    .context = context};
	gate->deadline = evtimer_new(base, build_gate_on_deadline, gate);
	if (spec->watch_fd >= 0)
		gate->watch_fd = gate_part_share(spec->watch_fd, O_WRONLY);
	if (gate->deadline == NULL)
		result = RESULT_NO_MEMORY;
	else
		result = fd_set_nonblocking(gate->output_fd, true);
	if (result == RESULT_OK)
		result = build_gate_part(gate, base, config, spec, fault);
	if (result != RESULT_OK)
		build_gate_free(&gate);
	*gate_r = gate;
	return result;
}

void
build_gate_workload_ended(
    struct build_gate *gate, const struct sandbox_outcome *outcome)
{
	struct timeval wait = event_loop_timeval(BUILD_GATE_WAIT_MS);

	if (gate->on_end == NULL)
		return;
	(void)event_add(gate->deadline, &wait);
	gate_part_workload_ended(gate->part, outcome);
}

const char *
build_gate_reason(const struct build_gate *gate)
{
	return gate->reason;
}

bool
build_gate_full(const struct build_gate *gate)
{
	return gate->full;
}

void
build_gate_free(struct build_gate **gate)
{
	struct build_gate *gone = *gate;

	if (gone == NULL)
		return;
	*gate = NULL;
	gate_part_free(&gone->part);
	if (gone->deadline != NULL)
		event_free(gone->deadline);
	fd_close(&gone->output_fd);
	fd_close(&gone->watch_fd);
	free(gone);
}
