/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's system calls: those every process of ours has (confine_base)
 * and, by mode, a few besides. It never opens, dials, listens or forks;
 * what it reads and writes arrived by `stream`, or is accepted on the
 * listener it was given. Must never gain a row for convenience.
 */
#include "supervisor/gate/gate_confine.h"

#include <asm/unistd.h>
#include <fcntl.h>

/* Addresses: code and libraries, and for each of two directions a line, its
 * copy for the other side, and each of them once more while it grows. */
#define GATE_CONFINE_MEMORY (256U << 20)
#define GATE_CONFINE_LINES 12U
#define GATE_CONFINE_FILES 64U
/* Mode agent: requests, the result and its escaped form, and each answer
 * as it comes and as it goes out, each of them once more while it grows. */
#define GATE_CONFINE_HELD 3U
#define GATE_CONFINE_RESULT 16U
#define GATE_CONFINE_ANSWER 4U
/* Mode caller: each job's arguments and pages, while they grow. */
#define GATE_CONFINE_JOB 2U
/* Mode pack: a result, its escaped form, each once more while it grows. */
#define GATE_CONFINE_PACK 16U

static const struct confine_syscall gate_confine_none[] = {
    {-1, CONFINE_EACCES, 0, NULL},
};

/* What mode agent needs besides: clients, and a call's arguments as a
 * sealed memfd, which neither names a file nor leaves by itself. */
static const struct confine_syscall gate_confine_agent[] = {
    {__NR_accept4, CONFINE_ALLOW, 0, "fd_accept"},
    {__NR_getsockopt, CONFINE_ALLOW, 0, "fd_is_listener"},
    {__NR_memfd_create, CONFINE_ALLOW, 0, "fd_sealed_memfd"},
    {__NR_pwrite64, CONFINE_ALLOW, 0, "fd_sealed_memfd"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_ADD_SEALS, "fd_sealed_memfd"},
    {-1, CONFINE_EACCES, 0, NULL},
};

/* Mode caller: the same for a result. */
static const struct confine_syscall gate_confine_caller[] = {
    {__NR_memfd_create, CONFINE_ALLOW, 0, "fd_sealed_memfd"},
    {__NR_pwrite64, CONFINE_ALLOW, 0, "fd_sealed_memfd"},
    {__NR_fcntl, CONFINE_ALLOW_ARG1, F_ADD_SEALS, "fd_sealed_memfd"},
    {-1, CONFINE_EACCES, 0, NULL},
};

static const struct confine_syscall *
gate_confine_table(enum gate_mode mode)
{
	switch (mode) {
	case GATE_AGENT:
		return gate_confine_agent;
	case GATE_CALLER:
		return gate_confine_caller;
	case GATE_MCP:
	case GATE_TEXT:
	case GATE_RAW:
	case GATE_TOOLS:
	case GATE_BUILD:
	case GATE_PACK:
		break;
	}
	return gate_confine_none;
}

static uint64_t
gate_confine_memory(const struct gate_config *config)
{
	const struct tools_port_options *port = &config->port;
	uint64_t memory =
	    GATE_CONFINE_MEMORY +
	    GATE_CONFINE_LINES * (uint64_t)config->options.line_max;

	if (config->options.mode == GATE_AGENT)
		memory += GATE_CONFINE_HELD * (uint64_t)TOOLS_PORT_HELD_MAX +
			  GATE_CONFINE_RESULT * (uint64_t)port->result_max +
			  GATE_CONFINE_ANSWER * (uint64_t)port->answer_max *
			      (port->calls_at_once + 1);
	if (config->options.mode == GATE_CALLER)
		memory +=
		    GATE_CONFINE_JOB * GATE_CALLER_JOBS_MAX *
		    (uint64_t)(port->arguments_max + GATE_CALLER_LIST_MAX);
	if (config->options.mode == GATE_PACK)
		memory += GATE_CONFINE_PACK *
			  (uint64_t)(port->arguments_max + port->answer_max);
	return memory;
}

enum result
gate_confine_enter(const struct gate_config *config,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size)
{
	bool agent = config->options.mode == GATE_AGENT;
	struct confine_spec spec = {
	    .syscalls = gate_confine_table(config->options.mode),
	    .landlock_required = !config->no_landlock,
	    .uid = config->uid,
	    .gid = (gid_t)config->uid,
	    .memory_max = gate_confine_memory(config),
	    .files_max = GATE_CONFINE_FILES + (agent ? TOOLS_PORT_CONNS : 0),
	    .deny_tcp_bind = true,
	    .deny_tcp_connect = true,
	};

	return confine_enter(&spec, layers_r, detail_r, detail_size);
}
