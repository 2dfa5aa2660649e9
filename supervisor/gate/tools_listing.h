/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of one package as the agent's MCP endpoint lists them: asked for
 * once, then kept. A tool becomes "slug__tool"; everything else about it is
 * the package's own words. Pure.
 */
#ifndef SUPERVISOR_GATE_TOOLS_LISTING_H
#define SUPERVISOR_GATE_TOOLS_LISTING_H

#include "common/buffer.h"
#include "supervisor/gate/tools_grant.h"

#define TOOLS_LISTING_MAX (512U * 1024U) /* bytes of one package's list */
#define TOOLS_LISTING_TOOLS_MAX 512U
#define TOOLS_LISTING_TRIES 3U

enum tools_listing_state {
	TOOLS_LISTING_UNKNOWN,
	TOOLS_LISTING_ASKED,
	TOOLS_LISTING_KNOWN,
	TOOLS_LISTING_FAILED /* told without it; asked again some times */
};

struct tools_listing {
	enum tools_listing_state state;
	unsigned tries;
	struct buffer text; /* objects with commas between them */
	size_t count, left_out;
};

void tools_listing_init(struct tools_listing *listing);
void tools_listing_free(struct tools_listing *listing);

/* Should it be asked for, now that somebody wants it? */
bool tools_listing_is_wanted(const struct tools_listing *listing);
void tools_listing_asked(struct tools_listing *listing);
/* What came: an object with a list of tools, checked JSON; absent: it
 * failed. False when it is no such object. */
bool tools_listing_take(struct tools_listing *listing,
    const struct tools_grant_package *package, struct mcp_span result);

#endif
