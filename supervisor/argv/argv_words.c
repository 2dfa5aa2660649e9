/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of the engines' command lines: long and short options, values
 * behind '=' or in the next word, clusters, "--", and the end of the options
 * at the first word that is none. Called by audit-argv; must never guess
 * what an unknown option is, and never looks behind the image.
 */
#include "supervisor/argv/argv_words.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGV_WORDS_SHOWN 64

struct argv_words {
	struct argv_line *line;
	struct argv_fault *fault;
	size_t next; /* index of the word that is read next */
};

/* A word with its position, and what is wrong with it. */
static enum result
argv_words_bad(struct argv_words *words, size_t index, const char *what)
{
	const char *word =
	    index < words->line->word_count ? words->line->words[index] : "";

	(void)snprintf(words->fault->text, sizeof(words->fault->text),
	    "word %zu, \"%.*s\", %s", index + 1, ARGV_WORDS_SHOWN, word, what);
	return RESULT_BAD;
}

/* The same about one option of the word. */
static enum result
argv_words_bad_option(struct argv_words *words, size_t index, const char *dash,
    const char *name, size_t len, const char *what)
{
	if (len > ARGV_WORDS_SHOWN)
		len = ARGV_WORDS_SHOWN;
	(void)snprintf(words->fault->text, sizeof(words->fault->text),
	    "word %zu: %s%.*s %s", index + 1, dash, (int)len, name, what);
	return RESULT_BAD;
}

const char *
argv_words_engine(enum argv_engine engine)
{
	switch (engine) {
	case ARGV_DOCKER:
		return "docker";
	case ARGV_PODMAN:
		return "podman";
	case ARGV_NERDCTL:
		return "nerdctl";
	}
	return "";
}

bool
argv_words_bool(const char *text, bool *value_r)
{
	static const char *const yes[] = {
	    "1", "t", "T", "true", "TRUE", "True"};
	static const char *const no[] = {
	    "0", "f", "F", "false", "FALSE", "False"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*value_r = strcmp(text, yes[i]) == 0;
			return true;
		}
	}
	return false;
}

static const struct argv_row *
argv_words_name(
    enum argv_engine engine, unsigned scopes, const char *name, size_t len)
{
	const struct argv_row *row =
	    argv_table_name(engine, (enum argv_scope)scopes, name, len);

	if (row == NULL && (scopes & ARGV_GLOBAL) == 0)
		row = argv_table_name(engine, ARGV_PERSISTENT, name, len);
	return row;
}

static const struct argv_row *
argv_words_letter(enum argv_engine engine, unsigned scopes, char letter)
{
	const struct argv_row *row =
	    argv_table_letter(engine, (enum argv_scope)scopes, letter);

	if (row == NULL && (scopes & ARGV_GLOBAL) == 0)
		row = argv_table_letter(engine, ARGV_PERSISTENT, letter);
	return row;
}

static enum result
argv_words_keep(struct argv_words *words, const struct argv_row *row,
    const char *value, size_t index)
{
	struct argv_line *line = words->line;
	struct argv_option *option;
	bool yes = true;

	if (row->kind == ARGV_HELP)
		return argv_words_bad(
		    words, index, "asks for help or a version: no container");
	if (row->kind == ARGV_BOOL && value != NULL &&
	    !argv_words_bool(value, &yes))
		return argv_words_bad(
		    words, index, "must be true or false behind \"=\"");
	if (line->option_count >= ARGV_OPTIONS_MAX)
		return argv_words_bad(
		    words, index, "is one option more than can be judged");
	if ((line->option_count & (line->option_count + 1)) == 0) {
		size_t room = line->option_count * 2 + 1;
		struct argv_option *more =
		    realloc(line->options, room * sizeof(*more));

		if (more == NULL)
			return RESULT_NO_MEMORY;
		line->options = more;
	}
	option = &line->options[line->option_count++];
	*option = (struct argv_option){.row = row,
	    .value = row->kind != ARGV_BOOL ? value
		     : yes                  ? "true"
					    : "false",
	    .position = index + 1,
	    .word_count = words->next - index};
	return RESULT_OK;
}

/* --name, --name=value or --name value; words->next is behind the word. */
static enum result
argv_words_long(struct argv_words *words, size_t index, unsigned scopes)
{
	const char *name = words->line->words[index] + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] == '=' ? name + len + 1 : NULL;
	const struct argv_row *row;

	if (name[0] == '-' || name[0] == '=')
		return argv_words_bad(words, index, "is no option");
	row = argv_words_name(words->line->engine, scopes, name, len);
	if (row == NULL)
		return argv_words_bad_option(words, index, "--", name, len,
		    "is no option of this engine that is known here");
	if (value == NULL && row->kind != ARGV_BOOL && row->kind != ARGV_HELP) {
		if (words->next >= words->line->word_count)
			return argv_words_bad_option(
			    words, index, "--", name, len, "needs a value");
		value = words->line->words[words->next++];
	}
	return argv_words_keep(words, row, value, index);
}

