/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mechanism that takes every right from a process of ours; each process
 * brings its own table (NAME_confine.c). Order and reasons are in confine.c.
 * A layer that cannot be put in force is an error, never a warning: the
 * caller exits with IPC_EXIT_CONFINE.
 */
#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"

/* 1 in builds with AddressSanitizer, whose run time needs a few calls more
 * and terabytes of addresses: no RLIMIT_AS, no leak check once confined. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONFINE_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CONFINE_SANITIZED 1
#endif
#ifndef CONFINE_SANITIZED
#define CONFINE_SANITIZED 0
#endif

/* What a listed system call may do. Several ARG rows of one call add up. */
enum confine_verdict {
	CONFINE_ALLOW,      /* as it is */
	CONFINE_EACCES,     /* answered with EACCES, process lives */
	CONFINE_ENOSYS,     /* answered with ENOSYS (clone3 and the like) */
	CONFINE_ALLOW_ARG0, /* only when argument 0 equals value */
	CONFINE_ALLOW_ARG1, /* only when argument 1 equals value */
	CONFINE_ALLOW_ARG2, /* only when argument 2 equals value */
	CONFINE_ALLOW_ARG2_MASKED, /* only when arg2 & ~value == 0 */
	CONFINE_ALLOW_SELF,        /* only when argument 0 is our own pid */
};

struct confine_syscall {
	int number; /* __NR_...; -1 ends the table */
	enum confine_verdict verdict;
	uint64_t value;  /* for the ARG verdicts */
	const char *who; /* which function needs it: the reason */
};

/* A directory the process keeps (ledger, unpack); rights are Landlock's. */
struct confine_path {
	int dir_fd;      /* O_PATH or directory descriptor, -1 ends */
	uint64_t rights; /* LANDLOCK_ACCESS_FS_... */
};

struct confine_spec {
	/* What the process needs beyond confine_base; its rows replace the
	 * EACCES of the open and stat families. */
	const struct confine_syscall *syscalls;
	const struct confine_path *paths; /* NULL: no path at all */
	bool landlock_required;           /* false only by named override */
	uid_t uid;                        /* dropped to when we are root */
	gid_t gid;
	uint64_t memory_max; /* RLIMIT_AS bytes, 0 = leave */
	uint64_t files_max;  /* RLIMIT_NOFILE, 0 = leave */
	bool may_open;       /* open and stat families allowed */
	/* Landlock's TCP rights, where the kernel has them (ABI 4). */
	bool deny_tcp_bind, deny_tcp_connect;
};

/* What is in force afterwards, for the ready message. */
struct confine_layers {
	bool no_new_privs, seccomp, landlock, unprivileged, not_dumpable,
	    no_core, no_capabilities, one_thread;
	int landlock_abi;
};

/* The body of `ready`: every layer by its name, so that one that is left out
 * is noticed. Caller owns it; NULL: no memory. */
json_t *confine_ready(const struct confine_layers *layers);

/* Allowed to every process of ours: memory, the loop, its sockets, time. */
extern const struct confine_syscall confine_base[];

/* Load what libraries would open or read at first use (time zone, hash
 * seed). Call early in main, before confine_enter. */
void confine_preload(void);

/* Enter; on anything but RESULT_OK the process must exit. detail_r gets the
 * failed step. Unless may_open, the open and stat families return EACCES
 * without being listed. Not listed kills the process. Closing descriptors
 * that are not needed is the caller's. */
enum result confine_enter(const struct confine_spec *spec,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#ifdef CONFINE_INTERNAL
/* For tests/confine, which takes away one step at a time and shows that the
 * probe of that layer notices. confine_steps ends with name == NULL. */
struct confine_run {
	const struct confine_spec *spec;
	struct confine_layers layers;
};
struct confine_step {
	const char *name;
	enum result (*enter)(struct confine_run *run); /* errno says why */
};
extern const struct confine_step confine_steps[];
enum result confine_enter_steps(const struct confine_spec *spec,
    const struct confine_step *steps, struct confine_layers *layers_r,
    char *detail_r, size_t detail_size);
#endif

#endif
