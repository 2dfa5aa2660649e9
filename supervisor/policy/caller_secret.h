/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller's variables that are secrets: taken out of our own
 * environment, whose bytes are wiped where /proc shows them, and held in
 * locked memory until the process ends. The environment is one per process,
 * and so is this. Used by run_secret and agent_plan, before anything is
 * started.
 */
#ifndef SUPERVISOR_POLICY_CALLER_SECRET_H
#define SUPERVISOR_POLICY_CALLER_SECRET_H

#include "common/result.h"
#include "common/secret.h"

#define CALLER_SECRET_MAX 128U        /* names of one process */
#define CALLER_SECRET_VALUE_MAX 8192U /* bytes of one value */

/* RESULT_NOT_FOUND: it is not set. An empty
 * value is RESULT_OK and *secret_r NULL. RESULT_TOO_LONG: over
 * CALLER_SECRET_VALUE_MAX. *secret_r is borrowed; asked again, the answer
 * is the same. The variable is gone from the environment in any case. */
enum result caller_secret_take(
    const char *name, const struct secret **secret_r);

#endif
