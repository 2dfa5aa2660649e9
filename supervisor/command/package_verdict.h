/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would happen if an entry were run now: is it whole, of which tier,
 * may it run, did the user agree? One answer for packages of every kind.
 * Used by list, info and mcp list; nothing is started.
 */
#ifndef SUPERVISOR_COMMAND_PACKAGE_VERDICT_H
#define SUPERVISOR_COMMAND_PACKAGE_VERDICT_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/command/mcp_consent.h"
#include "supervisor/package/run_entry.h"

/* Configuration and consents, read once for many entries. */
struct package_verdict_host {
	struct config *config; /* owned */
	struct mcp_consent consent;
};

struct package_verdict {
	enum boundary_kind kind;
	enum tier tier;    /* as judged */
	const char *claim; /* of the entry, when it differs; else "" */
	bool agreed;       /* the user of this host did */
	bool runnable;     /* whole, allowed and agreed */
	/* Where its code runs: "sandbox", "host", "nothing" (a skill has
	 * none), "refused". */
	const char *place;
	char code[RUN_ENTRY_CODE_MAX]; /* of the boundary; "" */
	char source[512];              /* what to install to get the same; "" */
	struct json_fault fault;       /* why it is not runnable */
};

/* RESULT_OK, or the configuration's fault; close in any case. */
enum result package_verdict_open(
    struct package_verdict_host *host_r, struct json_fault *fault);
void package_verdict_close(struct package_verdict_host *host);

void package_verdict_make(const struct package_verdict_host *host,
    const char *slug, const json_t *entry, struct package_verdict *verdict_r);

#endif
