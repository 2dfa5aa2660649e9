/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor and agentnode-host say to each other over the
 * inherited SOCK_SEQPACKET pair: fixed-size records in host byte order, one
 * machine and one build, no parser on either side. Also the descriptors
 * agentnode-host starts with; what is to run is a go memfd (init_protocol.h),
 * the secrets are one, too.
 */
#ifndef SUPERVISOR_HOST_PROTOCOL_H
#define SUPERVISOR_HOST_PROTOCOL_H

#include <stdint.h>

#define HOST_PROTOCOL_VERSION 1U
#define HOST_MAGIC 0x414e4831U /* "ANH1" */
#define HOST_ID_MAX 17U        /* 16 hex digits and NUL */

#define HOST_CONTROL_FD 3
#define HOST_GO_FD 4
#define HOST_STDIN_FD 5
#define HOST_STDOUT_FD 6
#define HOST_STDERR_FD 7
#define HOST_SECRET_FD 8 /* with HOST_HAS_SECRET; /dev/null without */
#define HOST_FD_COUNT 6

enum host_type {
	/* supervisor to agentnode-host */
	HOST_SETUP = 1, /* struct host_setup, first */
	HOST_GO,        /* host_record: start the workload */
	HOST_STOP,      /* host_record: kill everything, then STATUS */
	/* agentnode-host to supervisor */
	HOST_HELLO = 64, /* host_record, value: enum host_limit bits */
	HOST_STATUS,     /* struct host_status, last: nothing lives */
};

enum host_flag {
	HOST_HAS_SECRET = 1
};

/* What keeps the tree within its limits. */
enum host_limit {
	HOST_LIMIT_GROUP = 1
};

enum host_why {
	HOST_WHY_EXIT = 0, /* the workload ended by itself */
	HOST_WHY_TIME,     /* wall_s is over */
	HOST_WHY_STOP,     /* HOST_STOP */
};

/* Exit codes of agentnode-host. */
enum host_exit {
	HOST_EXIT_OK = 0,
	HOST_EXIT_START = 71,    /* it cannot keep a tree on this machine */
	HOST_EXIT_PROTOCOL = 76, /* a record it did not expect */
	HOST_EXIT_ALONE = 77,    /* the supervisor is gone; so is the tree */
	HOST_EXIT_GUARD = 78,    /* the keeper died; its tree is dead */
};

struct host_record {
	uint32_t magic, version, type, value;
};

struct host_setup {
	struct host_record record;
	uint64_t memory; /* bytes */
	uint32_t pids, cpu_milli, wall_s, files, flags, spare;
	char id[24]; /* HOST_ID_MAX of it */
};

struct host_status {
	struct host_record record; /* value: enum host_why */
	uint64_t peak_memory;      /* bytes; 0: unknown */
	int32_t exit_code;         /* -1 when a signal ended it */
	int32_t signal;            /* 0 when it exited */
	int32_t exec_errno;        /* not 0: it never started */
	uint32_t oom_kills;
	uint32_t started; /* GO was taken */
	uint32_t left;    /* not 0: something survives SIGKILL */
};

#endif
