/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init's report must say before `go` (invariant 13): the expected
 * outcome of every wall, the mounts, names, limits and rights. Called by
 * the sandbox's story with the report and what it launched; doctor and
 * selftest print the differences. Pure: no I/O, nothing is parsed but two
 * short texts the engine wrote (hosts, resolv.conf), within bounds.
 */
#ifndef SUPERVISOR_ENGINE_WALL_TABLE_H
#define SUPERVISOR_ENGINE_WALL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/init/init_report.h"

/* A mount the launcher asked for; must be there exactly once. */
struct wall_table_mount {
	const char *point;
	const char *type; /* NULL: any */
	uint32_t flags;   /* INIT_REPORT_...: all of these must be set */
	uint64_t size;    /* of a tmpfs, bytes; 0: not compared */
};

/* A line of the hosts file the launcher asked for (direct mode). */
struct wall_table_host {
	const char *address, *name;
};

struct wall_table_expected {
	uint32_t uid, gid;
	/* False only by the named override in the host config. */
	bool landlock_required;
	bool writable_exec;         /* as in init_setup */
	bool sockets;               /* /run/agentnode is mounted */
	const char *hostname;       /* as given to the engine */
	const char *container_name; /* may stand in hosts; may be NULL */
	const struct wall_table_mount *mounts;
	size_t mount_count;
	/* No engine: its mounts, its variables, a user namespace of one id;
	 * and what may be mounted besides ("/usr/" is all below /usr). */
	bool host_written;      /* a file system of the host is writable */
	bool native, open_root; /* open_root: "/" is writable by choice */
	const struct wall_table_mount *allowed;
	size_t allowed_count;
	bool guest;          /* a guest kernel (gVisor): its own table */
	bool hides_init;     /* /proc does not list init */
	bool docker;         /* its own lines of the hosts file */
	uint32_t groups_max; /* supplementary ones that the kernel keeps */
	uint32_t looks;      /* places whose kinds of entries init looked at */
	const struct wall_table_host *hosts;
	size_t host_count;
	/* Environment of init beyond what engines set: NULL-terminated,
	 * "NAME=value", or "NAME=" for any value. NULL: nothing. */
	const char *const *env;
	uint64_t files_max, processes_max; /* rlimits; 0: not compared */
};

/* One sentence per difference. */
typedef void wall_table_difference(const char *text, void *context);

/* Compares; returns how many differences there are, each told to told
 * (which may be NULL). size is the memfd's: a report that is not exactly one
 * init_report is a difference by itself. */
unsigned wall_table_compare(const struct init_report *report, size_t size,
    const struct wall_table_expected *expected, wall_table_difference *told,
    void *context);

/* "VSOCK" and "open a vsock socket"; never NULL. */
const char *wall_table_name(enum init_wall wall);
const char *wall_table_text(enum init_wall wall);
/* Whether this outcome of a wall is the expected one. */
bool wall_table_outcome(const struct init_report *report, enum init_wall wall,
    const struct wall_table_expected *expected);

#endif
