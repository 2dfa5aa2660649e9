/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict subset of YAML 1.1 as JSON: one document, mappings, sequences
 * and scalars. Anchors, aliases (the way a small file becomes a huge one),
 * tags, merge keys, duplicate and non-text keys are refused with line and
 * column. Plain scalars are null, true, false or a decimal integer; every
 * other one, and every quoted one, is a text (so "no" and 1.0 are texts, and
 * a version needs no quotes). Pure: bytes in, JSON out. Used by describe.c.
 */
#ifndef SUPERVISOR_UNPACK_YAML_JSON_H
#define SUPERVISOR_UNPACK_YAML_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"

#define YAML_JSON_BYTES_MAX (256U * 1024U)
#define YAML_JSON_NODES_MAX 20000U

/* RESULT_BAD with the fault; the caller owns *value_r. */
enum result yaml_json_parse(
    const char *bytes, size_t len, json_t **value_r, struct json_fault *fault);

#endif
