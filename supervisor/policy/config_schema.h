/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON schema of config.json and policy.json, from the one table of
 * keys: for editors and for CI of those who keep such files. The program
 * itself checks more than a schema can say. Used by `agentnode manual`.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_SCHEMA_H
#define SUPERVISOR_POLICY_CONFIG_SCHEMA_H

#include <jansson.h>

/* Caller owns it; NULL without memory. */
json_t *config_schema_make(void);

#endif
