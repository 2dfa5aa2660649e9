/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON on top of jansson: duplicate keys refused, depth bounded,
 * typed reads with ranges, and "nothing may be left over". Every fault
 * names the JSON path. Used by every process (messages) and by the
 * supervisor (files).
 */
#ifndef COMMON_JSON_FIELD_H
#define COMMON_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/result.h"

#define JSON_FIELD_DEPTH_MAX 16U
#define JSON_FIELD_FAULT_MAX 256U

/* Collects the first fault as one sentence with its path. */
struct json_fault {
	char text[JSON_FIELD_FAULT_MAX]; /* empty: no fault so far */
};

/* Parse len bytes that must be exactly one value. RESULT_BAD sets the fault
 * with line and column. Caller owns *value_r (json_decref). */
enum result json_field_parse(
    const char *bytes, size_t len, json_t **value_r, struct json_fault *fault);

/* Load jansson's hash seed; call before confinement. */
void json_field_seed(void);

/* Typed reads of object[key]; path is what faults call the object. A read
 * after a fault does nothing, so that calls can be chained and the fault
 * looked at once. The _opt forms leave *value_r alone when absent. */
void json_field_string(const json_t *object, const char *path, const char *key,
    size_t max, const char **value_borrow_r, struct json_fault *fault);
void json_field_string_opt(const json_t *object, const char *path,
    const char *key, size_t max, const char **value_borrow_r,
    struct json_fault *fault);
void json_field_int(const json_t *object, const char *path, const char *key,
    int64_t min, int64_t max, int64_t *value_r, struct json_fault *fault);
void json_field_int_opt(const json_t *object, const char *path, const char *key,
    int64_t min, int64_t max, int64_t *value_r, struct json_fault *fault);
void json_field_bool(const json_t *object, const char *path, const char *key,
    bool *value_r, struct json_fault *fault);
void json_field_bool_opt(const json_t *object, const char *path,
    const char *key, bool *value_r, struct json_fault *fault);
void json_field_array(const json_t *object, const char *path, const char *key,
    size_t max_items, const json_t **value_borrow_r, struct json_fault *fault);
void json_field_object(const json_t *object, const char *path, const char *key,
    const json_t **value_borrow_r, struct json_fault *fault);

/* Fault when object has a key outside the NULL-terminated list. */
void json_field_only(const json_t *object, const char *path,
    const char *const *keys, struct json_fault *fault);

/* Record a fault (only the first one stays). */
void json_field_fault(struct json_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
