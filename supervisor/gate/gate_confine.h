/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gate may still do once it reads foreign bytes: move bytes
 * between descriptors it was given, and end. Called by main.c.
 */
#ifndef SUPERVISOR_GATE_GATE_CONFINE_H
#define SUPERVISOR_GATE_GATE_CONFINE_H

#include "common/confine.h"
#include "supervisor/gate/gate_config.h"

enum result gate_confine_enter(const struct gate_config *config,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#endif
