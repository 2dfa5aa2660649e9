/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider files of this host: those that come with agentnode
 * (share/agentnode/providers) and the user's own (AGENTNODE_HOME/providers),
 * each checked as a whole (llm-broker/provider.h), with the host's changes
 * of `llm.upstream` put in. Used by the runs of agents and `auth`.
 */
#ifndef SUPERVISOR_AGENT_PROVIDER_FILES_H
#define SUPERVISOR_AGENT_PROVIDER_FILES_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"

#define PROVIDER_FILES_DIR "providers"
#define PROVIDER_FILES_MAX 64U

/* NAME -> provider object, sorted by name. A file that cannot be used is an
 * error that names it; a user's file may not have the name of one of ours.
 * The caller owns *providers_r. */
enum result provider_files_load(
    const char *home, json_t **providers_r, struct json_fault *fault);

#endif
