/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON body of a request as every strict reader would see it: one
 * object, UTF-8, no name twice, no NUL, no number out of range, bounded in
 * depth and count before the parser sees a byte. Pure; used by
 * call_request.c and call_llm.c.
 */
#ifndef LLM_BROKER_CALL_JSON_H
#define LLM_BROKER_CALL_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/result.h"

#define CALL_JSON_DEPTH_MAX 64U
#define CALL_JSON_VALUES_MAX 400000U /* long lists of tokens fit */
#define CALL_JSON_CONTAINERS_MAX                    \
	50000U /* objects and lists; they cost more \
		*/

/* detail_r: a sentence without a byte of the body; size at least 64. The
 * caller owns *object_r. RESULT_TOO_LONG: one of the counts. */
enum result call_json_parse(const char *bytes, size_t len, json_t **object_r,
    char *detail_r, size_t size);

/* The value at a dotted path ("a.b"), or NULL. */
const json_t *call_json_at(const json_t *object, const char *path);

#endif
