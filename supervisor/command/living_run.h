/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a package in use? Asked of the audit chain (who was launched and has
 * not ended) and of the run files (whose supervisor lives). Used by the
 * commands that show or remove what is installed.
 */
#ifndef SUPERVISOR_COMMAND_LIVING_RUN_H
#define SUPERVISOR_COMMAND_LIVING_RUN_H

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/engine/run_lock.h"

/* The id of a living run of package, "" when there is none. Anything but
 * RESULT_OK: it is not known, and fault says why. */
enum result living_run_find(
    const char *package, char id_r[RUN_LOCK_ID_MAX], struct json_fault *fault);

#endif
