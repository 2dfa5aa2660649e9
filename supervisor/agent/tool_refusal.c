/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals of tool packages. Called by tool_pool and tool_session; it must
 * never tell an agent a path, a host or a number of this machine.
 */
#include "supervisor/agent/tool_refusal.h"

#include <stddef.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/mcp/refusal_record.h"

const char *
tool_refusal_sentence(const char *code)
{
	static const struct {
		const char *code, *sentence;
	} rows[] = {
	    {"not_installed", "the package is not installed on this host"},
	    {"not_runnable", "the installed package has no tools that can "
			     "run"},
	    {"consent_missing", "nobody on this host agreed to the package"},
	    {"trust_too_low", "the package's tier is below what this host "
			      "asks for"},
	    {"boundary_unknown", "the package is of no kind that this host "
				 "knows"},
	    {"host_build_stale", "the package has to be installed again"},
	    {"credentials_missing", "a secret of the package is not set on "
				    "this host"},
	    {"files_failed", "the package's files or state cannot be used "
			     "now; another run may have them"},
	    {"tool_not_allowed", "this package is not in the agent's "
				 "allowlist"},
	    {"too_many_tool_calls", "the run has used up its tool calls"},
	    {"too_many_requests", "too many tool calls wait at a time"},
	    {"tool_start_failed", "the package did not start in time"},
	    {"tool_ended", "the package's server ended"},
	    {"guard_unavailable", "the call could not be counted"},
	    {"run_ended", "the run is over"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].sentence;
	}
	return "the package cannot run; the log of agentnode says why";
}

bool
tool_refusal_by_gate(const char *code)
{
	static const char guard[] = "guard_";

	return strncmp(code, guard, sizeof(guard) - 1) == 0 ||
	       strcmp(code, "tool_not_allowed") == 0 ||
	       strcmp(code, "bad_request") == 0;
}

void
tool_refusal_record(
    struct audit *audit, const char *slug, const char *code, const char *detail)
{
	json_t *fields;

	log_event(LOG_WARN_LEVEL, "tool_refused", LOG_TEXT("package", slug),
	    LOG_TEXT("code", code), LOG_TEXT("detail", detail));
	if (!refusal_record_is_decision(code))
		return;
	fields = refusal_record_fields("tool", slug, code, detail);
	if (fields == NULL ||
	    audit_submit(audit, "refusal", fields, NULL, NULL) != RESULT_OK)
		log_event(LOG_ERROR_LEVEL, "audit_failed",
		    LOG_TEXT("code", code), LOG_TEXT("package", slug));
	json_decref(fields);
}
