/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-gate in mode mux: the host's end of a mux link. It parses what
 * comes out of a container whose engine offers nothing but standard input
 * and output, and gives the supervisor records of init's protocol, and
 * proxy, broker and tools port a socket per connection. Options: mode "mux",
 * uid, log_level, no_landlock as in gate_config.h. After ready come the
 * streams link_in, link_out, control and, where the workload has them,
 * stdin, stdout and stderr, then `work` "start"; one `done` {"reason":
 * "closed" | "broken" | "failed", "detail"} says that the link is over.
 */
#ifndef SUPERVISOR_GATE_MUX_HOST_H
#define SUPERVISOR_GATE_MUX_HOST_H

#include <jansson.h>
#include <stdbool.h>

#include "common/confine.h"

/* Whether a config's options ask for it. */
bool mux_host_asked(const json_t *options);

/* Until the supervisor is gone; an ipc_exit. options are borrowed. */
int mux_host_run(const json_t *options);

/* For tests/confine. */
enum result mux_host_confine(const struct confine_spec *base,
    struct confine_layers *layers_r, char *detail_r, size_t detail_size);

#endif
