/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest index that was seen of each registry key, so that an older one
 * is never taken again: AGENTNODE_HOME/registry.json. Used by registry.c.
 */
#ifndef SUPERVISOR_PACKAGE_REGISTRY_SEEN_H
#define SUPERVISOR_PACKAGE_REGISTRY_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "common/json_field.h"
#include "supervisor/package/registry_index.h"

#define REGISTRY_SEEN_NAME "registry.json"
#define REGISTRY_SEEN_MAX 256U

/* Compare with what was seen and note it, under the lock of the home: the
 * note is on disk before this returns OK. keys: those whose signature over
 * this index holds; hash is SHA-256 of its bytes as hex. REGISTRY_STATE: the
 * file cannot be read or written, so nothing is known. */
enum registry_code registry_seen_note(const char *const *keys, size_t count,
    int64_t serial, const char *hash, struct json_fault *fault);

#endif
