/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields and values a JSON body may have: a closed rule, made from a
 * provider's file. A field that no rule names is refused with its path, and
 * so is one that differs from a named one only in case. Pure.
 *
 * RULE is one of
 *   "string" "number" "integer" "boolean" "null"   that kind
 *   "json"                any value (schemas, tool arguments)
 *   "model"               the text is the model that the call names
 *   "#NAME"               a rule of the file's "rules"
 *   any of these with "?" behind it: or null
 *   ["auto","none"]       one of these values (texts, numbers, flags, null)
 *   {"kind":"string","prefix":["data:"],"max":N}   bytes
 *   {"kind":"integer","min":N,"max":N}             and "number" (whole limits)
 *   {"kind":"model","prefix":["models/"],"without":[":online"]}
 *   {"kind":"object","fields":{NAME:RULE,...},"required":[NAME,..]}
 *   {"kind":"map","items":RULE,"max":N}            any names, bounded count
 *   {"kind":"array","items":RULE,"max":N}
 *   {"kind":"any","of":[RULE,...]}                 the first that fits
 *   {"kind":"by","field":"type","cases":{VALUE:RULE,..},"absent":RULE?}
 *                         absent: for null, too
 *   {"kind":"opt_in","name":"remote_urls"|"provider_tools"|"stored",
 *    "rule":RULE,"else":RULE?}    RULE when the host granted it, else the other
 * Each object form may also have "null":true, and string, integer and number
 * "text": what the model reads is counted in characters. Texts, names in maps
 * and in "json" count unless "text":false says that they are attachments, of
 * which one counts at most FIELD_RULE_ATTACHMENT; whole numbers count 4 when
 * "text":true says that they are tokens.
 */
#ifndef LLM_BROKER_FIELD_RULE_H
#define LLM_BROKER_FIELD_RULE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json_field.h"
#include "common/result.h"

#define FIELD_RULE_DEPTH_MAX 32U /* of a rule, through its "#NAME"s */
#define FIELD_RULE_PATH_MAX 256U
#define FIELD_RULE_WHY_MAX 128U
#define FIELD_RULE_ATTACHMENT 4096U

struct field_rule;      /* opaque; immutable once loaded */
struct field_rule_book; /* the named rules of one file */

/* definitions: object or NULL. Rules may refer to each other in any order
 * but not in a circle. */
enum result field_rule_book_load(const json_t *definitions, const char *path,
    struct field_rule_book **book_r, struct json_fault *fault);
void field_rule_book_free(struct field_rule_book **book);

/* book may be NULL; it must outlive the rule. */
enum result field_rule_load(const json_t *rule, const char *path,
    struct field_rule_book *book, struct field_rule **rule_r,
    struct json_fault *fault);
void field_rule_free(struct field_rule **rule);

/* What a rule needs to know of the call. */
struct field_rule_call {
	unsigned opt_ins;  /* bits of enum grant_opt_in */
	const char *model; /* for "model"; NULL: such a field is refused */
	size_t model_len;
};

struct field_rule_fault {
	char path[FIELD_RULE_PATH_MAX]; /* "messages[0].content[1].type",
					 * printable ASCII, cut if long */
	/* "is not allowed", "must be one of auto, none" */
	char why[FIELD_RULE_WHY_MAX];
};

/* RESULT_REFUSED with the fault; else *characters_r is what counts. */
enum result field_rule_check(const struct field_rule *rule, const json_t *value,
    const struct field_rule_call *call, uint64_t *characters_r,
    struct field_rule_fault *fault_r);

/* Characters (Unicode code points) in all strings and names of a value. */
uint64_t field_rule_characters(const json_t *value);

#endif
