/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners to the ledger's end. Called by audit.c; it must never call one
 * that went away.
 */
#include "supervisor/policy/audit_ends.h"

#include <stddef.h>

bool
audit_ends_set(struct audit_ends *ends, audit_done *ended, void *context)
{
	size_t found = AUDIT_ENDS_MAX;

	for (size_t i = AUDIT_ENDS_MAX; i > 0; i--) {
		if (ends->rows[i - 1].ended == NULL) {
			found = i - 1;
		} else if (ends->rows[i - 1].context == context) {
			found = i - 1;
			break;
		}
	}
	if (found == AUDIT_ENDS_MAX)
		return ended == NULL;
	ends->rows[found].ended = ended;
	ends->rows[found].context = context;
	return true;
}

void
audit_ends_tell(struct audit_ends *ends, enum result why, const char *detail,
    const bool *stop)
{
	for (size_t i = 0; i < AUDIT_ENDS_MAX && !*stop; i++) {
		audit_done *ended = ends->rows[i].ended;

		ends->rows[i].ended = NULL;
		if (ended != NULL)
			ended(why, detail, ends->rows[i].context);
	}
}
