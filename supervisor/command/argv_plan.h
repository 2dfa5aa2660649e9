/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would be run for a package, or in an image: decided as a run decides
 * it, up to the moment before anything starts. Used by command_argv.
 */
#ifndef SUPERVISOR_COMMAND_ARGV_PLAN_H
#define SUPERVISOR_COMMAND_ARGV_PLAN_H

#include <stddef.h>

#include "supervisor/argv/argv_port.h"

struct argv_plan_options {
	const char *slug;         /* of an installed package, or NULL */
	const char *image;        /* --image, or NULL */
	const char *lockfile;     /* --lockfile, or NULL */
	enum argv_engine engine;  /* ARGV_PODMAN or ARGV_DOCKER */
	const char *const *words; /* behind "--"; NULL-terminated */
	size_t word_count;
};

/* COMMAND_DONE and the words, or the code that was told already. */
int argv_plan_make(
    const struct argv_plan_options *options, struct argv_port *port_r);

#endif
