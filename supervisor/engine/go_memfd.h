/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealed memfd that `go` carries: header, offset tables, strings
 * (init_protocol.h). Used by the sandbox's story.
 */
#ifndef SUPERVISOR_ENGINE_GO_MEMFD_H
#define SUPERVISOR_ENGINE_GO_MEMFD_H

#include <stdint.h>

#include "common/result.h"

/* argv and envp are NULL-terminated; cwd is absolute. RESULT_TOO_LONG over
 * INIT_GO_MAX. flags: init_go.h. The caller owns *fd_r. */
enum result go_memfd_new(const char *const *argv, const char *const *envp,
    const char *cwd, uint32_t flags, int *fd_r);

#endif
