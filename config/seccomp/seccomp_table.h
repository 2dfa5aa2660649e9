/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls a workload may make: the one source of all filters.
 * seccomp_generate turns it into the engine's profile (agentnode.json) and
 * into the programs compiled into agentnode-init; the tests try every
 * row. What no row allows is answered with ENOSYS.
 */
#ifndef CONFIG_SECCOMP_SECCOMP_TABLE_H
#define CONFIG_SECCOMP_SECCOMP_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define SECCOMP_TABLE_DEFAULT_ERRNO 38 /* ENOSYS */
#define SECCOMP_TABLE_ARGS_MAX 3U

/* Which program a rule belongs to. */
enum seccomp_part {
	/* The allow list: in the engine's profile and in init's filter. */
	SECCOMP_PART_BASE,
	/* Refusals on top, in init's filter only: they must look at 32 bits
	 * of an argument, which an allow list cannot say ("any pid but 1"),
	 * so they are a second filter that allows everything else. */
	SECCOMP_PART_GUARD,
	/* Refusals where the workload may write a file system of the host: no
	 * set-user-id program may come to lie there, which would run on the
	 * host as the owner. A third filter, in init only. */
	SECCOMP_PART_OWNER,
};

/* How one argument is compared. The kernel looks at 32 bits of an int
 * argument while a filter sees 64: allowing needs the exact 64 bits (EQUAL),
 * refusing needs the low 32 only (LOW32). */
enum seccomp_compare {
	SECCOMP_COMPARE_NONE,
	SECCOMP_COMPARE_EQUAL,    /* arg == value */
	SECCOMP_COMPARE_DIFFERS,  /* arg != value */
	SECCOMP_COMPARE_AT_LEAST, /* arg >= value */
	SECCOMP_COMPARE_LOW32,    /* (uint32_t)arg == value */
	SECCOMP_COMPARE_NO_BIT,   /* (arg & value) == 0 */
	SECCOMP_COMPARE_HAS_BIT,  /* (arg & value) == value, one bit */
};

struct seccomp_condition {
	unsigned arg;
	enum seccomp_compare compare;
	uint64_t value;
};

struct seccomp_rule {
	enum seccomp_part part;
	int refuse_errno;  /* 0: allow */
	const char *names; /* system calls, separated by one space */
	struct seccomp_condition conditions[SECCOMP_TABLE_ARGS_MAX];
};

extern const struct seccomp_rule seccomp_table[];
extern const size_t seccomp_table_count;

#endif
