/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few short command lines that podman and docker spell differently, and
 * how their answers are to be read. Used by everything that removes what an
 * engine knows and verifies that it is gone.
 */
#ifndef SUPERVISOR_ENGINE_ENGINE_WORDS_H
#define SUPERVISOR_ENGINE_ENGINE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/engine/engine_call.h"
#include "supervisor/engine/engine_memory.h"

#define ENGINE_WORDS_MAX 32U
#define ENGINE_WORDS_OWN 8U     /* at most, besides names; and NULL */
#define ENGINE_WORDS_FILTER 32U /* at most, beside a name, and NUL */
#define ENGINE_WORDS_TEXT_MAX 8192U

/* NULL-terminated; names are borrowed. */
struct engine_words {
	const char *argv[ENGINE_WORDS_MAX];
	size_t count, used;
	char text[ENGINE_WORDS_TEXT_MAX]; /* words that were put together */
};

/* Begin a line; more words and names follow by engine_words_add. */
void engine_words_begin(
    const struct engine_memory *memory, struct engine_words *words_r);
void engine_words_add(struct engine_words *words, const char *word);

/* `rm --force` without waiting, of one container or (name NULL) of those
 * that are added. */
void engine_words_remove(const struct engine_memory *memory, const char *name,
    struct engine_words *words_r);

/* Is there a kind ("container", "volume", "image") of this name? */
void engine_words_ask(const struct engine_memory *memory, const char *kind,
    const char *name, struct engine_words *words_r);
/* One more name to ask for; docker alone answers for several at once. */
void engine_words_ask_more(struct engine_words *words, const char *name);
/* Docker: is there a container of this id, whatever it is called now? */
void engine_words_ask_id(const struct engine_memory *memory, const char *id,
    struct engine_words *words_r);

/* The answer to that: it said that there is none. Whatever else it said,
 * or whether it did not answer, is not that. */
bool engine_words_is_gone(
    const struct engine_memory *memory, const struct engine_call_end *answer);

#endif
