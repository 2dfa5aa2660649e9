/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How field_rule_load.c leaves a rule for field_rule.c: a tree whose nodes
 * keep the JSON that they were made from, so that names and values are
 * borrowed from there. Nobody else includes this.
 */
#ifndef LLM_BROKER_FIELD_RULE_NODE_H
#define LLM_BROKER_FIELD_RULE_NODE_H

#include <stdbool.h>

#include "llm-broker/field_rule.h"

enum field_rule_kind {
	FIELD_RULE_STRING,
	FIELD_RULE_NUMBER,
	FIELD_RULE_INTEGER,
	FIELD_RULE_BOOLEAN,
	FIELD_RULE_NULL,
	FIELD_RULE_JSON,
	FIELD_RULE_MODEL,
	FIELD_RULE_VALUES,
	FIELD_RULE_OBJECT,
	FIELD_RULE_MAP,
	FIELD_RULE_ARRAY,
	FIELD_RULE_ANY,
	FIELD_RULE_BY,
	FIELD_RULE_OPT_IN,
	FIELD_RULE_REFERENCE,
	FIELD_RULE_KIND_COUNT
};

struct field_rule_member {
	const char *name; /* borrowed from json */
	struct field_rule *rule;
	bool required;
};

struct field_rule {
	enum field_rule_kind kind;
	json_t *json; /* owned reference */
	bool nullable;
	bool text;             /* as the file says, see field_rule.h */
	int64_t min, max;      /* numbers: value; texts: bytes; lists: items */
	const json_t *values;  /* VALUES: list; STRING and MODEL: prefixes */
	const json_t *without; /* MODEL: texts that it may not hold */
	const char *field;     /* BY: the field; OPT_IN: its name */
	unsigned opt_in;       /* OPT_IN: its bit */
	/* OBJECT and BY, sorted by name. */
	struct field_rule_member *members;
	size_t member_count;
	/* ARRAY and MAP: one; ANY: all; BY: absent or NULL; OPT_IN: rule,
	 * else or NULL. */
	struct field_rule **rules;
	size_t rule_count;
	const struct field_rule *target; /* REFERENCE: the book's */
};

/* Where the loader stands. */
struct field_rule_load {
	struct field_rule_book *book; /* or NULL */
	struct json_fault *fault;
	unsigned depth;
};

/* NULL only when a fault stands. */
struct field_rule *field_rule_load_node(
    struct field_rule_load *load, const json_t *json, const char *path);

/* The book's rule of that name, made now if it was not yet; NULL with a
 * fault when there is none or it names itself. */
const struct field_rule *field_rule_book_find(struct field_rule_load *load,
    const char *name, size_t len, const char *path);

/* One step of the way from the top of a value, for the path of a fault. */
struct field_rule_place {
	const struct field_rule_place *above; /* NULL: the top */
	const char *name;                     /* NULL: an item of a list */
	size_t index;
};

struct field_rule_walk {
	const struct field_rule_call *call;
	uint64_t characters;
	struct field_rule_fault *fault;
};

/* Write walk->fault and return false. */
bool field_rule_fault(struct field_rule_walk *walk,
    const struct field_rule_place *place, const char *why);
bool field_rule_fault_values(struct field_rule_walk *walk,
    const struct field_rule *rule, const struct field_rule_place *place);
bool field_rule_fault_cases(struct field_rule_walk *walk,
    const struct field_rule *rule, const struct field_rule_place *place);
bool field_rule_fault_name(struct field_rule_walk *walk,
    const struct field_rule *rule, const struct field_rule_place *place);

uint64_t field_rule_text_length(const char *bytes, size_t len);

/* The member of that name, or NULL. */
const struct field_rule_member *field_rule_member_find(
    const struct field_rule *rule, const char *name);

#endif
