/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The named rules of one provider's file, made when they are first asked
 * for, so that their order does not matter. Called by provider.c and
 * field_rule_load.c. It must never let rules name each other in a circle:
 * checking a value follows them without counting.
 */
#include "llm-broker/field_rule_node.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_RULE_BOOK_MAX 256U

enum field_rule_book_stage {
	FIELD_RULE_BOOK_NEW,
	FIELD_RULE_BOOK_BUSY,
	FIELD_RULE_BOOK_READY
};

struct field_rule_book_entry {
	const char *name; /* borrowed from json */
	const json_t *source;
	struct field_rule *rule;
	enum field_rule_book_stage stage;
};

struct field_rule_book {
	json_t *json; /* owned reference, or NULL */
	struct field_rule_book_entry *entries;
	size_t count;
};

static const struct field_rule *
field_rule_book_make(struct field_rule_load *load,
    struct field_rule_book_entry *entry, const char *path)
{
	if (entry->stage == FIELD_RULE_BOOK_BUSY) {
		json_field_fault(load->fault, "%s: the rule %s names itself",
		    path, entry->name);
		return NULL;
	}
	if (entry->stage == FIELD_RULE_BOOK_NEW) {
		entry->stage = FIELD_RULE_BOOK_BUSY;
		entry->rule =
		    field_rule_load_node(load, entry->source, entry->name);
		entry->stage = FIELD_RULE_BOOK_READY;
	}
	return entry->rule;
}

const struct field_rule *
field_rule_book_find(struct field_rule_load *load, const char *name, size_t len,
    const char *path)
{
	struct field_rule_book *book = load->book;
	size_t i;

	for (i = 0; book != NULL && i < book->count; i++)
		if (strlen(book->entries[i].name) == len &&
		    memcmp(book->entries[i].name, name, len) == 0)
			return field_rule_book_make(
			    load, &book->entries[i], path);
	json_field_fault(
	    load->fault, "%s names a rule that does not exist", path);
	return NULL;
}

static void
field_rule_book_fill(
    struct field_rule_book *book, const char *path, struct json_fault *fault)
{
	struct field_rule_load load = {book, fault, 0};
	const char *name;
	json_t *source;
	size_t i;

	if (book->json == NULL)
		return;
	if (!json_is_object(book->json) ||
	    json_object_size(book->json) > FIELD_RULE_BOOK_MAX) {
		json_field_fault(fault,
		    "%s must be an object of at most %u rules", path,
		    FIELD_RULE_BOOK_MAX);
		return;
	}
	book->entries =
	    calloc(json_object_size(book->json) + 1, sizeof(*book->entries));
	if (book->entries == NULL) {
		json_field_fault(fault, "no memory for %s", path);
		return;
	}
	json_object_foreach(book->json, name, source)
	{
		book->entries[book->count].name = name;
		book->entries[book->count++].source = source;
	}
	for (i = 0; i < book->count && fault->text[0] == '\0'; i++)
		(void)field_rule_book_make(&load, &book->entries[i], path);
}

enum result
field_rule_book_load(const json_t *definitions, const char *path,
    struct field_rule_book **book_r, struct json_fault *fault)
{
	struct field_rule_book *book = calloc(1, sizeof(*book));

	*book_r = NULL;
	if (book == NULL)
		return RESULT_NO_MEMORY;
	book->json = json_incref((json_t *)(uintptr_t)definitions);
	field_rule_book_fill(book, path, fault);
	if (fault->text[0] != '\0') {
		field_rule_book_free(&book);
		return RESULT_BAD;
	}
	*book_r = book;
	return RESULT_OK;
}

void
field_rule_book_free(struct field_rule_book **book)
{
	size_t i;

	if (*book == NULL)
		return;
	for (i = 0; i < (*book)->count; i++)
		field_rule_free(&(*book)->entries[i].rule);
	free((*book)->entries);
	json_decref((*book)->json);
	free(*book);
	*book = NULL;
}
