/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for podman's client and for docker's (see the header). Must never
 * put a name where it could be read as a flag.
 */
#include "supervisor/engine/engine_words.h"

#include <stdio.h>
#include <string.h>

static bool
engine_words_is_docker(const struct engine_memory *memory)
{
	return memory->kind == ENGINE_MEMORY_DOCKER;
}

void
engine_words_add(struct engine_words *words, const char *word)
{
	if (words->count + 1 >= ENGINE_WORDS_MAX)
		return; /* tables here are shorter, and lists are cut */
	words->argv[words->count++] = word;
	words->argv[words->count] = NULL;
}

void
engine_words_begin(
    const struct engine_memory *memory, struct engine_words *words_r)
{
	words_r->count = words_r->used = 0;
	engine_words_add(words_r, memory->client);
}

void
engine_words_remove(const struct engine_memory *memory, const char *name,
    struct engine_words *words_r)
{
	engine_words_begin(memory, words_r);
	engine_words_add(words_r, "rm");
	engine_words_add(words_r, "--force");
	if (!engine_words_is_docker(memory)) {
		engine_words_add(words_r, "--ignore");
		engine_words_add(words_r, "--time=0");
	}
	engine_words_add(words_r, "--");
	if (name != NULL)
		engine_words_add(words_r, name);
}

static void
engine_words_filter(struct engine_words *words, const char *before,
    const char *value, const char *after)
{
	size_t room = sizeof(words->text) - words->used;
	char *word = words->text + words->used;
	int len = snprintf(word, room, "%s%s%s", before, value, after);

	if (len < 0 || (size_t)len >= room)
		return;
	words->used += (size_t)len + 1;
	engine_words_add(words, word);
}

void
engine_words_ask_more(struct engine_words *words, const char *name)
{
	/* A pattern; '.' in our names stands for itself too. */
	engine_words_filter(words, "--filter=name=^/?", name, "$");
}

void
engine_words_ask_id(const struct engine_memory *memory, const char *id,
    struct engine_words *words_r)
{
	engine_words_ask(memory, "container", NULL, words_r);
	engine_words_filter(words_r, "--filter=id=", id, "");
}

void
engine_words_ask(const struct engine_memory *memory, const char *kind,
    const char *name, struct engine_words *words_r)
{
	bool container = strcmp(kind, "container") == 0;

	engine_words_begin(memory, words_r);
	engine_words_add(words_r, kind);
	if (!engine_words_is_docker(memory)) {
		engine_words_add(words_r, "exists");
		engine_words_add(words_r, "--");
		engine_words_add(words_r, name);
		return;
	}
	engine_words_add(words_r, "ls");
	engine_words_add(words_r, "--quiet");
	if (container)
		engine_words_add(words_r, "--all");
	if (name != NULL)
		engine_words_ask_more(words_r, name);
}

bool
engine_words_is_gone(
    const struct engine_memory *memory, const struct engine_call_end *answer)
{
	return engine_words_is_docker(memory)
		   ? answer->exit_code == 0 && answer->output_len == 0
		   : answer->exit_code == 1;
}
