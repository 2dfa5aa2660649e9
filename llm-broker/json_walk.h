/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through one JSON value as its bytes come and says what stands at
 * which path, without keeping it: numbers, short texts, the length of long
 * ones. Pure and bounded: a few hundred bytes whatever the value's size.
 * It accepts a little more than JSON (no check of numbers' grammar or of
 * UTF-8): it only counts. Used by usage_scan.c.
 */
#ifndef LLM_BROKER_JSON_WALK_H
#define LLM_BROKER_JSON_WALK_H

#include <stddef.h>
#include <stdint.h>

#define JSON_WALK_DEPTH 1024U /* deeper is BAD */
#define JSON_WALK_STEPS 32U   /* of a path that are kept */
#define JSON_WALK_TEXT 48U    /* bytes kept of a key, number or short text */

/* A step of a path: 0 is a key nobody asked for. */
#define JSON_WALK_OTHER 0U
#define JSON_WALK_ITEM 255U /* an element of a list */

enum json_walk_state {
	JSON_WALK_VALUE, /* a value is due */
	JSON_WALK_FIRST, /* behind '[': a value or ']' */
	JSON_WALK_KEYS,  /* behind '{': a key or '}' */
	JSON_WALK_KEY,   /* in a key */
	JSON_WALK_COLON,
	JSON_WALK_STRING,
	JSON_WALK_SCALAR, /* number, true, false, null */
	JSON_WALK_NEXT,   /* ',' or the end of the container */
	JSON_WALK_DONE,   /* the value is whole; blanks may follow */
	JSON_WALK_BAD
};

/* What a value is, and what is wanted of a string. */
enum json_walk_kind {
	JSON_WALK_OBJECT,
	JSON_WALK_LIST,
	JSON_WALK_TEXT_KIND,
	JSON_WALK_SCALAR_KIND
};

struct json_walk;

struct json_walk_handlers {
	/* The step that a key stands for. */
	uint8_t (*key)(const char *key, size_t len);
	/* A key begins in the container at walk->path, which has one step less
	 * than json_walk_steps says. Returns as begin does. */
	uint64_t *(*name)(struct json_walk *walk);
	/* A value begins at walk->path. Returns what the characters of a
	 * string are added to, or NULL: they are not counted. */
	uint64_t *(*begin)(struct json_walk *walk, enum json_walk_kind kind);
	/* A string or scalar ended; text is its beginning. */
	void (*end)(struct json_walk *walk, enum json_walk_kind kind,
	    const char *text, size_t len);
};

struct json_walk {
	const struct json_walk_handlers *handlers;
	void *context;
	enum json_walk_state state;
	size_t depth;
	uint8_t path[JSON_WALK_STEPS];      /* of the value, json_walk_steps */
	uint8_t lists[JSON_WALK_DEPTH / 8]; /* bits: is that level a list? */
	uint64_t *chars; /* of the string or key that is being read */
	unsigned escape; /* 1: behind '\\'; 2..5: in \\uHHHH */
	unsigned unit;   /* its value */
	char text[JSON_WALK_TEXT];
	size_t text_len; /* in bytes; may exceed JSON_WALK_TEXT: it was cut */
};

void json_walk_init(struct json_walk *walk,
    const struct json_walk_handlers *handlers, void *context);
/* How many steps of walk->path there are: below, a path is its beginning. */
size_t json_walk_steps(const struct json_walk *walk);
/* Bytes behind the end of the value other than blanks are BAD. */
enum json_walk_state json_walk_feed(
    struct json_walk *walk, const char *bytes, size_t len);

#endif
