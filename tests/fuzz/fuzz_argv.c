/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words, split by NUL: whatever they are, a line is judged or one sentence
 * says why not; and the same options in another spelling, with words behind
 * the image, are found guilty of the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/argv/argv_judge.h"

#define FUZZ_ARGV_WORDS 512U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_argv {
	struct argv_line line;
	struct argv_items items;
	struct argv_findings findings;
	struct argv_fault fault;
};

static void
fuzz_argv_clear(struct fuzz_argv *one)
{
	argv_finding_clear(&one->findings);
	argv_items_clear(&one->items);
	argv_words_clear(&one->line);
}

static enum result
fuzz_argv_judge(const char *const *words, size_t count, struct fuzz_argv *one_r)
{
	enum result result;

	memset(one_r, 0, sizeof(*one_r));
	result = argv_words_read(words, count, &one_r->line, &one_r->fault);
	if (result == RESULT_OK)
		result = argv_items_of_line(
		    &one_r->line, &one_r->items, &one_r->fault);
	if (result == RESULT_OK)
		result =
		    argv_judge(&one_r->items, &one_r->findings, &one_r->fault);
	if (result != RESULT_OK && result != RESULT_BAD)
		abort();
	if (result == RESULT_BAD && one_r->fault.text[0] == '\0')
		abort();
	return result;
}

/* Every place is a word of the line; every code has its row. */
static void
fuzz_argv_check(const struct fuzz_argv *one, size_t count)
{
	for (size_t i = 0; i < one->findings.count; i++) {
		const struct argv_finding *finding = &one->findings.list[i];
		char says[ARGV_SUBJECT_MAX + 128];

		argv_finding_says(finding, says, sizeof(says));
		if (says[0] == '\0' || finding->code >= ARGV_CODE_COUNT)
			abort();
		for (size_t k = 0;
		     k < finding->place_count && k < ARGV_PLACES_MAX; k++) {
			const struct argv_item *item = finding->places[k];

			if (item->position == 0 || item->position > count ||
			    item->words[0] !=
				one->line.words[item->position - 1])
				abort();
		}
	}
}

static char *
fuzz_argv_spell(const struct argv_option *option)
{
	size_t len = strlen(option->row->name) + strlen(option->value) + 4;
	char *word = malloc(len);

	if (word == NULL)
		abort();
	(void)snprintf(word, len, "--%s=%s", option->row->name, option->value);
	return word;
}

/* The same line, each option as --name=value, and more behind the image. */
static size_t
fuzz_argv_rewrite(const struct argv_line *line, const char **words, char **own)
{
	size_t count = 0, owned = 0;

	words[count++] = argv_words_engine(line->engine);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < line->option_count; i++) {
			const struct argv_option *option = &line->options[i];
			bool global = (option->row->scopes & ARGV_GLOBAL) != 0;

			if (global != (pass == 0))
				continue;
			own[owned] = fuzz_argv_spell(option);
			words[count++] = own[owned++];
		}
		if (pass == 0)
			words[count++] =
			    line->command == ARGV_RUN ? "run" : "create";
	}
	words[count++] = "--";
	words[count++] = line->words[line->image - 1];
	words[count++] = "--privileged";
	words[count++] = "-v";
	return count;
}

static void
fuzz_argv_same(const struct fuzz_argv *one)
{
	size_t options = one->line.option_count;
	const char **words = calloc(options + 8, sizeof(*words));
	char **own = calloc(options + 1, sizeof(*own));
	struct fuzz_argv other;
	size_t count;

	if (words == NULL || own == NULL)
		abort();
	count = fuzz_argv_rewrite(&one->line, words, own);
	if (fuzz_argv_judge(words, count, &other) != RESULT_OK ||
	    other.findings.count != one->findings.count)
		abort();
	for (size_t i = 0; i < one->findings.count; i++) {
		const struct argv_finding *a = &one->findings.list[i];
		const struct argv_finding *b = &other.findings.list[i];

		if (a->code != b->code || a->place_count != b->place_count ||
		    strcmp(a->subject, b->subject) != 0)
			abort();
	}
	fuzz_argv_clear(&other);
	for (size_t i = 0; i < options; i++)
		free(own[i]);
	free(own);
	free(words);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *words[FUZZ_ARGV_WORDS];
	char *bytes = malloc(size + 1);
	struct fuzz_argv one;
	size_t count = 0;

	if (bytes == NULL)
		abort();
	if (size > 0)
		memcpy(bytes, data, size);
	bytes[size] = '\0';
	for (size_t at = 0; at < size && count < FUZZ_ARGV_WORDS;
	     at += strlen(bytes + at) + 1)
		words[count++] = bytes + at;
	if (fuzz_argv_judge(words, count, &one) == RESULT_OK) {
		fuzz_argv_check(&one, count);
		fuzz_argv_same(&one);
	}
	fuzz_argv_clear(&one);
	free(bytes);
	return 0;
}
