/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line that the supervisor starts a sandbox with, as one that a
 * person can run: without the wiring that only the supervisor can hand over,
 * with the workload's own program and environment, for podman or spelled for
 * docker. Pure; used by `agentnode argv`.
 */
#ifndef SUPERVISOR_ARGV_ARGV_PORT_H
#define SUPERVISOR_ARGV_ARGV_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/argv/argv_table.h"

#define ARGV_PORT_WORDS_MAX 2048U
/* In place of the supervisor's empty files: a directory of the kernel's in
 * which nobody can put a hook, and an empty file. */
#define ARGV_PORT_HOOKS "/proc/self/ns"
#define ARGV_PORT_MOUNTS "/dev/null"

/* All texts are borrowed for the call. */
struct argv_port_input {
	enum argv_engine engine;  /* ARGV_PODMAN or ARGV_DOCKER */
	const char *const *words; /* of run_argv; NULL-terminated */
	const char *const *env;   /* NAME=VALUE; NULL-terminated */
	const char *cwd;
	const char *const *program; /* NULL-terminated; NULL: the image's */
	bool interactive;           /* it is spoken to by standard input */
	uint32_t uid;               /* of the sandbox: docker's tmpfs */
};

struct argv_port {
	char *words[ARGV_PORT_WORDS_MAX + 1]; /* owned; NULL-terminated */
	size_t count;
};

/* RESULT_BAD: the line has a word that this engine cannot say, which is a
 * fault of ours; the word is *word_r, borrowed from input. */
enum result argv_port_make(const struct argv_port_input *input,
    struct argv_port *port_r, const char **word_r);
void argv_port_clear(struct argv_port *port);

#endif
