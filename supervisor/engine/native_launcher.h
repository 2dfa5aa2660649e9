/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentnode-native, started before what it will launch is decided: it makes
 * the namespaces of a sandbox meanwhile, and waits (native_launch.h). Used by
 * exec, which has a view to look for, and by sandbox_client.c.
 */
#ifndef SUPERVISOR_ENGINE_NATIVE_LAUNCHER_H
#define SUPERVISOR_ENGINE_NATIVE_LAUNCHER_H

#include <event2/event.h>

#include "common/result.h"
#include "supervisor/engine/engine_call.h"
#include "supervisor/native/native_launch.h"

struct native_launcher; /* opaque */

/* RESULT_NOT_FOUND: it is not installed beside agentnode. */
enum result native_launcher_start(
    struct event_base *base, struct native_launcher **launcher_r);

/* Give it init's descriptors and the record, all borrowed; it launches. Its
 * call is the caller's from here on, and done hears of its end, which may
 * have been before. Frees the launcher, clears, whatever comes of it. Must be
 * called before the loop runs, or it may have ended unseen. */
enum result native_launcher_give(struct native_launcher **launcher,
    const int fds[NATIVE_LAUNCH_GIVEN], engine_call_done *done, void *context,
    struct engine_call **call_r);

/* Nothing is to be launched: it is ended. Accepts NULL, clears. */
void native_launcher_free(struct native_launcher **launcher);

#endif
