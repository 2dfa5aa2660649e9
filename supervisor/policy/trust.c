/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tier of an entry; see trust.h. It must never take a tier from a text
 * that nobody signed.
 */
#include "supervisor/policy/trust.h"

#include <stdio.h>
#include <string.h>

enum result
trust_judge(const struct config *config, const char *slug, const json_t *entry,
    time_t now, struct trust_verdict *verdict_r, struct json_fault *fault)
{
	(void)config;
	(void)now;
	memset(verdict_r, 0, sizeof(*verdict_r));
	verdict_r->tier = TIER_UNVERIFIED;
	if (json_is_null(json_object_get(entry, "attestation")) ||
	    json_object_get(entry, "attestation") == NULL)
		return RESULT_OK;
	(void)snprintf(
	    verdict_r->code, sizeof(verdict_r->code), "attestation_unreadable");
	json_field_fault(
	    fault, "%s: no registry key is known for its attestation", slug);
	return RESULT_MISMATCH;
}
