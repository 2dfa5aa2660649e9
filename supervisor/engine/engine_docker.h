/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker's two tables do alike: root's, and that of a user of Docker's
 * group. Private to them.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_DOCKER_H
#define SUPERVISOR_ENGINE_ENGINE_DOCKER_H

#include "supervisor/engine/engine.h"

/* The fields of the container, and whose leftover it would be. */
enum result engine_docker_input(
    struct sandbox_plan *plan, struct sandbox_plan_fault *fault_r);

/* init comes by the volume of plan->slot. */
void engine_docker_mount(struct sandbox_plan *plan);
/* mux, over a connection of our own to the client's daemon. */
void engine_docker_attach(struct sandbox_plan *plan);

enum result engine_docker_find(const struct sandbox_plan *plan, pid_t pid,
    struct cgroup *groups_r, char *detail_r, size_t detail_size);
void engine_docker_expect(
    const struct sandbox_plan *plan, struct wall_table_expected *expected);

#endif
