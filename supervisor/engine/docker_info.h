/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Docker daemon says about itself, and whether it is there at all.
 * Used by engine_host.c.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_INFO_H
#define SUPERVISOR_ENGINE_DOCKER_INFO_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/engine/engine_memory.h"

/* From the client's `info`. RESULT_UNSUPPORTED: it answers, but is one in
 * which a sandbox would not have what is promised; fault says why. */
enum result docker_info_take(
    struct engine_memory *memory, const json_t *info, struct json_fault *fault);

/* True when somebody accepts connections at this socket. */
bool docker_info_alive(const char *path);

#endif
