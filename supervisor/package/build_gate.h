/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-gate beside a build sandbox: it reads what npm or pip says,
 * shows it to whoever watches, and says in a few escaped words why a build
 * failed. The supervisor holds the descriptors and reads none of them. Used
 * by install_build.c.
 */
#ifndef SUPERVISOR_PACKAGE_BUILD_GATE_H
#define SUPERVISOR_PACKAGE_BUILD_GATE_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/sandbox.h"

struct config;     /* supervisor/policy/config.h */
struct build_gate; /* opaque */

/* Once: all is said (fault NULL), or the gate is gone before that; then
 * fault says how. Never before build_gate_start returns. */
typedef void build_gate_end(const char *fault, void *context);

struct build_gate_spec {
	const char *sandbox_id;
	const char *label; /* before each line; static */
	int output_fd;     /* read end of the build's pipe; taken */
	int watch_fd;      /* gets the lines, borrowed; -1: nobody watches */
};

/* spec->output_fd is closed in any case. */
enum result build_gate_start(struct event_base *base,
    const struct config *config, const struct build_gate_spec *spec,
    build_gate_end *on_end, void *context, struct build_gate **gate_r,
    struct json_fault *fault);
/* The build is gone and so are our copies of its pipe; on_end follows, at
 * the latest after a while. */
void build_gate_workload_ended(
    struct build_gate *gate, const struct sandbox_outcome *outcome);
/* After on_end: why it failed (borrowed, escaped, may be empty), and
 * whether it said that there was no room left. */
const char *build_gate_reason(const struct build_gate *gate);
bool build_gate_full(const struct build_gate *gate);
/* Kills the process. Accepts NULL, clears. */
void build_gate_free(struct build_gate **gate);

#endif
