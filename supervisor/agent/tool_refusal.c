/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals of tool packages. Called by tool_pool and tool_session; it must
 * never tell an agent a path, a host or a number of this machine.
 */
#include "supervisor/agent/tool_refusal.h"

#include <jansson.h>
#include <stddef.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/engine/run_lock.h"

#define TOOL_REFUSAL_TEXT_MAX 512U

const char *
tool_refusal_sentence(const char *code)
{
	static const struct {
		const char *code, *sentence;
	} rows[] = {
	    {"not_installed", "the package is not installed on this host"},
	    {"not_runnable", "the installed package is no MCP server that "
			     "can run"},
	    {"consent_missing", "nobody on this host agreed to the package"},
	    {"trust_too_low", "the package's tier is below what this host "
			      "asks for"},
	    {"files_failed", "the package's files or state cannot be used "
			     "now; another run may have them"},
	    {"tool_not_allowed", "this package is not in the agent's "
				 "allowlist"},
	    {"too_many_tool_calls", "the run has used up its tool calls"},
	    {"too_many_requests", "too many tool calls wait at a time"},
	    {"tool_start_failed", "the package did not start in time"},
	    {"tool_ended", "the package's server ended"},
	    {"run_ended", "the run is over"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].sentence;
	}
	return "the package cannot run; the log of agentnode says why";
}

/* Decisions on trust or integrity, not mistakes. */
static bool
tool_refusal_is_decision(const char *code)
{
	static const char *const starts[] = {
	    "trust_", "integrity_", "consent_", "not_runnable", "bad_lockfile"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(code, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

static json_t *
tool_refusal_fields(const char *slug, const char *code, const char *detail)
{
	char run[RUN_LOCK_ID_MAX], text[TOOL_REFUSAL_TEXT_MAX];

	if (run_lock_id(run) != RESULT_OK)
		return NULL;
	log_clean(detail, strlen(detail), text, sizeof(text));
	return json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:s, s:s, s:i, s:i}",
	    "run", run, "kind", "tool", "package", slug, "removed", 1,
	    "exit_code", -1, "signal", 0, "code", code, "detail", text,
	    "peak_memory", 0, "oom_kills", 0);
}

void
tool_refusal_record(
    struct audit *audit, const char *slug, const char *code, const char *detail)
{
	json_t *fields;

	log_event(LOG_WARN_LEVEL, "tool_refused", LOG_TEXT("package", slug),
	    LOG_TEXT("code", code), LOG_TEXT("detail", detail));
	if (!tool_refusal_is_decision(code))
		return;
	fields = tool_refusal_fields(slug, code, detail);
	if (fields == NULL ||
	    audit_submit(audit, "refusal", fields, NULL, NULL) != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("code", code), LOG_TEXT("package", slug));
	json_decref(fields);
}
