/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of `docker|podman|nerdctl [options] [container] run|create
 * [options] IMAGE [word...]` as the engine itself splits them. Pure and
 * total; foreign words in, a line or one sentence out.
 */
#ifndef SUPERVISOR_ARGV_ARGV_WORDS_H
#define SUPERVISOR_ARGV_ARGV_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/result.h"
#include "supervisor/argv/argv_table.h"

#define ARGV_WORDS_MAX 8192U         /* words of one command line */
#define ARGV_WORDS_BYTES_MAX 1048576 /* bytes of all of them */
#define ARGV_OPTIONS_MAX 8192U
#define ARGV_FAULT_MAX 256U

struct argv_option {
	const struct argv_row *row;
	const char *value; /* borrowed; of a bool "true" or "false" */
	size_t position;   /* of the word it begins in; the engine is 1 */
	size_t word_count; /* 2: the value is the next word */
};

struct argv_line {
	enum argv_engine engine;
	enum argv_scope command;  /* ARGV_RUN or ARGV_CREATE */
	const char *const *words; /* borrowed */
	size_t word_count;
	struct argv_option *options; /* owned */
	size_t option_count;
	size_t image; /* position of the image's word */
};

/* One sentence that names word and position; "" for no fault. */
struct argv_fault {
	char text[ARGV_FAULT_MAX];
};

/* RESULT_BAD: these words are no command line it knows; fault_r says which
 * word and why. The words must outlive the line. */
enum result argv_words_read(const char *const *words, size_t count,
    struct argv_line *line_r, struct argv_fault *fault_r);
void argv_words_clear(struct argv_line *line);

/* "docker", "podman" or "nerdctl". */
const char *argv_words_engine(enum argv_engine engine);

/* Like Go's ParseBool, which the engines use. */
bool argv_words_bool(const char *text, bool *value_r);

#endif
