/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's system calls: those every process of ours has (confine_base)
 * and none besides. It never opens, dials, listens, forks, or makes a
 * descriptor; what it reads and writes arrived by `stream`. Must never gain
 * a row for convenience.
 */
#include "supervisor/gate/gate_confine.h"

#include <asm/unistd.h>

/* Addresses: code and libraries, and for each of two directions a line, its
 * copy for the other side, and each of them once more while it grows. */
#define GATE_CONFINE_MEMORY (256U << 20)
#define GATE_CONFINE_LINES 12U
#define GATE_CONFINE_FILES 64U

static const struct confine_syscall gate_confine_syscalls[] = {
    {-1, CONFINE_EACCES, 0, NULL},
};

enum result
gate_confine_enter(const struct gate_config *config,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size)
{
	struct confine_spec spec = {
	    .syscalls = gate_confine_syscalls,
	    .landlock_required = !config->no_landlock,
	    .uid = config->uid,
	    .gid = (gid_t)config->uid,
	    .memory_max =
		GATE_CONFINE_MEMORY +
		GATE_CONFINE_LINES * (uint64_t)config->options.line_max,
	    .files_max = GATE_CONFINE_FILES,
	    .deny_tcp_bind = true,
	    .deny_tcp_connect = true,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
