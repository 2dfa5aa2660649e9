/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rules from the JSON of a provider's file. Called by provider.c at
 * start. It must never guess: a word, key or bound that it does not know is
 * refused with its place, since a rule that is wrong would open a field.
 */
#include "llm-broker/field_rule_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-broker/grant.h"

#define FIELD_RULE_LOAD_MEMBERS_MAX 256U
#define FIELD_RULE_LOAD_RULES_MAX 32U
#define FIELD_RULE_LOAD_PARTS 2U /* rules of a kind other than "any" */
#define FIELD_RULE_LOAD_NAME_MAX 64U

struct field_rule_load_word {
	const char *name;
	enum field_rule_kind kind;
	const char *const *keys; /* NULL: no object form */
};

static const char *const field_rule_load_string[] = {
    "kind", "null", "prefix", "max", "text", NULL};
static const char *const field_rule_load_range[] = {
    "kind", "null", "min", "max", "text", NULL};
static const char *const field_rule_load_model[] = {
    "kind", "null", "prefix", "without", NULL};
static const char *const field_rule_load_object[] = {
    "kind", "null", "fields", "required", NULL};
static const char *const field_rule_load_items[] = {
    "kind", "null", "items", "max", NULL};
static const char *const field_rule_load_any[] = {"kind", "null", "of", NULL};
static const char *const field_rule_load_by[] = {
    "kind", "null", "field", "cases", "absent", NULL};
static const char *const field_rule_load_opt_in[] = {
    "kind", "null", "name", "rule", "else", NULL};

static const struct field_rule_load_word field_rule_load_words[] = {
    {"string", FIELD_RULE_STRING, field_rule_load_string},
    {"number", FIELD_RULE_NUMBER, field_rule_load_range},
    {"integer", FIELD_RULE_INTEGER, field_rule_load_range},
    {"boolean", FIELD_RULE_BOOLEAN, NULL},
    {"null", FIELD_RULE_NULL, NULL},
    {"json", FIELD_RULE_JSON, NULL},
    {"model", FIELD_RULE_MODEL, field_rule_load_model},
    {"object", FIELD_RULE_OBJECT, field_rule_load_object},
    {"map", FIELD_RULE_MAP, field_rule_load_items},
    {"array", FIELD_RULE_ARRAY, field_rule_load_items},
    {"any", FIELD_RULE_ANY, field_rule_load_any},
    {"by", FIELD_RULE_BY, field_rule_load_by},
    {"opt_in", FIELD_RULE_OPT_IN, field_rule_load_opt_in},
};

static bool
field_rule_load_failed(const struct field_rule_load *load)
{
	return load->fault->text[0] != '\0';
}

static const struct field_rule_load_word *
field_rule_load_find(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(field_rule_load_words) /
			    sizeof(field_rule_load_words[0]);
	     i++)
		if (strlen(field_rule_load_words[i].name) == len &&
		    memcmp(field_rule_load_words[i].name, name, len) == 0)
			return &field_rule_load_words[i];
	return NULL;
}

/* "string", "string?", "#name". */
static void
field_rule_load_text(struct field_rule_load *load, struct field_rule *rule,
    const char *text, const char *path)
{
	size_t len = strlen(text);
	const struct field_rule_load_word *word;

	if (len > 0 && text[len - 1] == '?') {
		rule->nullable = true;
		len--;
	}
	if (len > 0 && text[0] == '#') {
		rule->kind = FIELD_RULE_REFERENCE;
		rule->target =
		    field_rule_book_find(load, text + 1, len - 1, path);
		return;
	}
	word = field_rule_load_find(text, len);
	if (word == NULL || word->kind >= FIELD_RULE_VALUES)
		json_field_fault(load->fault, "%s is no rule", path);
	else
		rule->kind = word->kind;
	rule->text = rule->kind == FIELD_RULE_STRING;
}

