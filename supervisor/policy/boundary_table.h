/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The boundary as a table: every combination of kind, tier, policy,
 * minimum and switch that a host can have, asked of boundary_decide. What
 * `agentnode explain --matrix` prints; the test compares it with
 * tests/golden/boundary.txt.
 */
#ifndef SUPERVISOR_POLICY_BOUNDARY_TABLE_H
#define SUPERVISOR_POLICY_BOUNDARY_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "supervisor/policy/boundary.h"

/* For people, 80 columns; a failed write shows in ferror(out). */
void boundary_table_print(FILE *out);

/* {"rows": [{"kind", "tier", "policy", "minimum", "agents_enabled",
 * "place", "code", "reason", "remedy", "warning"}]}; NULL: no memory. */
json_t *boundary_table_json(void);

/* The word of one cell: "host", "host!" (with a warning), "sandbox",
 * "tier" and "off" (refused). */
const char *boundary_table_word(const struct boundary_verdict *verdict);

#endif
