/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane in a script: the world around key_lane.c, with a fake clock and
 * actions that only write down that they were asked. Used by
 * tests/machine/test_key_lane.c and tests/fuzz/fuzz_key_lane.c.
 */
#ifndef TESTS_MACHINE_LANE_SCRIPT_H
#define TESTS_MACHINE_LANE_SCRIPT_H

#include "llm-broker/key/key_lane.h"

#define LANE_SCRIPT_HEAD                                    \
	"POST /v1/x HTTP/1.1\r\nHost: api.example.test\r\n" \
	"Content-Length: 5\r\n"

struct lane_script {
	struct key_lane lane; /* first */
	struct key_config_provider provider;
	uint64_t now_ms, deadline_ms;
	enum key_lane_admit admit;
	enum result connect, inject;
	bool inject_sent;    /* a byte left before inject failed */
	bool has_connection; /* taken and not given back */
	char trace[1024];    /* the actions, in order */
	char sent[4096];     /* head and body, as they were given */
	size_t sent_len;
	unsigned requests; /* heads that were written */
	enum key_lane_verdict verdict;
	unsigned reports;
};

void lane_script_init(struct lane_script *script);

/* OPEN with LANE_SCRIPT_HEAD and a body of five bytes. */
size_t lane_script_open(char *at, uint32_t call);
size_t lane_script_frame(
    char *at, enum lane_type type, uint32_t value, uint32_t call);

/* Offer bytes; those not taken are lost. Returns how many were taken. */
size_t lane_script_give(
    struct lane_script *script, const char *bytes, size_t len);

#endif
