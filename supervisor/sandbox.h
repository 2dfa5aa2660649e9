/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The story of one sandbox, from the launch record to the removal that was
 * verified. All that runs foreign code in a sandbox goes through here.
 */
#ifndef SUPERVISOR_SANDBOX_H
#define SUPERVISOR_SANDBOX_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"

struct sandbox; /* opaque */
struct config;  /* supervisor/policy, as the next */
struct audit;
struct run_secret; /* supervisor/package */
#define SANDBOX_MOUNTS_MAX 4U
#define SANDBOX_TMPFS_MAX 6U
#define SANDBOX_TREES_MAX 4U
#define SANDBOX_CODE_MAX 64U
#define SANDBOX_PORTS_MAX 2U
/* A sealed volume: name, where it is seen inside, the content hash it must
 * have (checked before go; NULL: being built), the engine's mountpoint. */
struct sandbox_mount {
	const char *volume, *target, *content_hash, *host_path;
};

struct sandbox_tmpfs {
	const char *target;
	uint64_t size;
	bool exec; /* build, selftest, exec */
};

/* A tree (or result) stream into or, at the end, out of a tmpfs. */
struct sandbox_tree {
	const char *path;
	int fd; /* import: read end; export: write end; borrowed */
	bool is_export, is_results;
	uint64_t max_bytes, max_files, max_file; /* of is_results alone */
};

/* Served by a process of the caller's, and under /run/agentnode. */
struct sandbox_port {
	const char *kind; /* "llm" or "tools" */
	uint16_t port;
};

struct sandbox_limits {
	uint64_t memory;          /* bytes; 0: config's default */
	unsigned pids, cpu_milli; /* 1000 = one CPU */
	unsigned wall_s;          /* 0: no limit */
};

struct sandbox_spec {
	const char *kind;               /* "mcp", "build", "exec", ... */
	const char *package;            /* slug, for labels and audit */
	const char *version, *tier;     /* as judged; NULL: no package */
	const char *image;              /* name@sha256:<64 hex>; else */
	const struct native_view *view; /* without image and mounts; with it: */
	struct native_launcher **launcher; /* one to take, or NULL: its own */
	const char *const *argv;           /* NULL-terminated */
	const char *const *env; /* NULL-terminated "K=V", ours come first */
	const struct run_secret *secret; /* more of it; or NULL */
	const char *cwd;
	bool has_result; /* stdout_fd is at 3 inside, 1 is stderr_fd */
	struct sandbox_mount mounts[SANDBOX_MOUNTS_MAX];
	struct sandbox_tmpfs tmpfs[SANDBOX_TMPFS_MAX]; /* besides /tmp, HOME */
	struct sandbox_tree trees[SANDBOX_TREES_MAX];
	struct sandbox_limits limits;
	const json_t *egress; /* as egress_plan.h says, or NULL; borrowed */
	struct sandbox_port ports[SANDBOX_PORTS_MAX];
	const json_t *record; /* more of the launch record (names, numbers) */
	bool ledger_later;    /* sandbox_ledger says when audit is ready */
	int stdin_fd, stdout_fd, stderr_fd; /* ends of pipes; borrowed */
	struct start_clock *clock;          /* or NULL; borrowed */
};

/* code "": it ran and exited. Else it never started, or we ended it. */
struct sandbox_outcome {
	bool started;
	int exit_code, signal;
	char code[SANDBOX_CODE_MAX], detail[512];
	uint64_t peak_memory; /* bytes, 0 unknown */
	unsigned oom_kills;
	bool removed; /* the engine no longer knows it */
};

struct sandbox_handlers {
	void (*on_go)(struct sandbox *sandbox, void *context);   /* or NULL */
	void (*on_exit)(struct sandbox *sandbox, void *context); /* same */
	/* Of egress-proxy (common/ipc), all before on_end; or NULL. */
	void (*on_decision)(const json_t *body, void *context);
	/* The listener of ports[index], checked; fd is taken. */
	void (*on_port)(
	    struct sandbox *sandbox, size_t index, int fd, void *context);
	void (*on_end)(struct sandbox *sandbox,
	    const struct sandbox_outcome *outcome, void *context);
};

/* Each failure comes through on_end, once, later. */
enum result sandbox_start(struct event_base *base, const struct config *config,
    struct audit *audit, const struct sandbox_spec *spec,
    const struct sandbox_handlers *handlers, void *context,
    struct sandbox **sandbox_r);
/* Once with ledger_later: records can be written, or never will. Native ones
 * are put up before; none goes without its record. */
void sandbox_ledger(struct sandbox *sandbox, bool ready, const char *detail);
/* Ask it to end; on_end follows. code as above: everything is killed at once,
 * nothing comes out. code "": init kills the workload and trees come out. */
void sandbox_stop(
    struct sandbox *sandbox, const char *code, const char *detail);
/* ports[index] is served: the workload does not start before. */
void sandbox_port_ready(struct sandbox *sandbox, size_t index);
const char *sandbox_id(const struct sandbox *sandbox); /* run id, 16 hex */
void sandbox_free(struct sandbox **sandbox); /* after on_end; clears */

#endif
