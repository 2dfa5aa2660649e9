/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json and policy.json hold dotted keys as nested objects:
 * {"sandbox":{"memory":"512m"}}. Walking them, refusing what no row of the
 * table names, and changing one key. Used by config.c; pure and fuzzed.
 */
#ifndef SUPERVISOR_POLICY_CONFIG_TREE_H
#define SUPERVISOR_POLICY_CONFIG_TREE_H

#include <jansson.h>
#include <stddef.h>

#include "common/json_field.h"
#include "common/result.h"
#include "supervisor/policy/config_table.h"

/* Parse a file's bytes: one object, every key known, every value right.
 * values_r[i] (count entries, as many as config_table has rows) gets the
 * normal value of row i or NULL; the caller owns them. file names the
 * file in faults. Nothing is set on a fault. */
enum result config_tree_parse(const char *file, const char *bytes, size_t len,
    json_t **values_r, size_t count, struct json_fault *fault);

/* Rows of the table. */
size_t config_tree_count(void);

/* The value of a dotted key in a file's object, or NULL; borrowed. */
json_t *config_tree_get(const json_t *root, const char *name);

/* Set (value borrowed) or remove (NULL) a dotted key; objects on the way
 * are made, and dropped when they become empty. */
enum result config_tree_put(
    json_t *root, const char *name, const json_t *value);

#endif
