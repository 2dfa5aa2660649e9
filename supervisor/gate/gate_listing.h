/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools mode: the gate itself is the client. It asks for initialize and
 * tools/list (all pages) through the same session as any client would, and
 * writes names and descriptions, made safe, as text or JSON. Pure but for
 * the session it drives; leaf of gate.c.
 */
#ifndef SUPERVISOR_GATE_GATE_LISTING_H
#define SUPERVISOR_GATE_GATE_LISTING_H

#include <stdbool.h>

#include "supervisor/gate/mcp_line.h"
#include "supervisor/gate/mcp_session.h"

#define GATE_LISTING_OUT_MAX (4U << 20)
#define GATE_LISTING_PAGES_MAX 100U
#define GATE_LISTING_TEXT_MAX 512U /* bytes of a description shown */

enum gate_listing_state {
	GATE_LISTING_IDLE,
	GATE_LISTING_INITIALIZING,
	GATE_LISTING_LISTING,
	GATE_LISTING_DONE,
	GATE_LISTING_FAILED /* detail says why */
};

struct gate_listing {
	enum gate_listing_state state;
	bool json;
	struct mcp_policy allowed; /* marks tools; the session lists all */
	struct mcp_json checker;
	struct mcp_message message;
	unsigned pages;
	size_t count;
	struct buffer out; /* what is printed */
	char detail[256];
};

void gate_listing_init(struct gate_listing *listing, bool json,
    const struct mcp_policy *allowed, const struct mcp_hash_key *key);
void gate_listing_free(struct gate_listing *listing);
/* Send initialize. */
void gate_listing_begin(
    struct gate_listing *listing, struct mcp_session *session, uint64_t now_ms);
/* A line the session let pass to the client. */
void gate_listing_line(struct gate_listing *listing,
    struct mcp_session *session, const char *bytes, size_t len,
    uint64_t now_ms);

#endif
