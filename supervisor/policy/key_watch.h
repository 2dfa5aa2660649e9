/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells which providers' keys were set anew or removed while something runs:
 * credentials.json is watched and compared. Used by the runs that have an
 * LLM, which send key_changed and have the key read again.
 */
#ifndef SUPERVISOR_POLICY_KEY_WATCH_H
#define SUPERVISOR_POLICY_KEY_WATCH_H

#include <event2/event.h>

#include "common/json_field.h"
#include "common/result.h"

struct key_watch; /* opaque */

/* Once per provider and change; not for those that are as they were when
 * the watch began. A file that is gone or cannot be read means: every key
 * of before changed. The watch must not be freed inside. */
typedef void key_watch_changed(const char *provider, void *context);

enum result key_watch_new(struct event_base *base, key_watch_changed *changed,
    void *context, struct key_watch **watch_r, struct json_fault *fault);
/* Accepts NULL, clears. */
void key_watch_free(struct key_watch **watch);

#endif
