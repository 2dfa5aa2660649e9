/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which OCI runtime works here, and are its limits in force? Found by
 * starting the real thing: our whole command line, init, its first record,
 * the control groups read back; then everything is killed and removed.
 * Used by engine_host.c on the cold path, and by doctor.
 */
#ifndef SUPERVISOR_ENGINE_RUNTIME_PROBE_H
#define SUPERVISOR_ENGINE_RUNTIME_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "common/result.h"
#include "supervisor/engine/engine_host.h"

/* Fill runtime, cgroup_manager, limits and hide_unified of what is known
 * of host, whose other fields are set; docker has a runtime of its own.
 * uid_base as in the config. image is pinned. RESULT_UNSUPPORTED: nothing
 * works; detail_r says why for the last one tried. */
enum result runtime_probe(struct engine_host *host, const char *image,
    uint32_t uid_base, char *detail_r, size_t detail_size);

#endif
