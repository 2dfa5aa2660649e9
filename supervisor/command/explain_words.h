/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of explain: lines of "words", lists of names, and what an
 * agent's LLM grant comes to. Private to explain_facts.c.
 */
#ifndef SUPERVISOR_COMMAND_EXPLAIN_WORDS_H
#define SUPERVISOR_COMMAND_EXPLAIN_WORDS_H

#include <jansson.h>

#include "supervisor/package/run_entry.h"

#define EXPLAIN_WORDS_LIST_MAX 1024U

/* Another line of answer.words; about "" goes on with the line before. */
void explain_words_say(json_t *answer, const char *about, const char *format,
    ...) __attribute__((format(printf, 3, 4)));

/* value is taken; a lack of memory leaves the key out. */
void explain_words_set(json_t *answer, const char *key, json_t *value);

/* "a, b, c", cut with how many more there are; returns text_r. Items are
 * texts or objects with a name. */
const char *explain_words_list(
    const json_t *list, char text_r[EXPLAIN_WORDS_LIST_MAX]);
/* The same as an array of texts; caller decrefs. */
json_t *explain_words_names(const json_t *list);

/* What manifest, host and team leave of llm_access, for agents. */
void explain_words_llm(json_t *answer, struct run_entry *run);

#endif
