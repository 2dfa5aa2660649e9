/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the user of this host agreed to an entry, and to what: the one
 * list of fields that `lock seal` shows and the audit chain keeps. Used by
 * list, info, mcp list, lock seal and mcp_run_plan.
 */
#ifndef SUPERVISOR_COMMAND_MCP_CONSENT_H
#define SUPERVISOR_COMMAND_MCP_CONSENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"

/* The consents of this host, read once. */
struct mcp_consent {
	json_t *list;            /* owned; NULL: fault says why */
	struct json_fault fault; /* unreadable */
};

void mcp_consent_open(struct mcp_consent *consent_r);
void mcp_consent_close(struct mcp_consent *consent);

/* Is there one for the entry? If not, or if it cannot be known, fault is
 * the sentence with the remedy. */
bool mcp_consent_given(const struct mcp_consent *consent, const char *slug,
    const json_t *entry, struct json_fault *fault);

/* A field that is agreed to; title is how it reads behind the slug. */
struct mcp_consent_field {
	const char *key, *title;
};
extern const struct mcp_consent_field mcp_consent_fields[]; /* key NULL ends */

/* The fields of the audit record "consent"; the caller owns them. Without a
 * field that is too long "whole" is false; entry_hash covers it all the same.
 * NULL: no memory. */
json_t *mcp_consent_record(
    const char *slug, const json_t *entry, const char *lockfile);

#endif
