/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One value of a key: from the command line's text or a file's JSON to the
 * one normal form (sizes as integers, lists as arrays, names canonical),
 * and back to text. Used by config.c only.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_VALUE_H
#define SUPERVISOR_POLICY_CONFIG_VALUE_H

#include <jansson.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/config_table.h"

#define CONFIG_VALUE_TEXT_MAX 65536U /* longest text on a command line */

/* Check what a file says; where names it in faults ("config.json:
 * sandbox.memory"). Caller owns *value_r. RESULT_BAD sets the fault. */
enum result config_value_check(const struct config_key *key, const json_t *raw,
    const char *where, json_t **value_r, struct json_fault *fault);

/* The same for a typed text: lists are comma-separated or a JSON array,
 * objects are JSON, booleans true/false/1/0. */
enum result config_value_parse(const struct config_key *key, const char *text,
    const char *where, json_t **value_r, struct json_fault *fault);

/* A normal value as it would be typed; caller frees, NULL without memory. */
char *config_value_print(const struct config_key *key, const json_t *value);

/* A normal value as it stands in a file (sizes as text); caller owns. */
json_t *config_value_stored(const struct config_key *key, const json_t *value);

/* "512m" and the like, 1024 each; RESULT_BAD. */
enum result config_value_size(const char *text, int64_t *bytes_r);

#endif
