/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals as records. Called when nothing was started; it must never put
 * an unescaped foreign byte into the chain.
 */
#include "supervisor/mcp/refusal_record.h"

#include <string.h>

#include "common/log.h"
#include "supervisor/engine/run_lock.h"

#define REFUSAL_RECORD_TEXT_MAX 512U

bool
refusal_record_is_decision(const char *code)
{
	static const char *const starts[] = {"trust_", "integrity_", "consent_",
	    "not_runnable", "bad_lockfile", "agent_sandbox_", "boundary_",
	    "host_build_", "attestation_", "signature_", "publisher_",
	    "registry_", "credentials_", "guard_", NULL};

	for (size_t i = 0; starts[i] != NULL; i++) {
		if (strncmp(code, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

/* The fields of every refusal. */
json_t *
refusal_record_fields(
    const char *kind, const char *slug, const char *code, const char *detail)
{
	char run[RUN_LOCK_ID_MAX];
	char package[REFUSAL_RECORD_TEXT_MAX], text[REFUSAL_RECORD_TEXT_MAX];

	if (run_lock_id(run) != RESULT_OK)
		return NULL;
	log_clean(slug, strlen(slug), package, sizeof(package));
	log_clean(detail, strlen(detail), text, sizeof(text));
	return json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:s, s:s, s:i, s:i}",
	    "run", run, "kind", kind, "package", package, "removed", 1,
	    "exit_code", -1, "signal", 0, "code", code, "detail", text,
	    "peak_memory", 0, "oom_kills", 0);
}
