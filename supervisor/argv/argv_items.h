/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container would be started with, wherever it was written: each
 * value with its meaning and its place. Made from a command line or from
 * what `inspect` printed; read by argv_judge.
 */
#ifndef SUPERVISOR_ARGV_ARGV_ITEMS_H
#define SUPERVISOR_ARGV_ARGV_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/argv/argv_words.h"

#define ARGV_ITEMS_MAX 16384U

struct argv_item {
	enum argv_meaning meaning;
	const char *value;
	/* The place: words of the line, or a path in the JSON file. */
	const char *words[2]; /* [1] NULL: one word */
	size_t position;      /* of words[0], from 1; 0: none */
	const char *path;     /* NULL: a command line */
};

struct argv_items {
	enum argv_engine engine;
	bool is_line; /* a command line; else an existing container */
	struct argv_item *items; /* owned */
	size_t count;
	char **texts; /* owned; values that were cut out of others */
	size_t text_count;
};

/* Every option that means something, and the image. RESULT_BAD: a value is
 * not what the engine would take. */
enum result argv_items_of_line(const struct argv_line *line,
    struct argv_items *items_r, struct argv_fault *fault_r);
void argv_items_clear(struct argv_items *items);

/* Building: one more item; a copy that lives as long as the items. */
enum result argv_items_add(
    struct argv_items *items, const struct argv_item *item);
enum result argv_items_copy(struct argv_items *items, const char *text,
    size_t len, const char **text_r);

/* The next item of a meaning behind after (NULL: the first); the last. */
const struct argv_item *argv_items_next(const struct argv_items *items,
    enum argv_meaning meaning, const struct argv_item *after);
const struct argv_item *argv_items_last(
    const struct argv_items *items, enum argv_meaning meaning);
/* The last one's value, or instead. Of a bool: whether it is "true". */
const char *argv_items_value(const struct argv_items *items,
    enum argv_meaning meaning, const char *instead);
bool argv_items_is_true(
    const struct argv_items *items, enum argv_meaning meaning, bool instead);

#endif
