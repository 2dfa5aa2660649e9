/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An installed tool pack as the lockfile describes it: the fields that
 * decide what runs, read and checked once per run, and what is called for
 * one of its tools. Pure; used by `agentnode run`, the tools of agents,
 * list and info.
 */
#ifndef SUPERVISOR_PACK_PACK_PACKAGE_H
#define SUPERVISOR_PACK_PACK_PACKAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"

#define PACK_PACKAGE_PACK "/pack"
#define PACK_PACKAGE_TOOLS_MAX 256U
#define PACK_PACKAGE_TOOL_MAX 128U /* bytes of a tool's name */
#define PACK_PACKAGE_PLACE_MAX 256U

/* The one vocabulary of the network word. Whatever else an entry says, or
 * when it says nothing, is none. */
enum pack_network {
	PACK_NETWORK_NONE = 0,
	PACK_NETWORK_RESTRICTED,
	PACK_NETWORK_UNRESTRICTED
};

/* Texts and JSON are borrowed from the entry. */
struct pack_package {
	const char *slug, *version;
	bool is_node;
	const char *entrypoint; /* of the package, or NULL */
	const json_t *tools;    /* objects with a name each, one at least */
	enum pack_network network;
	const json_t *domains; /* allowlist entries, or NULL */
	const char *volume, *content_hash, *host_path;
};

/* What is called for a tool: names only, no code is looked at. */
struct pack_function {
	const json_t *tool;                 /* of tools */
	const char *name;                   /* of it */
	char place[PACK_PACKAGE_PLACE_MAX]; /* module, or file in /pack */
	/* The first of these that is there. */
	char names[2][PACK_PACKAGE_TOOL_MAX + 1];
	size_t count;
};

/* True for entries that are tool packs of ours at all; an MCP server is a
 * tool pack by its type, but none of these. */
bool pack_package_is_pack(const json_t *entry);

enum pack_network pack_package_network(const char *word);
const char *pack_package_network_name(enum pack_network network);

/* "module:function", "./file.mjs:function"; the function may be left out. */
bool pack_package_is_entrypoint(const char *text, bool is_node);

/* RESULT_REFUSED: the entry cannot be run; fault says why and what to do. */
enum result pack_package_read(const char *slug, const json_t *entry,
    struct pack_package *package_r, struct json_fault *fault);

/* name NULL: the only one. RESULT_NOT_FOUND: no such tool, or which of them;
 * RESULT_REFUSED: it cannot be called. */
enum result pack_package_function(const struct pack_package *package,
    const char *name, struct pack_function *function_r,
    struct json_fault *fault);

#endif
