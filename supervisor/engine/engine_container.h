/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tables of podman and docker do alike: the engine is opened, the
 * fields of a container that no engine changes, and its command line. Used
 * by engine_podman.c and engine_docker.c.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_CONTAINER_H
#define SUPERVISOR_ENGINE_ENGINE_CONTAINER_H

#include "supervisor/engine/engine.h"

/* open() of both: the engine that works becomes plan->engine. */
enum result engine_container_open(const struct config *config,
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);

/* plan->input, but for what an engine adds: wiring, runtime, dialect. */
enum result engine_container_input(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);

/* The words of plan->input, and the container's name noted. */
enum result engine_container_words(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);

/* The engine makes its groups itself. */
enum result engine_container_start(struct sandbox_plan *plan,
    struct engine_start *start_r, struct cgroup *groups_r, char *detail_r,
    size_t detail_size);

#endif