static void
field_rule_load_values(struct field_rule_load *load, struct field_rule *rule,
    const json_t *list, const char *path)
{
	const json_t *value;
	size_t i;

	rule->kind = FIELD_RULE_VALUES;
	rule->values = list;
	if (json_array_size(list) == 0 ||
	    json_array_size(list) > FIELD_RULE_LOAD_MEMBERS_MAX)
		json_field_fault(load->fault, "%s needs 1 to %u values", path,
		    FIELD_RULE_LOAD_MEMBERS_MAX);
	for (i = 0; i < json_array_size(list); i++) {
		value = json_array_get(list, i);
		if (json_is_object(value) || json_is_array(value))
			json_field_fault(load->fault,
			    "%s[%zu] must be a text, number, flag or null",
			    path, i);
	}
}

/* "prefix" and "without": texts that are not empty. */
static void
field_rule_load_list(struct field_rule_load *load,
    const struct field_rule *rule, const char *key, const char *path,
    const json_t **list_r)
{
	const json_t *text;
	size_t i;

	if (json_object_get(rule->json, key) == NULL)
		return;
	json_field_array(rule->json, path, key, FIELD_RULE_LOAD_RULES_MAX,
	    list_r, load->fault);
	if (!field_rule_load_failed(load) && json_array_size(*list_r) == 0)
		json_field_fault(load->fault, "%s.%s is empty", path, key);
	for (i = 0; i < json_array_size(*list_r); i++) {
		text = json_array_get(*list_r, i);
		if (!json_is_string(text) || json_string_length(text) == 0)
			json_field_fault(load->fault,
			    "%s.%s[%zu] must be a text", path, key, i);
	}
}

/* Bounds and "text", as far as the kind has them. */
static void
field_rule_load_scalar(
    struct field_rule_load *load, struct field_rule *rule, const char *path)
{
	bool number =
	    rule->kind == FIELD_RULE_NUMBER || rule->kind == FIELD_RULE_INTEGER;

	if (number)
		json_field_int_opt(rule->json, path, "min", INT64_MIN,
		    INT64_MAX, &rule->min, load->fault);
	json_field_int_opt(rule->json, path, "max", number ? INT64_MIN : 1,
	    INT64_MAX, &rule->max, load->fault);
	if (rule->min > rule->max)
		json_field_fault(load->fault, "%s.min is above max", path);
	if (json_object_get(rule->json, "text") != NULL)
		json_field_bool(
		    rule->json, path, "text", &rule->text, load->fault);
	if (!number)
		field_rule_load_list(load, rule, "prefix", path, &rule->values);
}

/* One more rule below this one; NULL stands for one that may be absent. */
static void
field_rule_load_below(struct field_rule_load *load, struct field_rule *rule,
    const char *key, bool required, const char *path)
{
	const json_t *json = json_object_get(rule->json, key);
	char below[JSON_FIELD_FAULT_MAX];

	if (json == NULL && required)
		json_field_fault(load->fault, "%s.%s is missing", path, key);
	if (json == NULL || field_rule_load_failed(load))
		return;
	(void)snprintf(below, sizeof(below), "%s.%s", path, key);
	rule->rules[rule->rule_count] = field_rule_load_node(load, json, below);
	rule->rule_count++;
}

static void
field_rule_load_any_of(
    struct field_rule_load *load, struct field_rule *rule, const char *path)
{
	const json_t *list = NULL;
	char below[JSON_FIELD_FAULT_MAX];
	size_t i;

	json_field_array(rule->json, path, "of", FIELD_RULE_LOAD_RULES_MAX,
	    &list, load->fault);
	if (!field_rule_load_failed(load) && json_array_size(list) == 0)
		json_field_fault(load->fault, "%s.of is empty", path);
	for (i = 0; i < json_array_size(list) && !field_rule_load_failed(load);
	     i++) {
		(void)snprintf(below, sizeof(below), "%s.of[%zu]", path, i);
		rule->rules[i] =
		    field_rule_load_node(load, json_array_get(list, i), below);
		rule->rule_count = i + 1;
	}
}

