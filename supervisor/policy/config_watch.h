/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells when config.json or the team policy may have changed. Folders are
 * watched, not files: a file that is replaced by a rename, made anew or
 * removed is seen; so are the team policy's folder coming and going. What
 * changed is found out by reading again. Used by egress_live.c, and for
 * credentials.json by key_watch.c.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_WATCH_H
#define SUPERVISOR_POLICY_CONFIG_WATCH_H

#include <event2/event.h>
#include <stdbool.h>

#include "common/json_field.h"
#include "common/result.h"

struct config_watch; /* opaque */

/* From the event of a change to the call; changes in between are one. */
#define CONFIG_WATCH_SETTLE_MS 50U

/* lost: the configuration's folder is gone or cannot be watched any more,
 * so that later changes would not be seen. The watch must not be freed
 * inside. */
typedef void config_watch_changed(bool lost, void *context);

/* Begins with a call soon: what changed since the caller read the files is
 * not missed. */
enum result config_watch_new(struct event_base *base,
    config_watch_changed *changed, void *context, struct config_watch **watch_r,
    struct json_fault *fault);
/* The same for another file of AGENTNODE_HOME, and for that alone; name is
 * kept. */
enum result config_watch_file_new(struct event_base *base, const char *name,
    config_watch_changed *changed, void *context, struct config_watch **watch_r,
    struct json_fault *fault);
/* Call again after ms, or sooner when a call is due already. */
void config_watch_again(struct config_watch *watch, unsigned ms);
/* Accepts NULL, clears. */
void config_watch_free(struct config_watch **watch);

#endif
