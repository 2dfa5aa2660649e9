/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool's arguments as an operator gives them: `--json-input` an object,
 * `--arg NAME=VALUE` a member each, read as the tool's input_schema says:
 * text unless it names another type, then JSON. Pure; used by pack_run_plan.
 * Whether they fit the schema is asked elsewhere.
 */
#ifndef SUPERVISOR_PACK_PACK_ARGUMENTS_H
#define SUPERVISOR_PACK_PACK_ARGUMENTS_H

#include <jansson.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"

/* input: an object or NULL; words: "NAME=VALUE"; schema: or NULL. A word
 * counts more than a member of input; one name twice is refused. The caller
 * owns the object. */
enum result pack_arguments_make(const json_t *input, const char *const *words,
    size_t count, const json_t *schema, json_t **arguments_r,
    struct json_fault *fault);

#endif
