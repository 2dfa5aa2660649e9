/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of TOML that MCP clients keep servers in: tables, strings,
 * arrays, inline tables, numbers, booleans, comments. Becomes JSON, so that
 * the importer knows one shape. Also: JSON with comments and trailing
 * commas, as editors allow it, made plain. Pure; fuzzed.
 */
#ifndef SUPERVISOR_COMMAND_MCP_TOML_H
#define SUPERVISOR_COMMAND_MCP_TOML_H

#include <jansson.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"

#define MCP_TOML_BYTES_MAX (1U << 20)
#define MCP_TOML_DEPTH_MAX 8U

/* RESULT_BAD names the line in fault. Caller owns *value_r. */
enum result mcp_toml_parse(
    const char *bytes, size_t len, json_t **value_r, struct json_fault *fault);

/* Blank out comments and trailing commas in place; length stays. */
void mcp_toml_plain_json(char *bytes, size_t len);

#endif
