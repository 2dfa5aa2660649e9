/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a package manager says while it builds: lines made safe for whoever
 * watches, one a second of a flood; the last ones of a build that failed;
 * and the few that say why, kept for the supervisor's sentence. Leaf of
 * gate.c; no descriptors, no clock; fuzzed.
 */
#ifndef SUPERVISOR_GATE_GATE_BUILD_H
#define SUPERVISOR_GATE_GATE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

#define GATE_BUILD_LINE_MAX 256U  /* bytes of a line; the rest is cut */
#define GATE_BUILD_EVERY_MS 1000U /* between lines that are shown */
#define GATE_BUILD_LAST 5U        /* lines shown of a build that failed */
#define GATE_BUILD_OUT_MAX 65536U
#define GATE_BUILD_REASON_MAX 320U

struct gate_build_line {
	char bytes[GATE_BUILD_LINE_MAX];
	size_t len;
	uint64_t all; /* bytes it had, the cut part included */
};

struct gate_build {
	const char *label; /* borrowed; before each line that is shown */
	struct buffer out; /* for who watches; what he leaves is dropped */
	struct gate_build_line line;                  /* not complete yet */
	struct gate_build_line last[GATE_BUILD_LAST]; /* a ring */
	uint64_t count;                               /* complete lines */
	uint64_t hidden;   /* of them, newest, nobody was shown */
	uint64_t shown_ms; /* when one was shown last; 0: never */
	/* Lines that say why, "; " between, escaped; bounded. */
	char reason[GATE_BUILD_REASON_MAX];
	bool full; /* a line says that there was no room left */
};

void gate_build_init(struct gate_build *build, const char *label);
void gate_build_free(struct gate_build *build);
void gate_build_feed(
    struct gate_build *build, const char *bytes, size_t len, uint64_t now_ms);
/* Nothing more comes: the newest lines are shown, and reason is the last
 * line when the build failed and no line said why. */
void gate_build_end(struct gate_build *build, bool failed, uint64_t now_ms);

#endif
