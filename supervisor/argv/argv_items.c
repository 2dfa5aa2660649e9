/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a read command line to values with a meaning. Called by audit-argv
 * and by the reader of inspect files; keeps the order of the line and never
 * decides what is good.
 */
#include "supervisor/argv/argv_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/argv/argv_csv.h"

enum result
argv_items_add(struct argv_items *items, const struct argv_item *item)
{
	if (items->count >= ARGV_ITEMS_MAX)
		return RESULT_TOO_LONG;
	/* Room doubles at each power of two. */
	if ((items->count & (items->count + 1)) == 0) {
		size_t room = items->count * 2 + 1;
		struct argv_item *more =
		    realloc(items->items, room * sizeof(*more));

		if (more == NULL)
			return RESULT_NO_MEMORY;
		items->items = more;
	}
	items->items[items->count++] = *item;
	return RESULT_OK;
}

enum result
argv_items_copy(
    struct argv_items *items, const char *text, size_t len, const char **text_r)
{
	char *copy;

	if (items->text_count >= ARGV_ITEMS_MAX)
		return RESULT_TOO_LONG;
	if ((items->text_count & (items->text_count + 1)) == 0) {
		size_t room = items->text_count * 2 + 1;
		char **more = realloc(items->texts, room * sizeof(*more));

		if (more == NULL)
			return RESULT_NO_MEMORY;
		items->texts = more;
	}
	copy = strndup(text, len);
	if (copy == NULL)
		return RESULT_NO_MEMORY;
	items->texts[items->text_count++] = copy;
	*text_r = copy;
	return RESULT_OK;
}

/* Podman and nerdctl split these values; each field is an item. */
static enum result
argv_items_split(struct argv_items *items, const struct argv_item *whole,
    struct argv_fault *fault)
{
	struct argv_csv *csv = NULL;
	enum result result = argv_csv_new(whole->value, &csv);

	if (result == RESULT_BAD || result == RESULT_TOO_LONG)
		(void)snprintf(fault->text, sizeof(fault->text),
		    "word %zu: \"%.64s\" is no list of values with commas "
		    "between them",
		    whole->position, whole->value);
	for (size_t i = 0; result == RESULT_OK && i < argv_csv_count(csv);
	     i++) {
		const char *field = argv_csv_field_borrow(csv, i);
		struct argv_item one = *whole;

		result =
		    argv_items_copy(items, field, strlen(field), &one.value);
		if (result == RESULT_OK)
			result = argv_items_add(items, &one);
	}
	argv_csv_free(&csv);
	return result;
}

static enum result
argv_items_option(struct argv_items *items, const struct argv_line *line,
    const struct argv_option *option, struct argv_fault *fault)
{
	struct argv_item item = {.meaning = option->row->meaning,
	    .value = option->value,
	    .words = {line->words[option->position - 1],
		option->word_count > 1 ? line->words[option->position] : NULL},
	    .position = option->position};

	if (item.meaning == ARGV_NOTHING)
		return RESULT_OK;
	if (option->row->kind == ARGV_SLICE && line->engine != ARGV_DOCKER)
		return argv_items_split(items, &item, fault);
	return argv_items_add(items, &item);
}

enum result
argv_items_of_line(const struct argv_line *line, struct argv_items *items_r,
    struct argv_fault *fault_r)
{
	const char *image = line->words[line->image - 1];
	const struct argv_item last = {.meaning = ARGV_IMAGE,
	    .value = image,
	    .words = {image, NULL},
	    .position = line->image};
	enum result result = RESULT_OK;

	*items_r = (struct argv_items){.engine = line->engine, .is_line = true};
	fault_r->text[0] = '\0';
	for (size_t i = 0; i < line->option_count && result == RESULT_OK; i++)
		result = argv_items_option(
		    items_r, line, &line->options[i], fault_r);
	if (result == RESULT_OK)
		result = argv_items_add(items_r, &last);
	if (result == RESULT_TOO_LONG && fault_r->text[0] == '\0')
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "the options have more than %u values", ARGV_ITEMS_MAX);
	if (result != RESULT_OK)
		argv_items_clear(items_r);
	return result == RESULT_TOO_LONG ? RESULT_BAD : result;
}

void
argv_items_clear(struct argv_items *items)
{
	for (size_t i = 0; i < items->text_count; i++)
		free(items->texts[i]);
	free(items->texts);
	free(items->items);
	items->texts = NULL;
	items->items = NULL;
	items->text_count = 0;
	items->count = 0;
}

const struct argv_item *
argv_items_next(const struct argv_items *items, enum argv_meaning meaning,
    const struct argv_item *after)
{
	size_t i = after != NULL ? (size_t)(after - items->items) + 1 : 0;

	for (; i < items->count; i++) {
		if (items->items[i].meaning == meaning)
			return &items->items[i];
	}
	return NULL;
}

const struct argv_item *
argv_items_last(const struct argv_items *items, enum argv_meaning meaning)
{
	for (size_t i = items->count; i > 0; i--) {
		if (items->items[i - 1].meaning == meaning)
			return &items->items[i - 1];
	}
	return NULL;
}

const char *
argv_items_value(const struct argv_items *items, enum argv_meaning meaning,
    const char *instead)
{
	const struct argv_item *item = argv_items_last(items, meaning);

	return item != NULL ? item->value : instead;
}

bool
argv_items_is_true(
    const struct argv_items *items, enum argv_meaning meaning, bool instead)
{
	const char *value = argv_items_value(items, meaning, NULL);

	return value == NULL ? instead : strcmp(value, "true") == 0;
}
