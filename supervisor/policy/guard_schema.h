/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of JSON Schema that Guard holds arguments to: type, required,
 * enum, minLength and maxLength, minimum and maximum, minItems and maxItems,
 * properties, items, format. What else a schema says is the tool's business.
 * Every schema may be NULL: then nothing is asked for. Pure; a leaf of
 * guard_arguments.
 */
#ifndef SUPERVISOR_POLICY_GUARD_SCHEMA_H
#define SUPERVISOR_POLICY_GUARD_SCHEMA_H

#include <jansson.h>

#include "supervisor/policy/guard_arguments.h"

/* Texts longer than this are prose: a shell's characters may be in them. */
#define GUARD_SCHEMA_PROSE 1000

/* type and enum; null where the type does not name it is a wrong type. */
enum guard_arguments_fault guard_schema_kind(
    const json_t *schema, struct mcp_span value);
enum guard_arguments_fault guard_schema_text(
    const json_t *schema, const char *text, size_t len);
enum guard_arguments_fault guard_schema_number(
    const json_t *schema, struct mcp_span value);
/* required */
enum guard_arguments_fault guard_schema_object(
    const json_t *schema, struct mcp_span value);
enum guard_arguments_fault guard_schema_array(
    const json_t *schema, size_t count);

/* Of a member or an item; NULL: it has none. */
const json_t *guard_schema_member(const json_t *schema, struct mcp_span key);
const json_t *guard_schema_item(const json_t *schema);

/* format uri or url. */
bool guard_schema_is_url(const json_t *schema);

#endif
