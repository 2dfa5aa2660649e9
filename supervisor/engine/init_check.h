/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's own layers on init, seen from outside: init's report tells
 * of a child that entered our filter too, so it cannot tell whether the
 * engine's is there. Used by the sandbox's story when init has spoken.
 */
#ifndef SUPERVISOR_ENGINE_INIT_CHECK_H
#define SUPERVISOR_ENGINE_INIT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/result.h"

/* No capability in any set, no new privileges, a seccomp filter, PID 1 of a
 * pid namespace, and mount, network, IPC, UTS, pid and cgroup namespaces
 * that are not ours. uid: as the host sees it; 0: not compared (rootless).
 * RESULT_MISMATCH: detail_r is a sentence. */
enum result init_check(
    pid_t pid, uint32_t uid, char *detail_r, size_t detail_size);

/* The same without the namespaces: what the kernel shows of it to a user who
 * is neither root nor its own. */
enum result init_check_seen(
    pid_t pid, uint32_t uid, char *detail_r, size_t detail_size);

/* The judgement of the text of /proc/PID/status. Pure. */
enum result init_check_status(
    const char *status, uint32_t uid, char *detail_r, size_t detail_size);

/* A process of a runtime that has a kernel of its own. */
struct init_check_helper {
	const char *name; /* begins the sentence */
	uint64_t rights;  /* capabilities that it may have */
	bool other_user;  /* of a user namespace of its own */
};

/* Filtered, no rights but those, its own namespaces and root. pid -1: it
 * was not found, which is a fault. */
enum result init_check_helper(pid_t pid, const struct init_check_helper *helper,
    char *detail_r, size_t detail_size);

#endif
