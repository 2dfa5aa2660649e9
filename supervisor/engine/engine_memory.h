/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found out about this machine's engine once, so that a start
 * needs no second engine call: AGENTNODE_HOME/engine.json. Valid for one
 * boot and for the programs it was found with; images are remembered by
 * digest, which pins their content, as long as the engine's image store is
 * not changed: an engine that gets a second manifest for the same content
 * runs the first one's digest with the second one's annotations. Used by
 * engine_host.c.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_MEMORY_H
#define SUPERVISOR_ENGINE_ENGINE_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"

#define ENGINE_MEMORY_PATH_MAX 512U
#define ENGINE_MEMORY_KEY_MAX 1024U
#define ENGINE_MEMORY_IMAGES_MAX 256U
#define ENGINE_MEMORY_STORE_MAX 160U
/* Raised when a check becomes stricter: everything is looked at again. */
#define ENGINE_MEMORY_RULES 4

/* Whose command line the client has. */
enum engine_memory_kind {
	ENGINE_MEMORY_PODMAN,
	ENGINE_MEMORY_DOCKER
};

struct engine_memory {
	bool known; /* the fields below hold for this boot and engine */
	char key[ENGINE_MEMORY_KEY_MAX];
	enum engine_memory_kind kind;
	char client[ENGINE_MEMORY_PATH_MAX], version[32];
	char runtime[ENGINE_MEMORY_PATH_MAX], cgroup_manager[16];
	char graph_root[ENGINE_MEMORY_PATH_MAX], graph_driver[32];
	char volume_path[ENGINE_MEMORY_PATH_MAX];
	bool rootless, cgroup_v2;
	char store[ENGINE_MEMORY_STORE_MAX]; /* of the image store; "": none */
	bool limits;                         /* cgroup limits are in force */
	bool hide_unified; /* the runtime needs a view without it */
	json_t *images;    /* owned: digest -> true */
};

/* An absent, foreign or outdated file is simply not known. choice is what
 * the configuration says of the engine: another one, and nothing is known. */
void engine_memory_load(struct engine_memory *memory_r, const char *choice);
enum result engine_memory_save(
    const struct engine_memory *memory, struct json_fault *fault);
void engine_memory_clear(struct engine_memory *memory);
/* Docker, used by somebody who is not root: what is root's on this machine
 * (volumes, control groups) is looked at and ended by way of the daemon. */
bool engine_memory_by_group(const struct engine_memory *memory);
/* Look at the image store (graph_root is set): another one than the images
 * were checked in, and they are forgotten. Before they are asked for. */
void engine_memory_look(struct engine_memory *memory);

/* The digest part of NAME@sha256:...; was it checked? */
bool engine_memory_has_image(
    const struct engine_memory *memory, const char *image);
enum result engine_memory_add_image(
    struct engine_memory *memory, const char *image);

#endif
