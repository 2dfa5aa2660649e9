/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client's configuration runs, and the command that installs the
 * same thing pinned. Reads names, commands and the names of environment
 * variables, never their values. Pure; used by `mcp import`.
 */
#ifndef SUPERVISOR_COMMAND_MCP_IMPORT_H
#define SUPERVISOR_COMMAND_MCP_IMPORT_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"

enum mcp_import_status {
	MCP_IMPORT_READY,   /* command installs exactly what runs now */
	MCP_IMPORT_PIN,     /* command needs a version put in */
	MCP_IMPORT_REFUSED, /* cannot run in a sandbox; reason says why */
	MCP_IMPORT_ALREADY, /* runs through agentnode */
	MCP_IMPORT_STATUS_COUNT
};

struct mcp_import_row {
	enum mcp_import_status status;
	char slug[64];
	char command[2048]; /* a line for a shell, or "" */
	char reason[512];   /* a sentence, or "" */
};

/* True for an existing folder; asked about absolute words of a server, to
 * suggest --files. */
typedef bool mcp_import_is_folder(const char *path, void *context);

/* bytes has a NUL behind it and is changed (comments are blanked). The object
 * of servers by name, from JSON (mcpServers, servers) or TOML (mcp_servers).
 * Caller owns. */
enum result mcp_import_read(
    char *bytes, size_t len, json_t **servers_r, struct json_fault *fault);

void mcp_import_judge(const char *name, const json_t *server,
    mcp_import_is_folder *is_folder, void *context,
    struct mcp_import_row *row_r);

/* "ready", "pin", "refused", "already" */
const char *mcp_import_status_text(enum mcp_import_status status);

#endif
