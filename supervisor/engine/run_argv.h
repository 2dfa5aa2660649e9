/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line that starts a container: every hardening flag of the
 * project, in one place, from typed fields. A value can never become a
 * flag: each goes behind '=' or behind a flag word of ours, after a check
 * of its alphabet. Pure; used by the sandbox's story, the probe and
 * `argv`-like commands; its vectors are in tests/unit/test_run_argv.c.
 */
#ifndef SUPERVISOR_ENGINE_RUN_ARGV_H
#define SUPERVISOR_ENGINE_RUN_ARGV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define RUN_ARGV_WORDS_MAX 256U
#define RUN_ARGV_BYTES_MAX 65536U
#define RUN_ARGV_MOUNTS_MAX 5U /* a package's, and init's own */
#define RUN_ARGV_TMPFS_MAX 9U
#define RUN_ARGV_HOSTS_MAX 64U
#define RUN_ARGV_NAME_MAX 128U

struct run_argv_mount {
	const char *volume; /* engine volume name */
	const char *target; /* absolute path inside; always read-only */
};

struct run_argv_tmpfs {
	const char *target;
	uint64_t size; /* bytes, not 0 */
	unsigned mode; /* 0700, 0755 or 1777 */
	bool exec;     /* build sandboxes only */
	bool owned;    /* by the sandbox's uid; else root's */
};

/* A name of the direct mode and its loopback address. */
struct run_argv_host {
	const char *name;
	const char *address;
};

/* Whose command line it is. Docker's lacks what podman's has no use for
 * without (its own runtime, hooks, descriptors): those fields are then
 * unused, and init has a word of ours. */
enum run_argv_dialect {
	RUN_ARGV_PODMAN,
	RUN_ARGV_DOCKER
};

/* All texts are borrowed for the call. */
struct run_argv_input {
	enum run_argv_dialect dialect;
	const char *client, *runtime;              /* absolute paths */
	const char *cgroup_manager;                /* "cgroupfs" or "systemd" */
	const char *hooks, *mounts_conf, *seccomp; /* absolute paths */
	const char *id_file; /* absolute; the engine writes its id there */
	const char *kind, *package, *id; /* id: 16 hex digits */
	const char *owner; /* Docker: whose it is (engine_files.h), or NULL */
	const char *image; /* NAME@sha256:<64 hex>; Docker: or its id */
	uint32_t uid, gid;
	uint64_t memory;
	unsigned pids, cpu_milli, files;
	unsigned fd_count;      /* --preserve-fds */
	const char *entrypoint; /* /proc/self/fd/4 */
	const char *init_word;  /* init's argument; NULL: none */
	/* Its standard input and output are the client's; Docker's container
	 * is detached else. */
	bool interactive;
	/* Docker: the container is made only; another call starts it, when
	 * somebody is attached. */
	bool made;
	struct run_argv_mount mounts[RUN_ARGV_MOUNTS_MAX];
	size_t mount_count;
	struct run_argv_tmpfs tmpfs[RUN_ARGV_TMPFS_MAX];
	size_t tmpfs_count;
	struct run_argv_host hosts[RUN_ARGV_HOSTS_MAX];
	size_t host_count;
};

struct run_argv {
	const char *words[RUN_ARGV_WORDS_MAX + 1]; /* NULL-terminated */
	size_t count;
	char name[RUN_ARGV_NAME_MAX]; /* the container's name */
	char bytes[RUN_ARGV_BYTES_MAX];
	size_t used;
};

/* Flags that are the same for every sandbox; NULL-terminated. */
extern const char *const run_argv_fixed[];
extern const char *const run_argv_fixed_docker[];

/* RESULT_BAD: a field is not of its alphabet or out of range; fault_r is
 * one sentence that names it. */
enum result run_argv_build(const struct run_argv_input *input,
    struct run_argv *argv_r, char *fault_r, size_t fault_size);

/* "agentnode-<kind>-<package>-<id>", at most 127 bytes. */
enum result run_argv_name(const char *kind, const char *package, const char *id,
    char *name_r, size_t size);

/* True for NAME@sha256:<64 lower-case hex>, NAME being a repository with or
 * without host, port and tag, and never a transport of the engine's. */
bool run_argv_is_pinned(const char *image);
/* True for sha256:<64 lower-case hex>: Docker's id of an image, which is the
 * hash of its configuration and with it of all its layers. */
bool run_argv_is_image_id(const char *image);

#endif
