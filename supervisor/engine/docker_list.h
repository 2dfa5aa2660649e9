/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Docker has with one of our labels, in the form in which podman lists
 * it. Used by `sandbox gc`.
 */
#ifndef SUPERVISOR_ENGINE_DOCKER_LIST_H
#define SUPERVISOR_ENGINE_DOCKER_LIST_H

#include <jansson.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/engine/engine_files.h"

/* kind is "container" or "volume". The elements have Name, Names and Labels
 * (this label, and whose it is, "" where nobody said). Caller decrefs. */
enum result docker_list(const struct engine_files *files, const char *client,
    const char *kind, const char *label, json_t **list_r, char *detail_r,
    size_t detail_size);

/* The reading alone: lines "NAME<TAB>VALUE<TAB>OWNER", the two labels, which
 * anybody may have written, as JSON. Pure. RESULT_BAD: another form. A line
 * whose label is no text is left out. */
enum result docker_list_parse(
    const char *text, const char *label, json_t **list_r);

#endif
