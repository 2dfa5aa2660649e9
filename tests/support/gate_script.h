/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts for the gate's machine tests. Every function fails the test that
 * calls it when the gate does not do as expected.
 */
#ifndef TESTS_SUPPORT_GATE_SCRIPT_H
#define TESTS_SUPPORT_GATE_SCRIPT_H

#include <stdint.h>

#include "supervisor/gate/gate_view.h"

#define GATE_SCRIPT_GRACE 2000U
/* How every message of the protocol begins here. */
#define V "{\"jsonrpc\":\"2.0\","

struct gate_script {
	struct gate gate;
	uint64_t now; /* the clock; starts at 1000 */
};

/* Options of a community server in MCP mode. */
struct gate_options gate_script_mcp(void);
/* Make the gate with all streams there, and start it. */
void gate_script_open(struct gate_script *test, struct gate_options options);
void gate_script_step(struct gate_script *test, enum gate_event_kind kind,
    enum gate_stream stream, const char *bytes, size_t len);
/* A side writes; the gate must want it. */
void gate_script_say(
    struct gate_script *test, enum gate_stream stream, const char *text);
/* Take what waits for an output: exactly text; something with part in it
 * (left there); whatever it is. */
void gate_script_expect(
    struct gate_script *test, enum gate_stream stream, const char *text);
void gate_script_expect_part(
    struct gate_script *test, enum gate_stream stream, const char *part);
void gate_script_drop(struct gate_script *test, enum gate_stream stream);
/* A side closes its end. */
void gate_script_end(struct gate_script *test, enum gate_stream stream);
/* The clock goes on. */
void gate_script_time(struct gate_script *test, uint64_t ms);

#endif
