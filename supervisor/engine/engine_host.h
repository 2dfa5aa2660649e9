/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of this machine, ready to use: its private files, what is
 * known about it, and whether an image may run. The hot path calls no
 * engine; what is not known yet is found out here, before anything runs.
 * Used by the sandbox's story and the commands.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_HOST_H
#define SUPERVISOR_ENGINE_ENGINE_HOST_H

#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"
#include "supervisor/engine/engine_memory.h"

struct config; /* supervisor/policy/config.h */

#define ENGINE_HOST_CODE_MAX 32U

/* Why not: code is from the documented list ("engine_missing",
 * "engine_failed", "image_unset", "image_missing", "image_refused",
 * "runtime_unusable"), detail one sentence with the remedy. */
struct engine_host_fault {
	char code[ENGINE_HOST_CODE_MAX];
	char detail[512];
};

#define ENGINE_HOST_IMAGE_MAX 512U

struct engine_host {
	struct engine_files files;
	struct engine_memory memory;
	char image[ENGINE_HOST_IMAGE_MAX]; /* it was opened for; or "" */
	char passed[256]; /* why an engine before it was not taken; or "" */
};

/* The engine alone: files, client, version, storage; no runtime is tried.
 * Which one: sandbox.engine; auto takes what was found to work before, else
 * podman, else docker. */
enum result engine_host_find(const struct config *config,
    struct engine_host *host_r, struct engine_host_fault *fault_r);

/* Does this one answer, whatever the configuration prefers? fault_r: why
 * not. */
enum result engine_host_look(const struct config *config,
    enum engine_memory_kind kind, struct engine_host_fault *fault_r);

/* The engine ready to run image (NAME@sha256:..., or Docker's own id of
 * one: sha256:...). */
enum result engine_host_open(const struct config *config, const char *image,
    struct engine_host *host_r, struct engine_host_fault *fault_r);

void engine_host_close(struct engine_host *host);

#endif
