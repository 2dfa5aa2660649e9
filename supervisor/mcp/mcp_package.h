/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An installed MCP server as the lockfile describes it: the fields that
 * decide what runs, read and checked once per run, and what follows from
 * them. Pure; used by the mcp commands.
 */
#ifndef SUPERVISOR_MCP_MCP_PACKAGE_H
#define SUPERVISOR_MCP_MCP_PACKAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define MCP_PACKAGE_PACK "/pack"
#define MCP_PACKAGE_STATE "/state"
#define MCP_PACKAGE_FILES "/files" /* unless the entry says another */
#define MCP_PACKAGE_STATE_SIZE (16U << 20)

/* Texts are borrowed from the entry. */
struct mcp_package {
	const char *slug, *version;
	const char *manager, *name, *name_version; /* npm, pypi or local */
	const char *program, *entry;               /* "node", "/pack/..." */
	const char *volume, *content_hash, *host_path;
	const json_t *domains; /* allowlist entries, or NULL */
	const json_t *tools;   /* tool allowlist, or NULL: all */
	const json_t *command; /* [name, words for the server...] or NULL */
	const char *files_dir, *files_target; /* NULL: no files */
	uint64_t state_size;                  /* 0: no state */
	const json_t *env; /* name -> text, each of them judged; or NULL */
};

/* True for entries that are MCP servers at all. */
bool mcp_package_is_server(const json_t *entry);

/* RESULT_REFUSED: the entry cannot be run; fault says why and what to do.
 * RESULT_MISMATCH: its parts contradict each other (integrity). */
enum result mcp_package_read(const char *slug, const json_t *entry,
    struct mcp_package *package_r, struct json_fault *fault);

/* What to install to get the same: "npm:NAME@1.2.3". */
void mcp_package_source(
    const struct mcp_package *package, char *text_r, size_t size);

#endif
