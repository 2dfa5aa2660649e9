/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of `agentnode mcp install` and `agentnode install`: fetch in a
 * build sandbox, judge and hash the tree, put it into a sealed volume, write
 * the lockfile. Either all of it happens or nothing stays. Used by
 * command_mcp_install.c, and through install_pack.h by command_install.c.
 */
#ifndef SUPERVISOR_PACKAGE_INSTALL_H
#define SUPERVISOR_PACKAGE_INSTALL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisor/engine/engine_host.h"
#include "supervisor/package/install_fault.h"
#include "supervisor/package/pin.h"
#include "supervisor/package/slug.h"
#include "supervisor/policy/audit.h"
#include "supervisor/policy/config.h"

struct install;      /* below */
struct install_pack; /* install_pack.h */

/* What the caller asked for, checked. Texts and JSON are borrowed. */
struct install_request {
	struct pin pin;
	char slug[SLUG_MAX + 1];
	const json_t *allow;   /* canonical entries */
	const json_t *tools;   /* allowlist; NULL: all */
	const json_t *args;    /* texts behind the command */
	const char *files;     /* absolute folder of --files; NULL */
	uint64_t state_size;   /* bytes; 0: none */
	const json_t *env;     /* name -> text, judged; NULL: none */
	const json_t *secrets; /* names alone, judged; NULL: none */
	const char *entry;     /* --entry: path in the tree; NULL */
	const char *lockfile;  /* path of the lockfile in force */
	bool allow_scripts;
	/* The finished entry of an MCP server of a registry, before anything is
	 * recorded: what the registry says is added, and proven. NULL: it is
	 * of none. The fault is set by the callee otherwise. */
	enum result (*attest)(
	    struct install *install, json_t *entry, void *context);
	void *context;
	/* A package with a manifest (install_pack.h); NULL: an MCP server. */
	const struct install_pack *pack;
};

/* A tree that was fetched and judged, before it is in a volume. */
struct install_tree {
	int tar_fd;    /* owned; a clean tar, offset 0 */
	char hash[72]; /* "sha256:..." */
	uint64_t files, bytes;
};

/* What the describe jobs say. */
struct install_facts {
	char manager[8]; /* "npm", "pypi", "local" */
	char runner[8];  /* "node" or "python" */
	char entry[1100];
	char name[PIN_NAME_MAX + 1], version[PIN_VERSION_MAX + 1];
	json_t *dependencies; /* owned */
};

struct install {
	struct event_base *base;
	const struct config *config;
	struct audit *audit;
	struct engine_host *host;
	const struct install_request *request;
	const char *run; /* id of its lock, while a volume is filled */
	void (*progress)(const char *line); /* printable; may be NULL */
	int watch_fd; /* the gate writes a build's lines to it; -1: none */
	struct install_fault fault;
};

/* Do it. On RESULT_OK the caller owns *entry_r, the new lockfile entry; on
 * anything else install->fault says why. */
enum result install_run(struct install *install, json_t **entry_r);

/* One line of progress. */
void install_say(struct install *install, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
