/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agentnode-unpack keeps: its control socket, the descriptors of a
 * job, and reading below the roots of its config.
 */
#ifndef SUPERVISOR_UNPACK_UNPACK_CONFINE_H
#define SUPERVISOR_UNPACK_UNPACK_CONFINE_H

#include "common/confine.h"
#include "supervisor/unpack/unpack_config.h"

#define UNPACK_CONFINE_UID 64602U /* when started by root */

/* As confine_enter; the caller exits on anything but RESULT_OK. */
enum result unpack_confine_enter(const struct unpack_config *config,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#endif