static int
field_rule_load_compare(const void *a, const void *b)
{
	return strcmp(((const struct field_rule_member *)a)->name,
	    ((const struct field_rule_member *)b)->name);
}

/* "fields" or "cases": an object of rules, sorted by name. */
static void
field_rule_load_members(struct field_rule_load *load, struct field_rule *rule,
    const char *key, const char *path)
{
	const json_t *object = NULL;
	struct field_rule_member *member;
	char below[JSON_FIELD_FAULT_MAX];
	const char *name;
	json_t *json;

	json_field_object(rule->json, path, key, &object, load->fault);
	if (field_rule_load_failed(load))
		return;
	if (json_object_size(object) > FIELD_RULE_LOAD_MEMBERS_MAX) {
		json_field_fault(
		    load->fault, "%s.%s has too many names", path, key);
		return;
	}
	rule->members =
	    calloc(json_object_size(object) + 1, sizeof(*rule->members));
	if (rule->members == NULL) {
		json_field_fault(load->fault, "no memory for %s", path);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)object, name, json)
	{
		(void)snprintf(
		    below, sizeof(below), "%s.%s.%s", path, key, name);
		member = &rule->members[rule->member_count++];
		member->name = name;
		member->rule = field_rule_load_node(load, json, below);
	}
	qsort(rule->members, rule->member_count, sizeof(*rule->members),
	    field_rule_load_compare);
}

static void
field_rule_load_required(
    struct field_rule_load *load, struct field_rule *rule, const char *path)
{
	const struct field_rule_member *member;
	const json_t *list = NULL;
	const char *name;
	size_t i;

	if (json_object_get(rule->json, "required") == NULL)
		return;
	json_field_array(rule->json, path, "required",
	    FIELD_RULE_LOAD_MEMBERS_MAX, &list, load->fault);
	for (i = 0; i < json_array_size(list) && !field_rule_load_failed(load);
	     i++) {
		name = json_string_value(json_array_get(list, i));
		member =
		    name == NULL ? NULL : field_rule_member_find(rule, name);
		if (member == NULL)
			json_field_fault(load->fault,
			    "%s.required[%zu] is none of the fields", path, i);
		else
			rule->members[member - rule->members].required = true;
	}
}

static void
field_rule_load_opt_in_name(
    struct field_rule_load *load, struct field_rule *rule, const char *path)
{
	static const struct {
		const char *name;
		enum grant_opt_in bit;
	} known[] = {{"remote_urls", GRANT_REMOTE_URLS},
	    {"provider_tools", GRANT_PROVIDER_TOOLS}, {"stored", GRANT_STORED}};
	size_t i;

	json_field_string(rule->json, path, "name", FIELD_RULE_LOAD_NAME_MAX,
	    &rule->field, load->fault);
	for (i = 0; !field_rule_load_failed(load) &&
		    i < sizeof(known) / sizeof(known[0]);
	     i++)
		if (strcmp(rule->field, known[i].name) == 0)
			rule->opt_in = (unsigned)known[i].bit;
	if (rule->opt_in == 0)
		json_field_fault(load->fault, "%s.name is no opt-in", path);
}

