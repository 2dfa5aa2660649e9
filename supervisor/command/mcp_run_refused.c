/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger for one record (see the header). Called by mcp_run when nothing
 * was started; must never turn a refusal into anything else.
 */
#include "supervisor/command/mcp_run_refused.h"

#include <event2/event.h>
#include <jansson.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/mcp/refusal_record.h"
#include "supervisor/policy/audit.h"

static enum result
mcp_run_refused_write(
    struct event_base *base, const char *home, const json_t *fields)
{
	struct json_fault fault = {""}; /* audit_begin logs it */
	struct audit *audit = NULL;
	enum result result =
	    audit_start(base, home, NULL, NULL, &audit, &fault);

	if (result == RESULT_OK)
		result = audit_write(audit, "refusal", fields);
	audit_free(&audit);
	return result;
}

void
mcp_run_refused_record(const char *home, const char *kind, const char *slug,
    const char *code, const char *detail)
{
	json_t *fields = refusal_record_fields(kind, slug, code, detail);
	struct event_base *base = NULL;
	enum result result =
	    fields == NULL ? RESULT_NO_MEMORY : event_loop_new(&base);

	if (result == RESULT_OK)
		result = mcp_run_refused_write(base, home, fields);
	if (base != NULL)
		event_base_free(base);
	json_decref(fields);
	if (result != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("code", code),
		    LOG_TEXT("detail", result_text(result)));
}
