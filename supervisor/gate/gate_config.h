/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's config message (from the supervisor): descriptor 0 is the log,
 * options are
 *   mode "mcp" | "text" | "raw" | "tools" | "build" | "agent" | "caller" |
 * "pack" · package TEXT (slug) · guard OBJECT (of guard_plan.h; absent: no
 * Guard, as where nothing calls tools) · tier TEXT (unverified) · tools [TEXT]
 * (allowlist; absent: all) · resources, prompts FLAG (true) · line_max BYTES
 * (16 MiB) · output_max BYTES (0: none) · request_timeout_s (0: none) ·
 *   start_timeout_s (0: none; for initialize) · grace_ms (2000) ·
 *   list_timeout_s (60) · json FLAG (false) · label TEXT ("build") ·
 *   uid (65534) · log_level TEXT (info) · no_landlock FLAG (false)
 * and in mode agent product FLAG (false: the agent's own output goes to the
 * log, true: to client_out, up to output_max), raw FLAG (false: made safe
 * for a terminal), and what tools_config.h names; in modes caller and pack
 * its arguments_max and tool_result_max. Mode mux: mux_host.h.
 */
#ifndef SUPERVISOR_GATE_GATE_CONFIG_H
#define SUPERVISOR_GATE_GATE_CONFIG_H

#include <jansson.h>
#include <sys/types.h>

#include "common/json_field.h"
#include "common/log.h"
#include "common/result.h"
#include "supervisor/gate/gate.h"
#include "supervisor/gate/tools_port.h"

#define GATE_CONFIG_TOOLS_MAX 1024U
#define GATE_CONFIG_LINE_MAX (1U << 30)

struct gate_config {
	struct gate_options options;
	struct tools_port_options port; /* mode agent */
	struct tools_grant grant;
	const char **tools;      /* owned array, texts in the JSON */
	struct guard_plan guard; /* borrows from the JSON */
	bool has_guard;
	uid_t uid;             /* dropped to when we are root */
	bool no_landlock;      /* the host's named override */
	enum log_level lowest; /* least level logged */
};

/* options is borrowed and must outlive config_r. */
enum result gate_config_read(const json_t *options,
    struct gate_config *config_r, struct json_fault *fault);
void gate_config_free(struct gate_config *config);

#endif
