/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger for one record (see the header). Called by mcp_run when nothing
 * was started; must never turn a refusal into anything else.
 */
#include "supervisor/command/mcp_run_refused.h"

#include <event2/event.h>
#include <jansson.h>
#include <string.h>

#include "common/event_loop.h"
#include "common/log.h"
#include "supervisor/engine/run_lock.h"
#include "supervisor/policy/audit.h"

#define MCP_RUN_REFUSED_TEXT_MAX 512U

bool
mcp_run_refused_is_decision(const char *code)
{
	static const char *const starts[] = {"trust_", "integrity_", "consent_",
	    "not_runnable", "bad_lockfile", "agent_sandbox_", NULL};

	for (size_t i = 0; starts[i] != NULL; i++) {
		if (strncmp(code, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

/* The fields of every refusal. */
static json_t *
mcp_run_refused_fields(
    const char *kind, const char *slug, const char *code, const char *detail)
{
	char run[RUN_LOCK_ID_MAX];
	char package[MCP_RUN_REFUSED_TEXT_MAX], text[MCP_RUN_REFUSED_TEXT_MAX];

	if (run_lock_id(run) != RESULT_OK)
		return NULL;
	log_clean(slug, strlen(slug), package, sizeof(package));
	log_clean(detail, strlen(detail), text, sizeof(text));
	return json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:s, s:s, s:i, s:i}",
	    "run", run, "kind", kind, "package", package, "removed", 1,
	    "exit_code", -1, "signal", 0, "code", code, "detail", text,
	    "peak_memory", 0, "oom_kills", 0);
}

static enum result
mcp_run_refused_write(
    struct event_base *base, const char *home, const json_t *fields)
{
	struct audit *audit = NULL;
	enum result result = audit_start(base, home, NULL, NULL, &audit);

	if (result == RESULT_OK)
		result = audit_write(audit, "refusal", fields);
	audit_free(&audit);
	return result;
}

void
mcp_run_refused_record(const char *home, const char *kind, const char *slug,
    const char *code, const char *detail)
{
	json_t *fields = mcp_run_refused_fields(kind, slug, code, detail);
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
