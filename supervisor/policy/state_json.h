/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON file of AGENTNODE_HOME that is read strictly and replaced as a
 * whole: what consent.json and credentials.json have in common.
 */
#ifndef SUPERVISOR_POLICY_STATE_JSON_H
#define SUPERVISOR_POLICY_STATE_JSON_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/state_dir.h"

/* Home opened (made when missing) and locked against other writers; close
 * home and *lock_r in either case. */
enum result state_json_begin(
    struct state_dir *home_r, int *lock_r, struct json_fault *fault);

/* The file as root says (taken; may be NULL: no memory), mode 0600. The lock
 * is held. */
enum result state_json_write(const struct state_dir *home, const char *name,
    json_t *root, struct json_fault *fault);

#endif
