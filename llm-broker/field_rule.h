/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields and values a JSON body may have: a closed rule, made from a
 * provider's file. A field that no rule names is refused with its path, and
 * so is one that differs from a named one only in case. Pure.
 *
 * RULE is one of
 *   "string" "number" "integer" "boolean" "null"   that kind
 *   "json"                any value (schemas, tool arguments), bounded depth
 *   ["auto","none"]       one of these values (strings, numbers, booleans)
 *   {"kind":"string","values":[..]|"prefix":["data:"],"max":N}
 *   {"kind":"integer","min":N,"max":N}
 *   {"kind":"object","fields":{NAME:RULE,...},"required":[NAME..],
 *    "text":true}         its strings do not count as input text unless true
 *   {"kind":"array","items":RULE,"max":N}
 *   {"kind":"any","of":[RULE,...]}                the first that fits
 *   {"kind":"by","field":"type","cases":{VALUE:RULE,..},"absent":RULE?}
 *   {"kind":"opt_in","name":"remote_urls"|"provider_tools"|"stored",
 *    "rule":RULE,"else":RULE?}    RULE when the host granted it, else the other
 */
#ifndef LLM_BROKER_FIELD_RULE_H
#define LLM_BROKER_FIELD_RULE_H

#include <jansson.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define FIELD_RULE_DEPTH_MAX 32U
#define FIELD_RULE_PATH_MAX 256U

struct field_rule; /* opaque */

enum result field_rule_load(const json_t *rule, const char *path,
    struct field_rule **rule_r, struct json_fault *fault);
void field_rule_free(struct field_rule **rule);

struct field_rule_fault {
	char path[FIELD_RULE_PATH_MAX]; /* "messages[0].content[1].type",
					 * printable ASCII, cut if long */
	char why[128]; /* "is not allowed", "must be one of auto, none" */
};

/* opt_ins: bits of enum grant_opt_in. RESULT_REFUSED with the fault. */
enum result field_rule_check(const struct field_rule *rule, const json_t *value,
    unsigned opt_ins, struct field_rule_fault *fault_r);

/* Characters (Unicode code points) in all strings of a value. */
uint64_t field_rule_characters(const json_t *value);

#endif
