/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every command group of agentnode, in the order of the help. A group is a
 * file command_GROUP.c with its rows; it adds its two lines here. Read by
 * command_dispatch, completion and the manual page.
 */
#include "supervisor/command/command.h"

extern const struct command command_config_rows[];
extern const struct command command_auth_rows[];
extern const struct command command_secret_rows[];
extern const struct command command_sandbox_rows[];
extern const struct command command_image_rows[];
extern const struct command command_mcp_install_rows[];
extern const struct command command_install_rows[];
extern const struct command command_trust_rows[];
extern const struct command command_validate_rows[];
extern const struct command command_remove_rows[];
extern const struct command command_package_rows[];
extern const struct command command_verify_rows[];
extern const struct command command_explain_rows[];
extern const struct command command_mcp_rows[];
extern const struct command command_mcp_client_rows[];
extern const struct command command_run_rows[];
extern const struct command command_exec_rows[];
extern const struct command command_agent_rows[];
extern const struct command command_consent_rows[];
extern const struct command command_audit_rows[];
extern const struct command command_lock_rows[];
extern const struct command command_logs_rows[];
extern const struct command command_runs_rows[];
extern const struct command command_guard_rows[];
extern const struct command command_llm_rows[];
extern const struct command command_egress_rows[];
extern const struct command command_probe_rows[];
extern const struct command command_argv_rows[];
extern const struct command command_audit_argv_rows[];
extern const struct command command_completion_rows[];
extern const struct command command_manual_rows[];

const struct command *const command_groups[] = {
    command_config_rows,
    command_auth_rows,
    command_secret_rows,
    command_sandbox_rows,
    command_image_rows,
    command_mcp_install_rows,
    command_mcp_rows,
    command_mcp_client_rows,
    command_run_rows,
    command_exec_rows,
    command_agent_rows,
    command_install_rows,
    command_validate_rows,
    command_remove_rows,
    command_package_rows,
    command_verify_rows,
    command_explain_rows,
    command_lock_rows,
    command_trust_rows,
    command_consent_rows,
    command_audit_rows,
    command_logs_rows,
    command_runs_rows,
    command_guard_rows,
    command_llm_rows,
    command_egress_rows,
    command_probe_rows,
    command_argv_rows,
    command_audit_argv_rows,
    command_completion_rows,
    command_manual_rows,
    NULL,
};
