/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of a manifest that are not an agent's: capabilities,
 * connector, mcp_server, verification, ... Tables and the rules between
 * their fields. Pure; used by manifest.c.
 */
#ifndef SUPERVISOR_PACKAGE_MANIFEST_PACK_H
#define SUPERVISOR_PACKAGE_MANIFEST_PACK_H

#include <jansson.h>

#include "supervisor/package/manifest_field.h"

extern const struct manifest_field manifest_pack_capability_fields[];
extern const struct manifest_field manifest_pack_env_fields[];
extern const struct manifest_field manifest_pack_compatibility_fields[];
extern const struct manifest_field manifest_pack_connector_fields[];
extern const struct manifest_field manifest_pack_mcp_fields[];
extern const struct manifest_field manifest_pack_policy_fields[];
extern const struct manifest_field manifest_pack_security_fields[];
extern const struct manifest_field manifest_pack_verification_fields[];

/* Rules for a manifest whose fields were checked one by one; values may
 * still be of the wrong kind, they are then passed over. */
void manifest_pack_check(
    const json_t *manifest, struct manifest_report *report);

/* What the lockfile keeps of the tools: [{name, entrypoint, ...}]; caller
 * owns it. */
json_t *manifest_pack_tools(const json_t *manifest);

#endif
