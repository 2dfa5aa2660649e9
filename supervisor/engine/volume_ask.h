/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a sealed volume hold what it must, where Docker's daemon alone can
 * read it out? For commands, which wait; a sandbox asks volume_check.h
 * itself, of the container it starts. Used by install and verify.
 */
#ifndef SUPERVISOR_ENGINE_VOLUME_ASK_H
#define SUPERVISOR_ENGINE_VOLUME_ASK_H

#include "common/result.h"
#include "supervisor/engine/engine_host.h"

struct config; /* supervisor/policy/config.h */

/* image: any that is here. RESULT_NOT_FOUND: there is no such volume;
 * RESULT_MISMATCH: it holds something else; detail_r is a sentence. */
enum result volume_ask(const struct config *config,
    const struct engine_host *host, const char *image, const char *volume,
    const char *hash, char *detail_r, size_t detail_size);

#endif
