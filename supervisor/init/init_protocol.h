/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor and agentnode-init say to each other over the
 * inherited SOCK_SEQPACKET pair: fixed-size records in host byte order
 * (both run on one machine, from one build), no parser on either side. Also
 * the descriptors init starts with, and the go memfd; report: init_report.h.
 */
#ifndef SUPERVISOR_INIT_PROTOCOL_H
#define SUPERVISOR_INIT_PROTOCOL_H

#include <stdint.h>

#include "supervisor/init/init_ends.h"

#define INIT_PROTOCOL_VERSION 4U
#define INIT_MAGIC 0x414e4931U /* "ANI1" */

/* Descriptors in the container before init does anything. The workload's
 * streams are pipes of the supervisor's, never the caller's descriptors. */
#define INIT_CONTROL_FD 3
#define INIT_PROGRAM_FD 4 /* sealed memfd holding init itself */
#define INIT_STDIN_FD 5
#define INIT_STDOUT_FD 6
#define INIT_STDERR_FD 7
#define INIT_FD_COUNT 5 /* podman --preserve-fds */

#define INIT_LISTENERS_MAX 72U /* proxy, llm, tools, 64 direct, spare */
#define INIT_PATH_MAX 256U
#define INIT_GO_MAX (1U << 20)
#define INIT_WRITABLE_MAX 24U
#define INIT_LOOK_MAX 5U
/* A tmpfs of mode 1777 when a relay port is set; not in writable[]. */
#define INIT_SOCKET_DIR "/run/agentnode"

enum init_type {
	/* supervisor to init */
	INIT_SETUP = 1, /* struct init_setup; sent before the engine starts */
	INIT_IMPORT,    /* init_tree + 1 fd: tree stream to unpack at path */
	INIT_GO,        /* init_record + 1 or 2 fds: go memfd, secret memfd */
	INIT_EXPORT,    /* init_tree + 1 fd: write path as a tree stream */
	INIT_KILL,      /* init_record: kill the workload, then STATUS */
	INIT_BYE,       /* init_record: exit */
	INIT_RESULTS,   /* init_tree + 1 fd: write path as a result stream */
	INIT_STREAMS,   /* init_record + 3 fds; first, in a volume's wiring */
	/* init to supervisor */
	INIT_HELLO = 64, /* init_record; its pid comes by SCM_CREDENTIALS */
	INIT_LISTENER,   /* init_record (value = index) + 1 fd */
	INIT_REPORT,     /* init_record + 1 fd: sealed memfd, init_report */
	INIT_IMPORTED,   /* init_record, value = 0 or errno */
	INIT_STATUS,     /* struct init_status */
	INIT_EXPORTED,   /* the same, of EXPORT and RESULTS */
	INIT_FAILED,     /* init_record, value = errno, step = enum init_step */
};

struct init_record {
	uint32_t magic, version, type, value, step, spare;
};

struct init_listener {
	uint32_t address;       /* IPv4, network order */
	uint16_t port, backlog; /* port: network order */
};

struct init_setup {
	struct init_record record;
	uint32_t listener_count;
	struct init_listener listeners[INIT_LISTENERS_MAX];
	/* Directories the workload may write; NUL-terminated, absolute.
	 * Walls are tried in the first writable_tried of them. */
	uint32_t writable_count, writable_tried;
	char writable[INIT_WRITABLE_MAX][INIT_PATH_MAX];
	uint32_t writable_exec, host_written; /* 1: yes; some are the host's */
	/* Loopback ports /run/agentnode/{llm,tools}.sock lead to; 0: none. */
	uint16_t relay_llm_port, relay_tools_port; /* host order */
	uint32_t landlock_required; /* 0 only with the named override */
	uint32_t guest_uid; /* of children in a guest kernel; 0: no guest */
	/* Sealed places of whose kinds of entries it tells (init_look.h). */
	uint32_t look_count;
	char look[INIT_LOOK_MAX][INIT_PATH_MAX];
};

struct init_tree {
	struct init_record record;
	uint64_t max_bytes, max_files, max_file; /* the last of RESULTS */
	char path[INIT_PATH_MAX];
};

struct init_status {
	struct init_record record;
	int32_t exit_code;  /* -1 when a signal ended it */
	int32_t signal;     /* 0 when it exited */
	int32_t exec_errno; /* not 0: the workload never started */
	uint32_t spare;
};

/* The go memfd: this header, then offset tables and strings. Offsets are
 * from the start of the memfd, each string NUL-terminated inside it. */
struct init_go {
	uint32_t magic, version, size; /* size of the whole memfd */
	uint32_t argc, argv_offset;    /* uint32_t[argc] offsets */
	uint32_t envc, env_offset, cwd_offset, flags; /* flags: init_go.h */
};

/* The secret memfd is the same with argc == 0: more environment. */
#endif
