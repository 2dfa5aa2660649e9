/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the gate's options that is about the tools port (mode agent):
 *   packages [{"slug","tools" [TEXT]? (absent: all)}] (absent: none) ·
 *   max_tool_calls (0) · calls_at_once (8) · arguments_max BYTES (1 MiB) ·
 *   tool_result_max BYTES (8 MiB) · result_max BYTES (8 MiB) · port (4101)
 * Read by gate_config.
 */
#ifndef SUPERVISOR_GATE_TOOLS_CONFIG_H
#define SUPERVISOR_GATE_TOOLS_CONFIG_H

#include <jansson.h>

#include "common/json_field.h"
#include "supervisor/gate/tools_port.h"

/* Keys of mode agent, and those it shares with mode caller; NULL ends. */
extern const char *const tools_config_keys[];
extern const char *const tools_config_shared[];

/* options is borrowed and must outlive grant_r, which is to be freed with
 * tools_grant_free in any case. */
void tools_config_read(const json_t *options,
    struct tools_port_options *options_r, struct tools_grant *grant_r,
    struct json_fault *fault);

#endif
