/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode tells agentnode-native: one sealed memfd with this struct
 * in host byte order (both are of one build), as long as its steps. No
 * argument, no variable, no parser: it is checked and used. The launcher is
 * started with one end of a SOCK_SEQPACKET pair, before what it will launch
 * is decided; one message of one byte gives it the descriptors of init
 * (init_protocol.h) in their order, and behind them the memfd. An end without
 * a message: nothing is launched.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_LAUNCH_H
#define SUPERVISOR_NATIVE_NATIVE_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/init/init_protocol.h"
#include "supervisor/native/native_view.h"

#define NATIVE_LAUNCH_MAGIC 0x414e4e31U /* "ANN1" */
#define NATIVE_LAUNCH_VERSION 1U
#define NATIVE_LAUNCH_GIVE_FD 3 /* the end of the pair, at its start */
#define NATIVE_LAUNCH_BYTE 'l'
#define NATIVE_LAUNCH_GIVEN (INIT_FD_COUNT + 1U) /* descriptors */
#define NATIVE_LAUNCH_FD (INIT_CONTROL_FD + INIT_FD_COUNT)
#define NATIVE_LAUNCH_GROUPS_MAX 4U
#define NATIVE_LAUNCH_GROUP_MAX 512U
#define NATIVE_LAUNCH_LIMITS_MAX 8U
#define NATIVE_LAUNCH_HOSTS_MAX 24576U
#define NATIVE_LAUNCH_NAME_MAX 64U
#define NATIVE_LAUNCH_STEPS_MAX 192U /* of the view, and ours */

/* Exit codes; with another one it is init's own. */
enum native_launch_exit {
	NATIVE_LAUNCH_EXIT_START = 125, /* one sentence on standard error */
};

struct native_launch_step {
	struct native_step step;
	/* Files below are shown as ours that belong to the owner of the
	 * source of the step with this index (idmapped; as root only); -1:
	 * they are shown as they are. */
	int32_t owner;
	uint32_t mode; /* of a tmpfs: 0700, 0755 or 01777 */
};

struct native_launch_limit {
	uint32_t resource, spare; /* RLIMIT_ */
	uint64_t value;           /* soft and hard */
};

struct native_launch {
	uint32_t magic, version, size; /* size of the whole memfd */
	uint32_t rootless;             /* 1: started by an ordinary user */
	/* The one user and group there are inside; as root they are the
	 * host's own numbers too, else the caller's are mapped to them. */
	uint32_t uid, gid;
	uint32_t group_count, limit_count, hosts_len, step_count;
	char hostname[NATIVE_LAUNCH_NAME_MAX];
	char home[INIT_PATH_MAX]; /* of the one user */
	/* Files whose writer joins a control group (cgroup_make.h). */
	char groups[NATIVE_LAUNCH_GROUPS_MAX][NATIVE_LAUNCH_GROUP_MAX];
	struct native_launch_limit limits[NATIVE_LAUNCH_LIMITS_MAX];
	char hosts[NATIVE_LAUNCH_HOSTS_MAX]; /* the hosts file */
	struct native_launch_step steps[];
};

static inline size_t
native_launch_size(size_t steps)
{
	return sizeof(struct native_launch) +
	       steps * sizeof(struct native_launch_step);
}

/* Whether the launcher may use it: sizes, counts, texts that end, absolute
 * canonical paths, known kinds, one owner that is a bind. Pure. */
bool native_launch_valid(const struct native_launch *launch, size_t size);

/* Absolute, no empty part, no "." or ".."; "/" alone counts. Pure. */
bool native_launch_path_valid(const char *path, size_t size);

#endif
