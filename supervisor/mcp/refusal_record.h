/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit record of a run that is refused before there is a sandbox.
 * Used by mcp_run_refused and tool_refusal.
 */
#ifndef SUPERVISOR_MCP_REFUSAL_RECORD_H
#define SUPERVISOR_MCP_REFUSAL_RECORD_H

#include <jansson.h>
#include <stdbool.h>

/* True for codes that are decisions on trust, integrity or what the host
 * allows, not mistakes of the caller: such are in the chain. */
bool refusal_record_is_decision(const char *code);

/* The fields of `refusal`, under a run id of its own. kind: of the launch
 * that did not come. slug and detail may be foreign. NULL: no memory, or no
 * id. */
json_t *refusal_record_fields(
    const char *kind, const char *slug, const char *code, const char *detail);

#endif