/* -abc: bools, the last one may take the rest or the next word. */
static enum result
argv_words_short(struct argv_words *words, size_t index, unsigned scopes)
{
	const char *at = words->line->words[index] + 1;
	enum result result = RESULT_OK;

	while (*at != '\0' && result == RESULT_OK) {
		const struct argv_row *row =
		    argv_words_letter(words->line->engine, scopes, *at);
		bool is_bool;
		const char *value = NULL;

		if (row == NULL)
			return argv_words_bad_option(words, index, "-", at, 1,
			    "is no option of this engine that is known here");
		is_bool = row->kind == ARGV_BOOL || row->kind == ARGV_HELP;
		if (at[1] == '=' && at[2] != '\0')
			value = at + 2;
		else if (!is_bool && at[1] != '\0')
			value = at + 1;
		else if (!is_bool && words->next >= words->line->word_count)
			return argv_words_bad_option(
			    words, index, "-", at, 1, "needs a value");
		else if (!is_bool)
			value = words->line->words[words->next++];
		result = argv_words_keep(words, row, value, index);
		if (value != NULL)
			break;
		at++;
	}
	return result;
}

/* Options from words->next on; stops at the first word that is none, behind
 * "--" if that ended them. */
static enum result
argv_words_options(struct argv_words *words, unsigned scopes)
{
	enum result result = RESULT_OK;

	while (result == RESULT_OK && words->next < words->line->word_count) {
		size_t index = words->next;
		const char *word = words->line->words[index];

		if (word[0] != '-' || word[1] == '\0')
			break;
		words->next++;
		if (strcmp(word, "--") == 0) {
			if ((scopes & (ARGV_RUN | ARGV_CREATE)) != 0)
				break;
			return argv_words_bad(words, index,
			    "stands before the command run or create");
		}
		result = word[1] == '-'
			     ? argv_words_long(words, index, scopes)
			     : argv_words_short(words, index, scopes);
	}
	return result;
}

/* The program, with or without a path before it. */
static enum result
argv_words_program(struct argv_words *words)
{
	static const enum argv_engine engines[] = {
	    ARGV_DOCKER, ARGV_PODMAN, ARGV_NERDCTL};
	const char *word = words->line->words[0];
	const char *slash = strrchr(word, '/');
	const char *base = slash != NULL ? slash + 1 : word;

	words->next = 1;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (strcmp(base, argv_words_engine(engines[i])) == 0) {
			words->line->engine = engines[i];
			return RESULT_OK;
		}
	}
	if (strchr(word, ' ') != NULL)
		return argv_words_bad(words, 0,
		    "is a whole line: give its words, each on its own");
	if (strcmp(base, "sudo") == 0 || strcmp(base, "env") == 0 ||
	    strchr(word, '=') != NULL)
		return argv_words_bad(words, 0,
		    "stands before the engine: begin with docker, podman or "
		    "nerdctl");
	return argv_words_bad(
	    words, 0, "is no engine known here: docker, podman or nerdctl");
}

/* [container] run|create, global options between them. */
static enum result
argv_words_command(struct argv_words *words)
{
	unsigned scopes = ARGV_GLOBAL;
	bool grouped = false;

	for (;;) {
		enum result result = argv_words_options(words, scopes);
		size_t index = words->next;
		const char *word;

		if (result != RESULT_OK)
			return result;
		if (index >= words->line->word_count)
			return argv_words_bad(words, index,
			    "stands where run or create should be");
		word = words->line->words[index];
		words->next++;
		if (strcmp(word, "run") == 0 || strcmp(word, "create") == 0) {
			words->line->command =
			    word[0] == 'r' ? ARGV_RUN : ARGV_CREATE;
			return RESULT_OK;
		}
		if (grouped || strcmp(word, "container") != 0)
			return argv_words_bad(words, index,
			    "starts no container: only run and create do");
		grouped = true;
		scopes = ARGV_PERSISTENT;
	}
}

static enum result
argv_words_bounds(struct argv_words *words)
{
	size_t bytes = 0;

	if (words->line->word_count == 0) {
		(void)snprintf(words->fault->text, sizeof(words->fault->text),
		    "there are no words: give a command line behind \"--\"");
		return RESULT_BAD;
	}
	for (size_t i = 0; i < words->line->word_count; i++)
		bytes += strlen(words->line->words[i]) + 1;
	if (words->line->word_count > ARGV_WORDS_MAX ||
	    bytes > ARGV_WORDS_BYTES_MAX) {
		(void)snprintf(words->fault->text, sizeof(words->fault->text),
		    "the command line is too long: at most %u words and %u "
		    "bytes",
		    ARGV_WORDS_MAX, (unsigned)ARGV_WORDS_BYTES_MAX);
		return RESULT_BAD;
	}
	return RESULT_OK;
}

enum result
argv_words_read(const char *const *words, size_t count,
    struct argv_line *line_r, struct argv_fault *fault_r)
{
	struct argv_words state = {.line = line_r, .fault = fault_r};
	enum result result;

	*line_r = (struct argv_line){.words = words, .word_count = count};
	fault_r->text[0] = '\0';
	result = argv_words_bounds(&state);
	if (result == RESULT_OK)
		result = argv_words_program(&state);
	if (result == RESULT_OK)
		result = argv_words_command(&state);
	if (result == RESULT_OK)
		result = argv_words_options(&state, line_r->command);
	if (result == RESULT_OK &&
	    (state.next >= count || words[state.next][0] == '\0')) {
		(void)snprintf(fault_r->text, sizeof(fault_r->text),
		    "no image stands behind the options (word %zu)",
		    state.next + 1);
		result = RESULT_BAD;
	}
	line_r->image = state.next + 1;
	if (result == RESULT_NO_MEMORY)
		(void)snprintf(
		    fault_r->text, sizeof(fault_r->text), "out of memory");
	if (result != RESULT_OK)
		argv_words_clear(line_r);
	return result;
}

void
argv_words_clear(struct argv_line *line)
{
	free(line->options);
	line->options = NULL;
	line->option_count = 0;
}
