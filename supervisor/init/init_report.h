/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What init tells about the container before `go`: one fixed-size struct in
 * a sealed memfd. The supervisor compares it with what it expects
 * (supervisor/engine/wall_table) and parses nothing. Texts are cut and
 * NUL-filled; a count above its maximum means that something was left out,
 * which is itself a difference.
 */
#ifndef SUPERVISOR_INIT_REPORT_H
#define SUPERVISOR_INIT_REPORT_H

#include <stdint.h>

#include "supervisor/init/init_wall_list.h"

#define INIT_REPORT_MAGIC 0x414e5231U /* "ANR1" */
#define INIT_REPORT_VERSION 4U
#define INIT_REPORT_MOUNTS_MAX 256U
#define INIT_REPORT_POINT_MAX 256U
#define INIT_REPORT_TYPE_MAX 32U
#define INIT_REPORT_ENV_MAX 32U
#define INIT_REPORT_ENV_LEN 256U
#define INIT_REPORT_INTERFACES_MAX 8U
#define INIT_REPORT_NAME_MAX 16U
#define INIT_REPORT_HOST_MAX 65U
#define INIT_REPORT_HOSTS_MAX 24576U
#define INIT_REPORT_RESOLV_MAX 1024U
#define INIT_REPORT_LIMITS 16U

/* Flags of a mount; only these four are looked at. */
#define INIT_REPORT_RDONLY 1U
#define INIT_REPORT_NOSUID 2U
#define INIT_REPORT_NODEV 4U
#define INIT_REPORT_NOEXEC 8U

struct init_report_mount {
	char point[INIT_REPORT_POINT_MAX];
	char type[INIT_REPORT_TYPE_MAX];
	uint32_t flags;
	uint32_t spare;
	uint64_t size; /* bytes of a tmpfs (0: without limit), else 0 */
};

/* /proc/self/status of the child that tried the walls. */
struct init_report_status {
	uint32_t uid[4], gid[4]; /* real, effective, saved, filesystem */
	uint32_t group_count;    /* supplementary groups besides gid */
	uint32_t no_new_privs, seccomp;
	uint32_t init_dumpable; /* of init itself */
	uint64_t inheritable, permitted, effective, bounding, ambient;
};

struct init_report_limit {
	uint64_t soft, hard; /* UINT64_MAX: none */
};

/* Entries that are no file, folder or link, and folders that cannot be
 * read, in this many places. */
struct init_report_look {
	uint32_t places, odd;
	char path[INIT_REPORT_POINT_MAX]; /* of the first; printable */
};

struct init_report {
	uint32_t magic, version, size; /* size = sizeof(struct init_report) */
	int32_t landlock_abi;          /* 0: the kernel has none */
	/* errno of each attempt (enum init_wall), 0: it worked, -1: it was
	 * not made. */
	int32_t walls[INIT_WALL_COUNT];
	struct init_report_status status;
	uint32_t mount_count; /* as in mountinfo, in its order */
	struct init_report_mount mounts[INIT_REPORT_MOUNTS_MAX];
	/* init's own environment ("NAME=value"), made by the engine; the
	 * workload gets none of it. */
	uint32_t env_count;
	char env[INIT_REPORT_ENV_MAX][INIT_REPORT_ENV_LEN];
	uint32_t interface_count;
	char interfaces[INIT_REPORT_INTERFACES_MAX][INIT_REPORT_NAME_MAX];
	uint32_t route_count; /* IPv4 and IPv6, those of lo left out */
	char hostname[INIT_REPORT_HOST_MAX];
	char domainname[INIT_REPORT_HOST_MAX];
	/* Whole files; the length is the file's even when it was cut. */
	uint32_t hosts_len, resolv_len;
	char hosts[INIT_REPORT_HOSTS_MAX];
	char resolv[INIT_REPORT_RESOLV_MAX];
	/* By RLIMIT_ number. */
	struct init_report_limit limits[INIT_REPORT_LIMITS];
	struct init_report_look look;
};

#endif