/* The parts of a kind that has parts. */
static void
field_rule_load_parts(
    struct field_rule_load *load, struct field_rule *rule, const char *path)
{
	switch (rule->kind) {
	case FIELD_RULE_STRING:
	case FIELD_RULE_NUMBER:
	case FIELD_RULE_INTEGER:
		field_rule_load_scalar(load, rule, path);
		return;
	case FIELD_RULE_MODEL:
		field_rule_load_list(load, rule, "prefix", path, &rule->values);
		field_rule_load_list(
		    load, rule, "without", path, &rule->without);
		return;
	case FIELD_RULE_OBJECT:
		field_rule_load_members(load, rule, "fields", path);
		field_rule_load_required(load, rule, path);
		return;
	case FIELD_RULE_MAP:
	case FIELD_RULE_ARRAY:
		json_field_int_opt(rule->json, path, "max", 0, INT32_MAX,
		    &rule->max, load->fault);
		field_rule_load_below(load, rule, "items", true, path);
		return;
	case FIELD_RULE_ANY:
		field_rule_load_any_of(load, rule, path);
		return;
	case FIELD_RULE_BY:
		json_field_string(rule->json, path, "field",
		    FIELD_RULE_LOAD_NAME_MAX, &rule->field, load->fault);
		field_rule_load_members(load, rule, "cases", path);
		field_rule_load_below(load, rule, "absent", false, path);
		return;
	case FIELD_RULE_OPT_IN:
		field_rule_load_opt_in_name(load, rule, path);
		field_rule_load_below(load, rule, "rule", true, path);
		field_rule_load_below(load, rule, "else", false, path);
		return;
	case FIELD_RULE_BOOLEAN:
	case FIELD_RULE_NULL:
	case FIELD_RULE_JSON:
	case FIELD_RULE_VALUES:
	case FIELD_RULE_REFERENCE:
	case FIELD_RULE_KIND_COUNT:
		break;
	}
	json_field_fault(load->fault, "%s is no rule", path);
}

static void
field_rule_load_form(
    struct field_rule_load *load, struct field_rule *rule, const char *path)
{
	const struct field_rule_load_word *word = NULL;
	const char *kind = NULL;

	json_field_string(rule->json, path, "kind", FIELD_RULE_LOAD_NAME_MAX,
	    &kind, load->fault);
	if (kind != NULL)
		word = field_rule_load_find(kind, strlen(kind));
	if (word == NULL || word->keys == NULL) {
		json_field_fault(load->fault, "%s.kind is not known", path);
		return;
	}
	rule->kind = word->kind;
	rule->text = rule->kind == FIELD_RULE_STRING;
	json_field_only(rule->json, path, word->keys, load->fault);
	if (json_object_get(rule->json, "null") != NULL)
		json_field_bool(
		    rule->json, path, "null", &rule->nullable, load->fault);
	rule->rules =
	    calloc(json_array_size(json_object_get(rule->json, "of")) +
		       FIELD_RULE_LOAD_PARTS,
		sizeof(struct field_rule *));
	if (rule->rules == NULL)
		json_field_fault(load->fault, "no memory for %s", path);
	if (!field_rule_load_failed(load))
		field_rule_load_parts(load, rule, path);
}

struct field_rule *
field_rule_load_node(
    struct field_rule_load *load, const json_t *json, const char *path)
{
	struct field_rule *rule;

	if (!field_rule_load_failed(load) &&
	    load->depth == FIELD_RULE_DEPTH_MAX)
		json_field_fault(load->fault, "%s is nested too deep", path);
	if (field_rule_load_failed(load))
		return NULL;
	rule = calloc(1, sizeof(*rule));
	if (rule == NULL) {
		json_field_fault(load->fault, "no memory for %s", path);
		return NULL;
	}
	load->depth++;
	rule->json = json_incref((json_t *)(uintptr_t)json);
	rule->min = INT64_MIN;
	rule->max = INT64_MAX;
	if (json_is_string(json))
		field_rule_load_text(load, rule, json_string_value(json), path);
	else if (json_is_array(json))
		field_rule_load_values(load, rule, json, path);
	else
		field_rule_load_form(load, rule, path);
	load->depth--;
	return rule;
}

enum result
field_rule_load(const json_t *rule, const char *path,
    struct field_rule_book *book, struct field_rule **rule_r,
    struct json_fault *fault)
{
	struct field_rule_load load = {book, fault, 0};

	*rule_r = field_rule_load_node(&load, rule, path);
	if (fault->text[0] == '\0')
		return RESULT_OK;
	field_rule_free(rule_r);
	return RESULT_BAD;
}
