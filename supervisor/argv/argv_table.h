/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every option of `run` and `create` of the three engines, and of the
 * engine itself: one row each, how the engine reads its value and what the
 * audit makes of it. An option that is not here: the line is not judged.
 */
#ifndef SUPERVISOR_ARGV_ARGV_TABLE_H
#define SUPERVISOR_ARGV_ARGV_TABLE_H

#include <stddef.h>

enum argv_engine {
	ARGV_DOCKER = 1,
	ARGV_PODMAN = 2,
	ARGV_NERDCTL = 4,
};

/* Where it may stand; persistent ones also behind the command. */
enum argv_scope {
	ARGV_GLOBAL = 1,
	ARGV_PERSISTENT = 2,
	ARGV_RUN = 4,
	ARGV_CREATE = 8,
};

enum argv_kind {
	ARGV_BOOL,  /* --x, --x=false; the last one counts */
	ARGV_ONE,   /* takes a value; the last one counts */
	ARGV_LIST,  /* takes a value; all count */
	ARGV_SLICE, /* the same; podman and nerdctl split it as CSV */
	ARGV_HELP,  /* asks for help: starts no container */
};

/* What a value is about. ARGV_NOTHING: no way for the host to leak in. */
enum argv_meaning {
	ARGV_NOTHING,
	ARGV_ENV,
	ARGV_ENV_FILE,
	ARGV_ENV_HOST,
	ARGV_ENV_MERGE,
	ARGV_HTTP_PROXY,
	ARGV_NETWORK,
	ARGV_POD,
	ARGV_LINK,
	ARGV_PUBLISH,
	ARGV_PUBLISH_ALL,
	ARGV_ADD_HOST,
	ARGV_NO_HOSTS,
	ARGV_VOLUME,
	ARGV_MOUNT,
	ARGV_VOLUMES_FROM,
	ARGV_DEVICE,
	ARGV_DEVICE_RULE,
	ARGV_GPUS,
	ARGV_ROOTFS,
	ARGV_SECRET,
	ARGV_INIT_PATH,
	ARGV_API_SOCKET,
	ARGV_PRESERVE_FDS,
	ARGV_USER,
	ARGV_USERNS,
	ARGV_GROUP_ADD,
	ARGV_HOSTUSER,
	ARGV_READ_ONLY,
	ARGV_CAP_ADD,
	ARGV_CAP_DROP,
	ARGV_PRIVILEGED,
	ARGV_SECURITY_OPT,
	ARGV_SECCOMP_POLICY,
	ARGV_PID,
	ARGV_IPC,
	ARGV_UTS,
	ARGV_CGROUPNS,
	ARGV_CGROUPS,
	ARGV_CGROUP_PARENT,
	ARGV_CGROUP_CONF,
	ARGV_MEMORY,
	ARGV_MEMORY_SWAP,
	ARGV_PIDS_LIMIT,
	ARGV_OOM_KILL_DISABLE,
	ARGV_OOM_SCORE,
	ARGV_SYSCTL,
	ARGV_RUNTIME,
	ARGV_ENGINE_CONFIG,  /* a file or directory it obeys */
	ARGV_ENGINE_PROGRAM, /* a program it runs */
	ARGV_ENGINE_EMPTY,   /* the same; harmless when nothing is in it */
	ARGV_STORAGE_OPT,
	ARGV_OUTPUT_FILE, /* what the workload prints goes there */
	ARGV_LOG_OPT,
	ARGV_HEALTH_LOG,
	ARGV_HOSTS_FILE,
	ARGV_ANNOTATION,
	ARGV_SYSTEMD,
	ARGV_LOG_DRIVER,
	ARGV_RESTART,
	ARGV_PULL,
	ARGV_TLS_VERIFY,
	ARGV_IMAGE,       /* not an option: the image's own word */
	ARGV_PATHS_SHOWN, /* inspect only: no masked path */
};

struct argv_row {
	const char *name; /* without "--" */
	char letter;      /* 0: none */
	unsigned engines; /* enum argv_engine, ored */
	unsigned scopes;  /* enum argv_scope, ored */
	enum argv_kind kind;
	enum argv_meaning meaning;
};

/* By name (len bytes) or letter, for one engine and scope; NULL: unknown. */
const struct argv_row *argv_table_name(enum argv_engine engine,
    enum argv_scope scope, const char *name, size_t len);
const struct argv_row *argv_table_letter(
    enum argv_engine engine, enum argv_scope scope, char letter);

/* All rows by index, NULL behind the last: for tests. */
const struct argv_row *argv_table_at(size_t index);

#endif
