/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts a person allowed "always" for one workspace: grants.json in
 * AGENTNODE_HOME, {"/the/workspace": ["api.example.com:443"]}. A grant is
 * as good as an --allow of the same words and is judged like one each time
 * (team policy and deny entries win). Used by exec.
 */
#ifndef SUPERVISOR_NATIVE_NATIVE_GRANT_H
#define SUPERVISOR_NATIVE_NATIVE_GRANT_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"

#define NATIVE_GRANT_FILE "grants.json"
#define NATIVE_GRANT_WORKSPACES_MAX 1024U
#define NATIVE_GRANT_ENTRIES_MAX 64U

/* The entries of a workspace, a new list (empty: there are none). */
enum result native_grant_load(
    const char *workspace, json_t **entries_r, struct json_fault *fault);

/* One more, kept once. RESULT_TOO_LONG when the file is full. */
enum result native_grant_add(
    const char *workspace, const char *entry, struct json_fault *fault);

#endif
