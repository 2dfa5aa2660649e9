/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where init is, when what speaks for it is another process (mux): the one
 * process of the container's control groups that is the first of a pid
 * namespace. Used by the sandbox's story when init has spoken.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_LOCATE_H
#define SUPERVISOR_ENGINE_ENGINE_LOCATE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/result.h"

struct engine_files; /* supervisor/engine/engine_files.h */

/* Of the run with this id. RESULT_NOT_FOUND, with a sentence: no group, or not
 * one such process; nothing is known of that container then. */
enum result engine_locate(const struct engine_files *files, const char *run,
    pid_t *pid_r, char *detail_r, size_t detail_size);

#endif
